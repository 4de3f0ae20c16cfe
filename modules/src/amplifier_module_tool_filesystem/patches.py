"""A patch as data: which files change, and how; whatever the text looked like that it came in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Action = Literal["add", "update", "delete"]


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that replace others, among lines that stay."""

    header: str
    """How the patch calls it, for messages."""
    lines: tuple[tuple[str, str], ...]
    """Pairs of a sign and a text: a blank stays, a minus goes, a plus comes."""
    start: int | None = None
    """The number of the first line in the former file, if the patch tells."""
    anchors: tuple[str, ...] = ()
    """Lines that come somewhere before it, in this order."""
    is_at_end: bool = False
    """Whether the file ends with it."""
    ends_without_newline: bool = False
    """Whether the last line of what it makes has no newline."""

    @property
    def old(self) -> list[str]:
        """The lines that must be there."""
        return [text for sign, text in self.lines if sign != "+"]

    @property
    def new(self) -> list[str]:
        """The lines that will be there."""
        return [text for sign, text in self.lines if sign != "-"]


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What happens to one file."""

    action: Action
    path: str
    hunks: tuple[Hunk, ...] = ()
    new_path: str | None = None
    """Where it is moved, if it is."""
    mode: int | None = None
    """The mode it gets, if the patch tells."""


def content_of(hunks: tuple[Hunk, ...]) -> str:
    """The content of a file that is made by hunks alone."""
    lines = [line for hunk in hunks for line in hunk.new]
    ends_bare = bool(hunks) and hunks[-1].ends_without_newline
    return "\n".join(lines) + ("" if ends_bare or not lines else "\n")
