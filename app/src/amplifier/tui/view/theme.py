"""How a chat looks: colours or none, signs or words, folded or not. Decided once, from the terminal and the user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

_SIGNS = MappingProxyType(
    {
        "prompt": "❯ ",
        "good": "✓ ",
        "bad": "✗ ",
        "stopped": "■ ",
        "thought": "∴ ",
        "info": "· ",
        "warning": "! ",
        "error": "✗ ",
        "detail": "  └ ",
        "gutter": "│ ",
        "between": " · ",
        "more": "…",
    }
)
_WORDS = MappingProxyType(
    {
        "prompt": "You: ",
        "good": "Done: ",
        "bad": "Failed: ",
        "stopped": "Stopped: ",
        "thought": "Thinking: ",
        "info": "Note: ",
        "warning": "Warning: ",
        "error": "Error: ",
        "detail": "  ",
        "gutter": "  ",
        "between": ", ",
        "more": "...",
    }
)
_STYLES = MappingProxyType(
    {
        "prompt": "bold cyan",
        "quiet": "dim",
        "strong": "bold",
        "good": "green",
        "bad": "red",
        "stopped": "yellow",
        "thought": "dim italic",
        "info": "dim",
        "warning": "yellow",
        "error": "red",
        "gutter": "blue",
        "added": "green",
        "removed": "red",
        "heading": "bold",
        "code": "cyan",
        "busy": "cyan",
    }
)


@dataclass(frozen=True, slots=True)
class Theme:
    """What the terminal can show and what its user wants."""

    has_colour: bool = True
    is_plain: bool = False
    """For screen readers, dumb terminals and pipes: whole lines with words, no region that is drawn again."""
    is_unfolded: bool = False
    """Whether thinking and results are shown whole."""

    def sign(self, name: str) -> str:
        """The sign, or the word, in front of a line."""
        return (_WORDS if self.is_plain else _SIGNS)[name]

    def style(self, name: str) -> str:
        """The style of that name; none without colour."""
        return _STYLES[name] if self.has_colour else ""


def theme_for(
    environ: Mapping[str, str], *, has_colour: bool, is_terminal: bool, is_screen_reader: bool = False
) -> Theme:
    """The theme for a terminal; ``has_colour`` is what flags, settings and the environment come to."""
    is_plain = is_screen_reader or not is_terminal or environ.get("TERM") == "dumb"
    return Theme(has_colour=has_colour, is_plain=is_plain)
