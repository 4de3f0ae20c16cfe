"""Finds private keys that come as a block of lines, whether whole, cut short, or with their line ends escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator

from amplifier_modkit.secrets.masks import Span

RULE = "private-key"

_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_BEGIN_WORDS, _END_WORDS = "-----BEGIN", "-----END"
_END_LINE = re.compile(r"-----END [A-Z0-9 ]{1,60}-----")
_PUTTY_BEGIN = "PuTTY-User-Key-File-"
_PUTTY = re.compile(r"Private-Lines: \d{1,4}(?P<body>(?:\r?\n[A-Za-z0-9+/=]{1,80}(?=\r?\n|$))+)")
# What may stand between two lines of a key: ends of lines, escaped or not, quotes, signs of quotation and joining.
# In one way only, or a text made for it would be tried in all the ways there are.
_GAP = r"(?:[\s\"'+>|,\\]|(?<=\\)[nrt])*+"
_HEADER = re.compile(_GAP + r"(?:Proc-Type|DEK-Info|Version|Comment): [^\n\\]{1,100}")
_LINE = re.compile(_GAP + r"[A-Za-z0-9+/=]{20,}")
_LAST_LINE = re.compile(r"(?!\s{0,80}\n\s{0,80}\n)" + _GAP + r"[A-Za-z0-9+/]{1,19}={0,2}(?=[\s\"'\\]|$)")
_LONGEST_BLOCK = 65_536


def find_blocks(text: str) -> Iterator[Span]:
    """The private keys in ``text``; one without an end reaches as far as its lines look like a key."""
    place = text.find(_BEGIN_WORDS)
    while place >= 0:
        head = _BEGIN.match(text, place)
        end = place + 1 if head is None else _end_of_block(text, head.end())
        if head is not None and end > head.end():
            yield Span(place, end, RULE)
        place = text.find(_BEGIN_WORDS, end)
    if _PUTTY_BEGIN in text:
        yield from (Span(*found.span("body"), RULE) for found in _PUTTY.finditer(text))


def _end_of_block(text: str, body: int) -> int:
    """Where the block ends, the last line included; the beginning of the body if there is nothing of a key."""
    cut = _end_of_lines(text, body)
    if cut == body:
        return body
    another = text.find(_BEGIN_WORDS, body, body + _LONGEST_BLOCK)
    last = text.find(_END_WORDS, body, body + _LONGEST_BLOCK if another < 0 else another)
    if last < 0:
        return cut
    found = _END_LINE.match(text, last)
    return max(cut, last + len(_END_WORDS) if found is None else found.end())


def _end_of_lines(text: str, body: int) -> int:
    position = body
    while (header := _HEADER.match(text, position)) is not None:
        position = header.end()
    first = position
    while (line := _LINE.match(text, position)) is not None:
        position = line.end()
    if position == first:
        return body
    last = _LAST_LINE.match(text, position)
    return position if last is None else last.end()
