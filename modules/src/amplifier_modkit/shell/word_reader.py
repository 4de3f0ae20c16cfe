"""Reads words up to the blank or operator that ends them, removes their quotes and expands their braces."""

from __future__ import annotations

import re
from collections.abc import Sequence

from amplifier_modkit.shell.braces import UnknownWordsError, expand_braces
from amplifier_modkit.shell.expansions import ExpansionReader
from amplifier_modkit.shell.words import Kind, Piece, Word

_PLAIN = re.compile(r"[A-Za-z0-9_./:=,@%+\-^{}~#!\]]+")
_ENDS = frozenset(" \t\n|&;()<>")
_TILDE = re.compile(r"~([A-Za-z0-9_.+-]*)(?=/|$)")
_PART_OF_PATTERN = frozenset("*?[")
# Bytes that some systems take for blanks; a character with one of them may end a word there.
_BLANK_BYTES = frozenset(b"\x85\xa0")
_FIRST_PRINTABLE, _DELETE = " ", "\x7f"


class WordReader(ExpansionReader):
    """Reads words without looking at what they are for."""

    def read_word(self) -> list[Word]:
        """Reads one word as it is written; braces may make several of it, or none."""
        start = self.pos
        pieces = self.read_pieces()
        return self.finished(pieces, self.text[start : self.pos])

    def read_single_word(self) -> Word:
        """Reads a word where there can be only one."""
        self.require_no_comment()
        start = self.pos
        words = self.read_word()
        raw = self.text[start : self.pos]
        return words[0] if len(words) == 1 else Word((Piece(Kind.UNKNOWN, raw, may_split=True),), raw)

    def require_no_comment(self) -> None:
        """A comment takes the place of a word that has to come; what shells make of that is not followed."""
        if self.at == "#":
            self.fail("a comment stands where a word was expected")

    def finished(self, pieces: Sequence[Piece], raw: str) -> list[Word]:
        """The words that ``pieces`` become; those without any vanish."""
        try:
            rows = expand_braces(pieces)
        except UnknownWordsError:
            return [Word((Piece(Kind.UNKNOWN, raw, may_split=True),), raw)]
        return [Word(tuple(_without_idle_wildcards(with_tilde(row))), raw) for row in rows if row]

    def read_pieces(self, also: str = "") -> list[Piece]:
        """Reads up to the end of the word; the characters ``also`` are part of it."""
        pieces: list[Piece] = []
        while (char := self.at) and (char not in _ENDS or char in also or self._sees_process()):
            found = _PLAIN.match(self.text, self.pos)
            if found:
                self.pos = found.end()
                pieces.append(Piece(Kind.TEXT, found[0]))
            elif char in _ENDS:
                pieces += self._read_end(char, also)
            else:
                pieces += self._read_special(char)
                self.require_few(pieces)
        return _merged(pieces)

    def _sees_process(self) -> bool:
        return self.at in ("<", ">") and self.text.startswith("(", self.pos + 1)

    def _read_end(self, char: str, also: str) -> list[Piece]:
        if char not in also:
            return [self.read_process()]
        self.pos += 1
        return [Piece(Kind.TEXT, char)]

    def _read_special(self, char: str) -> list[Piece]:
        if char == "$":
            return self.read_dollar(is_quoted=False)
        if char == '"':
            return self.read_double_quoted()
        if char == "'":
            return [self.read_single_quoted()]
        if char == "`":
            return [self.read_backticks(is_quoted=False)]
        if char == "\\":
            return self._read_escaped()
        self.pos += 1
        if char in _PART_OF_PATTERN:
            return [Piece(Kind.GLOB, char)]
        self._doubt_character(char)
        return [Piece(Kind.TEXT, char)]

    def _read_escaped(self) -> list[Piece]:
        escaped = self.text[self.pos + 1 : self.pos + 2]
        self.pos += 2
        if escaped == "\n":
            # Between two words that is a blank; here it hides what the word is.
            if self.at not in ("", *_ENDS):
                self.doubtful("a word goes on behind an escaped newline")
            return []
        return [Piece(Kind.TEXT, escaped or "\\", is_quoted=True)]

    def _doubt_character(self, char: str) -> None:
        if char < _FIRST_PRINTABLE or char == _DELETE:
            self.doubtful(f"it has the control character {char!r} outside of quotes")
        elif not _BLANK_BYTES.isdisjoint(char.encode("utf-8", "surrogatepass")):
            self.doubtful(f"it has {char!r} outside of quotes, which some systems take for a blank")


def _merged(pieces: list[Piece]) -> list[Piece]:
    """The same with neighbouring texts as one, where both are quoted or both are not."""
    merged: list[Piece] = []
    for piece in pieces:
        last = merged[-1] if merged else None
        if last and last.kind is piece.kind is Kind.TEXT and last.is_quoted == piece.is_quoted:
            merged[-1] = Piece(Kind.TEXT, last.text + piece.text, last.is_quoted)
        else:
            merged.append(piece)
    return merged


def with_tilde(pieces: Sequence[Piece]) -> list[Piece]:
    """The same with a home folder in place of a tilde at the beginning."""
    first = pieces[0]
    found = _TILDE.match(first.text) if first.kind is Kind.TEXT and not first.is_quoted else None
    # What goes on without a slash is no name of a user.
    if found is None or (found.end() == len(first.text) and len(pieces) > 1):
        return list(pieces)
    rest = first.text[found.end() :]
    return [Piece(Kind.TILDE, found[1]), *([Piece(Kind.TEXT, rest)] if rest else []), *pieces[1:]]


def _without_idle_wildcards(pieces: list[Piece]) -> list[Piece]:
    """A bracket that nothing closes is itself."""
    wild = "".join(piece.text for piece in pieces if piece.kind is Kind.GLOB)
    if not wild or set(wild) != {"["} or any("]" in piece.text for piece in pieces if not piece.is_quoted):
        return pieces
    return _merged([Piece(Kind.TEXT, piece.text) if piece.kind is Kind.GLOB else piece for piece in pieces])
