"""Single messages made fit to be sent: no NUL characters, valid tool names, no tool calls that nobody could answer.

Pure: a message that is fit is given back itself, any other as a changed copy with notes about the changes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from amplifier_modkit.messages import CALL_BLOCKS, Message, kind_of

_VALID_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_INVALID_CHARACTERS = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64
_UNNAMED = "unnamed_tool"
_NAME_KEYS = ("name", "tool")


def make_sendable(message: Message) -> tuple[Message, list[str]]:
    """``message`` as a provider accepts it, and what had to be changed."""
    content, calls = message.get("content"), message.get("tool_calls")
    notes: list[str] = []
    if _has_nul(content) or (calls and _has_nul(calls)):
        message = {**message, "content": _without_nul(content)}
        if calls:
            message["tool_calls"] = _without_nul(calls)
        notes.append(f"NUL characters are left out of a message of role '{message.get('role')}'")
    if message.get("role") == "tool" and not _has_valid_names(message):
        message = {**message, **_renamed(message, notes)}
    if kind_of(content) is list and not _are_sound(content, CALL_BLOCKS):
        message = {**message, "content": _sound_entries(message["content"], notes, CALL_BLOCKS)}
    if kind_of(calls) is list and not _are_sound(calls, None):
        message = {**message, "tool_calls": _sound_entries(message["tool_calls"], notes, None)}
    return message, notes


def valid_name(name: str) -> str:
    """``name`` with what providers allow in the name of a tool; one that is valid stays."""
    if _VALID_NAME.fullmatch(name):
        return name
    return _INVALID_CHARACTERS.sub("_", name)[:_LONGEST_NAME] or _UNNAMED


def _are_sound(entries: Any, kinds: Sequence[str] | None) -> bool:
    """Whether every call in the list has an id and valid names; with ``kinds`` only blocks of these are calls."""
    for entry in entries:
        is_dict = kind_of(entry) is dict
        if kinds is not None and not (is_dict and entry.get("type") in kinds):
            continue
        if not is_dict or entry.get("id") is None or not _has_valid_names(entry):
            return False
        function = entry.get("function")
        if kind_of(function) is dict and not _has_valid_names(function):
            return False
    return True


def _has_valid_names(holder: Message) -> bool:
    name, tool = holder.get("name"), holder.get("tool")
    return _is_valid(name) and (tool is name or tool is None or _is_valid(tool))


def _is_valid(name: Any) -> bool:
    if kind_of(name) is not str:
        return True
    # Nearly all names are identifiers, and to find that out is quicker than a pattern.
    is_usual = name.isidentifier() and name.isascii() and len(name) <= _LONGEST_NAME
    return is_usual or _VALID_NAME.fullmatch(name) is not None


def _sound_entries(entries: Any, notes: list[str], kinds: Sequence[str] | None) -> list[Any]:
    """The list without calls that have no id, and with valid names; with ``kinds`` only blocks of these are calls."""
    kept: list[Any] = []
    for entry in cast("list[Any]", entries):
        if kinds is not None and (not isinstance(entry, dict) or cast("Message", entry).get("type") not in kinds):
            kept.append(entry)
        elif not isinstance(entry, dict) or cast("Message", entry).get("id") is None:
            notes.append("A tool call without an id is left out: nothing could answer it")
        else:
            kept.append(_with_valid_names(cast("Message", entry), notes))
    return kept


def _with_valid_names(call: Message, notes: list[str]) -> Message:
    function: Any = call.get("function")
    changed = _renamed(call, notes)
    if isinstance(function, dict):
        changed["function"] = {**function, **_renamed(cast("Message", function), notes)}
    return {**call, **changed}


def _renamed(holder: Message, notes: list[str]) -> Message:
    """The names of ``holder`` that have to change, as they must be."""
    changed: Message = {}
    for key in _NAME_KEYS:
        name = holder.get(key)
        if isinstance(name, str) and valid_name(name) != name:
            changed[key] = valid_name(name)
            notes.append(f"The tool name {name[:_LONGEST_NAME]!r} is not valid and is sent as '{changed[key]}'")
    return changed


def _has_nul(value: Any) -> bool:
    kind = kind_of(value)
    if kind is str:
        return "\0" in value
    if kind is dict:
        value = value.values()
    elif kind is not list:
        return False
    for item in value:  # noqa: SIM110 - three times as fast as any(), and run for every message
        if "\0" in item if type(item) is str else _has_nul(item):
            return True
    return False


def _without_nul(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\0", "")
    if isinstance(value, list):
        return [_without_nul(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {key: _without_nul(item) for key, item in cast("dict[str, Any]", value).items()}
    return value
