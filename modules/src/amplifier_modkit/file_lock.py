"""The exclusive lock on an open file, by ``flock`` or as Windows does it; it ends with the process at the latest."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

# A locked byte of Windows cannot be read by anybody else, so it is one that no file of ours ever has.
_BEYOND_THE_END = 0x7FFF_FFFE
_POLL_S = 0.005


def _lock_by_flock(descriptor: int) -> None:
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _unlock_by_flock(descriptor: int) -> None:
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_UN)


def _lock_on_windows(descriptor: int) -> None:
    msvcrt: Any = importlib.import_module("msvcrt")
    os.lseek(descriptor, _BEYOND_THE_END, os.SEEK_SET)
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except PermissionError as error:
        raise BlockingIOError(error.errno, error.strerror) from error


def _unlock_on_windows(descriptor: int) -> None:
    msvcrt: Any = importlib.import_module("msvcrt")
    os.lseek(descriptor, _BEYOND_THE_END, os.SEEK_SET)
    msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)


_is_windows = os.name == "nt"

lock = _lock_on_windows if _is_windows else _lock_by_flock
"""Locks an open file; raises ``BlockingIOError`` if somebody else has, through whichever descriptor."""

unlock = _unlock_on_windows if _is_windows else _unlock_by_flock
"""Gives the lock back, also where a forked process has inherited the descriptor."""


@contextmanager
def held(descriptor: int, timeout_s: float) -> Generator[None]:
    """Holds the lock for the block; waits for it, so this is for threads. Raises ``TimeoutError`` after a while."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            lock(descriptor)
            break
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                raise TimeoutError(f"another process has held the lock for more than {timeout_s:g} s") from error
        time.sleep(_POLL_S)
    try:
        yield
    finally:
        unlock(descriptor)
