"""HTML as clean Markdown: what a reader of the page sees, its title, and links that are whole.

Runs in the worker process, since pages are written by strangers and the library runs at its own pace.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape

# Takes whatever begins as a tag, also without an end, so that no character is looked at from two beginnings.
_START_TAG = re.compile(r"<([A-Za-z][^\s>/\"']*+)((?:[^>\"']++|\"[^\"]*+\"|'[^']*+')*+)(?:>|[\"']|\Z)")
_STYLE = re.compile(r"\bstyle\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>\"']++))", re.IGNORECASE)
_SCRIPT_HREF = re.compile(r"\bhref(\s*+=\s*+[\"']?\s*+(?:javascript|vbscript|data):)", re.IGNORECASE)
_NEVER_SHOWN = ["script", "style", "noscript", "template", "svg", "canvas", "object", "iframe"]
_BLANK_LINES = re.compile(r"\n{3,}")
_TITLE = re.compile(r"<title\b[^>]{0,200}>(.{0,1000}?)</title\b", re.IGNORECASE | re.DOTALL)
_TITLE_CHARS = 200_000

_COMMENT_IN_STYLE = re.compile(r"/\*.*?\*/", re.DOTALL)
_HIDING = re.compile(
    r"(?:^|;)(?:"
    r"display:none|visibility:(?:hidden|collapse)|content-visibility:hidden"
    r"|opacity:0*(?:\.0+)?%?(?=;|!|$)"
    r"|font-size:(?:0*\.?0+(?:px|pt|em|rem|%)?|[01](?:\.\d+)?px)(?=;|!|$)"
    r"|(?:max-)?(?:width|height):0+(?:px|pt|em|rem|%)?(?=;|!|$)"
    r"|(?:left|right|top|bottom|text-indent|margin-left|margin-top):-\d{3,}"
    r"|clip:rect\((?:0|1px)|clip-path:inset\((?:50|100)%"
    r"|transform:[^;]*scale[xy]?\(0[,)]"
    r"|color:transparent"
    r")"
)


@dataclass(frozen=True, slots=True)
class Markdown:
    """A page as text."""

    text: str
    title: str | None
    is_complete: bool
    """Whether everything of the page is there; it is not where elements are nested deeper than anybody needs."""


def to_markdown(html: str, base_url: str) -> Markdown:
    """The page as Markdown, with links and images relative to ``base_url`` or to what the page says instead."""
    from html_to_markdown import ConversionOptions, convert

    options = ConversionOptions(
        base_url=base_url,
        hidden_content="drop",
        inline_data_media="alt_text_only",
        exclude_selectors=_NEVER_SHOWN,
        extract_metadata=False,  # it would put a header of its own in front
    )
    result = convert(_START_TAG.sub(_defused, html), options)
    is_complete = all(str(warning.kind) != "depth_limit_exceeded" for warning in result.warnings)
    return Markdown(_BLANK_LINES.sub("\n\n", result.content or "").strip(), title_of(html), is_complete)


def title_of(html: str) -> str | None:
    """The title of a page, as one line."""
    found = _TITLE.search(html[:_TITLE_CHARS])
    return " ".join(unescape(found[1]).split()) or None if found else None


def hides(style: str) -> bool:
    """Whether an element with this inline style is invisible to readers, by the ways that are known."""
    plain = re.sub(r"\s+", "", _COMMENT_IN_STYLE.sub("", unescape(style))).lower()
    return bool(_HIDING.search(plain))


def _defused(tag: re.Match[str]) -> str:
    """The tag with every way to hide spelt as the one that the library knows, and without links to scripts."""
    text = tag[0]
    if not tag[2].strip():
        return text
    if any(hides(style[1] or style[2] or style[3] or "") for style in _STYLE.finditer(text)):
        text = f"<{tag[1]} hidden {text[1 + len(tag[1]) :]}"
    return _SCRIPT_HREF.sub(r"data-href\1", text)
