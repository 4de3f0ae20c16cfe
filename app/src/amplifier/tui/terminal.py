"""What the chat needs of the place where it is: a terminal that can be drawn on, or one that has lines only."""

from __future__ import annotations

from typing import Protocol


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

    def put_aside(self) -> None:
        """A question has come up."""
        ...

    def take_back(self) -> None:
        """The question is answered."""
        ...

    def copy(self, text: str) -> None:
        """Gives a text to the clipboard."""
        ...

    def clear_screen(self) -> None:
        """Empties the screen."""
        ...

    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        ...
