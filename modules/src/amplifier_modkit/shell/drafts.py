"""What a reader notes while it goes through a text; commands are finished from it when all is read."""

from __future__ import annotations

from dataclasses import dataclass, field

from amplifier_modkit.shell.commands import Assignment, Doubt, Redirection
from amplifier_modkit.shell.words import Word

MOST_COMMANDS = 2_000
MOST_PARTS = 2_000
"""Words of a command, or pieces of a word."""


class ShellTextError(Exception):
    """A text, or a part of it, that is not read further; the message says why."""


@dataclass(slots=True, eq=False)
class Draft:
    """A simple command as it stands in the text."""

    start: int
    """Where its first word or assignment is; -1 in a text that is not the reader's own."""
    words: list[Word] = field(default_factory=list[Word])
    redirections: list[Redirection] = field(default_factory=list[Redirection])
    assignments: list[Assignment] = field(default_factory=list[Assignment])
    function: str | None = None
    is_background: bool = False
    is_piped: bool = False
    is_sure: bool = False
    """Whether it runs exactly once, whatever happens, and in the shell itself."""
    input: Redirection | tuple[Draft, ...] | None = None
    """Where its standard input comes from: a redirection, or the commands before it in the pipeline."""
    shares_input: bool = False
    """Whether other commands read from there too, so that it may not get all of it."""

    @property
    def length(self) -> int:
        """How many words, assignments and redirections it has."""
        return len(self.words) + len(self.assignments) + len(self.redirections)

    def take_input(self, source: Redirection | tuple[Draft, ...], *, is_shared: bool) -> None:
        """Takes standard input from ``source``, unless it has another already."""
        if self.input is None:
            self.input, self.shares_input = source, is_shared


@dataclass(frozen=True, slots=True)
class Write:
    """A variable that gets a value somewhere in the text."""

    name: str
    value: Word | None
    """The value, if it is written there."""
    is_number: bool = False
    draft: Draft | None = None
    """The command that is nothing but this assignment, if it is such."""


@dataclass(slots=True)
class Notes:
    """What was found in one text: commands in order, and what happens beside them."""

    drafts: list[Draft] = field(default_factory=list[Draft])
    writes: list[Write] = field(default_factory=list[Write])
    evaluated: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Variables whose value is evaluated as an expression, each with the array that it picks from, if any."""
    doubts: list[Doubt] = field(default_factory=list[Doubt])
    problems: list[str] = field(default_factory=list[str])
    functions: list[str] = field(default_factory=list[str])
    dialect: set[str] = field(default_factory=set[str])
    """Constructs that other shells than bash read in another way."""
    keywords: list[int] = field(default_factory=list[int])
    """Where words stand that tree-sitter takes for the names of commands."""
    maps: set[str] = field(default_factory=set[str])
    """Arrays whose subscripts are plain texts."""
    skipped: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Stretches of the text that were read as texts of their own."""

    parts: list[tuple[str, frozenset[int], tuple[tuple[int, int], ...]]] = field(
        default_factory=list[tuple[str, frozenset[int], tuple[tuple[int, int], ...]]]
    )
    """Texts inside of this one, each with where its commands begin and what of it was read as a text of its own."""

    def begin(self, draft: Draft) -> Draft:
        """Adds a command; there is a limit to how many are read."""
        if len(self.drafts) >= MOST_COMMANDS:
            raise ShellTextError(f"it has more than {MOST_COMMANDS:,} commands")
        self.drafts.append(draft)
        return draft

    def adopt(self, text: str, other: Notes) -> list[Draft]:
        """Takes over what was found in another text, which is kept to be compared if it is a text of commands."""
        if text:
            self.parts.append((text, other.starts(), tuple(other.skipped)))
        for draft in other.drafts:
            draft.start = -1
        self.drafts += other.drafts
        self.writes += other.writes
        self.evaluated += other.evaluated
        self.doubts += other.doubts
        self.problems += other.problems
        self.functions += other.functions
        self.parts += other.parts
        self.dialect |= other.dialect
        self.maps |= other.maps
        return other.drafts

    def starts(self) -> frozenset[int]:
        """Where commands begin in the text."""
        return frozenset([*self.keywords, *(draft.start for draft in self.drafts)])

    def length(self) -> tuple[int, ...]:
        """A mark to go back to."""
        return tuple(len(each) for each in self._lists())

    def go_back(self, length: tuple[int, ...]) -> None:
        """Forgets what was noted since ``length`` was taken."""
        for each, kept in zip(self._lists(), length, strict=True):
            del each[kept:]

    def _lists(self) -> tuple[list[object], ...]:
        return (  # pyright: ignore[reportReturnType]
            self.drafts,
            self.writes,
            self.evaluated,
            self.doubts,
            self.problems,
            self.functions,
            self.keywords,
            self.skipped,
            self.parts,
        )
