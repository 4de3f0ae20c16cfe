"""Reads a whole text: lists, pipelines and compound commands down to the simple ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from amplifier_modkit.shell.commands import Redirection
from amplifier_modkit.shell.drafts import Draft, Write
from amplifier_modkit.shell.evaluations import EvaluationReader
from amplifier_modkit.shell.words import Piece

_NOTHING: frozenset[str] = frozenset()
_PARENTHESIS = frozenset({")"})
_BRACE = frozenset({"}"})
_THEN, _DO, _DONE = frozenset({"then"}), frozenset({"do"}), frozenset({"done"})
_AFTER_THEN = frozenset({"elif", "else", "fi"})
_FI = frozenset({"fi"})
_CASE_END = frozenset({";;&", ";;", ";&", "esac"})
_RESERVED_WORD = re.compile(r"(?:[a-z]+|[!{}]|\[\[)(?=[ \t\n|&;()<>]|\Z)")
_STOP = re.compile(r";;&|;;|;&|\)|(?:[a-z]+|\})(?=[ \t\n|&;()<>]|\Z)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TIME_OPTIONS = re.compile(r"(?:-p[ \t]+)?(?:--[ \t]+)?")
_DESCRIPTOR = re.compile(r"[0-9]+(?=[<>])|\{[A-Za-z_][A-Za-z0-9_]*\}(?=[<>])")
_NO_PARAMETERS = re.compile(r"\([ \t]*\)")
_STARTS_COMPOUND = frozenset({"{", "[[", "case", "for", "if", "select", "until", "while"})
_ENDS_COMMAND = frozenset({"", "\n", ";", "|", "&", ")"})


class Reader(EvaluationReader):
    """Reads a shell text; what it finds is in ``notes``."""

    def read_all(self) -> None:
        """Reads to the end."""
        self.read_list(_NOTHING)
        if self.waiting:
            self.fail("a here-document has no text")

    def read_list(self, stops: frozenset[str]) -> str:
        """Reads commands up to one of ``stops``, and that too; gives the one that was found."""
        while True:
            self.skip_to_token()
            stop = _STOP.match(self.text, self.pos)
            if stop and stop[0] in stops:
                self.pos = stop.end()
                return stop[0]
            if not self.at:
                if stops:
                    self.fail(f"it ends where {' or '.join(sorted(map(repr, stops)))} was expected")
                return ""
            self._read_and_or()
            if self.at == ";" and not _STOP.match(self.text, self.pos):
                self.pos += 1
                self.require_whole_operator()

    def _read_and_or(self) -> None:
        start = len(self.notes.drafts)
        self._read_pipeline()
        was_sure = self.is_sure
        while self.sees("&&") or self.sees("||"):
            self.pos += 2
            self.is_sure = False
            self.skip_to_token()
            self._read_pipeline()
        self.is_sure = was_sure
        if self.at == "&":
            self.pos += 1
            self.require_whole_operator()
            for draft in self.notes.drafts[start:]:
                draft.is_background, draft.is_sure = True, False

    def _read_pipeline(self) -> None:
        has_prefix = self._read_prefixes()
        stages = [len(self.notes.drafts)]
        if self.at not in _ENDS_COMMAND:
            self._read_command()
        elif not has_prefix:
            self.fail(f"a command was expected, not {self.at!r}")
        while self.at == "|" and not self.sees("||"):
            self.pos += 2 if self.sees("|&") else 1
            self.require_whole_operator()
            self.skip_to_token()
            stages.append(len(self.notes.drafts))
            self._read_command()
        self._connect(stages)

    def _read_prefixes(self) -> bool:
        has_prefix = False
        while (word := self._reserved_word()) in ("!", "time"):
            has_prefix = True
            self.notes.keywords.append(self.pos)
            self.pos += len(word)
            self.skip_blanks()
            if word == "time":
                self.notes.dialect.add("time")
                found = _TIME_OPTIONS.match(self.text, self.pos)
                self.pos = found.end() if found else self.pos
        return has_prefix

    def _connect(self, stages: list[int]) -> None:
        """Tells the commands of a pipeline where their input comes from."""
        if len(stages) == 1:
            return
        drafts = self.notes.drafts
        bounds = [*stages, len(drafts)]
        for draft in drafts[stages[0] :]:
            draft.is_piped, draft.is_sure = True, False
        for before, start, end in zip(bounds, bounds[1:], bounds[2:], strict=False):
            self._feed(drafts[start:end], tuple(drafts[before:start]))

    def _reserved_word(self) -> str:
        found = _RESERVED_WORD.match(self.text, self.pos)
        return found[0] if found else ""

    def _read_command(self) -> None:
        start = len(self.notes.drafts)
        word = self._reserved_word()
        read = self._compounds().get("(" if self.at == "(" else word)
        if read is None:
            self._read_simple_or_function()
            return
        self.pos += len(word) or 1
        with self.inside():
            read()
        self._read_trailing_redirections(start)

    def _compounds(self) -> dict[str, Callable[[], object]]:
        return {
            "(": self._read_parenthesized,
            "{": lambda: self.read_list(_BRACE),
            "if": self._read_if,
            "while": self._read_loop,
            "until": self._read_loop,
            "for": self._read_for,
            "select": self._read_for,
            "case": self._read_case,
            "[[": self.read_condition,
            "function": self._read_function,
            "coproc": self._read_coproc,
        }

    def _read_trailing_redirections(self, start: int) -> None:
        owner: Draft | None = None
        while True:
            self.skip_blanks()
            at = self.pos
            found = _DESCRIPTOR.match(self.text, self.pos)
            self.pos = found.end() if found else self.pos
            if not self.sees_redirection():
                self.pos = at
                break
            # A redirection of a compound command is a command without words, so that its target is seen.
            owner = owner or self.notes.begin(Draft(-1, function=self.function))
            owner.redirections.append(self.read_redirection(found[0] if found else ""))
        self.skip_comment()
        inputs = [each for each in owner.redirections if each.is_input] if owner is not None else []
        if inputs:
            self._feed(self.notes.drafts[start:], inputs[-1])

    @staticmethod
    def _feed(drafts: Sequence[Draft], source: Redirection | tuple[Draft, ...]) -> None:
        is_shared = sum(bool(draft.words) for draft in drafts) > 1
        for draft in drafts:
            draft.take_input(source, is_shared=is_shared)

    def _read_simple_or_function(self) -> None:
        draft = self.read_simple()
        inputs = [each for each in draft.redirections if each.is_input]
        draft.input = inputs[-1] if inputs else None
        if self.at == "(":
            self._read_function_body(draft)
        else:
            self.note_evaluations(draft)
        self.skip_comment()

    def _read_function_body(self, draft: Draft) -> None:
        """Reads on behind the name of a function."""
        if len(draft.words) != 1 or draft.assignments or draft.redirections:
            self.fail("'(' was not expected")
        name = draft.words[0]
        self.notes.drafts.remove(draft)
        self.pos += 1
        self.skip_blanks()
        if self.at != ")":
            self.fail("'(' was not expected")
        self.pos += 1
        self._read_body(name.value if name.value is not None else self.fail("the name of a function is not known"))

    def _read_function(self) -> None:
        """Reads on behind the word ``function``."""
        self.notes.dialect.add("function")
        self.skip_blanks()
        word = self.read_single_word()
        if not word.value:
            self.fail("the name of a function is not known")
        self.skip_blanks()
        if self.at == "(" and _NO_PARAMETERS.match(self.text, self.pos):
            self.pos = self.text.index(")", self.pos) + 1
        self._read_body(word.value)

    def _read_body(self, name: str) -> None:
        self.notes.functions.append(name)
        self.skip_to_token()
        if self.at != "(" and self._reserved_word() not in _STARTS_COMPOUND:
            self.fail(f"the function '{name}' has no body")
        with self.inside(function=name):
            self._read_command()

    def _read_coproc(self) -> None:
        self.notes.dialect.add("coproc")
        start = len(self.notes.drafts)
        self.notes.keywords.append(self.pos - len("coproc"))
        self.skip_blanks()
        found = _NAME.match(self.text, self.pos)
        if found and found[0] not in _STARTS_COMPOUND and self._compound_follows(found.end()):
            self.notes.writes.append(Write(found[0], None))
            self.pos = found.end()
            self.skip_blanks()
        self._read_command()
        for draft in self.notes.drafts[start:]:
            draft.is_background = draft.is_piped = True

    def _compound_follows(self, position: int) -> bool:
        at, self.pos = self.pos, position
        self.skip_blanks()
        follows = self.pos > position and (self.at == "(" or self._reserved_word() in _STARTS_COMPOUND)
        self.pos = at
        return follows

    def _read_parenthesized(self) -> None:
        if self.at == "(":
            self.notes.dialect.add("((")
            self.pos += 1
            if self.try_expression():
                return
            self.pos -= 1
        elif self.sees("\\\n("):
            self.fail("parentheses are parted by an escaped newline")
        self.read_list(_PARENTHESIS)

    def _read_if(self) -> None:
        self.read_list(_THEN)
        while (stop := self.read_list(_AFTER_THEN)) == "elif":
            self.read_list(_THEN)
        if stop == "else":
            self.read_list(_FI)

    def _read_loop(self) -> None:
        self.read_list(_DO)
        self.read_list(_DONE)

    def _read_for(self) -> None:
        self.skip_blanks()
        if self.sees("(("):
            self.notes.dialect.add("((")
            self.pos += 2
            if not self.try_expression():
                self.fail("the loop 'for ((' is not followed")
        else:
            self._read_names()
        self.skip_to_token()
        if self.at == ";":
            self.pos += 1
            self.skip_to_token()
        word = self._reserved_word()
        if word not in ("do", "{"):
            self.fail("a loop has no body")
        self.pos += len(word)
        self.read_list(_DONE if word == "do" else _BRACE)

    def _read_names(self) -> None:
        name = self.read_single_word().value or ""
        if not _NAME.fullmatch(name):
            self.fail("a loop has no variable")
        self.skip_to_token()
        if self._reserved_word() != "in":
            self.notes.writes.append(Write(name, None))
            return
        self.pos += len("in")
        while True:
            self.skip_blanks()
            start = self.pos
            words = self.read_word() if self.at != "#" else []
            if self.pos == start:
                return
            self.notes.writes.extend(Write(name, word) for word in words)

    def _read_case(self) -> None:
        self.skip_blanks()
        self.read_single_word()
        self.skip_to_token()
        if self._reserved_word() != "in":
            self.fail("'case' has no 'in'")
        self.pos += len("in")
        while True:
            self.skip_to_token()
            if self._reserved_word() == "esac":
                self.pos += len("esac")
                return
            self._read_patterns()
            if self.read_list(_CASE_END) == "esac":
                return

    def _read_patterns(self) -> None:
        self.pos += self.at == "("
        while True:
            self.skip_blanks()
            self.require_no_comment()
            start = self.pos
            self.read_word()
            self.skip_blanks()
            if self.pos == start or self.at not in ("|", ")"):
                self.fail("a pattern of 'case' is not followed")
            self.pos += 1
            if self.text[self.pos - 1] == ")":
                return

    def read_substitution(self) -> list[Draft]:
        """Reads commands up to the closing parenthesis, and that too; gives those commands."""
        start, count = self.pos, len(self.notes.drafts)
        waiting, self.waiting = self.waiting, []
        with self.inside():
            self.read_list(_PARENTHESIS)
        if self.waiting or (waiting and "\n" in self.text[start : self.pos]):
            self.fail("a here-document and a substitution are mixed up")
        self.waiting = waiting
        return self.notes.drafts[count:]

    def read_other(self, text: str) -> list[Draft]:
        """Reads another text as commands of this one; gives those commands."""
        other = self._other(text)
        try:
            other.read_all()
        finally:
            drafts = self.notes.adopt(text, other.notes)
        return drafts

    def read_other_here_text(self, text: str) -> list[Piece]:
        """Reads another text as a here-document; commands in it are commands of this text."""
        other = self._other(text)
        try:
            pieces = other.read_here_text()
        finally:
            self.notes.adopt("", other.notes)
        return pieces

    def _other(self, text: str) -> Reader:
        with self.inside():
            return Reader(text, self)
