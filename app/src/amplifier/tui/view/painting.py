"""From text to lines for a terminal: clean, no wider than it is, coloured if it may be. All that is shown is here."""

from __future__ import annotations

import re
from functools import lru_cache
from io import StringIO

from rich.color import ColorSystem
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.text import Text
from rich.theme import Theme as RichTheme

from amplifier.console.plain import harmless
from amplifier.tui.view.theme import Theme

_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
# From the beginning of a line: from everywhere, the time would grow with the square of its length.
_OVERWRITTEN = re.compile(r"^[^\n]*\r(?=[^\n])", re.MULTILINE)
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_LEAST_WIDTH = 4


def cleaned(text: str) -> str:
    """``text`` without what steers a terminal: whole sequences, what a line was overwritten with stays."""
    if text.isascii() and text.isprintable():
        return text
    bare = _SEQUENCES.sub("", text).replace("\r\n", "\n")
    return _SURROGATES.sub("�", harmless(_OVERWRITTEN.sub("", bare)))


def flat(text: str, most: int = 400) -> str:
    """The beginning of ``text`` on one line."""
    return " ".join(cleaned(text[: most * 2]).split())[:most]


def lines_of(content: RenderableType, width: int, theme: Theme) -> list[str]:
    """``content`` in lines for a terminal of that width; nothing stands at their ends that would be copied."""
    console = console_for(width, theme)
    rows = console.render_lines(content, console.options, pad=False)
    return [line_of(row, theme) for row in rows]


def line_of(row: list[Segment], theme: Theme) -> str:
    """One line from parts that fit on it; blanks at its end are left out."""
    while row and not row[-1].text.strip():
        row = row[:-1]
    parts = [*row[:-1], *(Segment(part.text.rstrip(), part.style) for part in row[-1:])]
    if not theme.has_colour:
        return "".join(part.text for part in parts)
    return "".join(
        part.text if part.style is None else part.style.render(part.text, color_system=ColorSystem.STANDARD)
        for part in parts
    )


def one_line(text: Text, width: int, theme: Theme) -> str:
    """``text`` on one line, cut where the terminal ends."""
    cut = text.copy()
    cut.no_wrap = True
    cut.truncate(max(width, 1), overflow="ellipsis")
    if "\n" in cut.plain or "\t" in cut.plain:
        return lines_of(cut, width, theme)[0]
    return line_of(list(Text().append_text(cut).render(console_for(width, theme))), theme)


def folded(text: str, style: str, width: int, theme: Theme) -> list[str]:
    """Lines of plain text, wrapped; blank ones stay."""
    return lines_of(Text(cleaned(text), style=style, overflow="fold"), width, theme)


@lru_cache(maxsize=8)
def console_for(width: int, theme: Theme) -> Console:
    """A console that draws for nobody: variables of the environment have been looked at before."""
    return Console(
        file=StringIO(),
        width=max(width, _LEAST_WIDTH),
        color_system="standard" if theme.has_colour else None,
        force_terminal=theme.has_colour,
        no_color=not theme.has_colour,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
        theme=_markdown_styles(theme),
        _environ={},
    )


def _markdown_styles(theme: Theme) -> RichTheme:
    """The styles of Markdown, with few colours that suit a light and a dark ground."""
    return RichTheme(
        {
            "markdown.h1": "bold underline",
            "markdown.h2": "bold",
            "markdown.h3": "bold",
            "markdown.h4": "italic",
            "markdown.code": theme.style("code"),
            "markdown.item.bullet": theme.style("busy"),
            "markdown.item.number": theme.style("busy"),
            "markdown.list": "none",
            "markdown.block_quote": theme.style("quiet"),
            "markdown.table.header": "bold",
            "markdown.table.border": theme.style("quiet"),
            "markdown.link": "none",
            "markdown.link_url": "underline",
        }
    )
