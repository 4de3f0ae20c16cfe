"""Lines added to the end of a file: on the disk afterwards, and unharmed by a torn line before them."""

from __future__ import annotations

import os
from pathlib import Path


def append_synced(path: Path, lines: bytes) -> None:
    """Adds whole lines to a file that only its owner may read, and makes it and its folders where there are none."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with os.fdopen(descriptor, "wb") as file:
        # A line that was torn by a crash must not swallow the first of ours.
        prefix = b"\n" if _is_torn(path) else b""
        file.write(prefix + lines)
        file.flush()
        os.fsync(file.fileno())


def _is_torn(path: Path) -> bool:
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"
