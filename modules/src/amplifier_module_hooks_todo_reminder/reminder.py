"""When to remind the model of its todos, and in which words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.models import HookResult
from amplifier_modkit.clipping import clip_chars
from amplifier_modkit.plain_text import on_one_line
from amplifier_module_hooks_todo_reminder.config import ReminderConfig

_TOOL = "todo"
_GO_ON = HookResult()
_MARKS = {"completed": "x", "in_progress": ">", "pending": " "}
_MOST_TODO_CHARS = 300
_MOST_CHARS = 8_000
_TAG = re.compile(r"</?\s*system-reminder", flags=re.IGNORECASE)


class TodoReminder:
    """Counts the tool calls since the list was last used, and shows it when they are too many.

    A reminder changes what providers have cached from there on, so there is one in a while and not one with every
    request, and as long as the list stays the same so does its text.
    """

    def __init__(self, coordinator: ModuleCoordinator, config: ReminderConfig) -> None:
        self._coordinator = coordinator
        self._config = config
        self._calls_since = 0

    async def note_call(self, event: str, data: dict[str, Any]) -> HookResult:
        """A tool call has ended."""
        self._calls_since = 0 if data.get("tool_name") == _TOOL else self._calls_since + 1
        return _GO_ON

    async def remind(self, event: str, data: dict[str, Any]) -> HookResult:
        """A request is about to be sent."""
        todos = _todos_in(getattr(self._coordinator, "todo_state", None))
        is_open = any(todo.get("status") != "completed" for todo in todos)
        if not is_open or self._calls_since < self._config.recent_tool_threshold:
            return _GO_ON
        self._calls_since = 0
        return HookResult(
            action="inject_context",
            context_injection=told(todos),
            context_injection_role=self._config.inject_role,
            ephemeral=True,
            append_to_last_tool_result=True,
        )


def told(todos: Iterable[Mapping[str, Any]]) -> str:
    """The reminder; the same list is always told in the same words."""
    lines = "\n".join(f"[{_MARKS.get(str(todo.get('status')), '?')}] {_line(todo)}" for todo in todos)
    return (
        '<system-reminder source="hooks-todo-reminder">\n'
        "Your todo list, which you have not used for a while (x done, > in progress). Go on with it, and update it "
        "with the tool 'todo' if it is out of date. Do not mention this reminder.\n"
        f"{clip_chars(lines, _MOST_CHARS)}\n"
        "</system-reminder>"
    )


def _line(todo: Mapping[str, Any]) -> str:
    # The model wrote these words, perhaps after something that a stranger wrote.
    text = on_one_line(str(todo.get("content", "")))
    return _TAG.sub("(system-reminder", clip_chars(text, _MOST_TODO_CHARS))


def _todos_in(state: Any) -> Sequence[Mapping[str, Any]]:
    items = cast("Sequence[Any]", state) if isinstance(state, list | tuple) else ()
    return [cast("Mapping[str, Any]", item) for item in items if isinstance(item, Mapping)]
