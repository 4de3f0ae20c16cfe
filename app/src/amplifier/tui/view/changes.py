"""What is added to a conversation: pieces that are finished, so that they are printed once and never again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from amplifier.tui.view.diffs import Diff

Level = Literal["info", "warning", "error"]
Ending = Literal["good", "bad", "stopped"]


@dataclass(frozen=True, slots=True)
class Speaker:
    """Whose words and deeds these are: the session itself, or an agent below it."""

    label: str = ""
    depth: int = 0


ROOT = Speaker()


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the user has said."""

    text: str
    speaker: Speaker = ROOT


@dataclass(frozen=True, slots=True)
class Prose:
    """A piece of an answer in Markdown: a paragraph, an item, a table, a heading."""

    source: str
    has_gap: bool = True
    """Whether a blank line stands before it."""
    speaker: Speaker = ROOT


@dataclass(frozen=True, slots=True)
class Code:
    """Lines of a fenced block; a long one comes in several pieces."""

    lines: tuple[str, ...]
    language: str = ""
    context: tuple[str, ...] = ()
    """Lines of the same block that stand above, so that a text that goes on is coloured as one."""
    is_first: bool = True
    is_last: bool = True
    speaker: Speaker = ROOT


@dataclass(frozen=True, slots=True)
class Thought:
    """What the model thought before it spoke."""

    text: str
    seconds: float | None = None
    speaker: Speaker = ROOT


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that is over."""

    name: str
    given: Any
    ending: Ending
    output: str = ""
    error: str = ""
    seconds: float | None = None
    diff: Diff | None = None
    found: str = ""
    """How much a search has found."""
    speaker: Speaker = ROOT


@dataclass(frozen=True, slots=True)
class Begun:
    """A tool call that begins; told only where no region lives that would show it."""

    name: str
    given: Any = field(default=None)
    speaker: Speaker = ROOT


@dataclass(frozen=True, slots=True)
class Note:
    """A short message beside the conversation."""

    text: str
    level: Level = "info"
    speaker: Speaker = ROOT


Change = Prompt | Prose | Code | Thought | Call | Begun | Note
