"""What in a text is near to what was looked for in vain: a hint for whoever misremembers it."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from heapq import nlargest

_MOST_LINES_COMPARED = 2000
_MOST_CHARS_COMPARED = 160
_MOST_PROMISING = 100
_MOST_HINTS = 3
_LIKENESS = 0.6
_NUMBERED = re.compile(r"^ *\d+\t", re.MULTILINE)


def near_lines(text: str, wanted: str) -> str:
    """A sentence or more about what is near, to be put behind a message; empty if nothing is."""
    without_numbers = _NUMBERED.sub("", wanted)
    if without_numbers != wanted and without_numbers in text:
        return " It is there without the line numbers that read_file puts in front: leave them out."
    lines = text.split("\n")
    first = _equal_but_for_space(lines, wanted)
    if first is not None:
        return (
            f" With other white space it is there, from line {first + 1} on:\n"
            f"{_shown(lines, range(first, min(len(lines), first + _MOST_HINTS)))}"
        )
    alike = _alike(lines, wanted)
    return f" The nearest lines are:\n{_shown(lines, alike)}" if alike else ""


def _equal_but_for_space(lines: list[str], wanted: str) -> int | None:
    """Where lines begin that are those wanted, but for white space."""
    goal = [squeezed for line in wanted.split("\n") if (squeezed := _squeezed(line))]
    have = [(index, squeezed) for index, line in enumerate(lines) if (squeezed := _squeezed(line))]
    if not goal:
        return None
    for start in range(len(have) - len(goal) + 1):
        if all(have[start + step][1] == each for step, each in enumerate(goal)):
            return have[start][0]
    return None


def _alike(lines: list[str], wanted: str) -> list[int]:
    """The lines that are most like the first one wanted."""
    goal = next((line.strip() for line in wanted.split("\n") if line.strip()), "")[:_MOST_CHARS_COMPARED]
    candidates: dict[str, int] = {}
    for index, line in enumerate(lines[:_MOST_LINES_COMPARED]):
        candidates.setdefault(line.strip()[:_MOST_CHARS_COMPARED], index)
    candidates.pop("", None)
    # To find how alike two lines are takes time that grows with the square of their length; to see that they cannot be
    # very much alike, since they have different letters, does not.
    letters = Counter(goal)
    promising = nlargest(
        _MOST_PROMISING, candidates, lambda each: (letters & Counter(each)).total() / (len(goal) + len(each))
    )
    return [candidates[each] for each in difflib.get_close_matches(goal, promising, _MOST_HINTS, _LIKENESS)]


def _squeezed(line: str) -> str:
    return "".join(line.split())


def _shown(lines: list[str], indices: range | list[int]) -> str:
    return "\n".join(f"{index + 1:>6}\t{lines[index][:_MOST_CHARS_COMPARED]}" for index in indices)
