"""Do values fit the schema? Each complaint names the key, what was expected, and the nearest key that exists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from amplifier.nearest import nearest
from amplifier.settings.key_paths import KeyPath, join_key
from amplifier.settings.schema import Schema, schema_at

_TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": int | float,
    "boolean": bool,
    "array": list,
    "object": dict,
}
_WORDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
}


class Complaint(NamedTuple):
    """One thing that does not fit; an unknown key is worth a warning, anything else an error."""

    path: KeyPath
    message: str
    is_unknown: bool


def complaints(value: Any) -> Iterator[Complaint]:
    """What does not fit in the settings of one scope."""
    yield from _check(value, schema_at(()) or {}, ())


def _check(value: Any, declared: Schema, path: KeyPath) -> Iterator[Complaint]:
    if value is None:  # as if it was not written
        return
    if not _is_of(value, declared["type"]):
        yield Complaint(path, f"'{join_key(path)}' must be {_WORDS[declared['type']]}, not {_told(value)}", False)
    elif "enum" in declared and value not in declared["enum"]:
        yield Complaint(
            path, f"'{join_key(path)}' must be one of {', '.join(declared['enum'])}, not {_told(value)}", False
        )
    elif _is_below(value, declared):
        yield Complaint(path, f"'{join_key(path)}' must be at least {declared['minimum']}, not {_told(value)}", False)
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[Any]", value)):
            yield from _check(item, declared["items"], (*path, str(index)))
    elif isinstance(value, dict):
        yield from _check_members(cast("dict[str, Any]", value), declared, path)


def _check_members(value: dict[str, Any], declared: Schema, path: KeyPath) -> Iterator[Complaint]:
    known: dict[str, Schema] = declared.get("properties", {})
    for name, inner in value.items():
        if name in known:
            yield from _check(inner, known[name], (*path, name))
        elif declared.get("additionalProperties") is False:
            yield Complaint((*path, name), unknown_key((*path, name), known), True)


def unknown_key(path: KeyPath, known: dict[str, Any]) -> str:
    """The sentence about a key that does not exist beside those that do."""
    if not known:
        return f"there is no setting '{join_key(path)}': '{join_key(path[:-1])}' has none inside"
    near = nearest(path[-1], known)
    meant = f"did you mean '{join_key((*path[:-1], near))}'?" if near else f"known are {', '.join(sorted(known))}"
    return f"there is no setting '{join_key(path)}'; {meant}"


def _is_below(value: Any, declared: Schema) -> bool:
    return "minimum" in declared and value < declared["minimum"]


def _is_of(value: Any, kind: str) -> bool:
    # In Python truth is a number as well.
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _told(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
