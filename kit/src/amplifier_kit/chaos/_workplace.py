"""Where chaos happens: a throw-away working directory, so that what tools write by made-up input does no harm.

All chaos of a process that runs at the same time shares one directory, because a process has one.
"""

from __future__ import annotations

import logging
import os
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

_lock = threading.Lock()


class _Workplace:
    """The directory while anybody works in it, and the one to return to."""

    def __init__(self) -> None:
        self._users = 0
        self._home = Path()
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def enter(self) -> None:
        with _lock:
            self._users += 1
            if self._folder is None:
                self._home = Path.cwd()
                self._folder = tempfile.TemporaryDirectory(prefix="amplifier-chaos-", ignore_cleanup_errors=True)
                os.chdir(self._folder.name)

    def leave(self) -> None:
        with _lock:
            self._users -= 1
            if self._folder is not None and self._users == 0:
                with suppress(OSError):  # where it was may be gone
                    os.chdir(self._home)
                self._folder.cleanup()
                self._folder = None


_workplace = _Workplace()


@contextmanager
def workplace() -> Generator[None]:
    """Moves into the throw-away directory, and keeps logged failures from the terminal when nobody set up logging."""
    handler = logging.NullHandler()
    logging.getLogger().addHandler(handler)
    _workplace.enter()
    try:
        yield
    finally:
        _workplace.leave()
        logging.getLogger().removeHandler(handler)
