"""Runs a program of others with a limit of time and of room on the disk; nothing of it is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_POLL_S = 0.1
_GRACE_S = 5.0


class Ended(NamedTuple):
    """How a program ended."""

    code: int
    out: bytes
    err: str


class TooMuchError(Exception):
    """A program took more time or room than it may; the text tells which."""


def run_limited(
    command: Sequence[str], environ: Mapping[str, str], folder: Path, *, timeout_s: float, max_bytes: int
) -> Ended:
    """Runs ``command`` in ``folder`` without input; raises ``TooMuchError``, and ``OSError`` where it cannot begin.

    ``max_bytes`` counts for all files below ``folder`` together.
    """
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=dict(environ),
        # A group of its own: helpers that it starts end with it, and Ctrl-C reaches it through us alone.
        start_new_session=True,
    ) as process:
        try:
            out, err = _watched(process, folder, time.monotonic() + timeout_s, timeout_s, max_bytes)
        except BaseException:
            _end(process)
            raise
    return Ended(process.returncode, out, err.decode("utf-8", "replace"))


def _watched(
    process: subprocess.Popen[bytes], folder: Path, deadline: float, timeout_s: float, max_bytes: int
) -> tuple[bytes, bytes]:
    while True:
        try:
            return process.communicate(timeout=_POLL_S)
        except subprocess.TimeoutExpired:
            if time.monotonic() >= deadline:
                raise TooMuchError(f"took longer than {timeout_s:g} s") from None
            if _size(folder) > max_bytes:
                raise TooMuchError(f"sent more than {max_bytes:,} bytes") from None


def _size(folder: Path) -> int:
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            # Programs rename and remove their files while we look.
            with suppress(FileNotFoundError):
                total += Path(path, name).lstat().st_size
    return total


def _end(process: subprocess.Popen[bytes]) -> None:
    kill_group = getattr(os, "killpg", None)
    with suppress(ProcessLookupError):
        if kill_group is None:  # pragma: no cover - Windows
            process.kill()
        else:
            kill_group(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=_GRACE_S)
