"""Finds secrets by what they look like, with the rules of ``rules``.

Where a rule may apply is found first, by means that are many times faster than its pattern.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator
from functools import cache
from itertools import accumulate
from typing import NamedTuple

from amplifier_modkit.secrets.judging import is_plain
from amplifier_modkit.secrets.masks import Span
from amplifier_modkit.secrets.rules import NEAR_RULES, TOKEN_RULES, Rule

LONG_RUN = 20
"""A token has at least so many letters and digits in one stretch."""

_WORD = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/"
_TO_WORDS = bytes(87 if code in _WORD else 32 for code in range(256))
_TO_STRETCHES = bytes(87 if code in _WORD + b".:=~%\\" else 32 for code in range(256))
_RUN = b"W" * LONG_RUN

Patterns = tuple[tuple[Rule, re.Pattern[str]], ...]

_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+=])(?![0-9a-fA-F]{40})[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
_AWS_DISTANCE = 200


def to_ascii(text: str) -> bytes:
    """``text`` with one byte for each character, so that places in both are the same."""
    return text.encode("ascii", "replace")


def find_tokens(text: str, data: bytes, groups: Collection[str]) -> Iterator[Span]:
    """The secrets of ``text`` that are known by their looks; ``data`` are its characters as ``to_ascii`` gives them."""
    if "secrets" in groups:
        yield from _in_stretches(text, data)
    for rule, pattern in _near_patterns():
        if rule.group in groups and any(literal in text for literal in rule.literals):
            spans = (Span(*_part(found), rule.id) for found in _matches(rule, pattern, text))
            yield from (span for span in spans if not is_plain(text[span.start : span.end]))


class _Stretches(NamedTuple):
    """The parts of a text that have long runs, put together with blanks between them."""

    text: str
    starts: list[int]
    """Where each of them starts here."""
    origins: list[int]
    """Where each of them starts in the text they come from."""

    @classmethod
    def of(cls, text: str, data: bytes) -> _Stretches | None:
        """Those of ``text``, whose characters are ``data``; nothing if it has none."""
        places = list(_find_stretches(data))
        if not places:
            return None
        lengths = (end - start + 1 for start, end in places[:-1])
        parts = [text[start:end] for start, end in places]
        return cls(" ".join(parts), list(accumulate(lengths, initial=0)), [start for start, _ in places])

    def origin(self, place: int) -> int:
        """The place in the text they come from."""
        index = bisect_right(self.starts, place) - 1
        return self.origins[index] + place - self.starts[index]


def _find_stretches(data: bytes) -> Iterator[tuple[int, int]]:
    words = data.translate(_TO_WORDS)
    run = words.find(_RUN)
    if run < 0:
        return
    stretches = data.translate(_TO_STRETCHES)
    while run >= 0:
        start = stretches.rfind(b" ", 0, run) + 1
        end = stretches.find(b" ", run)
        end = len(data) if end < 0 else end
        yield start, end
        run = words.find(_RUN, end)


def _in_stretches(text: str, data: bytes) -> Iterator[Span]:
    stretches = _Stretches.of(text, data)
    if stretches is None:
        return
    for rule, pattern in _token_patterns():
        for found in _matches(rule, pattern, stretches.text):
            start, end = _part(found)
            place = stretches.origin(start)
            span = Span(place, place + end - start, rule.id)
            yield span
            if rule.id == "aws-access-key":
                yield from _aws_secrets(text, span)


def _matches(rule: Rule, pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    if not rule.literals:
        yield from pattern.finditer(text)
    for literal in rule.literals:
        place = text.find(literal)
        while place >= 0:
            found = pattern.match(text, _start(rule, text, place))
            if found is not None:
                yield found
            place = text.find(literal, place + len(literal) if found is None else max(found.end(), place + 1))


def _start(rule: Rule, text: str, place: int) -> int:
    if not rule.lead:
        return place
    lead = text[max(0, place - rule.longest_lead) : place]
    return place - len(lead) + len(lead.rstrip(rule.lead))


def _part(found: re.Match[str]) -> tuple[int, int]:
    return found.span("secret") if "secret" in found.re.groupindex else found.span()


def _aws_secrets(text: str, key: Span) -> Iterator[Span]:
    """The second half of the credential: in itself it looks like many a hash, beside a key id it does not."""
    for found in _AWS_SECRET.finditer(text, max(0, key.start - _AWS_DISTANCE), key.end + _AWS_DISTANCE):
        yield Span(*found.span(), "aws-secret-key")


# Compiled when first needed, and without arguments: to look up a rule would take longer than to search a short text.
@cache
def _token_patterns() -> Patterns:
    return tuple((rule, re.compile(rule.pattern)) for rule in TOKEN_RULES)


@cache
def _near_patterns() -> Patterns:
    return tuple((rule, re.compile(rule.pattern)) for rule in NEAR_RULES)
