"""Words of a shell command after the quotes are gone: what is known of each, and what only a run would tell.

A word is a row of pieces. Known text stands beside holes: variables, output of commands, wildcards for file names.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """What a piece of a word is."""

    TEXT = "text"
    GLOB = "glob"
    """A wildcard for file names: ``*``, ``?`` or a bracket."""
    TILDE = "tilde"
    """Somebody's home folder; the text is the name behind the tilde."""
    VARIABLE = "variable"
    COMMAND = "command"
    """The output of commands."""
    NUMBER = "number"
    """Something that can only be digits, such as a length."""
    PROCESS = "process"
    """The path of a pipe to or from commands."""
    UNKNOWN = "unknown"


_SHOWN = {
    Kind.TEXT: "{}",
    Kind.GLOB: "{}",
    Kind.TILDE: "~{}",
    Kind.VARIABLE: "${}",
    Kind.COMMAND: "$({})",
    Kind.NUMBER: "$(({}))",
    Kind.PROCESS: "<({})",
    Kind.UNKNOWN: "{}",
}
# What stands for any number of characters when a word is compared; no shell word can hold a NUL.
ANYTHING = "\0"

_BRACKETS = frozenset({"!", "[[", "]]", "{", "}"})
_LOOPS = frozenset({"do", "done", "for", "in", "select", "until", "while"})
_BRANCHES = frozenset({"case", "elif", "else", "esac", "fi", "if", "then"})
RESERVED = _BRACKETS | _LOOPS | _BRANCHES | {"coproc", "function"}
"""Words that the language keeps for itself."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One stretch of a word."""

    kind: Kind
    text: str
    """The text itself, or what the hole is about: the name of a variable, the source of a substitution."""
    is_quoted: bool = False
    may_split: bool = False
    """Whether the shell can make several words of it, or none."""
    guesses: tuple[str, ...] = ()
    """What the hole may turn out to be, as far as the text tells."""

    @property
    def shown(self) -> str:
        """The piece as a person would write it."""
        return _SHOWN[self.kind].format(self.text)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a command: its pieces, and how it was written."""

    pieces: tuple[Piece, ...]
    raw: str = ""

    @property
    def value(self) -> str | None:
        """The word that the command gets; ``None`` if that is not known before it runs."""
        pieces = self.pieces
        if len(pieces) == 1:
            return pieces[0].text if pieces[0].kind is Kind.TEXT else None
        if any(piece.kind is not Kind.TEXT for piece in pieces):
            return None
        return "".join([piece.text for piece in pieces])

    @property
    def is_static(self) -> bool:
        """Whether the word is known."""
        return self.value is not None

    @property
    def may_split(self) -> bool:
        """Whether it can become several words, or none."""
        return any(piece.may_split for piece in self.pieces)

    @property
    def is_pattern(self) -> bool:
        """Whether nothing but file names that fit are unknown of it."""
        return not self.is_static and all(piece.kind in (Kind.TEXT, Kind.GLOB) for piece in self.pieces)

    @property
    def text(self) -> str:
        """What is known, with the holes as a person would write them; to be shown, not to be compared."""
        return "".join([piece.shown for piece in self.pieces])

    @property
    def outline(self) -> str:
        """What is known, with ``ANYTHING`` for each hole; wildcards for file names stay themselves."""
        return "".join([piece.text if piece.kind in (Kind.TEXT, Kind.GLOB) else ANYTHING for piece in self.pieces])

    @property
    def known_start(self) -> str:
        """The text before the first hole."""
        return self.outline.partition(ANYTHING)[0]


def listed(text: str) -> tuple[str, ...]:
    """The names in a list that is written as one text, for tables."""
    return tuple(text.split())


def static(text: str) -> Word:
    """The word that is exactly ``text``."""
    return Word((Piece(Kind.TEXT, text),), text)


def unknown(about: str, *, may_split: bool = False) -> Word:
    """A word of which nothing is known but what it is about."""
    return Word((Piece(Kind.UNKNOWN, about, may_split=may_split),), about)
