"""From lines to what a terminal shows: width, colours and signs as it has them. Data in, text out."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from amplifier_module_hooks_streaming_ui.lines import Line, Style, sign_of

_COLOURS: dict[Style, str] = {"quiet": "2", "title": "1", "good": "32", "bad": "31", "plain": ""}
_PLAIN_SIGNS: dict[Style, str] = {"good": "ok ", "bad": "failed "}
_LEAST_WIDTH = 20
_CUT = "…"


@dataclass(frozen=True, slots=True)
class Terminal:
    """What a terminal can do."""

    width: int = 80
    has_colours: bool = False
    encoding: str = "utf-8"


def paint(lines: Iterable[Line], terminal: Terminal) -> str:
    """The text for ``terminal``, each line ended, none wider than it is."""
    return "".join(f"{row}\n" for line in lines for row in _rows(line, terminal))


def width_of(text: str) -> int:
    """How many columns a text takes."""
    return len(text) if text.isascii() else sum(map(_char_width, text))


def _rows(line: Line, terminal: Terminal) -> Iterator[str]:
    prefix = f"{line.label} " if line.label else ""
    start = prefix + " " * line.indent
    room = max(_LEAST_WIDTH, terminal.width - width_of(start))
    text = _encodable(_sign(line, terminal.encoding) + line.text, terminal.encoding)
    for row in _wrapped(text, room) if line.is_prose else [_clipped(text, room, terminal.encoding)]:
        painted = _coloured(row, line.style) if terminal.has_colours and row else row
        yield _encodable(start, terminal.encoding) + painted if row else _encodable(start, terminal.encoding).rstrip()


def _sign(line: Line, encoding: str) -> str:
    sign = sign_of(line)
    return sign if _encodable(sign, encoding) == sign else _PLAIN_SIGNS[line.style]


def _encodable(text: str, encoding: str) -> str:
    try:
        return text.encode(encoding, "replace").decode(encoding)
    except LookupError:
        return text.encode("ascii", "replace").decode()


def _coloured(text: str, style: Style) -> str:
    colour = _COLOURS[style]
    return f"\x1b[{colour}m{text}\x1b[0m" if colour else text


def _clipped(text: str, room: int, encoding: str) -> str:
    if _fitting(text, room) == len(text):
        return text
    cut = _CUT if _encodable(_CUT, encoding) == _CUT else "..."
    return text[: _fitting(text, room - len(cut))] + cut


def _wrapped(text: str, room: int) -> Iterator[str]:
    """The text in rows: at spaces where there are any, else wherever a row is full."""
    while (end := _fitting(text, room)) < len(text):
        space = text.rfind(" ", 1, end + 1)
        end = space if space > 0 and text[:space].strip() else end
        yield text[:end].rstrip()
        text = text[end:].lstrip()
    yield text


def _fitting(text: str, room: int) -> int:
    """How many characters fit; one at least, if there is any."""
    used = 0
    for number, char in enumerate(text):
        used += _char_width(char)
        if used > room:
            return max(1, number)
    return len(text)


def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
