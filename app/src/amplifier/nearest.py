"""The known word that a misspelt one was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The word of ``known`` that is a few slips away from ``word``, or ``None``; of equals the first."""
    close = [
        (slips, index, each) for index, each in enumerate(known) if (slips := _slips(word, each)) <= _allowed(each)
    ]
    return min(close)[2] if close else None


def _allowed(known: str) -> int:
    return max(1, len(known) // 3)


def _slips(one: str, other: str) -> int:
    """How many letters are missing, too many, wrong, or swapped with their neighbour."""
    if abs(len(one) - len(other)) > _allowed(other):
        return abs(len(one) - len(other))
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        before, last, row = row, before, [i]
        for j, its in enumerate(other, start=1):
            slips = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != its))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == its:
                slips = min(slips, last[j - 2] + 1)
            row.append(slips)
    return row[-1]
