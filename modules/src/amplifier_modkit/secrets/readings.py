"""Reads the value that begins at a place of a text: in quotes, as a block of lines, as a header, or bare."""

from __future__ import annotations

import re
from typing import NamedTuple, cast

from amplifier_modkit.secrets.judging import Style


class Reading(NamedTuple):
    """A value in a text, without its quotes, and how it is written."""

    start: int
    end: int
    style: Style
    is_certain: bool = False
    """Whether its form alone tells that it is a secret."""


_OPENING = re.compile(
    r"(?P<prefix>[bBrRuUfF]{1,2}|(?:SecretStr|SecretBytes|Secret|str|bytes|quote|String|Some)\(\s{0,4}+)?"
    r"(?P<quote>\\{0,7}[\"'`])"
)
_INSIDE = {quote: re.compile(rf"(?:[^{quote}\\\n]|\\.)*+") for quote in "\"'`"}
_BLOCK = re.compile(
    r"[|>][+\-]?\d?[ \t]{0,20}\n(?P<value>(?P<indent>[ \t]{1,40}+)\S[^\n]{0,2000}(?:\n(?P=indent)[^\n]{0,2000}){0,100})"
)
# Up to where the next pair begins, and not beyond an escaped end of line.
_BARE = re.compile(r"(?:(?![;,&]\s{0,3}[\w .\-]{1,40}[=:])[^\s\"'`<>\\]|\\(?![nrt\"'`]))++")
_IN_QUERY = re.compile(r"(?:[^\s\"'`<>\\#&]|\\(?![nrtu\"'`]))++")
# Cookies and digests have quotes of their own.
_HEADER = re.compile(r"(?:=\\?\"[^\"\r\n]{0,2048}+\"|[^\r\n\"'`\\]|\\(?![nrt\"'`]))++")
_COOKIE = re.compile(r"[\w.$\-]{1,80}=[^\s;]")
_BLANK = re.compile(r"\s|\Z")
_CLOSERS = ")]},;:."
_LONGEST, _SHORT = 8192, 256


class Reader:
    """Reads values of one text, and keeps the effort in proportion to its length.

    A text made for it has a name in every value, so that each value would be read again from every place in it. When
    too much was read, values are read in short, and one that goes on counts as a secret up to the next blank.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._effort_left = 16 * len(text) + 65_536

    def value(self, place: int, style: Style, *, is_in_query: bool = False) -> Reading | None:
        """The value at ``place``; one in quotes has that style, whatever ``style`` says of bare ones."""
        return self._counted(self._value(place, style, is_in_query))

    def header(self, place: int) -> Reading | None:
        """The value of a header line, up to the end of the line or of the quotes around it."""
        return self._counted(self._header(place))

    def cookies(self, place: int) -> Reading | None:
        """The cookies of a header line; anything that does not look like them is none."""
        reading = self.header(place)
        if reading is None or not _COOKIE.match(self._text, reading.start):
            return None
        return reading._replace(is_certain=True)

    def _limit(self, place: int) -> int:
        return place + (_LONGEST if self._effort_left > 0 else _SHORT)

    def _counted(self, reading: Reading | None) -> Reading | None:
        if reading is None:
            return None
        is_short = self._effort_left <= 0
        self._effort_left -= reading.end - reading.start
        if is_short and reading.end - reading.start >= _SHORT:
            blank = cast("re.Match[str]", _BLANK.search(self._text, reading.end))
            return Reading(reading.start, blank.start(), reading.style, is_certain=True)
        return reading

    def _value(self, place: int, style: Style, is_in_query: bool) -> Reading | None:
        quoted = self._quoted(place)
        if quoted is not None:
            return quoted
        block = _BLOCK.match(self._text, place, self._limit(place))
        if block is not None:
            return self._stripped(block.span("value"), Style.QUOTED)
        found = (_IN_QUERY if is_in_query else _BARE).match(self._text, place, self._limit(place))
        if found is None:
            return None
        return Reading(place, place + len(found[0].rstrip(_CLOSERS)), style)

    def _header(self, place: int) -> Reading | None:
        quoted = self._quoted(place)
        if quoted is not None:
            return quoted
        found = _HEADER.match(self._text, place, self._limit(place))
        return None if found is None else self._stripped(found.span(), Style.LOOSE)

    def _quoted(self, place: int) -> Reading | None:
        opening = _OPENING.match(self._text, place)
        if opening is None:
            return None
        reading = self._between(opening["quote"], opening.end())
        is_template = "f" in (opening["prefix"] or "").lower() and "{" in self._text[reading.start : reading.end]
        return None if is_template else reading

    def _between(self, quote: str, start: int) -> Reading:
        if len(quote) > 1:
            return self._until(start, quote)
        if self._text.startswith(quote * 2, start):
            return self._until(start + 2, quote * 3)
        inside = cast("re.Match[str]", _INSIDE[quote].match(self._text, start, self._limit(start)))
        return Reading(start, inside.end(), Style.QUOTED)

    def _until(self, start: int, closing: str) -> Reading:
        limit = self._limit(start)
        end = self._text.find(closing, start, limit)
        if end < 0:
            # Cut off somewhere: what is left of the line belongs to it.
            end = self._text.find("\n", start, limit)
        return Reading(start, min(len(self._text), limit) if end < 0 else end, Style.QUOTED)

    def _stripped(self, span: tuple[int, int], style: Style) -> Reading:
        value = self._text[slice(*span)]
        return Reading(span[0] + len(value) - len(value.lstrip()), span[0] + len(value.rstrip()), style)
