"""Reads simple commands: assignments, redirections and words up to the operator or newline that ends them."""

from __future__ import annotations

import re

from amplifier_modkit.shell.commands import Assignment
from amplifier_modkit.shell.drafts import MOST_PARTS, Draft, Write
from amplifier_modkit.shell.redirections import RedirectionReader
from amplifier_modkit.shell.word_reader import with_tilde
from amplifier_modkit.shell.words import RESERVED, Kind, Piece, Word

DECLARATIONS = frozenset({"declare", "typeset", "local", "export", "readonly"})
# Declarations that change nothing about the value: the builtin and the assignment are two words.
_LASTING = frozenset({"export", "readonly"})
_WITH_VALUE = 2
_STARTS_SUBSCRIPT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?=\[)")
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<plus>\+?)=")
_EQUALS = re.compile(r"(?P<plus>\+?)=")
_ENDS_WORD = frozenset(" \t\n;|&<>")
_ENDS_COMMAND = frozenset("\n;|&()")


class SimpleReader(RedirectionReader):
    """Reads simple commands."""

    def read_simple(self) -> Draft:
        """Reads a simple command; it may turn out to be the name of a function, which the caller sees behind it."""
        draft = self.notes.begin(Draft(self.pos, function=self.function, is_sure=self.is_sure))
        while True:
            self.skip_blanks()
            if draft.length > MOST_PARTS:
                self.fail(f"a command has more than {MOST_PARTS:,} words")
            if self.sees_redirection():
                draft.redirections.append(self.read_redirection())
            elif not self.at or self.at in _ENDS_COMMAND or self.at == "#":
                break
            else:
                self._read_part(draft)
        self._require_sound(draft)
        names = [word.value for word in draft.words]
        is_alone = len(draft.assignments) == 1 and (not names or (names[0] in _LASTING and len(names) == _WITH_VALUE))
        for assignment in draft.assignments:
            self._note_assignment(assignment, draft if is_alone else None)
        return draft

    def _note_assignment(self, assignment: Assignment, draft: Draft | None) -> None:
        is_plain = not assignment.is_append and assignment.elements is None and assignment.subscript is None
        self.notes.writes.append(
            Write(assignment.name, assignment.value if is_plain else None, draft=draft if is_plain else None)
        )
        for element in assignment.elements or (() if is_plain else (assignment.value,)):
            self.notes.writes.append(Write(assignment.name, element))

    def _require_sound(self, draft: Draft) -> None:
        if not (draft.words or draft.assignments or draft.redirections):
            self.fail("a command was expected")
        first = draft.words[0] if draft.words else None
        is_reserved = first is not None and first.value in RESERVED and first.value == first.raw.replace("\\\n", "")
        if is_reserved and not (draft.assignments or draft.redirections):
            self.fail(f"'{draft.words[0].text}' stands where no such word can be")

    def _read_part(self, draft: Draft) -> None:
        start = self.pos
        is_declaration = bool(draft.words) and draft.words[0].value in DECLARATIONS
        if not draft.words or is_declaration:
            assignment = self._read_assignment()
            if assignment is not None:
                draft.assignments.append(assignment)
                if is_declaration:
                    draft.words.append(Word(_as_argument(assignment), self.text[start : self.pos]))
                return
        words = self.finished(self.read_pieces(), self.text[start : self.pos])
        fd = self.descriptor_before(self.text[start : self.pos])
        if fd is not None:
            draft.redirections.append(self.read_redirection(fd))
        else:
            draft.words += words

    def _read_assignment(self) -> Assignment | None:
        """Reads an assignment; if there is none, nothing is read."""
        start, length = self.pos, self.notes.length()
        subscript = self._read_subscript_before()
        found = (_ASSIGNMENT if subscript is None else _EQUALS).match(self.text, self.pos)
        if found is not None:
            name = self.text[start : self.pos - len(subscript)] if subscript is not None else found["name"]
            self.pos = found.end()
            return self._with_value(name, found["plus"] == "+", subscript)
        if subscript is not None:
            self.retry(start, length)
            if not _ENDS_WORD.isdisjoint(subscript):
                self.doubtful(f"a word with the subscript '{subscript}' is not followed")
        return None

    def _read_subscript_before(self) -> str | None:
        found = _STARTS_SUBSCRIPT.match(self.text, self.pos)
        if found is None:
            return None
        start = self.pos = found.end()
        self.pos += 1
        self.read_expression("]", found[0])
        return self.text[start : self.pos]

    def _with_value(self, name: str, is_append: bool, subscript: str | None) -> Assignment:
        start = self.pos
        if self.at == "(" and subscript is None:
            elements = self._read_elements()
            return Assignment(name, _hole(self.text[start : self.pos]), is_append, subscript, elements)
        if self.at == "(":
            self.fail("an element of an array cannot be an array")
        pieces = [
            piece if not piece.may_split else Piece(piece.kind, piece.text, is_quoted=True, guesses=piece.guesses)
            for piece in self.read_pieces()
        ]
        raw = self.text[start : self.pos]
        # Neither braces nor wildcards are expanded in a value.
        literal = [Piece(Kind.TEXT, piece.text) if piece.kind is Kind.GLOB else piece for piece in pieces]
        value = Word(tuple(with_tilde(literal)) if literal else (Piece(Kind.TEXT, ""),), raw)
        return Assignment(name, value, is_append, subscript)

    def _read_elements(self) -> tuple[Word, ...]:
        self.pos += 1
        self.notes.dialect.add("=(")
        elements: list[Word] = []
        while True:
            self.skip_to_token()
            if self.at == ")":
                self.pos += 1
                return tuple(elements)
            start = self.pos
            elements += self.read_word()
            if len(elements) > MOST_PARTS:
                self.fail(f"an array has more than {MOST_PARTS:,} values")
            if self.pos == start:
                self.fail("an array is not closed" if not self.at else f"{self.at!r} stands in an array")

    def skip_comment(self) -> None:
        """Goes on to the end of the line if a comment begins here."""
        if self.at == "#":
            end = self.text.find("\n", self.pos)
            self.pos = len(self.text) if end < 0 else end

    def skip_to_token(self) -> None:
        """Goes on to the next token over blanks, newlines and comments."""
        while True:
            self.skip_blanks()
            self.skip_comment()
            if self.at != "\n":
                return
            self.read_newline()


def _as_argument(assignment: Assignment) -> tuple[Piece, ...]:
    sign = "+=" if assignment.is_append else "="
    return (Piece(Kind.TEXT, f"{assignment.name}{assignment.subscript or ''}{sign}"), *assignment.value.pieces)


def _hole(raw: str) -> Word:
    return Word((Piece(Kind.UNKNOWN, raw),), raw)
