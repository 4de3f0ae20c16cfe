"""A place in a shell text, with the notes that are made on the way; what every reader of the text stands on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Never

from amplifier_modkit.shell.drafts import MOST_PARTS, Draft, Notes, ShellTextError
from amplifier_modkit.shell.words import Piece

MAX_DEPTH = 30
_MOST_RETRIES = 50
_MOST_PROBLEMS = 20


class Cursor(ABC):
    """Goes through one text from left to right; ``pos`` is always the next character to be read."""

    def __init__(self, text: str, outer: Cursor | None = None) -> None:
        self.text = text
        self.pos = 0
        self.notes = Notes()
        self.depth: int = outer.depth if outer else 0
        self.function: str | None = outer.function if outer else None
        self.is_sure: bool = outer is None
        # Shared with the readers of texts inside of this one.
        self._retries: list[int] = outer._retries if outer else [0]

    @abstractmethod
    def read_list(self, stops: frozenset[str]) -> str:
        """Reads commands up to one of ``stops``, and that too; gives the one that was found."""

    @abstractmethod
    def read_substitution(self) -> list[Draft]:
        """Reads commands up to the closing parenthesis, and that too; gives those commands."""

    @abstractmethod
    def read_other(self, text: str) -> list[Draft]:
        """Reads another text as commands of this one; gives those commands."""

    @abstractmethod
    def read_other_here_text(self, text: str) -> list[Piece]:
        """Reads another text as a here-document; commands in it are commands of this text."""

    @property
    def at(self) -> str:
        """The next character; empty at the end."""
        return self.text[self.pos : self.pos + 1]

    def sees(self, text: str) -> bool:
        """Whether ``text`` comes next."""
        return self.text.startswith(text, self.pos)

    def skip_blanks(self) -> None:
        """Goes on to what is no blank; a newline that is escaped is none."""
        while self.at in (" ", "\t") or self.sees("\\\n"):
            self.pos += 1 if self.at != "\\" else 2

    def retry(self, position: int, length: tuple[int, ...]) -> None:
        """Goes back to read in another way; there is a limit, since what is nested would be read ever more often."""
        self._retries[0] += 1
        if self._retries[0] > _MOST_RETRIES:
            self.fail("too much of it can be read in two ways")
        self.pos = position
        self.notes.go_back(length)

    def require_few(self, pieces: Sequence[Piece]) -> None:
        """There is a limit to how many pieces a word has."""
        if len(pieces) > MOST_PARTS:
            self.fail(f"a word has more than {MOST_PARTS:,} parts")

    def fail(self, reason: str) -> Never:
        """Stops reading."""
        raise ShellTextError(reason)

    def doubtful(self, reason: str) -> None:
        """Notes that the text is not understood, and lets the reader go on, so that refusals are still found."""
        self.notes.problems.append(reason)
        if len(self.notes.problems) > _MOST_PROBLEMS:
            self.fail(reason)

    @contextmanager
    def inside(self, function: str | None = None) -> Generator[None]:
        """Commands that are part of something larger; there is a limit to how deep that goes."""
        before = self.depth, self.function, self.is_sure
        self.depth, self.function, self.is_sure = self.depth + 1, function or self.function, False
        if self.depth > MAX_DEPTH:
            self.fail(f"it is nested more than {MAX_DEPTH} deep")
        try:
            yield
        finally:
            self.depth, self.function, self.is_sure = before
