"""Standard error during a chat: whatever is written there becomes notices, and does not tear the screen."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from contextlib import suppress

from amplifier.tui.view.changes import Level

_LEVELS: tuple[tuple[str, Level], ...] = (
    ("amplifier: error: ", "error"),
    ("amplifier: warning: ", "warning"),
    ("amplifier: ", "info"),
)


class Notices(io.TextIOBase):
    """A stream whose lines are shown by the chat; may be written to from any thread."""

    def __init__(self, notice: Callable[[str, Level], None]) -> None:
        """Made where the chat's loop runs."""
        super().__init__()
        self._notice = notice
        self._loop = asyncio.get_running_loop()
        self._rest = ""

    def write(self, text: str) -> int:
        """Keeps the beginning of a line, and shows whole ones."""
        *lines, self._rest = (self._rest + text).split("\n")
        # Who writes when all is over has nobody left to read it.
        with suppress(RuntimeError):
            for line in filter(str.strip, lines):
                self._loop.call_soon_threadsafe(self._notice, *_read(line))
        return len(text)

    def isatty(self) -> bool:
        """Nothing here takes colours."""
        return False


def _read(line: str) -> tuple[str, Level]:
    """A line as a notice: how it begins elsewhere is a sign here."""
    for beginning, level in _LEVELS:
        if line.startswith(beginning):
            return line.removeprefix(beginning), level
    return line, "info"
