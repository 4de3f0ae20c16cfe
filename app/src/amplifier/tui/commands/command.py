"""What a command of the chat is, and what it may do with the chat."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from amplifier.tui.picker import Choice
from amplifier.tui.talk import Talk
from amplifier.tui.terminal import Terminal


class Desk(Protocol):
    """The chat, as its commands see it."""

    @property
    def talk(self) -> Talk:
        """The session."""
        ...

    @property
    def terminal(self) -> Terminal:
        """Where the chat is."""
        ...

    @property
    def commands(self) -> Mapping[str, Command]:
        """Every command that can be called now, by name."""
        ...

    def say(self, markdown: str) -> None:
        """Shows a text."""
        ...

    def notice(self, text: str) -> None:
        """Shows a short message."""
        ...

    def prefill(self, text: str) -> None:
        """Puts a text into the input line."""
        ...

    async def choose(self, title: str, choices: Sequence[Choice], start: int = 0) -> int | None:
        """Has the user choose, from ``start`` on; gives the number of the choice, ``None`` where there is none."""
        ...

    def tell_agent(self, text: str) -> None:
        """Has a text go along with what is said to the agent next."""
        ...

    async def copy(self, text: str) -> str:
        """Gives a text to the clipboard; tells in words where it is now. Raises ``Problem`` for too much."""
        ...

    def clear_screen(self) -> None:
        """Empties the screen."""
        ...

    def unfold(self) -> int:
        """Shows what was folded last, whole; how much there was."""
        ...

    def leave(self) -> None:
        """Ends the chat."""
        ...


Work = Callable[[Desk, str], Awaitable[str | None]]
"""Does it, with what stands behind the command; gives what is to be said to the agent, if anything is."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command: ``/name``."""

    name: str
    about: str
    work: Work
    usage: str = ""
    """What may stand behind it."""
    is_quick: bool = False
    """Whether it only looks, and may be called while the agent works."""


def cell(text: str) -> str:
    """``text`` as it can stand in a table of Markdown, to the letter and on one line."""
    flat = " ".join(text.split())
    return flat.replace("\\", "\\\\").replace("|", "\\|").replace("`", "\\`").replace("*", "\\*").replace("_", "\\_")


def table(headers: tuple[str, ...], rows: list[tuple[str, ...]], numbers: tuple[int, ...] = ()) -> str:
    """A table in Markdown; ``numbers`` are the columns, counted from 0, that stand at the right."""
    marks = tuple("---:" if number in numbers else "---" for number, _ in enumerate(headers))
    lines = [headers, marks, *(tuple(map(cell, row)) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def fenced(text: str, language: str = "") -> str:
    """``text`` as a block of code that nothing in it can end."""
    longest = max((len(run) for run in _backticks(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _backticks(text: str) -> list[str]:
    import re

    return re.findall(r"`+", text)
