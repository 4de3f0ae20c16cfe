"""Markdown for a terminal: left-aligned, without boxes and bars, so that it reads at any width and copies as it is."""

from __future__ import annotations

from copy import copy
from functools import lru_cache
from typing import ClassVar

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement

from amplifier.tui.view.code import highlighted
from amplifier.tui.view.painting import cleaned


class _PlainHeading(Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class _PlainCode(CodeBlock):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield highlighted(str(self.text).rstrip("\n"), self.lexer_name)


class PlainMarkdown(Markdown):
    """Markdown with our headings and code blocks; images are their texts, links show where they lead."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _PlainHeading,
        "fence": _PlainCode,
        "code_block": _PlainCode,
    }


def markdown(source: str) -> PlainMarkdown:
    """The text of a model or of the chat itself, ready to be laid out."""
    made = copy(_empty())
    made.markup = cleaned(source)
    made.parsed = _parser().parse(made.markup)
    return made


# Both take longer to make than to use, and hold nothing of what they are used for.


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    return MarkdownIt().enable("strikethrough").enable("table")


@lru_cache(maxsize=1)
def _empty() -> PlainMarkdown:
    return PlainMarkdown("", hyperlinks=False)
