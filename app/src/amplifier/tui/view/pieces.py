"""Cuts Markdown that is still being written into pieces that are finished: each can be shown for good.

A piece ends at a blank line, a heading, the next item of a list, a fence. Lines of code are let go in portions, and
so is anything that grows without end: what is not finished stays small, and so does the work to show it.
"""

from __future__ import annotations

import re
from textwrap import dedent

from amplifier.tui.view.changes import Code, Prose, Speaker

_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})\s*([^\s`]*)[^`]*$")
_HEADING = re.compile(r"#{1,6}(\s|$)")
_ITEM = re.compile(r"([-*+]|\d{1,9}[.)])(\s|$)")
_FIRST_ITEM = re.compile(r"([-*+]|1[.)])\s+\S")
_MOST_PROSE = 6_000
_MOST_CODE_LINES = 24
_MOST_CONTEXT = 48

Piece = Prose | Code


class Cutter:
    """One block of an answer, cut while it comes; ``finish`` gives the rest."""

    def __init__(self, speaker: Speaker) -> None:
        self._speaker = speaker
        self._partial: list[str] = []
        self._partial_size = 0
        self._lines: list[str] = []
        self._size = 0
        self._has_gap = True
        self._is_after_blank = False
        self._is_item = False
        self._is_continued = False
        self._fence: _Fence | None = None
        self._done: list[Piece] = []

    def feed(self, text: str) -> list[Piece]:
        """Takes what has come; gives what is finished by it."""
        if "\n" in text:
            *whole, text = text.split("\n")
            whole[0] = self._take_partial() + whole[0]
            for line in whole:
                self._add(line)
        self._partial.append(text)
        self._partial_size += len(text)
        if self._is_after_blank and text and not text[0].isspace() and self._partial_size == len(text):
            # Only what is indented can belong to the item above.
            self._let_prose_go()
        if self._partial_size > _MOST_PROSE:
            self._cut_long_line()
        done, self._done = self._done, []
        return done

    def finish(self) -> list[Piece]:
        """Gives what is left; the block is over."""
        partial = self._take_partial()
        if partial:
            self._add(partial)
        if self._fence is not None:
            self._let_code_go(is_last=True)
            self._fence = None
        self._let_prose_go()
        done, self._done = self._done, []
        return done

    @property
    def rest(self) -> Piece | None:
        """What has come and is not finished."""
        partial = "".join(self._partial)
        blank = [""] if self._is_after_blank and self._lines else []
        lines = [*self._lines, *blank, partial] if partial else self._lines
        if self._fence is not None:
            return self._fence.code(lines, self._speaker, is_last=False)
        has_gap = self._has_gap or (self._is_after_blank and not self._lines)
        return Prose("\n".join(lines), has_gap, self._speaker) if lines else None

    def _take_partial(self) -> str:
        partial = "".join(self._partial)
        self._partial.clear()
        self._partial_size = 0
        return partial

    def _cut_long_line(self) -> None:
        line = self._take_partial()
        end = line.rfind(" ") + 1 or len(line)
        self._add(line[:end])
        if self._fence is None:
            self._let_prose_go()
            self._has_gap = False
        self._partial = [line[end:]]
        self._partial_size = len(line) - end

    def _add(self, line: str) -> None:
        if self._fence is not None:
            self._add_code(line)
        elif not line.strip():
            self._is_after_blank = True
            if not self._is_item:
                self._let_prose_go()
        elif (found := _FENCE.match(line)) and not (found[1] and self._is_item):
            self._let_prose_go()
            self._is_after_blank = False
            self._fence = _Fence(found[2], found[3], len(found[1]))
        else:
            self._add_prose(line)

    def _add_prose(self, line: str) -> None:
        is_heading = _HEADING.match(line) is not None
        is_item = self._begins_item(line)
        is_inside = line[0].isspace() and self._is_item
        if is_heading or is_item or (self._is_after_blank and not is_inside):
            has_gap = self._is_after_blank or is_heading
            self._let_prose_go()
            self._has_gap = self._has_gap or has_gap
            self._is_item = is_item
        elif self._is_after_blank:
            self._lines.append("")
        self._is_after_blank = False
        self._lines.append(line)
        self._size += len(line) + 1
        if is_heading:
            self._let_prose_go()
            self._has_gap = True
        elif self._size > _MOST_PROSE:
            self._let_prose_go()
            self._is_continued = True

    def _begins_item(self, line: str) -> bool:
        can_interrupt = self._is_item or self._is_after_blank or not self._lines
        return (_ITEM if can_interrupt else _FIRST_ITEM).match(line) is not None

    def _let_prose_go(self) -> None:
        if self._lines:
            source = "\n".join(self._lines)
            self._done.append(Prose(dedent(source) if self._is_continued else source, self._has_gap, self._speaker))
            self._lines = []
            self._size = 0
            self._has_gap = False
            self._is_continued = False

    def _add_code(self, line: str) -> None:
        fence = self._fence
        assert fence is not None
        if fence.is_closed_by(line):
            self._let_code_go(is_last=True)
            self._fence = None
            self._has_gap = True
            self._is_item = False
            return
        self._lines.append(fence.without_indent(line))
        if len(self._lines) >= _MOST_CODE_LINES:
            self._let_code_go(is_last=False)

    def _let_code_go(self, *, is_last: bool) -> None:
        assert self._fence is not None
        self._done.append(self._fence.code(self._lines, self._speaker, is_last=is_last))
        self._fence.passed(self._lines)
        self._lines = []


class _Fence:
    """A block of code that has begun."""

    def __init__(self, mark: str, language: str, indent: int) -> None:
        self._mark = mark
        self._language = language
        self._indent = indent
        self._context: tuple[str, ...] = ()
        self._is_first = True

    def is_closed_by(self, line: str) -> bool:
        bare = line.strip()
        return len(bare) >= len(self._mark) and not bare.strip(self._mark[0])

    def without_indent(self, line: str) -> str:
        return line.removeprefix(" " * self._indent)

    def code(self, lines: list[str], speaker: Speaker, *, is_last: bool) -> Code:
        return Code(tuple(lines), self._language, self._context, self._is_first, is_last, speaker)

    def passed(self, lines: list[str]) -> None:
        self._context = (*self._context, *lines)[-_MOST_CONTEXT:]
        self._is_first = False
