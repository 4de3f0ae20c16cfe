"""A list out of which one thing is chosen: what fits the words that were typed, where one is, and how it looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from amplifier.console.plain import one_line

MOST_ROWS = 10
_MOST_CHARS = 400
_BETWEEN = "  "
_BOLD, _QUIET, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing that can be chosen."""

    label: str
    note: str = ""
    """What is told beside it."""


class Picker:
    """One list while it is open; knows nothing of keys and terminals."""

    def __init__(self, title: str, choices: Sequence[Choice], start: int = 0) -> None:
        """``start`` is where one is at first."""
        self._title = one_line(title, _MOST_CHARS)
        self._rows = [(one_line(each.label, _MOST_CHARS), one_line(each.note, _MOST_CHARS)) for each in choices]
        self._fitting = list(range(len(self._rows)))
        self._place = min(max(start, 0), max(len(self._rows) - 1, 0))
        self._top = 0

    @property
    def chosen(self) -> int | None:
        """The number of the choice on which one is, counted from 0; ``None`` where nothing fits."""
        return self._fitting[self._place] if self._fitting else None

    @property
    def fitting(self) -> list[int]:
        """The numbers of the choices that fit what was typed."""
        return list(self._fitting)

    def narrow(self, text: str) -> None:
        """Keeps the choices in which every word of ``text`` stands, in whatever case; one is on the first of them."""
        words = text.casefold().split()
        rows = (f"{label} {note}".casefold() for label, note in self._rows)
        self._fitting = [number for number, row in enumerate(rows) if all(word in row for word in words)]
        self._place = self._top = 0

    def move(self, by: int) -> None:
        """Goes down, or up; the ends are ends."""
        self._place = min(max(self._place + by, 0), max(len(self._fitting) - 1, 0))

    def told(self, number: int) -> str:
        """One choice in words, without its place."""
        label, note = self._rows[number]
        return f"{label} — {note}" if note else label

    @property
    def title(self) -> str:
        """What is chosen."""
        return self._title

    def lines(self, size: tuple[int, int], *, has_colour: bool) -> list[str]:
        """The title, the choices around the present one, and where one is: no wider than the terminal."""
        columns, rows = size
        height = max(1, min(MOST_ROWS, rows // 2 - 3))
        self._scroll(height)
        shown = self._fitting[self._top : self._top + height]
        width = max((cell_len(self._rows[number][0]) for number in shown), default=0)
        width = min(width, max(columns * 2 // 3, 1))
        listed = [self._line(number, width, columns, has_colour) for number in shown]
        title = _painted(_fitted(self._title, columns), _BOLD, has_colour)
        return [title, *listed, _painted(_fitted(self._standing(), columns), _QUIET, has_colour)]

    def _scroll(self, height: int) -> None:
        # A terminal that has grown has room for what was above.
        most = max(len(self._fitting) - height, 0)
        self._top = min(max(self._top, self._place - height + 1), self._place, most)

    def _line(self, number: int, width: int, columns: int, has_colour: bool) -> str:
        label, note = self._rows[number]
        is_here = number == self.chosen
        named = f"{'❯' if is_here else ' '} {_fitted(label, width)}"
        padded = set_cell_size(named, width + 2) if note else named
        beside = _fitted(note, columns - cell_len(padded) - len(_BETWEEN))
        begin = _painted(_fitted(padded, columns), _BOLD if is_here else "", has_colour)
        return f"{begin}{_BETWEEN}{_painted(beside, _QUIET, has_colour)}" if beside else begin

    def _standing(self) -> str:
        count, most = len(self._fitting), len(self._rows)
        place = f"{self._place + 1} of {count}" if count else "nothing fits"
        among = "" if count == most else f", {most} in all"
        return f"{place}{among} · Enter chooses, Esc leaves it, typing looks for words"


def _fitted(text: str, width: int) -> str:
    """``text``, cut where ``width`` cells end."""
    if cell_len(text) <= width:
        return text
    return f"{set_cell_size(text, width - 1).rstrip()}…" if width > 0 else ""


def _painted(text: str, style: str, has_colour: bool) -> str:
    return f"{style}{text}{_PLAIN}" if has_colour and style and text else text
