"""The view of a chat: told what happens, it prints what is finished and keeps the few lines that still change."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, cast

from amplifier.tui.view.changes import ROOT, Begun, Call, Change, Level, Note, Prompt, Thought
from amplifier.tui.view.diffs import Former
from amplifier.tui.view.live import live_region, working_line
from amplifier.tui.view.module_events import SESSION_CHILD_EVENT
from amplifier.tui.view.pieces import Cutter
from amplifier.tui.view.rendering import render
from amplifier.tui.view.scroll import Scroll
from amplifier.tui.view.status import Status
from amplifier.tui.view.theme import Theme
from amplifier.tui.view.transcript import Transcript

Write = Callable[[str], None]
Size = Callable[[], tuple[int, int]]
_KEPT_FOLDED = 50


class View:
    """Shows one conversation; lives as long as the chat.

    ``write`` gets whole lines, once each, with the line end. ``size`` gives columns and rows. ``former`` tells what a
    file holds before a tool writes it, so that the change can be shown.
    """

    def __init__(
        self,
        write: Write,
        size: Size,
        theme: Theme | None = None,
        *,
        former: Former = lambda path: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write = write
        self._size = size
        self._theme = theme or Theme()
        self._clock = clock
        self._transcript = Transcript(clock, former)
        self._status = Status(clock)
        self._scroll = Scroll()
        self._folded: deque[Call | Thought] = deque(maxlen=_KEPT_FOLDED)
        self._is_changed = False

    @property
    def theme(self) -> Theme:
        """How it looks."""
        return self._theme

    @property
    def is_working(self) -> bool:
        """Whether a turn is going on, by what events tell."""
        return self._status.is_working

    def event(self, event: str, data: dict[str, Any]) -> None:
        """Something has happened, in the session or one of its children."""
        if event == SESSION_CHILD_EVENT:
            event, data = _of_child(data)
        self._status.event(event, data)
        self._print(self._transcript.apply(event, data))
        self._is_changed = True

    def tick(self) -> bool:
        """Time goes on: whether the live lines are to be drawn again."""
        is_changed, self._is_changed = self._is_changed, False
        return not self._theme.is_plain and (is_changed or self._status.is_working)

    def live_lines(self) -> list[str]:
        """The lines that still change, for above the input line; the last one is the status. None in plain mode."""
        if self._theme.is_plain:
            return []
        size, now = self._size(), self._clock()
        region = live_region(self._transcript, size, self._theme, now)
        if self._status.is_working and not region:
            region = [working_line(size[0], self._theme, now)]
        status = self._status.line(size[0], self._theme)
        return [*region, *([status] if status else [])]

    def status_line(self) -> str:
        """Model, mode, tokens, context, cost and time on one line."""
        return self._status.line(self._size()[0], self._theme)

    def print_user(self, text: str) -> None:
        """Prints what the user has said."""
        self._print([Prompt(text)])

    def notice(self, text: str, level: Level = "info") -> None:
        """Prints a short message of the chat itself."""
        self._print([Note(text, level)])

    def print_markdown(self, text: str) -> None:
        """Prints a text of the chat's own, such as help; also an earlier answer when a session goes on."""
        cutter = Cutter(ROOT)
        self._print([*cutter.feed(text), *cutter.finish()])

    def status(self, **facts: Any) -> None:
        """What the status line shows beside what events tell; ``None`` takes a fact back.

        Known are mode, model, context_window, tokens, cost_usd and elapsed_s; others are shown with their names.
        """
        self._status.state(**facts)
        self._is_changed = True

    def unfold(self, count: int = 1) -> int:
        """Prints the last folded thoughts and calls again, whole; gives how many."""
        theme = replace(self._theme, is_unfolded=True)
        chosen = list(self._folded)[-count:] if count > 0 else []
        for change in chosen:
            self._put(["", *render(change, self._size()[0], theme)])
        return len(chosen)

    def set_theme(self, theme: Theme) -> None:
        """Looks different from here on; what is printed stays as it is."""
        self._theme = theme
        self._is_changed = True

    def _print(self, changes: Iterable[Change]) -> None:
        lines: list[str] = []
        for change in changes:
            if isinstance(change, Begun) and not self._theme.is_plain:
                continue
            if isinstance(change, Call | Thought):
                self._folded.append(change)
            lines += self._scroll.lines(change, self._size()[0], self._theme)
        if lines:
            self._put(lines)

    def _put(self, lines: list[str]) -> None:
        self._write("".join(f"{line}\n" for line in lines))


def _of_child(data: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    told: Any = data.get("data")
    return str(data.get("event")), cast("dict[str, Any]", told) if isinstance(told, dict) else {}
