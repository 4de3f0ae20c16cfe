"""What is shown, before anybody knows where: lines of plain text with a meaning, and no control characters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from amplifier_core.utils.jsonable import to_jsonable
from amplifier_modkit.plain_text import on_one_line, without_controls

Style = Literal["plain", "quiet", "title", "good", "bad"]

_MOST_CHARS = 20_000
_MOST_NAME_CHARS = 200


@dataclass(frozen=True, slots=True)
class Line:
    """One line; ``label`` says whose it is, and ``is_prose`` that it may be wrapped where it is too long."""

    text: str
    style: Style = "plain"
    indent: int = 0
    label: str = ""
    is_prose: bool = False


_SIGNS: dict[Style, str] = {"good": "✓ ", "bad": "✗ "}


def sign_of(line: Line) -> str:
    """The sign in front of a line that tells how something ended."""
    return "" if line.is_prose else _SIGNS.get(line.style, "")


def short(text: str) -> str:
    """A name of somebody else's making, on one line and of limited length."""
    return on_one_line(text[:_MOST_NAME_CHARS])


def labelled(lines: Iterable[Line], label: str) -> list[Line]:
    """The lines with a label in front."""
    return [replace(line, label=label) for line in lines] if label else list(lines)


def prose(text: str, style: Style, most: int) -> list[Line]:
    """A text for reading, with so many of its lines."""
    shown = _clean_lines(text, most)
    return [replace(line, style=style, is_prose=True) for line in shown]


def arguments(given: Any, most: int) -> list[Line]:
    """The arguments of a call, a line for each; texts of several lines follow their name."""
    if not isinstance(given, Mapping):
        return _cut([f"{_compact(given)}"] if given else [], most)
    found: list[str] = []
    for key, value in cast("Mapping[Any, Any]", given).items():
        name = short(str(key))
        if isinstance(value, str) and "\n" in value[:_MOST_CHARS].strip():
            found += [f"{name}:", *(f"  {line}" for line in _split(value))]
        else:
            found.append(f"{name}: {on_one_line(value[:_MOST_CHARS]) if isinstance(value, str) else _compact(value)}")
    return _cut(found, most)


def outcome(result: Any, most: int) -> tuple[bool, list[Line]]:
    """Whether a tool succeeded, and what it gave."""
    is_success = _field(result, "success", True) is not False
    told = _field(result, "output", None)
    if not is_success:
        error = _field(result, "error", None)
        told = _field(error, "message", error) if isinstance(error, Mapping) else (error or told)
    if told is None:
        return is_success, []
    return is_success, _clean_lines(told if isinstance(told, str) else _compact(told), most)


def _clean_lines(text: str, most: int) -> list[Line]:
    return _cut(_split(text), most, indent=0)


def _split(text: str) -> list[str]:
    return [line.rstrip() for line in without_controls(text[:_MOST_CHARS]).strip("\n").split("\n")]


def _cut(lines: list[str], most: int, indent: int = 2) -> list[Line]:
    shown = [Line(line, "quiet", indent) for line in lines[:most]]
    left = len(lines) - most
    if left > 0 and most > 0:
        shown.append(Line(f"... {left} more {'line' if left == 1 else 'lines'}", "quiet", indent))
    return shown


def _compact(value: Any) -> str:
    return on_one_line(json.dumps(to_jsonable(value), ensure_ascii=False)[:_MOST_CHARS])


def _field(holder: Any, name: str, default: Any) -> Any:
    if isinstance(holder, Mapping):
        return cast("Mapping[str, Any]", holder).get(name, default)
    return getattr(holder, name, default)
