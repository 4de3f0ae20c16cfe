"""Yes, no and maybe: what can be said of words that are not all known.

Patterns have ``*`` for any characters and ``?`` for one. All comparisons take time in proportion to both lengths.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import IntEnum

from amplifier_modkit.shell.words import ANYTHING, Word

_LONGEST = 2_000


class Answer(IntEnum):
    """The least of several answers is that all of them hold, the greatest that one does."""

    NO = 0
    MAYBE = 1
    YES = 2


def yes_if(is_so: bool) -> Answer:
    """A plain statement as an answer."""
    return Answer.YES if is_so else Answer.NO


def fits(pattern: str, text: str) -> bool:
    """Whether all of ``text`` fits ``pattern``."""
    place, star, resumed = 0, -1, 0
    position = 0
    while position < len(text):
        wanted = pattern[place : place + 1]
        if wanted == "*":
            star, resumed = place, position
            place += 1
        elif wanted and wanted in ("?", text[position]):
            place += 1
            position += 1
        elif star >= 0:
            # Only the last star has to take more: what came before it is settled.
            resumed += 1
            place, position = star + 1, resumed
        else:
            return False
    return not pattern[place:].strip("*")


def one_of(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Compares with many patterns at once; for patterns of our own, which have few stars."""
    parts = [re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".") for pattern in patterns]
    compiled = re.compile("|".join(parts), re.DOTALL)
    return lambda text: compiled.fullmatch(text) is not None


def may_fit(pattern: str, outline: str) -> bool:
    """Whether a text in which ``ANYTHING`` stands for what is not known can turn out to fit ``pattern``."""
    reached = _past_stars({0}, pattern)
    for char in outline:
        if char == ANYTHING:
            reached = set(range(min(reached, default=len(pattern) + 1), len(pattern) + 1))
        else:
            reached = _past_stars(_stepped(reached, pattern, char), pattern)
    return len(pattern) in reached


def _stepped(reached: set[int], pattern: str, char: str) -> set[int]:
    stepped: set[int] = set()
    for place in reached:
        wanted = pattern[place : place + 1]
        if wanted == "*":
            stepped.add(place)
        elif wanted in ("?", char):
            stepped.add(place + 1)
    return stepped


def _past_stars(reached: set[int], pattern: str) -> set[int]:
    """The places that are reached without a character as well, since a star may stand for none."""
    for place in range(min(reached, default=len(pattern)), len(pattern)):
        if place in reached and pattern[place] == "*":
            reached.add(place + 1)
    return reached


def word_fits(pattern: str, word: Word) -> Answer:
    """Whether a word fits ``pattern``."""
    if pattern == "*":
        return Answer.YES
    value = word.value
    if value is not None:
        return yes_if(fits(pattern, value))
    outline = _with_gaps(word)
    return Answer.MAYBE if len(outline) > _LONGEST or may_fit(pattern, outline) else Answer.NO


def _with_gaps(word: Word) -> str:
    """What is known of a word; a wildcard for file names is a gap as well."""
    return re.sub(r"[*?\[][^/]*", ANYTHING, word.outline) if word.is_pattern else word.outline


def names_pattern(text: str) -> str:
    """A wildcard of the shell as a pattern of ours: brackets stand for one character."""
    return re.sub(r"\[[^\[\]]*\]", "?", text)
