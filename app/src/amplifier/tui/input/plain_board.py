"""The chat on a terminal that shows lines and nothing else: for screen readers, and where nothing can be drawn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Protocol

from amplifier.console.plain import harmless
from amplifier.tui.input.editor import edit_file
from amplifier.tui.input.numbered_list import NumberedList
from amplifier.tui.picker import Choice, Picker


class PlainListener(Protocol):
    """Who is told what the user does."""

    @property
    def is_asking(self) -> bool:
        """Whether a question waits for its answer."""
        ...

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
        self._listed: NumberedList | None = None
        self._chosen: asyncio.Future[int | None] | None = None

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
                self._take(begun)
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

    async def choose(self, title: str, choices: Sequence[Choice], start: int = 0) -> int | None:
        """Lists the choices with numbers, and takes the next lines. A question comes before, and ends it."""
        if self._listener.is_asking:
            return None
        self._end(None)
        self._listed = NumberedList(Picker(title, choices, start), self.write)
        self._chosen = asyncio.get_running_loop().create_future()
        return await self._chosen

    def _take(self, line: str) -> None:
        if self._listed is None:
            self._listener.submit(line)
        elif self._listed.take(line):
            self._end(self._listed.chosen)

    def _end(self, chosen: int | None) -> None:
        if self._chosen is not None and not self._chosen.done():
            self._chosen.set_result(chosen)
        self._listed = self._chosen = None

    def put_aside(self) -> None:
        """A question has come up: tells the choices."""
        self._end(None)
        self.write("".join(f"{line}\n" for line in self._listener.choices()))

    def take_back(self) -> None:
        """Nothing was kept."""

    def refresh(self) -> None:
        """Nothing is drawn."""

    def prefill(self, text: str) -> None:
        """A line that is typed elsewhere cannot be filled in; the text is shown instead."""
        self.write(f"{harmless(text)}\n")

    def copy(self, text: str) -> str:
        """There is no clipboard; the text is shown instead."""
        self.write(f"{harmless(text)}\n")
        return "shown above, as there is no clipboard"

    async def edit(self, path: Path) -> None:
        """The editor may be able to draw where the chat does not."""
        await asyncio.to_thread(edit_file, path)

    def switch_keys(self) -> str:
        """The keys are those of the terminal."""
        return "those of the terminal"

    def clear_screen(self) -> None:
        """What was printed stays."""
