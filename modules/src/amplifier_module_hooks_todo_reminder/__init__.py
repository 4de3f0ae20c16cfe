"""The module ``hooks-todo-reminder``: shows the model its list of todos again when it has not looked for a while."""

from __future__ import annotations

from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.events import PROVIDER_REQUEST, TOOL_ERROR, TOOL_POST
from amplifier_module_hooks_todo_reminder.config import ReminderConfig
from amplifier_module_hooks_todo_reminder.reminder import TodoReminder

__amplifier_module_type__ = "hook"
__amplifier_config__ = ReminderConfig


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any] | None = None) -> None:
    """Registers the handlers."""
    settings = ReminderConfig.read(config)
    reminder = TodoReminder(coordinator, settings)
    for event, handler in (
        (TOOL_POST, reminder.note_call),
        (TOOL_ERROR, reminder.note_call),
        (PROVIDER_REQUEST, reminder.remind),
    ):
        coordinator.hooks.register(event, handler, priority=settings.priority, name="hooks-todo-reminder")
