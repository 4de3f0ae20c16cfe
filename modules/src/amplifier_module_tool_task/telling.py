"""The events of the tool, and what they carry."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_module_tool_task.errors import RefusedError

TASK_AGENT_SPAWNED = "task:agent_spawned"
TASK_AGENT_RESUMED = "task:agent_resumed"
TASK_AGENT_COMPLETED = "task:agent_completed"
DELEGATE_AGENT_SPAWNED = "delegate:agent_spawned"
DELEGATE_AGENT_RESUMED = "delegate:agent_resumed"
DELEGATE_AGENT_COMPLETED = "delegate:agent_completed"

_NO_INJECTIONS: dict[str, Any] = {"context_injection": None, "context_injections": []}


class TaskEvents(NamedTuple):
    """The events of the tool under one of its names: observers of either name hear what they know."""

    spawned: str
    resumed: str
    completed: str


_EVENTS = {
    "task": TaskEvents(TASK_AGENT_SPAWNED, TASK_AGENT_RESUMED, TASK_AGENT_COMPLETED),
    "delegate": TaskEvents(DELEGATE_AGENT_SPAWNED, DELEGATE_AGENT_RESUMED, DELEGATE_AGENT_COMPLETED),
}


def event_names(tool_names: Iterable[str]) -> list[str]:
    """The events of the tool under these names."""
    return [event for name in tool_names for event in _EVENTS[name]]


class TaskTeller:
    """Tells hooks of one task; made for one call."""

    def __init__(self, coordinator: ModuleCoordinator, tool_name: str, agent: str, sub_session_id: str) -> None:
        self._coordinator = coordinator
        self._events = _EVENTS[tool_name]
        self._facts = {
            "agent": agent,
            "sub_session_id": sub_session_id,
            "parent_session_id": coordinator.session_id,
            "tool_name": tool_name,
            "tool_call_id": _call_id(coordinator),
        }

    async def begin(self, is_resumed: bool) -> None:
        """Tells that the task is about to begin; raises ``RefusedError`` when a hook, or whom it asks, refuses."""
        event = self._events.resumed if is_resumed else self._events.spawned
        result = await self._coordinator.hooks.emit(event, self._facts)
        if result.action == "ask_user":
            # The call that is being carried out has no result yet, so nothing may be put into the conversation.
            quiet = result.model_copy(update=_NO_INJECTIONS)
            result = await self._coordinator.process_hook_result(quiet, event, "tool-task")
        if result.action == "deny":
            raise RefusedError(f"Denied: {result.reason or 'a hook refused without giving a reason'}", "denied")

    async def end(self, **facts: Any) -> None:
        """Tells how the task ended."""
        await self._coordinator.hooks.emit(self._events.completed, {**self._facts, **facts})


def _call_id(coordinator: ModuleCoordinator) -> str | None:
    """The id of the tool call that is being carried out, where the loop tells it."""
    by_task: Any = vars(coordinator).get("_tool_dispatch_contexts")
    here = cast("Mapping[Any, Any]", by_task).get(asyncio.current_task()) if isinstance(by_task, Mapping) else None
    call_id = cast("Mapping[str, Any]", here).get("tool_call_id") if isinstance(here, Mapping) else None
    return call_id if isinstance(call_id, str) else None
