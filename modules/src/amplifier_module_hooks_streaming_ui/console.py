"""The console as a display: standard output if a person looks at it, else standard error; never mixed into a pipe."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from typing import Any

from amplifier_module_hooks_streaming_ui.lines import Line, Style, prose
from amplifier_module_hooks_streaming_ui.painting import Terminal, paint

logger = logging.getLogger(__name__)

_USUAL_WIDTH = 80
_STYLES: dict[str, Style] = {"info": "quiet", "warning": "bad", "error": "bad"}
_MOST_LINES = 50


class Console:
    """A display system for hosts without one; what belongs together is written at once."""

    def __init__(self) -> None:
        self._has_failed = False

    def show_message(self, message: str, level: str = "info", source: str = "hook") -> None:
        """Shows a message of a hook."""
        lines = prose(message, _STYLES.get(level, "plain"), _MOST_LINES)
        self.show_lines([*lines[:-1], Line(f"{lines[-1].text} ({source})", lines[-1].style, is_prose=True)])

    def show_lines(self, lines: Sequence[Line]) -> None:
        """Shows lines as this terminal can."""
        stream = self._stream()
        if not lines or stream is None or self._has_failed:
            return
        try:
            stream.write(paint(lines, terminal_of(stream)))
            stream.flush()
        except (OSError, ValueError) as error:
            # Nobody is there to read it any more, and nobody would read it now.
            self._has_failed = True
            logger.info("Nothing is shown on the console from here on: %s", error)

    def _stream(self) -> Any:
        return sys.stdout if _is_terminal(sys.stdout) else sys.stderr


def terminal_of(stream: Any) -> Terminal:
    """What the terminal behind a stream can do, and what its user wants."""
    return Terminal(_width(stream), _wants_colours(stream), getattr(stream, "encoding", None) or "utf-8")


def _wants_colours(stream: Any) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return _is_terminal(stream) and os.environ.get("TERM") != "dumb"


def _width(stream: Any) -> int:
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    try:
        return os.get_terminal_size(stream.fileno()).columns or _USUAL_WIDTH
    except (AttributeError, OSError, ValueError):
        return _USUAL_WIDTH


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False
