"""Where the list is: on the coordinator, where other modules read it, and in the conversation, which outlives it."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, cast

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.models import HookResult
from amplifier_modkit.messages import calls_in, plain, results_in, text_of
from amplifier_module_tool_todo.items import Todo, stored_todos

logger = logging.getLogger(__name__)

TOOL_NAME = "todo"
PARENT_TODOS = "todo.parent"
"""The capability of a sub-session that gives the list of its parent."""

_ATTRIBUTE = "todo_state"
_GO_ON = HookResult()


class TodoBoard:
    """The list of one session; lives as long as the module is mounted."""

    def __init__(self, coordinator: ModuleCoordinator) -> None:
        self._coordinator = coordinator
        self._has_begun = False
        if not isinstance(getattr(coordinator, _ATTRIBUTE, None), list):
            self._put([])

    @property
    def todos(self) -> list[Todo]:
        """The list as it is now; what somebody else has put there counts if it is a list of todos."""
        return stored_todos(getattr(self._coordinator, _ATTRIBUTE, None)) or []

    def replace(self, todos: Sequence[Todo]) -> None:
        """Puts another list in the place of the one there is."""
        self._has_begun = True
        self._put([dict(todo) for todo in todos])

    def snapshot(self) -> list[Todo]:
        """A copy of the list, for those who may only read it."""
        return self.todos

    @property
    def parents_todos(self) -> list[Todo] | None:
        """The list of the parent session, where it shares it."""
        read = self._coordinator.get_capability(PARENT_TODOS)
        return stored_todos(read()) if callable(read) else None

    async def restore_at_prompt(self, event: str, data: dict[str, Any]) -> HookResult:
        """Restores the list before the first turn: an application may have filled the context by now."""
        await self.restore()
        self._has_begun = True
        return _GO_ON

    async def restore(self) -> None:
        """Takes the list from the conversation, unless this session has a list or has begun to work."""
        if self._has_begun or self.todos:
            return
        context = self._coordinator.get("context")
        try:
            messages: Any = [] if context is None else await context.get_messages()
        except Exception as error:
            logger.warning("The todos cannot be restored, the conversation is not to be had: %r", error)
            return
        found = latest_todos([plain(message) for message in messages])
        if found:
            self._put(found)
            logger.info("Restored %d todos from the conversation", len(found))

    def _put(self, todos: list[Todo]) -> None:
        setattr(self._coordinator, _ATTRIBUTE, todos)


def latest_todos(messages: Sequence[Any]) -> list[Todo] | None:
    """The list in the latest result of the tool that has one."""
    said = [cast("Mapping[str, Any]", message) for message in messages if isinstance(message, dict)]
    own = {call.id for message in said for call in calls_in(message) if call.name == TOOL_NAME}
    for message in reversed(said):
        if message.get("role") == "tool" and own.intersection(results_in(message)):
            found = _todos_in(text_of(message.get("content")))
            if found is not None:
                return found
    return None


def _todos_in(text: str) -> list[Todo] | None:
    try:
        result: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return stored_todos(cast("Mapping[str, Any]", result).get("todos")) if isinstance(result, dict) else None
