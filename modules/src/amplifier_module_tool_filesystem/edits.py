"""Exact replacements in a text: all of them or none, and every line that is not touched stays as it is.

Lines that end with a carriage return and a newline match those that end with a newline alone: models write the latter,
whatever the file has.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from amplifier_module_tool_filesystem.nearness import near_lines
from amplifier_module_tool_filesystem.problems import EditError
from amplifier_module_tool_filesystem.texts import newline_of

_MOST_LINES_TOLD = 10


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement."""

    old: str
    new: str
    replaces_all: bool = False


def apply_edits(text: str, edits: Sequence[Edit]) -> tuple[str, int]:
    """The text after all edits, each made on what the one before has left, and how many replacements that were.

    Raises ``EditError`` for the first that does not fit; it says which, how often it was found, and what is near.
    """
    made = 0
    for number, edit in enumerate(edits, 1):
        which = f"Edit {number} of {len(edits)}: " if len(edits) > 1 else ""
        text, count = _apply(text, edit, which)
        made += count
    return text, made


def _apply(text: str, edit: Edit, which: str) -> tuple[str, int]:
    plain = _Plain(text)
    old, new = _with_plain_newlines(edit.old), _with_plain_newlines(edit.new)
    _require_change(old, new, which)
    starts = plain.find_all(old)
    if not starts:
        raise EditError(
            f"{which}old_string was not found (0 matches), so nothing was changed. It must be exactly what the file "
            f"has, white space included.{near_lines(plain.text, old)}"
        )
    if len(starts) > 1 and not edit.replaces_all:
        lines = [str(plain.line_at(start)) for start in starts[:_MOST_LINES_TOLD]]
        more = ", …" if len(starts) > _MOST_LINES_TOLD else ""
        raise EditError(
            f"{which}old_string was found {len(starts)} times (lines {', '.join(lines)}{more}), so nothing was "
            "changed. Give more of the text around it, or set replace_all to true."
        )
    return plain.replaced(starts, len(old), new), len(starts)


def _require_change(old: str, new: str, which: str) -> None:
    if not old:
        raise EditError(f"{which}old_string is empty. Give the text to replace; write_file makes new files.")
    if old == new:
        raise EditError(f"{which}old_string and new_string are the same, so there is nothing to change.")


class _Plain:
    """A text with plain newlines, and the way back to the one it was made of."""

    def __init__(self, original: str) -> None:
        self._original = original
        self.text = _with_plain_newlines(original)
        # Where the plain text has a newline that stands for two characters.
        self._shortened: list[int] = []
        position = original.find("\r\n")
        while position >= 0:
            self._shortened.append(position - len(self._shortened))
            position = original.find("\r\n", position + 2)
        self._newline = newline_of(original)

    def find_all(self, wanted: str) -> list[int]:
        """Where the plain text has ``wanted``, from left to right, none overlapping another."""
        found: list[int] = []
        position = self.text.find(wanted)
        while position >= 0:
            found.append(position)
            position = self.text.find(wanted, position + len(wanted))
        return found

    def line_at(self, position: int) -> int:
        """The number of the line at a position of the plain text."""
        return self.text.count("\n", 0, position) + 1

    def replaced(self, starts: Sequence[int], length: int, new: str) -> str:
        """The original with ``new`` in place of each ``length`` characters of the plain text that begin there."""
        pieces: list[str] = []
        after = 0
        for start in starts:
            begin, end = self._back(start), self._back(start + length)
            pieces += [self._original[after:begin], self._in_form_of(self._original[begin:end], new)]
            after = end
        return "".join([*pieces, self._original[after:]])

    def _back(self, position: int) -> int:
        return position + bisect_left(self._shortened, position)

    def _in_form_of(self, former: str, new: str) -> str:
        newline = newline_of(former) if "\n" in former else self._newline
        return new.replace("\n", newline)


def _with_plain_newlines(text: str) -> str:
    return text.replace("\r\n", "\n")
