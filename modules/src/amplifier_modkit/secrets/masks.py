"""What stands in the place of a secret, and the bookkeeping of what was found where."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

Hits = Counter[str]
"""How often each rule, by its id, has found something."""

# The kernel's own masks have no rule in them.
_MASK = re.compile(r"\[REDACTED(?::[a-z0-9-]{1,40})?\]")


class Span(NamedTuple):
    """A secret in a text: from ``start`` up to, and without, ``end``."""

    start: int
    end: int
    rule: str


def mask(rule: str) -> str:
    """The text that stands for a secret which the rule has found."""
    return f"[REDACTED:{rule}]"


def is_masked(text: str) -> bool:
    """Whether ``text`` begins with a mask: what follows was left there on purpose."""
    return _MASK.match(text) is not None


def is_one_mask(text: str) -> bool:
    """Whether ``text`` is a mask and nothing else."""
    return _MASK.fullmatch(text) is not None


def merged(spans: Iterable[Span]) -> list[Span]:
    """``spans`` in order, those that overlap made one under the rule that found most of it."""
    ordered = sorted(spans, key=lambda span: (span.start, -span.end))
    result: list[Span] = []
    for span in ordered:
        if result and span.start < result[-1].end:
            last = result[-1]
            longest = max(last, span, key=lambda each: each.end - each.start)
            result[-1] = Span(last.start, max(last.end, span.end), longest.rule)
        else:
            result.append(span)
    return result


def without_masked(text: str, spans: Iterable[Span]) -> list[Span]:
    """Those of the ``spans`` that are not within masks of ``text`` already."""
    if "[REDACTED" not in text:
        return list(spans)
    masks = [found.span() for found in _MASK.finditer(text)]
    return [span for span in spans if not _is_within(masks, span)]


def _is_within(masks: list[tuple[int, int]], span: Span) -> bool:
    index = bisect_right(masks, span.start, key=lambda place: place[0]) - 1
    return index >= 0 and span.end <= masks[index][1]


def replaced(text: str, spans: Sequence[Span]) -> str:
    """``text`` with a mask in the place of each of the ``spans``, which are in order and apart."""
    parts: list[str] = []
    position = 0
    for span in spans:
        parts += (text[position : span.start], mask(span.rule))
        position = span.end
    parts.append(text[position:])
    return "".join(parts)
