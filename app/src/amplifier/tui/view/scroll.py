"""What is printed for good: blank lines between what differs, and a name where another speaker goes on."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from amplifier.tui.view.changes import ROOT, Change, Code, Prose, Speaker
from amplifier.tui.view.painting import flat, one_line
from amplifier.tui.view.rendering import gutter_of, render
from amplifier.tui.view.theme import Theme


class Scroll:
    """Remembers of all that was printed only what the next change stands below."""

    def __init__(self) -> None:
        self._last: type[Any] | None = None
        self._speaker: Speaker = ROOT

    def lines(self, change: Change, width: int, theme: Theme) -> list[str]:
        """The lines to print for ``change``."""
        lines = render(change, width, theme)
        gutter, room = gutter_of(change.speaker, width, theme)
        gap = [gutter.rstrip() if change.speaker == self._speaker else ""] if self.stands_apart(change) else []
        if change.speaker != self._speaker and change.speaker.label:
            name = Text(flat(change.speaker.label, 60), theme.style("strong"))
            lines = [f"{gutter}{one_line(name, room, theme)}", *lines]
        self._last, self._speaker = type(change), change.speaker
        return [*gap, *lines]

    def interrupt(self) -> None:
        """Something else is printed: what comes next stands apart from it."""
        self._last, self._speaker = object, ROOT

    def stands_apart(self, change: Change) -> bool:
        """Whether a blank line comes before ``change``."""
        if self._last is None:
            return False
        if change.speaker != self._speaker or type(change) is not self._last:
            return not isinstance(change, Code) or change.is_first
        return change.has_gap if isinstance(change, Prose) else isinstance(change, Code) and change.is_first
