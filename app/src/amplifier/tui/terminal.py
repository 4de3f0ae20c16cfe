"""What the chat needs of the place where it is: a terminal that can be drawn on, or one that has lines only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from amplifier.tui.picker import Choice


class Terminal(Protocol):
    """Where the chat is: ``Board``, or ``PlainBoard``."""

    async def run(self) -> None:
        """Takes what is typed until ``leave`` is called."""
        ...

    def leave(self, error: BaseException | None = None) -> None:
        """Ends ``run``, with an error if there is one."""
        ...

    def write(self, text: str) -> None:
        """Prints whole lines."""
        ...

    def refresh(self) -> None:
        """Draws again what changes."""
        ...

    def prefill(self, text: str) -> None:
        """Puts a text into the input line."""
        ...

    async def choose(self, title: str, choices: Sequence[Choice], start: int = 0) -> int | None:
        """Has the user choose, from ``start`` on; gives the number of the choice, ``None`` where there is none."""
        ...

    def put_aside(self) -> None:
        """A question has come up."""
        ...

    def take_back(self) -> None:
        """The question is answered."""
        ...

    def copy(self, text: str) -> str:
        """Gives a text to the clipboard of the terminal; tells where it is now. Raises ``Problem`` for too much."""
        ...

    async def edit(self, path: Path) -> None:
        """Has the user write in a file, with the editor; raises ``Problem`` where there is none."""
        ...

    def switch_keys(self) -> str:
        """Goes over from keys of emacs to those of vi, or back; tells which they are now."""
        ...

    def clear_screen(self) -> None:
        """Empties the screen."""
        ...

    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        ...
