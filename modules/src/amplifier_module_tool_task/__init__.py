"""The module ``tool-task``: hands tasks to agents, each in a session of its own."""

from __future__ import annotations

from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_module_tool_task.config import TaskConfig
from amplifier_module_tool_task.delegation import Delegation
from amplifier_module_tool_task.telling import event_names
from amplifier_module_tool_task.tool import TaskTool

__amplifier_module_type__ = "tool"
__amplifier_config__ = TaskConfig


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any] | None = None) -> None:
    """Mounts the tool under the names that the config gives, and announces its events."""
    settings = TaskConfig.read(config)
    delegation = Delegation(coordinator, settings)
    for name in settings.tool_names:
        await coordinator.mount("tools", TaskTool(name, delegation), name=name)
    coordinator.register_contributor("observability.events", "tool-task", lambda: event_names(settings.tool_names))
