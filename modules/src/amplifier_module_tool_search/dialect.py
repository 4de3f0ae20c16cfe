"""The regular expressions that searches take: what ripgrep and Python both understand, and understand alike.

A pattern is read once, in the syntax of ripgrep, and written anew for either. Left out is what only one of them has
(look-around, back references, possessive repeats, classes by Unicode property, set operations within ``[ ]``), and what
depends on how a file is cut up (``\\A``, ``\\z``). ``$`` stands before a carriage return at the end of a line as well.
Which marks ``\\w`` takes beside letters is up to each.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from amplifier_module_tool_search.problems import PatternError

MOST_REPEATS = 1000
_END_OF_LINE = r"(?:\r??$)"
_META = frozenset("\\.+*?()|[]{}^$#&-~")
_NOT_A_BYTE = r"(?:(?![\udc80-\udcff])"
_CONTROL = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "a": "\a"}
_HEX = {"x": 2, "u": 4, "U": 8}
_SPACE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t-\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_REPEAT = re.compile(r"\{(\d+)(?:(,)(\d*))?\}")
_GROUP = re.compile(r"\?(?:P?<(?P<name>[A-Za-z_]\w*)>|(?P<on>[is]*)(?:-(?P<off>[is]+))?:)")
_FLAGS = re.compile(r"\(\?([is]+)\)")
_POSIX_CLASS = re.compile(r"\[:([a-z]+):\]")


@dataclass(frozen=True, slots=True)
class Expression:
    """One pattern in either form."""

    ripgrep: str
    python: str
    careful: str
    """For Python, and texts with bytes in them that are none: they stand there as lone surrogates, and never match."""


def read(pattern: str, *, is_multiline: bool = False) -> Expression:
    """The pattern in both forms; raises ``PatternError`` for one that is wrong, or that only one of them takes."""
    reader = _Reader(pattern, is_multiline)
    reader.read()
    expression = Expression("".join(reader.ripgrep), "".join(reader.python), "".join(reader.careful))
    try:
        re.compile(expression.careful)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(f"{error}. Simplify the pattern.", 0) from error
    return expression


class _Reader:
    """Reads one pattern from its beginning to its end."""

    def __init__(self, pattern: str, is_multiline: bool) -> None:
        self.ripgrep: list[str] = []
        self.python: list[str] = []
        self.careful: list[str] = []
        self._text = pattern
        self._is_multiline = is_multiline
        self._at = 0
        self._open: list[int] = []
        self._names: set[str] = set()
        # Whether what was read last is something that can be repeated, and has not been.
        self._is_repeatable = False

    def read(self) -> None:
        flags = _FLAGS.match(self._text)
        if flags:
            self._write(flags[0])
            self._at = flags.end()
        while self._at < len(self._text):
            self._is_repeatable = self._one()
        if self._open:
            raise PatternError("this '(' has no ')'. Write '\\(' for the character.", self._open[-1])

    def _one(self) -> bool:
        character = self._text[self._at]
        if character in "*+?{":
            return self._repeat(character)
        if character in "()":
            return self._parenthesis(character)
        if character == "[":
            return self._class()
        if character == "\\":
            return self._escape()
        self._at += 1
        if character in ".|^$":
            return self._special(character)
        self._literal(character, self._at - 1)
        return True

    def _special(self, character: str) -> bool:
        if character == ".":
            self._write_careful(".", ".")
            return True
        self._write(_END_OF_LINE if character == "$" else character)
        return False

    def _repeat(self, character: str) -> bool:
        begin, counted = self._at, _REPEAT.match(self._text, self._at)
        if character == "{" and (counted is None or not self._is_repeatable):
            raise PatternError("a '{' that repeats nothing. Write '\\{' for the character.", begin)
        if not self._is_repeatable:
            raise PatternError(f"nothing that {character!r} could repeat. Write '\\{character}' for it.", begin)
        if counted:
            low, high = int(counted[1]), int(counted[3] or counted[1])
            if high < low or high > MOST_REPEATS:
                raise PatternError(f"a repeat that is not from less to more, or beyond {MOST_REPEATS}.", begin)
        self._at = counted.end() if counted else begin + 1
        self._at += self._text[self._at : self._at + 1] == "?"
        self._write(self._text[begin : self._at])
        return False

    def _parenthesis(self, character: str) -> bool:
        begin, self._at = self._at, self._at + 1
        if character == ")":
            if not self._open:
                raise PatternError("this ')' has no '('. Write '\\)' for the character.", begin)
            self._open.pop()
            self._write(")")
            return True
        self._open.append(begin)
        if not self._text.startswith("?", self._at):
            self._write("(")
            return False
        group = _GROUP.match(self._text, self._at)
        if group is None:
            raise PatternError(
                "a group that searches do not take. There are (…), (?:…), (?P<name>…), (?i:…), (?s:…); (?i) in front.",
                begin,
            )
        self._at = group.end()
        self._begin_group(group, begin)
        return False

    def _begin_group(self, group: re.Match[str], begin: int) -> None:
        if group["name"] is None:
            self._write(f"({group[0]}")
            return
        if group["name"] in self._names or not group["name"].isascii():
            raise PatternError("the name of this group is there twice, or not plain.", begin)
        self._names.add(group["name"])
        self._write(f"(?P<{group['name']}>")

    def _escape(self) -> bool:
        begin = self._at
        character = self._text[begin + 1 : begin + 2]
        if character in tuple("dDwWsS"):
            self._at += 2
            space = f"[{'^' if character == 'S' else ''}{_SPACE}]"
            self._write_careful(f"\\{character}", space if character in "sS" else f"\\{character}")
            return True
        # Not the opposite, ``B``: beside bytes that are no text, the two disagree about where no word has its edge.
        if character == "b" and self._text[begin + 2 : begin + 3] != "{":
            self._at += 2
            self._write(r"\b")
            return False
        self._literal(self._escaped(), begin)
        return True

    def _escaped(self) -> str:
        """The character that an escape stands for."""
        begin = self._at
        character = self._text[begin + 1 : begin + 2]
        self._at += 2
        if character in _CONTROL:
            return _CONTROL[character]
        if character in _HEX:
            return self._hexadecimal(_HEX[character], begin)
        if not character or character.isalnum() or character in "<>" or not character.isascii():
            raise PatternError(f"'\\{character}' is nothing that searches take.", begin)
        return character

    def _hexadecimal(self, digits: int, begin: int) -> str:
        found = re.compile(rf"\{{([0-9A-Fa-f]{{1,8}})\}}|([0-9A-Fa-f]{{{digits}}})").match(self._text, self._at)
        code = int(found[1] or found[2], 16) if found else -1
        if found is None or not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise PatternError("the number of no character.", begin)
        self._at = found.end()
        return chr(code)

    def _class(self) -> bool:
        begin = self._at
        self._at += 1
        is_negated = self._text.startswith("^", self._at)
        self._at += is_negated
        self._careful(_NOT_A_BYTE)
        self._write("[^" if is_negated else "[")
        is_first = True
        while is_first or not self._text.startswith("]", self._at):
            if self._at >= len(self._text):
                raise PatternError("this '[' has no ']'. Write '\\[' for the character.", begin)
            self._class_item()
            is_first = False
        self._at += 1
        self._write("]")
        self._careful(")")
        return True

    def _class_item(self) -> None:
        begin = self._at
        posix = _POSIX_CLASS.match(self._text, begin)
        if posix and posix[1] in _POSIX:
            self._at = posix.end()
            self._write(_POSIX[posix[1]])
            return
        if self._text[begin : begin + 2] in tuple(f"\\{each}" for each in "dDwWsS"):
            self._at += 2
            self._class_of_class(self._text[begin + 1], begin)
            return
        low = self._class_character()
        high = low
        if self._text.startswith("-", self._at) and self._text[self._at + 1 : self._at + 2] not in ("", "]"):
            self._at += 1
            high = self._class_character()
        if high < low:
            raise PatternError("a range whose end is before its beginning.", begin)
        self._write(f"{_quoted(low)}-{_quoted(high)}")

    def _class_of_class(self, character: str, begin: int) -> None:
        if character == "S":
            raise PatternError("'\\S' within [ ] is nothing that searches take. Use (?:\\S|…).", begin)
        self._write(f"\\{character}", _SPACE if character == "s" else None)
        if self._text.startswith("-", self._at) and self._text[self._at + 1 : self._at + 2] != "]":
            raise PatternError("a range that begins with more than one character.", begin)

    def _class_character(self) -> str:
        begin = self._at
        if self._text.startswith("\\", begin):
            character = self._escaped()
        else:
            character = self._text[begin : begin + 1]
            self._at += 1
            twice = self._text[begin : begin + 2]
            if character == "[" or twice in ("&&", "--", "~~"):
                raise PatternError(f"{twice!r} within [ ]. Write '\\{character}' for the character.", begin)
        self._require_in_line(character, begin)
        return character

    def _literal(self, character: str, begin: int) -> None:
        self._require_in_line(character, begin)
        self._write(_quoted(character))

    def _require_in_line(self, character: str, begin: int) -> None:
        if character == "\n" and not self._is_multiline:
            raise PatternError("a line end, and the search goes line by line. Set 'multiline' to true.", begin)

    def _write(self, ripgrep: str, python: str | None = None) -> None:
        self.ripgrep.append(ripgrep)
        self.python.append(ripgrep if python is None else python)
        self.careful.append(self.python[-1])

    def _write_careful(self, ripgrep: str, python: str) -> None:
        """Writes what could stand for bytes that are no text."""
        self._careful(_NOT_A_BYTE)
        self._write(ripgrep, python)
        self._careful(")")

    def _careful(self, text: str) -> None:
        self.careful.append(text)


def _quoted(character: str) -> str:
    """A character that stands for itself, written so that either takes it as that."""
    if character in _META:
        return f"\\{character}"
    if character.isascii() and not character.isprintable():
        return f"\\x{ord(character):02x}"
    return character
