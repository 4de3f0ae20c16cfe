"""The tool itself: what the model reads about it, and the three actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.models import ToolResult
from amplifier_modkit.turns.results import failure
from amplifier_module_tool_todo.board import TOOL_NAME, TodoBoard
from amplifier_module_tool_todo.items import STATUSES, Todo, TodoError, counts, created, updated

TODO_UPDATED = "todo:updated"

_ACTIONS = ("create", "update", "list")
_DONE = {"create": "created", "update": "updated", "list": "listed"}

_INPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": list(_ACTIONS), "description": "What to do with the list."},
        "todos": {
            "type": "array",
            "description": "The todos, for 'create' and 'update'.",
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "string", "description": "Which todo to change, as the list names it."},
                    "content": {"type": "string", "description": "What is to be done: 'Run the tests'."},
                    "activeForm": {"type": "string", "description": "The same while at it: 'Running the tests'."},
                    "status": {"type": "string", "enum": list(STATUSES)},
                },
            },
        },
    },
    "required": ["action"],
}


class TodoTool:
    """Keeps the model's list of what is to be done; lives as long as the module is mounted."""

    name = TOOL_NAME
    description = (
        "Keeps your list of what is to be done, so that nothing is forgotten in a task of several steps. 'create' "
        "replaces the list. 'update' changes it: todos with 'id' change in the fields you give, todos without 'id' "
        "beside such are added; a list without any 'id' replaces the whole. 'list' shows it. Have exactly one todo "
        "in_progress while you work, and complete each as soon as it is done."
    )
    input_schema = _INPUT_SCHEMA
    sequential = True
    """Changes build on each other, and the last result in the conversation has to be the last that was made."""

    def __init__(self, board: TodoBoard, coordinator: ModuleCoordinator) -> None:
        self.board = board
        self._hooks = coordinator.hooks

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        """The list as it is afterwards; a list that cannot be taken leaves the old one as it was."""
        action, given = input.get("action"), input.get("todos")
        await self.board.restore()
        try:
            todos = self._changed(action, given)
        except TodoError as error:
            return failure(f"{error} Nothing was changed.", type="invalid_input")
        if todos is None:
            return self._listed()
        self.board.replace(todos)
        await self._hooks.emit(TODO_UPDATED, {"action": action, **_told(todos)})
        return ToolResult(output={"status": _DONE[str(action)], **_told(todos)})

    def _changed(self, action: Any, given: Any) -> list[Todo] | None:
        """The list that the call asks for, or ``None`` when it only looks."""
        if action == "create":
            if given is None:
                raise TodoError("'todos' is missing: give the whole list, which may be empty.")
            return created(given)
        if action == "update":
            if given is None or given == []:
                raise TodoError("An update needs 'todos' with the changes; to empty the list, create an empty one.")
            return updated(self.board.todos, given)
        if action == "list":
            return None
        raise TodoError(f"'action' must be one of {', '.join(_ACTIONS)}, got {action!r:.80}.")

    def _listed(self) -> ToolResult:
        todos, parents = self.board.todos, self.board.parents_todos
        shared = {} if parents is None else {"parent_todos": parents}
        return ToolResult(output={"status": _DONE["list"], **_told(todos), **shared})


def _told(todos: Sequence[Todo]) -> dict[str, Any]:
    return {"count": len(todos), **counts(todos), "todos": [dict(todo) for todo in todos]}
