"""Markdown for a terminal: left-aligned, without boxes and bars, so that it reads at any width and copies as it is.

Most of what a model says are paragraphs, headings and lists of them. These are laid out here, and look as rich would
lay them out, in half of the time: a paragraph is laid out many times while it comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import lru_cache
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, HorizontalRule, Markdown, MarkdownElement, TableElement
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from amplifier.tui.view.code import highlighted
from amplifier.tui.view.painting import cleaned, console_for, line_of, lines_of
from amplifier.tui.view.theme import Theme

Row = list[Segment]
_STYLED = {"em", "strong", "code", "s"}
_LEAST_WIDTH = 20


class _PlainHeading(Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class _PlainCode(CodeBlock):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield highlighted(str(self.text).rstrip("\n"), self.lexer_name)


class _PlainRule(HorizontalRule):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text("─" * options.max_width, console.get_style("markdown.table.border", default="none"))


class _PlainTable(TableElement):
    """As rich's, but no word is cut, and what has no head has no line below it."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            assert isinstance(table, Table)
            table.show_header = any(str(column.header).strip() for column in table.columns)
            for column in table.columns:
                column.overflow = "fold"
            yield table


class PlainMarkdown(Markdown):
    """Markdown with our headings and code blocks; images are their texts, links show where they lead."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _PlainHeading,
        "fence": _PlainCode,
        "code_block": _PlainCode,
        "hr": _PlainRule,
        "table_open": _PlainTable,
    }


def prose_lines(source: str, width: int, theme: Theme) -> list[str]:
    """The text of a model or of the chat itself, in lines for a terminal of that width; none is blank at the ends."""
    clean = cleaned(source)
    tokens = _parsed(clean)
    simple = _simple_lines(tokens, width, theme)
    lines = lines_of(_markdown(clean, tokens), width, theme) if simple is None else simple
    while lines and not lines[0]:
        del lines[0]
    while lines and not lines[-1]:
        del lines[-1]
    return lines


def markdown(source: str) -> PlainMarkdown:
    """A text as rich lays it out."""
    clean = cleaned(source)
    return _markdown(clean, _parsed(clean))


def _parsed(clean: str) -> list[Token]:
    tokens = _parser().parse(clean)
    for inline in tokens:
        for token in inline.children or ():
            if token.type == "image":
                # A terminal shows none; rich would put them above everything that they stand in.
                token.type, token.tag, token.children = "text", "", None
                token.content = f"{token.content} ({token.attrs.get('src', '')})"
    return tokens


def _markdown(clean: str, tokens: list[Token]) -> PlainMarkdown:
    made = copy(_empty())
    made.markup = clean
    made.parsed = tokens
    return made


def _simple_lines(tokens: Sequence[Token], width: int, theme: Theme) -> list[str] | None:
    """The lines of a text of paragraphs, headings or lists, if it is but one of them; ``None`` for every other."""
    if not tokens or _end(tokens, 0) != len(tokens) - 1:
        return None
    rows = _rows(tokens, width, console_for(width, theme))
    return None if rows is None else [line_of(row, theme) for row in rows]


def _rows(tokens: Sequence[Token], width: int, console: Console) -> list[Row] | None:
    """The rows of blocks one below the other; ``None`` if one of them is of another kind."""
    rows: list[Row] = []
    start = 0
    while start < len(tokens):
        end = _end(tokens, start)
        maker = _MAKERS.get(tokens[start].type)
        made = None if maker is None or width < _LEAST_WIDTH else maker(tokens[start : end + 1], width, console)
        if made is None:
            return None
        rows += made
        start = end + 1
    return rows


def _end(tokens: Sequence[Token], start: int) -> int:
    """Where the block ends that begins at ``start``."""
    opening = tokens[start]
    if opening.nesting != 1:
        return start
    later = range(start + 1, len(tokens))
    return next(place for place in later if tokens[place].nesting == -1 and tokens[place].level == opening.level)


def _text_rows(tokens: Sequence[Token], width: int, console: Console) -> list[Row]:
    opening = tokens[0]
    named = "markdown.paragraph" if opening.type == "paragraph_open" else f"markdown.{opening.tag}"
    text = _inline_text(tokens[1].children or [], console.get_style(named, default="none"), console)
    return [list(line.render(console)) for line in text.wrap(console, width, overflow="fold")]


def _list_rows(tokens: Sequence[Token], width: int, console: Console) -> list[Row] | None:
    items: list[Sequence[Token]] = []
    start = 1
    while start < len(tokens) - 1:
        end = _end(tokens, start)
        items.append(tokens[start + 1 : end])
        start = end + 1
    rows: list[Row] = []
    for item, (first, others) in zip(items, _marks(tokens[0], len(items), console), strict=True):
        inner = _rows(item, width - len(first.text), console)
        if not inner:
            return None
        rows += ([others if number else first, *row] for number, row in enumerate(inner))
    return rows


def _marks(opening: Token, count: int, console: Console) -> list[tuple[Segment, Segment]]:
    """What stands before the first line of each item, and before its others."""
    if opening.type == "bullet_list_open":
        style = console.get_style("markdown.item.bullet", default="none")
        return [(Segment(" • ", style), Segment("   ", style))] * count
    start = int(opening.attrs.get("start", 1))
    style = console.get_style("markdown.item.number", default="none")
    width = len(str(start + count)) + 2
    blank = Segment(" " * width, style)
    return [(Segment(f"{number}".rjust(width - 1) + " ", style), blank) for number in range(start, start + count)]


def _inline_text(children: Sequence[Token], style: Style, console: Console) -> Text:
    """A paragraph with its styles."""
    text = Text()
    styles = [style]
    link: tuple[str, list[str]] | None = None
    for token in children:
        if token.type == "link_open" and link is None:
            link = (str(token.attrs.get("href", "")), [])
        elif token.type == "link_close" and link is not None:
            _add_link(text, link, styles[-1], console)
            link = None
        elif token.tag in _STYLED:
            inner = styles[-1] + console.get_style(f"markdown.{token.tag}", default="none")
            if token.nesting == 1:
                styles.append(inner)
            elif token.nesting == -1:
                styles.pop()
            else:
                _add(text, token.content, inner, link)
        else:
            _add(text, _BREAKS.get(token.type, token.content), styles[-1], link)
    return text


def _add(text: Text, words: str, style: Style, link: tuple[str, list[str]] | None) -> None:
    if link is None:
        text.append(words, style)
    else:
        link[1].append(words)


def _add_link(text: Text, link: tuple[str, list[str]], style: Style, console: Console) -> None:
    """The words of a link, and where it leads."""
    text.append("".join(link[1]), style + console.get_style("markdown.link", default="none"))
    text.append(" (", style)
    text.append(link[0], style + console.get_style("markdown.link_url", default="none"))
    text.append(")", style)


_MAKERS = {
    "paragraph_open": _text_rows,
    "heading_open": _text_rows,
    "bullet_list_open": _list_rows,
    "ordered_list_open": _list_rows,
}
_BREAKS = {"softbreak": " ", "hardbreak": "\n"}


# Both take longer to make than to use, and hold nothing of what they are used for.


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    # Tags are text: models write `Vec<String>`, and nothing of what they say may vanish.
    return MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")


@lru_cache(maxsize=1)
def _empty() -> PlainMarkdown:
    return PlainMarkdown("", hyperlinks=False)
