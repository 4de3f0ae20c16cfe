"""Reads what stands between double brackets: words and operators, but no commands of its own."""

from __future__ import annotations

import re

from amplifier_modkit.shell.commands import Doubt
from amplifier_modkit.shell.simple_reader import SimpleReader
from amplifier_modkit.shell.words import Kind, Piece, Word

_OPERATORS = re.compile(r"&&|\|\||[()<>]")
_COMPARES_NUMBERS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_TAKES_NAME = frozenset({"-v", "-R"})
_TAKES_PATTERN = frozenset({"=~", "==", "=", "!="})
_NUMBER = re.compile(r"[-+]?\d*")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class ConditionReader(SimpleReader):
    """Reads the conditional command of bash."""

    def read_condition(self) -> None:
        """Reads up to the closing brackets, and those."""
        self.notes.dialect.add("[[")
        words: list[Word] = []
        while True:
            self.skip_to_token()
            if not self.at:
                self.fail("the brackets '[[' are not closed")
            before = words[-1].raw if words else ""
            operator = _OPERATORS.match(self.text, self.pos) if before not in _TAKES_PATTERN else None
            if operator and not self._sees_process():
                self.pos = operator.end()
                words.append(Word(()))
                continue
            word = self._read_test_word(before)
            if word.raw == "]]":
                break
            words.append(word)
        self._note_evaluated_operands(words)

    def _read_test_word(self, before: str) -> Word:
        start = self.pos
        pieces = self._read_pattern() if before in _TAKES_PATTERN else self.read_pieces()
        if self.pos == start:
            self.fail(f"{self.at!r} stands in '[['")
        return Word(tuple(pieces), self.text[start : self.pos])

    def _read_pattern(self) -> list[Piece]:
        """Reads a pattern or a regular expression, in which parentheses and bars are part of the word."""
        start = self.pos
        pieces = self.read_pieces(also="(|)")
        depth = _depth(pieces)
        while depth > 0 and self.at in (" ", "\t"):
            self.pos += 1
            pieces += [Piece(Kind.TEXT, " "), *self.read_pieces(also="(|)")]
            depth = _depth(pieces)
        if depth != 0 or self.at in ("&", ";", "<", ">") or "||" in self.text[start : self.pos]:
            self.fail("a pattern in '[[' is not followed")
        return pieces

    def _note_evaluated_operands(self, words: list[Word]) -> None:
        for position, word in enumerate(words):
            if word.raw in _COMPARES_NUMBERS:
                for operand in (*words[max(0, position - 1) : position], *words[position + 1 : position + 2]):
                    self.evaluate(operand)
            elif word.raw in _TAKES_NAME:
                for operand in words[position + 1 : position + 2]:
                    self.evaluate_name(operand)

    def evaluate_name(self, word: Word) -> None:
        """Notes that a word is taken for the name of a variable, which may have a subscript."""
        name, sign, _ = word.known_start.partition("=")
        if not _NAME.fullmatch(name) or (not sign and not word.is_static):
            self.evaluate(word)

    def evaluate(self, word: Word) -> None:
        """Notes that the shell evaluates a word as an expression, whatever quotes there are around it."""
        if word.value is not None and _NUMBER.fullmatch(word.value):
            return
        self._note_evaluated(word.pieces, "")
        text = "".join(piece.text if piece.kind is Kind.TEXT else " " for piece in word.pieces)
        if not word.is_static and ("$" in text or "`" in text):
            self.notes.doubts.append(
                Doubt("evaluated-text", f"the word '{word.text}' is evaluated, and not all is known")
            )
        self.read_other_here_text(text)
        self._note_expression(text, "")


def _depth(pieces: list[Piece]) -> int:
    text = "".join(piece.text for piece in pieces if piece.kind is Kind.TEXT and not piece.is_quoted)
    return text.count("(") - text.count(")")
