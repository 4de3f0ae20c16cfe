"""Code for a terminal, in the colours of its language; line by line, since that is much quicker than a whole text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from rich.cells import cell_len
from rich.segment import Segment
from rich.syntax import Syntax, SyntaxTheme
from rich.text import Text

from amplifier.tui.view.painting import cleaned, line_of, lines_of
from amplifier.tui.view.theme import Theme

_COLOURS = "ansi_dark"
_TAB = 4


def code_lines(lines: Sequence[str], context: Sequence[str], language: str, width: int, theme: Theme) -> list[str]:
    """``lines`` as they are shown below ``context``, which is not; those that are too long are folded."""
    clean = cleaned("\n".join((*context, *lines))).expandtabs(_TAB)
    rows = _coloured(clean, language) if theme.has_colour else [[Segment(line)] for line in clean.split("\n")]
    return [line for row in rows[len(context) :] for line in _laid_out(row, width, theme)]


def highlighted(code: str, language: str) -> Text:
    """Code as a text that can stand inside another, such as an item of a list."""
    text = Text("\n").join(
        Text.assemble(*((part.text, part.style or "") for part in row)) for row in _coloured(code, language)
    )
    text.overflow = "fold"
    return text


def _coloured(code: str, language: str) -> list[list[Segment]]:
    rows: list[list[Segment]] = [[]]
    style_of = _colours().get_style_for_token
    for kind, text in _lexer(language or "text").get_tokens(f"{code}\n"):
        style = style_of(kind)
        if "\n" not in text:
            rows[-1].append(Segment(text, style))
            continue
        first, *others = text.split("\n")
        rows[-1].append(Segment(first, style))
        rows.extend([Segment(other, style)] for other in others)
    return rows[:-1]


def _laid_out(row: list[Segment], width: int, theme: Theme) -> list[str]:
    if cell_len("".join([part.text for part in row])) <= width:
        return [line_of(row, theme)]
    return lines_of(Text.assemble(*((part.text, part.style or "") for part in row), overflow="fold"), width, theme)


# Both take longer to make than to use, and hold nothing of what they are used for.


@lru_cache(maxsize=32)
def _lexer(language: str) -> Any:
    return Syntax("", language).lexer or Syntax("", "text").lexer


@lru_cache(maxsize=1)
def _colours() -> SyntaxTheme:
    return Syntax.get_theme(_COLOURS)
