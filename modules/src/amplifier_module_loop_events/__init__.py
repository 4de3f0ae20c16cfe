"""The module ``loop-events``: the agent loop for schedulers."""

from __future__ import annotations

from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_modkit.events import ERROR_PROVIDER, ERROR_TOOL, TOOL_SELECTED, TOOL_SELECTING
from amplifier_module_loop_events.config import EventsSettings
from amplifier_module_loop_events.loop import EventsLoop

__amplifier_module_type__ = "orchestrator"
__amplifier_config__ = EventsSettings


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any] | None = None) -> None:
    """Mounts the loop."""
    await coordinator.mount("orchestrator", EventsLoop(EventsSettings.read(config)))
    own_events = [ERROR_PROVIDER, ERROR_TOOL, TOOL_SELECTED, TOOL_SELECTING]
    coordinator.register_contributor("observability.events", "loop-events", lambda: list(own_events))
