"""What a command runs beside itself, and what is at hand while that is looked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from amplifier_modkit.shell.commands import ELSEWHERE, Assignment, Mark, SimpleCommand
from amplifier_modkit.shell.options import ParsedOptions
from amplifier_modkit.shell.programs import Program
from amplifier_modkit.shell.words import Word


@dataclass(slots=True)
class Contents:
    """What a command runs."""

    marks: set[Mark] = field(default_factory=set[Mark])
    commands: list[tuple[tuple[Word, ...], tuple[Assignment, ...]]] = field(
        default_factory=list[tuple[tuple[Word, ...], tuple[Assignment, ...]]]
    )
    """Each with the variables that are set for it."""
    guesses: list[tuple[Word, ...]] = field(default_factory=list[tuple[Word, ...]])
    """Commands that it may run, depending on what is not known."""
    scripts: list[tuple[Word, str]] = field(default_factory=list[tuple[Word, str]])
    """Shell texts, each with the dialect in which they are read."""
    guessed_scripts: list[str] = field(default_factory=list[str])
    """Shell texts of which it may run some part."""

    def settled_marks(self) -> set[Mark]:
        """The marks, once all is found: a wrapper runs something, and here; an unknown text hides what it does."""
        marks = set(self.marks)
        if not (self.commands or self.scripts) or not marks.isdisjoint(ELSEWHERE):
            marks.discard(Mark.WRAPPER)
        if any(not script.is_static for script, _ in self.scripts):
            marks.add(Mark.OPAQUE)
        return marks


@dataclass(frozen=True, slots=True)
class Case:
    """A program at work: its words, parted, and where to put what is found."""

    program: Program
    words: Sequence[Word]
    options: ParsedOptions
    command: SimpleCommand
    contents: Contents

    @property
    def rest(self) -> list[Word]:
        """The words behind the options and those that come before the command."""
        return self.options.rest[self.program.skip :]

    def script(self, text: Word) -> None:
        """Notes a shell text."""
        self.contents.scripts.append((text, self.program.dialect))

    def mark(self, mark: Mark) -> None:
        """Notes what is to be known about the command."""
        self.contents.marks.add(mark)
