"""The lock on an open file keeps others out for as long as it is held, on every system."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from amplifier_modkit import file_lock


@pytest.fixture
def descriptors(tmp_path: Path) -> Iterator[list[int]]:
    """The same file, opened twice."""
    opened = [os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT) for _ in range(2)]
    yield opened
    for descriptor in opened:
        os.close(descriptor)


def test_the_lock_is_exclusive_until_it_is_given_back(descriptors: list[int]) -> None:
    """A second one is refused at once, or after the time it may take."""
    one, other = descriptors
    with file_lock.held(one, 1):
        with pytest.raises(BlockingIOError):
            file_lock.lock(other)
        with pytest.raises(TimeoutError) as late, file_lock.held(other, 0.01):
            pass
        assert str(late.value) == "another process has held the lock for more than 0.01 s"
    with file_lock.held(other, 0):
        pass


def test_whoever_waits_gets_the_lock_when_it_is_free(descriptors: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting ends when the lock is given back."""
    one, other = descriptors
    file_lock.lock(one)
    monkeypatch.setattr(time, "sleep", lambda seconds: file_lock.unlock(one))
    with file_lock.held(other, 10), pytest.raises(BlockingIOError):
        file_lock.lock(one)


def test_windows_locks_a_byte_that_no_file_has(descriptors: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """There, the lock is on one byte far behind the end, so that others can read; a refusal means the same."""
    calls: list[tuple[int, int, int]] = []
    refusal: list[OSError] = []

    def locking(descriptor: int, mode: int, count: int) -> None:
        calls.append((mode, count, os.lseek(descriptor, 0, os.SEEK_CUR)))
        if refusal:
            raise refusal[0]

    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2, LK_UNLCK=0))
    file_lock._lock_on_windows(descriptors[0])
    file_lock._unlock_on_windows(descriptors[0])
    refusal.append(PermissionError(errno.EACCES, "locked"))
    with pytest.raises(BlockingIOError):
        file_lock._lock_on_windows(descriptors[0])
    assert calls == [(2, 1, 0x7FFF_FFFE), (0, 1, 0x7FFF_FFFE), (2, 1, 0x7FFF_FFFE)]
