"""The view of a chat: told what happens, it prints what is finished and keeps the few lines that still change."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

from amplifier.tui.view.call_words import given_of
from amplifier.tui.view.changes import ROOT, Begun, Call, Change, Level, Note, Prompt, Thought
from amplifier.tui.view.diffs import Former
from amplifier.tui.view.live import first_open, live_region, working_line
from amplifier.tui.view.module_events import SESSION_CHILD_EVENT
from amplifier.tui.view.painting import cleaned, flat
from amplifier.tui.view.pieces import Cutter
from amplifier.tui.view.rendering import question_lines, render
from amplifier.tui.view.scroll import Scroll
from amplifier.tui.view.status import Status
from amplifier.tui.view.theme import Theme
from amplifier.tui.view.transcript import Transcript

Write = Callable[[str], None]
Size = Callable[[], tuple[int, int]]
_KEPT_FOLDED = 50
_KEPT_FOLDED_CHARS = 2_000_000
"""However long a conversation is, and whatever its tools give, no more of it is kept here."""
_FRAMES_PER_S = 10
_LEAST_ROWS_WITH_GAPS = 14
_MOST_FACT = 4_000
_LEAST_ROWS_BESIDE_QUESTION = 12
"""On a terminal with fewer rows a question needs those of what goes on beside it."""


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
        self._folded: deque[tuple[int, Call | Thought]] = deque(maxlen=_KEPT_FOLDED)
        """With their sizes."""
        self._is_changed = False
        self._is_waiting = False
        self._revision = 0
        self._drawn: tuple[tuple[Any, ...], list[str], str] = ((), [], "")
        """The live lines and the status as they were laid out last, and for what."""

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
        self._change()

    def tick(self) -> bool:
        """Time goes on: whether the live lines are to be drawn again."""
        is_changed, self._is_changed = self._is_changed, False
        return not self._theme.is_plain and (is_changed or self._status.is_working)

    def live_lines(self) -> list[str]:
        """The lines that still change, for above the status line, with blank ones around. None in plain mode."""
        return [] if self._theme.is_plain else self._frame()[1].copy()

    def status_line(self) -> str:
        """Model, mode, tokens, context, cost and time on one line."""
        return self._frame()[2]

    def _frame(self) -> tuple[tuple[Any, ...], list[str], str]:
        size, now = self._size(), self._clock()
        # A terminal asks several times for each frame.
        wanted = (self._revision, size, self._theme, int(now * _FRAMES_PER_S))
        if self._drawn[0] != wanted:
            status = self._status.line(size[0], self._theme, has_time=not self._is_waiting)
            self._drawn = (wanted, self._laid_out(size, now, bool(status)), status)
        return self._drawn

    def _laid_out(self, size: tuple[int, int], now: float, has_status: bool) -> list[str]:
        is_low = self._is_waiting and size[1] < _LEAST_ROWS_BESIDE_QUESTION
        region = [] if is_low else live_region(self._transcript, size, self._theme, now)
        if self._status.is_working and not region and not self._is_waiting:
            region = [working_line(size[0], self._theme, now)]
        if size[1] < _LEAST_ROWS_WITH_GAPS:
            return region
        gap = [""] if region and self._scroll.stands_apart(first_open(self._transcript)) else []
        return [*gap, *region, *([""] if has_status else [])]

    def print_user(self, text: str) -> None:
        """Prints what the user has said."""
        self._print([Prompt(text)])

    def notice(self, text: str, level: Level = "info") -> None:
        """Prints a short message of the chat itself."""
        self._print([Note(text, level)])

    def print_question(self, text: str, kind: str = "plain") -> None:
        """Prints a part of a question, whole; ``kind`` is ``plain`` or ``diff``."""
        self._scroll.interrupt()
        self._put(["", *question_lines(text, kind, self._size()[0], self._theme)])

    def print_output(self, text: str) -> None:
        """Prints what a command of the user writes, as it comes, in whole lines."""
        if text:
            self._scroll.interrupt()
            self._write(cleaned(text))

    def print_facts(self, facts: Sequence[tuple[str, str]]) -> None:
        """Prints names and values below each other; a long value is not cut or folded, so that it can be copied."""
        width = max(len(name) for name, _ in facts)
        self._scroll.interrupt()
        self._put(["", *(f" {name:<{width}}  {flat(value, _MOST_FACT)}" for name, value in facts)])

    def wait(self, is_waiting: bool) -> None:
        """Whether the turn waits for the user: then it is not shown to work."""
        self._is_waiting = is_waiting
        self._change()

    def print_markdown(self, text: str) -> None:
        """Prints a text of the chat's own, such as help; also an earlier answer when a session goes on."""
        cutter = Cutter(ROOT)
        self._print([*cutter.feed(text), *cutter.finish()])

    def status(self, **facts: Any) -> None:
        """What the status line shows beside what events tell; ``None`` takes a fact back.

        Known are mode, model, context_window, tokens, cost_usd and elapsed_s; others are shown with their names.
        """
        self._status.state(**facts)
        self._change()

    def begin_page(self) -> None:
        """The screen is empty: what comes next stands below nothing."""
        self._scroll = Scroll()

    def begin_session(self) -> None:
        """Another session: tokens, context, cost and time begin anew."""
        self._status.begin()
        self._change()

    def unfold(self, count: int = 1) -> int:
        """Prints the last folded thoughts and calls again, whole; gives how many."""
        theme = replace(self._theme, is_unfolded=True)
        chosen = [change for _, change in self._folded][-count:] if count > 0 else []
        for change in chosen:
            self._put(["", *render(change, self._size()[0], theme)])
        return len(chosen)

    def set_theme(self, theme: Theme) -> None:
        """Looks different from here on; what is printed stays as it is."""
        self._theme = theme
        self._change()

    def _change(self) -> None:
        self._is_changed = True
        self._revision += 1

    def _print(self, changes: Iterable[Change]) -> None:
        lines: list[str] = []
        for change in changes:
            if isinstance(change, Begun) and not self._theme.is_plain:
                continue
            if isinstance(change, Call | Thought):
                self._keep(change)
            lines += self._scroll.lines(change, self._size()[0], self._theme)
        if lines:
            self._put(lines)

    def _keep(self, change: Call | Thought) -> None:
        self._folded.append((_size(change), change))
        while len(self._folded) > 1 and sum(size for size, _ in self._folded) > _KEPT_FOLDED_CHARS:
            self._folded.popleft()

    def _put(self, lines: list[str]) -> None:
        self._write("".join(f"{line}\n" for line in lines))


def _of_child(data: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    told: Any = data.get("data")
    return str(data.get("event")), cast("dict[str, Any]", told) if isinstance(told, dict) else {}


def _size(change: Call | Thought) -> int:
    if isinstance(change, Thought):
        return len(change.text)
    lines = () if change.diff is None else change.diff.lines
    return len(change.output) + len(change.error) + len(given_of(change.given)) + sum(len(text) for _, text in lines)
