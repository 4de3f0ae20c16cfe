"""Finds secrets in a text by the name they stand behind: ``password=…``, ``"token": "…"``, ``--api-key …``, headers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from amplifier_modkit.secrets.judging import Style, is_secret
from amplifier_modkit.secrets.masks import Span
from amplifier_modkit.secrets.names import NameRule, name_rule
from amplifier_modkit.secrets.readings import Reader, Reading

# One of these words is in every name of a secret; each is looked for by itself, which is faster than one pattern.
_WORDS = (b"pass", b"pwd", b"secret", b"token", b"key", b"cred", b"auth", b"cookie", b"sig")
# The rest of the name and a first look at what follows: most promising words are passed over here.
_REST = re.compile(rb"[a-z0-9_.\-]{0,48}+(?=[\"'`\\\])*]{0,8}\s{0,20}(?:[:=,>|%]|is[ :]|was |\\?[\"']?value))")
_FLAGS = re.compile(rb"--(?<![a-z0-9\-]--)[a-z0-9_\-]{3,48}+(?=[\"'\\,]{0,8}\s)")
_NAME_CHARS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
_LONGEST_NAME = 48

_QUOTE = r"\\{0,7}[\"'`]"
_ASSIGNED = re.compile(
    rf"(?P<close>{_QUOTE}\]?|\*\*)?(?P<left>[ \t]{{0,20}}+)(?P<sign>=>|:=|===?|=|:(?![:/])|%3[dDaA])"
    rf"(?P<right>[ \t]{{0,20}}+)(?:\*\*[ \t]?)?"
)
_NEXT_LINE = re.compile(rf"\s{{1,60}}+(?={_QUOTE}(?!\"\"|''))")
_FLAGGED = re.compile(rf"(?:{_QUOTE},?)?\s{{1,4}}+(?![\s\-])")
_TAGGED = re.compile(r"\s{0,4}>(?P<value>[^<\n]{1,512})</")
_VALUE_OF = re.compile(rf"(?:{_QUOTE})?,?\s{{1,40}}+(?:{_QUOTE})?value(?:{_QUOTE})?\s{{0,4}}+[:=]\s{{0,4}}+")
_SAID = re.compile(
    rf"(?:{_QUOTE}|\*\*)?[ \t](?:is|was)(?:[ \t]now|[ \t]set[ \t]to)?:?[ \t]|(?P<cell>[ \t]{{1,40}}+\|[ \t]{{1,20}}+)"
)
_ESCAPED = re.compile(r"%(?:3[FfBb]|2[03-6])|\\[nrt]|\\u00[0-9a-fA-F]{2}")
_SIGNATURE = NameRule("signature", ())
_URL_KEY = NameRule("api-key", (), is_strong=False)
_LEAST_URL_KEY = 16
# So much of a value tells what it is, and so much of what follows it.
_JUDGED = 1024
_FOLLOWING = 60


class _Name(NamedTuple):
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        return self.text[self.start : self.end]

    @property
    def before(self) -> str:
        return self.text[max(0, self.start - 1) : self.start]

    @property
    def is_in_query(self) -> bool:
        before = self.text[max(0, self.start - 5) : self.start]
        return before.endswith(("?", "&", "#", "%3F", "%3f", "%26", "&amp;", "\\u0026"))


def find_pairs(text: str, data: bytes) -> Iterator[Span]:
    """The secrets of ``text`` that stand behind their names; ``data`` are its characters, one byte each."""
    lowered = data.lower()
    reader = Reader(text)
    for word in _WORDS:
        yield from _behind(word, text, lowered, reader)
    if b"--" in lowered:
        names = (_Name(text, *found.span()) for found in _FLAGS.finditer(lowered))
        yield from (span for name in names if (span := _secret_behind(name, reader)))


def _behind(word: bytes, text: str, lowered: bytes, reader: Reader) -> Iterator[Span]:
    """The secrets behind names with ``word`` in them; a name inside a secret is no name."""
    place = lowered.find(word)
    while place >= 0:
        place, rest = place + len(word), _REST.match(lowered, place)
        if rest is not None:
            place = rest.end()
            span = _secret_behind(_whole_name(text, *rest.span()), reader)
            if span is not None:
                yield span
                place = max(place, span.end)
        place = lowered.find(word, place)


def _secret_behind(name: _Name, reader: Reader) -> Span | None:
    rule = _rule_of(name)
    reading = None if rule is None else _value_behind(name, rule, reader)
    if rule is None or reading is None:
        return None
    value = name.text[reading.start : min(reading.end, reading.start + _JUDGED)]
    if rule is _URL_KEY and (len(value) < _LEAST_URL_KEY or "/" in value):
        return None
    follows = name.text[reading.end : reading.end + _FOLLOWING]
    if reading.is_certain or is_secret(rule, value, reading.style, follows):
        return Span(reading.start, reading.end, rule.id)
    return None


def _whole_name(text: str, start: int, end: int) -> _Name:
    before = text[max(0, start - _LONGEST_NAME) : start]
    start -= len(before) - len(before.rstrip(_NAME_CHARS))
    # What was escaped before a name is not part of it, though it ends in letters.
    escape = _ESCAPED.match(text, max(0, start - 1), end)
    return _Name(text, start if escape is None else escape.end(), end)


def _rule_of(name: _Name) -> NameRule | None:
    if name.is_in_query:
        lowered = name.word.lower()
        if lowered.endswith(("sig", "signature")):
            return _SIGNATURE
        if lowered == "key":
            return _URL_KEY
    # A part of a longer name: of a type, of a resource.
    is_part = name.text.endswith("::", 0, name.start) or (name.before == ":" and name.text.startswith(":", name.end))
    return None if is_part else name_rule(name.word)


def _value_behind(name: _Name, rule: NameRule, reader: Reader) -> Reading | None:
    text, end = name.text, name.end
    found = _ASSIGNED.match(text, end)
    if found is not None:
        return _assigned(name, rule, found, reader)
    if name.word.startswith("-") and (flag := _FLAGGED.match(text, end)):
        return reader.value(flag.end(), Style.TIGHT)
    if name.before in ("<", ":") and (tag := _TAGGED.match(text, end)):
        return Reading(*tag.span("value"), Style.QUOTED)
    if (value := _VALUE_OF.match(text, end)) is not None:
        return reader.value(value.end(), Style.LOOSE)
    said = _SAID.match(text, end)
    if said is None or (said["cell"] and not text[max(0, name.start - 40) : name.start].rstrip(" \t").endswith("|")):
        return None
    return reader.value(said.end(), Style.SAID)


def _assigned(name: _Name, rule: NameRule, found: re.Match[str], reader: Reader) -> Reading | None:
    text, place = name.text, found.end()
    if found["close"] is None and name.before and name.before in "\"'`" and text.startswith(name.before, place):
        return None  # the quotes are around name and sign: 'Password: '
    if found["sign"].startswith("==") and not rule.is_strong:
        return None  # parsers compare tokens all the time
    if found["close"] and (gap := _NEXT_LINE.match(text, place)):
        place = gap.end()
    if rule.id == "authorization":
        return reader.header(place)
    if rule.id == "cookie":
        return reader.cookies(place)
    return reader.value(place, _style_of(found), is_in_query=name.is_in_query)


def _style_of(found: re.Match[str]) -> Style:
    sign = found["sign"]
    if sign.startswith("=="):
        return Style.COMPARED
    if sign in ("=", "%3D", "%3d"):
        return Style.SPACED if found["left"] or found["right"] else Style.TIGHT
    return Style.LOOSE
