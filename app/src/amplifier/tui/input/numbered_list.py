"""A picker in lines, for terminals on which nothing can be drawn: a list with numbers, and the number is typed."""

from __future__ import annotations

from collections.abc import Callable

from amplifier.tui.picker import Picker

_LISTED = 20


class NumberedList:
    """One list while it is open; shown when it is made."""

    def __init__(self, picker: Picker, write: Callable[[str], None]) -> None:
        self._picker = picker
        self._write = write
        self.chosen: int | None = None
        """The number of the choice, counted from 0, once one was made."""
        self._show()

    def take(self, line: str) -> bool:
        """Takes a line: a number chooses, nothing leaves it, words look for others. Gives whether it is over."""
        word = line.strip()
        if word.isdecimal() and int(word) - 1 in self._picker.fitting:
            self.chosen = int(word) - 1
            return True
        if word:
            self._picker.narrow(word)
            self._show()
        return not word

    def _show(self) -> None:
        rows = [f"{number + 1} {self._picker.told(number)}" for number in self._picker.fitting]
        left = len(rows) - _LISTED
        more = [f"and {left} more"] if left > 0 else [] if rows else ["nothing fits"]
        asked = "Type a number to choose, a word to look for, or nothing to leave it."
        self._write("".join(f"{line}\n" for line in (self._picker.title, *rows[:_LISTED], *more, asked)))
