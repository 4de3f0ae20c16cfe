"""Messages of hooks, and of the command about its work, on standard error."""

from __future__ import annotations

import sys
from typing import Literal

from amplifier.console.plain import harmless

Level = Literal["info", "warning", "error"]


def note(text: str) -> None:
    """Writes to standard error at once; a process that was started without one writes nothing."""
    if sys.stderr is not None:
        sys.stderr.write(text)
        sys.stderr.flush()


class StderrDisplay:
    """Shows what hooks have to say, a line each; quiet ones only what is more than information."""

    def __init__(self, *, is_quiet: bool) -> None:
        self._is_quiet = is_quiet

    def show_message(self, message: str, level: Level, source: str = "hook") -> None:
        """Shows ``message`` with its source."""
        if not self._is_quiet or level != "info":
            mark = "" if level == "info" else f"{level}: "
            note(f"[{harmless(source)}] {mark}{harmless(message)}\n")

    def tell(self, text: str) -> None:
        """Shows what the command itself has to say."""
        note(f"amplifier: {harmless(text)}\n")
