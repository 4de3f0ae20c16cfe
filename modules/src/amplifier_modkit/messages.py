"""Messages of a conversation as plain data: what they say, which tool calls they make and answer, in every known form.

A tool call may stand in ``tool_calls`` (flat, or nested under ``function``) or as a block of the content; one call that
stands in both places is one call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from amplifier_core.utils.jsonable import to_jsonable

Message = dict[str, Any]

# Tuples, not sets: the type of a block that somebody else wrote may be anything, even what has no hash.
CALL_BLOCKS = ("tool_call", "tool_use")
RESULT_BLOCKS = ("tool_result",)
_PLAIN = frozenset({str, int, float, bool, type(None)})

kind_of: Any = type
"""``type``, for data of which nothing is known: type checkers draw no conclusions from it that need a cast."""


class CallRef(NamedTuple):
    """A tool call that a message makes."""

    id: str
    name: str


def plain(value: Any) -> Any:
    """A deep copy of ``value`` as plain data: models become dicts without their empty fields, and nothing is shared.

    What is neither data nor a model becomes text, as in any JSON.
    """
    kind = kind_of(value)
    # Scalars are recognised in place: most of a message is scalars, and a call for each would be most of the cost.
    if kind is dict:
        copy = value.copy()
        for key, item in value.items():
            if type(key) is not str:
                return {str(name): plain(each) for name, each in value.items()}
            if type(item) not in _PLAIN:
                copy[key] = plain(item)
        return copy
    if kind is list or kind is tuple:
        return [item if type(item) in _PLAIN else plain(item) for item in value]
    return value if kind in _PLAIN else _as_data(value)


def blocks_of(content: Any) -> list[dict[str, Any]]:
    """The blocks of a message's content that are dicts; text content has none."""
    if not isinstance(content, list):
        return []
    return [block for block in cast("list[Any]", content) if isinstance(block, dict)]


def has_blocks(content: Any, kinds: Sequence[str]) -> bool:
    """Whether a message's content has a block of one of the ``kinds``."""
    if kind_of(content) is list:
        for block in content:
            if kind_of(block) is dict and block.get("type") in kinds:
                return True
    return False


def text_of(content: Any) -> str:
    """All text of a message's content; blocks that are next to each other belong together, others are set apart."""
    if isinstance(content, str):
        return content
    parts: list[str] = []
    is_next_to_text = False
    for block in blocks_of(content):
        text = block.get("text")
        if block.get("type") != "text" or not isinstance(text, str):
            is_next_to_text = False
        elif text:
            parts.append(text if is_next_to_text or not parts else f"\n\n{text}")
            is_next_to_text = True
    return "".join(parts)


def calls_in(message: Mapping[str, Any]) -> list[CallRef]:
    """The tool calls that a message makes, in order, each id once."""
    found: dict[str, CallRef] = {}
    for block in blocks_of(message.get("content")):
        if block.get("type") in CALL_BLOCKS:
            _note_call(found, block.get("id"), block.get("name"))
    for call in blocks_of(message.get("tool_calls")):
        function: Any = call.get("function")
        nested = cast("dict[str, Any]", function).get("name") if isinstance(function, dict) else None
        _note_call(found, call.get("id"), call.get("name") or call.get("tool") or nested)
    return list(found.values())


def results_in(message: Mapping[str, Any]) -> list[str]:
    """The ids of the tool calls that a message answers, in order, each once."""
    return links_in(message)[1]


def links_in(message: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The ids of the tool calls that a message makes, and of those that it answers; in order, each once."""
    role, content, listed = message.get("role"), message.get("content", ()), message.get("tool_calls", ())
    # Most messages have plain text and no calls; these are told apart quickly.
    if kind_of(content) is str and not listed and role != "tool":
        return [], []
    calls: dict[str, None] = {}
    results: dict[str, None] = {}
    if role == "tool":
        _note_id(results, message.get("tool_call_id"))
    if kind_of(content) is list:
        for block in content:
            kind = block.get("type") if kind_of(block) is dict else None
            if kind in CALL_BLOCKS:
                _note_id(calls, block.get("id"))
            elif kind in RESULT_BLOCKS:
                _note_id(results, block.get("tool_call_id", block.get("tool_use_id")))
    if kind_of(listed) is list:
        for call in listed:
            if kind_of(call) is dict:
                _note_id(calls, call.get("id"))
    return list(calls), list(results)


def _as_data(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return plain(dump(exclude_none=True))
    return to_jsonable(value)


def _note_call(found: dict[str, CallRef], call_id: Any, name: Any) -> None:
    if call_id is not None:
        found.setdefault(str(call_id), CallRef(str(call_id), name if isinstance(name, str) else ""))


def _note_id(found: dict[str, None], call_id: Any) -> None:
    if call_id is not None:
        found[str(call_id)] = None
