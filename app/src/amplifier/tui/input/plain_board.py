"""The chat on a terminal that shows lines and nothing else: for screen readers, and where nothing can be drawn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol


class PlainListener(Protocol):
    """Who is told what the user does."""

    def submit(self, text: str) -> None:
        """The user has sent a line."""
        ...

    def choices(self) -> list[str]:
        """The choices of a question, if there is one."""
        ...


class PlainBoard:
    """Reads lines and prints lines; a line that ends with a backslash goes on in the next."""

    def __init__(
        self,
        listener: PlainListener,
        read: Callable[[], Coroutine[Any, Any, str]],
        write: Callable[[str], None],
        size: Callable[[], tuple[int, int]],
    ) -> None:
        self._listener = listener
        self._read = read
        self._write = write
        self._size = size
        self._left: asyncio.Future[None] | None = None

    async def run(self) -> None:
        """Reads lines until ``leave`` is called, or there are no more."""
        self._left = asyncio.get_running_loop().create_future()
        begun = ""
        while not self._left.done():
            line = asyncio.create_task(self._read())
            await asyncio.wait([line, self._left], return_when=asyncio.FIRST_COMPLETED)
            if not line.done():
                line.cancel()
                break
            if line.exception() is not None:
                return
            begun += line.result()
            if begun.endswith("\\"):
                begun = f"{begun[:-1]}\n"
            else:
                self._listener.submit(begun)
                begun = ""
        await self._left

    def leave(self, error: BaseException | None = None) -> None:
        """Ends ``run``, with an error if there is one."""
        if self._left is None or self._left.done():
            return
        if error is None:
            self._left.set_result(None)
        else:
            self._left.set_exception(error)

    def write(self, text: str) -> None:
        """Prints whole lines."""
        self._write(text)

    def size(self) -> tuple[int, int]:
        """Columns and rows of the terminal."""
        return self._size()

    def put_aside(self) -> None:
        """A question has come up: tells the choices."""
        self.write("".join(f"{line}\n" for line in self._listener.choices()))

    def take_back(self) -> None:
        """Nothing was kept."""

    def refresh(self) -> None:
        """Nothing is drawn."""

    def prefill(self, text: str) -> None:
        """A line that is typed elsewhere cannot be filled in; the text is shown instead."""
        self.write(f"{text}\n")

    def copy(self, text: str) -> None:
        """There is no clipboard; the text is shown instead."""
        self.write(f"{text}\n")

    def clear_screen(self) -> None:
        """What was printed stays."""
