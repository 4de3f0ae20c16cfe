"""Dotted keys of settings: ``session.persist`` names a value, ``sources."a.b"`` one whose name has a dot."""

from __future__ import annotations

import re
from typing import Any, cast

from amplifier.problems import UsageProblem

KeyPath = tuple[str, ...]

_PART = re.compile(r'"((?:[^"\\]|\\.)*)"|([^."]+)')
_PLAIN = re.compile(r'[^."\\\s]+')


def split_key(text: str) -> KeyPath:
    """The parts of a dotted key; raises ``UsageProblem`` for what is none."""
    parts: list[str] = []
    position = 0
    while True:
        part = _PART.match(text, position)
        if part is None:
            raise _malformed(text)
        parts.append(re.sub(r"\\(.)", r"\1", part[1]) if part[2] is None else part[2])
        position = part.end()
        if position == len(text):
            return tuple(parts)
        if text[position] != ".":
            raise _malformed(text)
        position += 1


def join_key(path: KeyPath) -> str:
    """The dotted key that ``split_key`` takes apart again."""
    return ".".join(part if _PLAIN.fullmatch(part) else _quoted(part) for part in path)


def put(value: dict[str, Any], path: KeyPath, each: Any) -> None:
    """Sets the value at ``path``, in mappings that are made where there are none."""
    for part in path[:-1]:
        inner = value.get(part)
        if not isinstance(inner, dict):
            inner = value[part] = {}
        value = cast("dict[str, Any]", inner)
    value[path[-1]] = each


def _quoted(part: str) -> str:
    escaped = part.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _malformed(text: str) -> UsageProblem:
    return UsageProblem(
        f"The key {text!r} cannot be read: expected names joined by dots, such as session.persist.",
        'A name that has a dot stands in quotes: sources."my.module"',
    )
