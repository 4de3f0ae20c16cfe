"""Reads redirections, and the here-documents that follow on the next lines."""

from __future__ import annotations

import re

from amplifier_modkit.shell.commands import Redirection
from amplifier_modkit.shell.cursor import Cursor
from amplifier_modkit.shell.word_reader import WordReader
from amplifier_modkit.shell.words import Kind, Piece, Word, static

# Those that begin like another come first.
_OPERATORS = ("&>>", "&>", "<<<", "<<-", "<<", "<&-", ">&-", "<&", "<>", ">>", ">&", ">|", "<", ">")
_ONLY_IN_BASH = frozenset({"&>", "&>>", "<<<"})
_DESCRIPTOR = re.compile(r"[0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\}")
_OPERATOR_GOES_ON = re.compile(r"\\\n(?:\\\n)*[<>&|;(]")
_CONTINUED = re.compile(r"(?<!\\)(?:\\\\)*\\\Z")


class RedirectionReader(WordReader):
    """Reads redirections; keeps those whose text is still to come."""

    def __init__(self, text: str, outer: Cursor | None = None) -> None:
        super().__init__(text, outer)
        self.waiting: list[tuple[Redirection, bool]] = []
        """Here-documents whose text is not read yet, each with whether leading tabs are dropped."""

    def sees_redirection(self) -> bool:
        """Whether a redirection without a number comes next."""
        return (self.at in ("<", ">") and not self.text.startswith("(", self.pos + 1)) or self.sees("&>")

    def read_redirection(self, fd: str = "") -> Redirection:
        """Reads a redirection from its operator on, which has to be there."""
        operator = next(each for each in _OPERATORS if self.sees(each))
        self.pos += len(operator)
        self.require_whole_operator()
        if operator in ("<&-", ">&-"):
            return Redirection(operator[:-1], fd, static("-"))
        if operator in _ONLY_IN_BASH:
            self.notes.dialect.add(operator)
        self.skip_blanks()
        if not self.at or self.at in "\n;|&()":
            self.fail(f"the redirection '{operator}' has no target")
        return self._with_target(operator, fd)

    def require_whole_operator(self) -> None:
        """An escaped newline can part an operator in two; that is not followed."""
        if self.at == "\\" and _OPERATOR_GOES_ON.match(self.text, self.pos):
            self.fail("an operator is parted by an escaped newline")

    def _with_target(self, operator: str, fd: str) -> Redirection:
        start = self.pos
        if operator in ("<<", "<<-"):
            redirection = Redirection(operator, fd, self._read_delimiter(), static(""))
            self.waiting.append((redirection, operator == "<<-"))
            return redirection
        target = self.read_single_word()
        if self.pos == start:
            self.fail(f"the redirection '{operator}' has no target")
        return Redirection(operator, fd, target, target if operator == "<<<" else None)

    def _read_delimiter(self) -> Word:
        self.require_no_comment()
        start = self.pos
        pieces = self.read_pieces()
        raw = self.text[start : self.pos]
        if not pieces or any(piece.kind not in (Kind.TEXT, Kind.GLOB) for piece in pieces) or "\n" in raw or "$" in raw:
            self.fail("the end of a here-document is not known")
        text = "".join(piece.text for piece in pieces)
        return Word((Piece(Kind.TEXT, text, is_quoted=any(piece.is_quoted for piece in pieces)),), raw)

    def descriptor_before(self, word: str) -> str | None:
        """The number or name if the word just read is one that belongs to the redirection behind it."""
        if self.at not in ("<", ">") or self.text.startswith("(", self.pos + 1):
            return None
        if _DESCRIPTOR.fullmatch(word):
            return word
        if word.startswith("{") and word.endswith("}"):
            self.fail("a redirection has a name that is not followed")
        return None

    def read_newline(self) -> None:
        """Reads a newline, and the here-documents that begin behind it."""
        self.pos += 1
        waiting, self.waiting = self.waiting, []
        for redirection, drops_tabs in waiting:
            start = self.pos
            redirection.body = self._read_here_document(redirection.target, drops_tabs=drops_tabs)
            self.notes.skipped.append((start, self.pos))

    def _read_here_document(self, delimiter: Word, *, drops_tabs: bool) -> Word:
        is_literal = delimiter.pieces[0].is_quoted
        lines: list[str] = []
        while self.at:
            line = self._read_line(is_joined=not is_literal)
            line = line.lstrip("\t") if drops_tabs else line
            if line == delimiter.value:
                break
            lines.append(line + "\n")
        else:
            self.doubtful(f"the here-document does not end with '{delimiter.value}'")
        body = "".join(lines)
        if is_literal or not ("$" in body or "`" in body or "\\" in body):
            return static(body)
        return Word(tuple(self.read_other_here_text(body)), body)

    def _read_line(self, *, is_joined: bool) -> str:
        """Reads a line; one that ends in a backslash goes on, unless it is taken literally."""
        parts = [self._read_raw_line()]
        while is_joined and self.at and _CONTINUED.search(parts[-1]):
            parts[-1] = parts[-1][:-1]
            parts.append(self._read_raw_line())
        return "".join(parts)

    def _read_raw_line(self) -> str:
        end = self.text.find("\n", self.pos)
        end = len(self.text) if end < 0 else end
        line = self.text[self.pos : end]
        self.pos = end + 1
        return line
