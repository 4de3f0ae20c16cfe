"""Todos as data: how a list is read from a model's words, and how one list becomes the next. Nothing is kept here."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

Todo = dict[str, str]
"""``id``, ``content``, ``activeForm`` and ``status``."""

STATUSES = ("pending", "in_progress", "completed")

_FIELDS = ("content", "activeForm", "status")
_MOST_TODOS = 100
_MOST_FIELD_CHARS = 1_000
_MOST_ID_CHARS = 40
# The whole list goes into the conversation with each change, and has to come out of it whole when that is resumed.
_MOST_BYTES = 60_000


class TodoError(Exception):
    """A list cannot be taken as it is; the text says what to change. The list that there was stays."""


def created(given: Any) -> list[Todo]:
    """The list that ``given`` makes by itself."""
    return _sound(_numbered([_complete(item) for item in _items(given)], ()))


def updated(current: Sequence[Todo], given: Any) -> list[Todo]:
    """``current`` with the changes in ``given``.

    With ids, the named todos change, and those without id are added. Without any id it is the whole list anew; todos
    that say the same as before keep their ids.
    """
    items = _items(given)
    if not any(item.get("id") is not None for item in items):
        return _sound(_numbered([_complete(item) for item in _with_known_ids(items, current)], current))
    changes = {_id(item): item for item in items if item.get("id") is not None}
    _require_known(changes, current)
    changed = [{**todo, **_fields(changes.get(todo["id"], {}))} for todo in current]
    added = [_complete(item) for item in items if item.get("id") is None]
    return _sound(_numbered([*changed, *added], current))


def counts(todos: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many todos have each status."""
    found = Counter(str(todo.get("status")) for todo in todos)
    return {status: found[status] for status in STATUSES}


def stored_todos(value: Any) -> list[Todo] | None:
    """The list in data that were written earlier; ``None`` if there is none in them."""
    try:
        return created(value)
    except TodoError:
        return None


def _items(given: Any) -> list[dict[str, Any]]:
    items: list[Any] = cast("list[Any]", given) if isinstance(given, list) else [None]
    if not all(isinstance(item, dict) for item in items):
        raise TodoError("'todos' must be a list of objects with 'content', 'activeForm' and 'status'.")
    if len(items) > _MOST_TODOS:
        raise TodoError(f"{len(items)} todos are too many; {_MOST_TODOS} at most. Put several into one.")
    return items


def _complete(item: dict[str, Any]) -> Todo:
    fields = _fields(item)
    if "content" not in fields:
        raise TodoError(f"A todo needs 'content': what is to be done. Got: {_shown(item)}")
    todo = {"content": fields["content"], "activeForm": fields["content"], "status": "pending", **fields}
    return todo if item.get("id") is None else {"id": _id(item), **todo}


def _fields(item: Mapping[str, Any]) -> dict[str, str]:
    found = {key: item[key] for key in _FIELDS if item.get(key) is not None}
    for key, value in found.items():
        if not isinstance(value, str) or not value.strip():
            raise TodoError(f"'{key}' of a todo must be text that is not empty. Got: {_shown(item)}")
        if len(value) > _MOST_FIELD_CHARS:
            raise TodoError(f"'{key}' of a todo has {len(value):,} characters; {_MOST_FIELD_CHARS:,} at most.")
    if found.get("status", STATUSES[0]) not in STATUSES:
        raise TodoError(f"'status' must be one of {', '.join(STATUSES)}. Got: {_shown(item)}")
    return found


def _id(item: Mapping[str, Any]) -> str:
    value = item["id"]
    is_usable = isinstance(value, str | int) and not isinstance(value, bool)
    if not is_usable or not 0 < len(str(value)) <= _MOST_ID_CHARS:
        raise TodoError(f"'id' of a todo must be a short text. Got: {_shown(item)}")
    return str(value)


def _with_known_ids(items: Sequence[dict[str, Any]], current: Sequence[Todo]) -> list[dict[str, Any]]:
    known = {todo["content"]: todo["id"] for todo in reversed(current)}
    return [{**item, "id": known.pop(str(item.get("content")), None)} for item in items]


def _numbered(todos: Sequence[Todo], current: Sequence[Todo]) -> list[Todo]:
    """The same todos, each with an id; ids that were in use are not used again for something else."""
    numbers = [int(todo["id"]) for todo in (*todos, *current) if todo.get("id", "").isdecimal()]
    highest = max(numbers, default=0)
    numbered: list[Todo] = []
    for todo in todos:
        if "id" not in todo:
            highest += 1
        numbered.append({"id": str(highest), **todo})
    return numbered


def _sound(todos: list[Todo]) -> list[Todo]:
    _require_distinct_ids(todos)
    _require_one_in_progress(todos)
    size = len(json.dumps(todos, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    if len(todos) > _MOST_TODOS or size > _MOST_BYTES:
        raise TodoError(
            f"The list is too long: {len(todos)} todos with {size:,} bytes, {_MOST_TODOS} with {_MOST_BYTES:,} at most."
        )
    return todos


def _require_distinct_ids(todos: Sequence[Todo]) -> None:
    twice = [todo_id for todo_id, count in Counter(todo["id"] for todo in todos).items() if count > 1]
    if twice:
        raise TodoError(f"Each todo needs an id of its own; used more than once: {', '.join(twice)}.")


def _require_one_in_progress(todos: Sequence[Todo]) -> None:
    busy = [todo for todo in todos if todo["status"] == "in_progress"]
    if len(busy) > 1:
        told = "; ".join(f"{todo['id']}: {todo['content'][:60]}" for todo in busy[:5])
        raise TodoError(
            f"Only one todo may be in_progress, these are {len(busy)} ({told}). Complete one, or set it to pending."
        )


def _require_known(changes: Mapping[str, Any], current: Sequence[Todo]) -> None:
    known = [todo["id"] for todo in current]
    unknown = [todo_id for todo_id in changes if todo_id not in known]
    if unknown:
        told = ", ".join(known) or "none, the list is empty"
        raise TodoError(f"There is no todo with id {', '.join(unknown)}. Ids: {told}. Leave 'id' out to add a todo.")


def _shown(item: Mapping[str, Any]) -> str:
    return f"{dict(item)!r:.200}"
