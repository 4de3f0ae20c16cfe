"""Reads what a shell replaces inside of words: variables, output, arithmetic, and double quotes around them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from amplifier_modkit.shell.commands import Doubt, Redirection
from amplifier_modkit.shell.cursor import Cursor
from amplifier_modkit.shell.drafts import Draft, Write
from amplifier_modkit.shell.outputs import is_number, known_output
from amplifier_modkit.shell.quotes import decode_escapes
from amplifier_modkit.shell.words import Kind, Piece, Word, unknown

_CLOSING_BRACE = frozenset({"}"})

_IN_DOUBLE_QUOTES = re.compile(r'[^"\\$`]+')
_IN_HERE_DOCUMENT = re.compile(r"[^\\$`]+")
_IN_EXPRESSION = re.compile(r"[^$`\\'\"()\[\]}]+")
_IN_OPERAND = re.compile(r"[^$`\\'\"}<>]+")
_BACKTICKS = re.compile(r"`([^`\\]*+(?:\\.[^`\\]*+)*+)`", re.DOTALL)
_ANSI_C = re.compile(r"\$'([^'\\]*+(?:\\.[^'\\]*+)*+)'", re.DOTALL)
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
_OPERATOR = re.compile(r":?[-=+?]|##?|%%?|/[/#%]?|\^\^?|,,?|~~?|@[A-Za-z]|:")
_EXPRESSION_NAME = re.compile(r"(?<![\w#@])[A-Za-z_]\w*", re.ASCII)
_ASSIGNS = re.compile(r"(?<![=!<>])=(?!=)|\+\+|--|<<=|>>=")
_HARMLESS_QUOTED = re.compile(r"[\w .:/-]*")
_COUNTED = {"))": "()", "]": "[]", "}": "  "}
_DIGITS_ONLY = frozenset("#?$!")


class ExpansionReader(Cursor):
    """Reads expansions; commands inside of them are read by whoever knows how."""

    def read_dollar(self, *, is_quoted: bool) -> list[Piece]:
        """Reads what begins with a dollar sign."""
        following = self.text[self.pos + 1 : self.pos + 2]
        if following == "(":
            return [self._read_parenthesis(is_quoted=is_quoted)]
        if following == "{":
            return [self._read_braces(is_quoted=is_quoted)]
        if following == "[":
            return [self._read_old_arithmetic()]
        if following in ("'", '"') and not is_quoted:
            return self._read_dollar_quotes(following)
        if following == "\\" and self.text.startswith("\n", self.pos + 2):
            self.fail("a dollar sign is parted from what follows by an escaped newline")
        return [self._read_variable(is_quoted=is_quoted)]

    def _read_variable(self, *, is_quoted: bool) -> Piece:
        start = self.pos + 1
        found = _PLAIN_NAME.match(self.text, start) or _PARAMETER.match(self.text, start, start + 1)
        if found is None:
            self.pos += 1
            return Piece(Kind.TEXT, "$", is_quoted)
        self.pos = found.end()
        return parameter(found[0], is_quoted=is_quoted)

    def _read_dollar_quotes(self, quote: str) -> list[Piece]:
        if quote == '"':
            self.pos += 1
            self.notes.dialect.add('$"')
            # A translation is looked up, and whoever chose the catalogue chose the text.
            said = "".join(piece.shown for piece in self.read_double_quoted())
            return [Piece(Kind.UNKNOWN, said, is_quoted=True, guesses=(said,))]
        found = _ANSI_C.match(self.text, self.pos)
        if found is None:
            self.fail("a quote is not closed")
        self.pos = found.end()
        self.notes.dialect.add("$'")
        text = decode_escapes(found[1])
        return [Piece(Kind.UNKNOWN if text is None else Kind.TEXT, found[1] if text is None else text, is_quoted=True)]

    def read_double_quoted(self) -> list[Piece]:
        """Reads a string in double quotes, from the first to the last of them."""
        self.pos += 1
        pieces = [Piece(Kind.TEXT, "", is_quoted=True)]
        while self.at != '"':
            pieces += self._read_quoted_piece(_IN_DOUBLE_QUOTES, '$`"\\')
            self.require_few(pieces)
        self.pos += 1
        return pieces

    def read_here_text(self) -> list[Piece]:
        """Reads the whole text as a here-document without quotes."""
        pieces: list[Piece] = []
        while self.at:
            pieces += self._read_quoted_piece(_IN_HERE_DOCUMENT, "$`\\")
            self.require_few(pieces)
        return pieces

    def _read_quoted_piece(self, plain: re.Pattern[str], escapable: str) -> list[Piece]:
        found = plain.match(self.text, self.pos)
        if found:
            self.pos = found.end()
            return [Piece(Kind.TEXT, found[0], is_quoted=True)]
        if self.at == "$":
            return self.read_dollar(is_quoted=True)
        if self.at == "`":
            return [self.read_backticks(is_quoted=True)]
        if not self.at:
            self.fail("a quote is not closed")
        escaped = self.text[self.pos + 1 : self.pos + 2]
        self.pos += 2
        if escaped == "\n":
            return []
        return [Piece(Kind.TEXT, escaped if escaped and escaped in escapable else "\\" + escaped, is_quoted=True)]

    def read_backticks(self, *, is_quoted: bool) -> Piece:
        """Reads a substitution in backticks; what is inside is a text of its own once its escapes are gone."""
        found = _BACKTICKS.match(self.text, self.pos)
        if found is None:
            self.fail("a backtick is not closed")
        self.notes.skipped.append(found.span())
        self.pos = found.end()
        escapes = r'\\([\\`$"])' if is_quoted else r"\\([\\`$])"
        inner = re.sub(escapes, r"\1", found[1])
        return _output(self.read_other(inner), inner, is_quoted=is_quoted)

    def _read_parenthesis(self, *, is_quoted: bool) -> Piece:
        start = self.pos
        if self.text.startswith("(", start + 2):
            self.pos += 3
            if self.try_expression():
                return Piece(Kind.NUMBER, self.text[start + 3 : self.pos - 2], is_quoted)
        if self.text.startswith("\\\n(", start + 2):
            self.fail("parentheses are parted by an escaped newline")
        self.pos = start + 2
        drafts = self.read_substitution()
        return _output(drafts, self.text[start + 2 : self.pos - 1], is_quoted=is_quoted)

    def _read_old_arithmetic(self) -> Piece:
        start = self.pos
        self.pos += 2
        self.notes.dialect.add("$[")
        self.read_expression("]")
        return Piece(Kind.NUMBER, self.text[start + 2 : self.pos - 1])

    def try_expression(self) -> bool:
        """Reads arithmetic up to two closing parentheses, and those; if there is none, nothing is read."""
        start, length = self.pos, self.notes.length()
        if self.read_expression("))"):
            return True
        self.retry(start, length)
        return False

    def read_expression(self, close: str, array: str = "") -> bool:
        """Reads arithmetic up to ``close``, and that too, and notes the variables in it; says whether it is arithmetic.

        ``array`` is the array that the expression picks from.
        """
        literal: list[str] = []
        depth = 0
        opening, closing = _COUNTED[close]
        while depth or not self.sees(close):
            found = _IN_EXPRESSION.match(self.text, self.pos)
            char = self.at
            if found:
                literal.append(found[0])
                self.pos = found.end()
            elif char in (opening, closing):
                depth += 1 if char == opening else -1
                if depth < 0:
                    return False
                literal.append(char)
                self.pos += 1
            else:
                literal.append(self._read_in_expression(array))
        self.pos += len(close)
        self._note_expression("".join(literal), array)
        return True

    def _read_in_expression(self, array: str) -> str:
        char = self.at
        if char in ("$", "`"):
            pieces = self.read_dollar(is_quoted=True) if char == "$" else [self.read_backticks(is_quoted=True)]
            self._note_evaluated(pieces, array)
            return " "
        if char == '"':
            pieces = self.read_double_quoted()
            self._note_evaluated(pieces, array)
            return "".join(piece.text for piece in pieces if piece.kind is Kind.TEXT)
        if char == "'":
            return self._read_quoted_key()
        if not char:
            self.fail("an expression is not closed")
        if char == "\\":
            self.doubtful("an expression has escapes")
        self.pos += 1
        return char

    def _read_quoted_key(self) -> str:
        end = self.text.find("'", self.pos + 1)
        key = self.text[self.pos + 1 : end]
        if end < 0 or not _HARMLESS_QUOTED.fullmatch(key):
            self.fail("an expression has quotes")
        self.pos = end + 1
        return " "

    def _note_expression(self, literal: str, array: str) -> None:
        names = _EXPRESSION_NAME.findall(literal)
        self.notes.evaluated.extend((name, array) for name in names)
        if _ASSIGNS.search(literal):
            self.notes.writes.extend(Write(name, None, is_number=True) for name in names)

    def _note_evaluated(self, pieces: Iterable[Piece], array: str) -> None:
        for piece in pieces:
            if piece.kind is Kind.VARIABLE:
                name = _PLAIN_NAME.match(piece.text)
                self.notes.evaluated.append((name[0] if name else piece.text, array))
            elif piece.kind is Kind.COMMAND and not array:
                self.notes.doubts.append(Doubt("evaluated-output", f"the output of '{piece.text}' is evaluated"))

    def _read_braces(self, *, is_quoted: bool) -> Piece:
        with self.inside():
            return self._read_parameter(is_quoted=is_quoted)

    def _read_parameter(self, *, is_quoted: bool) -> Piece:
        start = self.pos
        self.pos += 2
        if self.at in ("", " ", "\t", "\n", "|", "("):
            self.doubtful("braces behind a dollar sign hold commands")
            self.read_list(_CLOSING_BRACE)
            return Piece(Kind.UNKNOWN, self.text[start : self.pos], is_quoted, may_split=not is_quoted)
        length = self._read_length()
        if length is not None:
            return length
        is_indirect = self.at == "!" and bool(_PARAMETER.match(self.text, self.pos + 1))
        self.pos += is_indirect
        found = _PARAMETER.match(self.text, self.pos)
        if found is None:
            self.fail(f"'{self.text[start : start + 20]}' is no variable")
        self.pos = found.end()
        is_list = found[0] in "@*" or self._read_subscript(found[0]) or (is_indirect and self._read_prefix_mark())
        guesses = self._read_operation(found[0], is_quoted=is_quoted)
        if is_indirect and not is_list:
            self.notes.evaluated.append((found[0], ""))
        return parameter(self.text[start + 2 : self.pos - 1], is_quoted=is_quoted and not is_list, guesses=guesses)

    def _read_prefix_mark(self) -> bool:
        """Reads the mark with which all variables are meant whose names begin so, if it is there."""
        is_prefix = self.sees("*}") or self.sees("@}")
        self.pos += is_prefix
        return is_prefix

    def _read_length(self) -> Piece | None:
        found = _PARAMETER.match(self.text, self.pos + 1)
        if self.at != "#" or found is None or not self.text.startswith(("}", "["), found.end()):
            return None
        start, self.pos = self.pos, found.end()
        self._read_subscript(found[0])
        if not self.sees("}"):
            self.fail(f"'{self.text[start : self.pos + 1]}' is no length of a variable")
        self.pos += 1
        return Piece(Kind.NUMBER, self.text[start : self.pos - 1])

    def _read_subscript(self, array: str) -> bool:
        """Reads a subscript if there is one; says whether it stands for all elements."""
        if self.at != "[":
            return False
        self.pos += 1
        is_list = self.sees("@]") or self.sees("*]")
        self.pos += 2 if is_list else 0
        if not is_list:
            self.read_expression("]", array)
        return is_list

    def _read_operation(self, name: str, *, is_quoted: bool) -> tuple[str, ...]:
        """Reads what is done to a variable up to the closing brace; gives the values that are written there."""
        found = _OPERATOR.match(self.text, self.pos)
        if found is None:
            if self.at != "}":
                self.fail(f"what is done to the variable '{name}' is not known")
            self.pos += 1
            return ()
        self.pos = found.end()
        operator = found[0]
        if operator == ":":
            self.read_expression("}")
            return ()
        if operator[0] == "@" and operator[1] not in "aAkKULuQE":
            self.notes.doubts.append(Doubt("evaluated-variable", f"the value of '{name}' is evaluated as a prompt"))
        operand = self._read_operand(is_quoted=is_quoted)
        if operator in ("=", ":="):
            self.notes.writes.append(Write(name, Word(tuple(operand))))
        value = Word(tuple(operand)).value
        return (value,) if value is not None and operator.lstrip(":") in ("-", "=", "+") else ()

    def _read_operand(self, *, is_quoted: bool) -> list[Piece]:
        pieces: list[Piece] = []
        while self.at != "}":
            found = _IN_OPERAND.match(self.text, self.pos)
            if found:
                self.pos = found.end()
                pieces.append(Piece(Kind.TEXT, found[0]))
            elif self.at == '"':
                pieces += self.read_double_quoted()
            elif self.at == "'":
                pieces.append(self._read_single_quoted_operand(is_quoted=is_quoted))
            elif self.at == "$" and not is_quoted:
                pieces += self.read_dollar(is_quoted=False)
            elif self.at in ("<", ">"):
                pieces.append(self._read_angle(is_quoted=is_quoted))
            else:
                pieces += self._read_quoted_piece(_IN_OPERAND, "$`\"\\}'")
        self.pos += 1
        return pieces

    def _read_single_quoted_operand(self, *, is_quoted: bool) -> Piece:
        if is_quoted:
            self.fail("single quotes stand in braces in double quotes")
        return self.read_single_quoted()

    def read_single_quoted(self) -> Piece:
        """Reads a string in single quotes."""
        end = self.text.find("'", self.pos + 1)
        if end < 0:
            self.fail("a quote is not closed")
        text = self.text[self.pos + 1 : end]
        self.pos = end + 1
        return Piece(Kind.TEXT, text, is_quoted=True)

    def _read_angle(self, *, is_quoted: bool) -> Piece:
        if not is_quoted and self.text.startswith("(", self.pos + 1):
            return self.read_process()
        self.pos += 1
        return Piece(Kind.TEXT, self.text[self.pos - 1])

    def read_process(self) -> Piece:
        """Reads a process substitution."""
        start = self.pos
        self.pos += 2
        self.notes.dialect.add("<(")
        drafts = self.read_substitution()
        if self.text[start] == ">":
            output = Redirection("<", "", unknown("output"))
            for draft in drafts:
                draft.take_input(output, is_shared=True)
        return Piece(Kind.PROCESS, self.text[start + 2 : self.pos - 1])


def parameter(name: str, *, is_quoted: bool, guesses: tuple[str, ...] = ()) -> Piece:
    """The hole that a variable leaves."""
    if name in _DIGITS_ONLY:
        return Piece(Kind.NUMBER, name, is_quoted)
    return Piece(Kind.VARIABLE, name, is_quoted, may_split=not is_quoted or name == "@", guesses=guesses)


def _output(drafts: Sequence[Draft], source: str, *, is_quoted: bool) -> Piece:
    if is_number(drafts):
        return Piece(Kind.NUMBER, source, is_quoted)
    output = known_output(drafts)
    guesses = () if output is None else (output.rstrip("\n"),)
    return Piece(Kind.COMMAND, source, is_quoted, may_split=not is_quoted, guesses=guesses)
