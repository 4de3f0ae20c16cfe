"""The file of a journal from its path to an open, locked, read and whole file that lines can be appended to.

Everything here blocks, and is called in a thread.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from amplifier_modkit import file_lock
from amplifier_module_context_persistent.errors import JournalError, locked, telling
from amplifier_module_context_persistent.records import VERSION, Record, Transcript, from_line, to_line

# Without it, Windows writes two characters for each line end; other systems do not have it.
_BINARY: int = getattr(os, "O_BINARY", 0)
_FLAGS: int = os.O_RDWR | os.O_APPEND | _BINARY | getattr(os, "O_NOFOLLOW", 0)
_FOR_THE_USER_ALONE = 0o600
_FOLDER_FOR_THE_USER_ALONE = 0o700


@dataclass(frozen=True, slots=True)
class Repair:
    """What was done to a last line without an end, as a crash in the middle of writing leaves it."""

    bytes: int
    """How many were cut off; none where only the line end was missing."""
    saved_to: Path | None
    """The file that has them now."""


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """An open and locked journal file, and what it said."""

    descriptor: int
    transcript: Transcript
    repair: Repair | None


def open_file(path: Path, first: Record, *, is_synced: bool) -> OpenedFile:
    """Opens the journal at ``path`` for this process alone, reads it, mends its end; a new one begins with ``first``.

    With ``is_synced``, what is made or mended is on the disk afterwards. Raises ``JournalLockedError`` if somebody else
    has it open, ``JournalError`` for all else.
    """
    with telling("open", path):
        descriptor = _opened(path, is_synced)
        try:
            _lock(descriptor, path)
            _require_regular_file(descriptor, path)
            opened = _read(descriptor, path)
            if os.fstat(descriptor).st_size == 0:
                write_all(descriptor, to_line(first))
            if is_synced:
                os.fsync(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
    return opened


def close_file(descriptor: int, path: Path, *, is_synced: bool) -> None:
    """Gives the file back, with ``is_synced`` after all of it is on the disk; it is closed whatever happens."""
    with telling("close", path):
        try:
            if is_synced:
                os.fsync(descriptor)
            file_lock.unlock(descriptor)
        finally:
            os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Writes all of ``data``, however little the system takes at a time."""
    left = memoryview(data)
    while left:
        written = os.write(descriptor, left)
        if written == 0:
            raise OSError(errno.EIO, "nothing was written")
        left = left[written:]


def _opened(path: Path, is_synced: bool) -> int:
    try:
        return os.open(path, _FLAGS)
    except FileNotFoundError:
        made = _make_folders(path.parent)
    descriptor = os.open(path, _FLAGS | os.O_CREAT, _FOR_THE_USER_ALONE)
    try:
        if is_synced:
            for entry in (path, *made):
                _sync_folder(entry.parent)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _make_folders(folder: Path) -> list[Path]:
    """Makes ``folder`` and what is missing above it; gives those it made, the lowest first."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(_FOLDER_FOR_THE_USER_ALONE, exist_ok=True)
    return missing


def _sync_folder(folder: Path) -> None:
    """Puts the entries of a folder on the disk, where the system offers that for folders."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # network file systems that do it by themselves
            raise
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: Path) -> None:
    try:
        file_lock.lock(descriptor)
    except BlockingIOError as error:
        raise locked(path) from error


def _require_regular_file(descriptor: int, path: Path) -> None:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise JournalError(
            f"Cannot open the journal {path}: it is not a regular file. Set 'transcript_path' of context-persistent to "
            "one, or to a path that does not exist yet.",
            path,
        )


def _read(descriptor: int, path: Path) -> OpenedFile:
    transcript, tail = Transcript(), b""
    os.lseek(descriptor, 0, os.SEEK_SET)
    with os.fdopen(descriptor, "rb", closefd=False) as lines:
        for line in lines:
            if line.endswith(b"\n"):
                transcript.take(line)
            else:
                tail = line
    _require_known_version(transcript, path)
    return OpenedFile(descriptor, transcript, _mend(descriptor, path, transcript, tail) if tail else None)


def _require_known_version(transcript: Transcript, path: Path) -> None:
    if transcript.version is not None and transcript.version > VERSION:
        raise JournalError(
            f"Cannot read the journal {path}: it has format {transcript.version}, and this version of "
            f"context-persistent knows formats up to {VERSION}. Update amplifier-modules, or start another session.",
            path,
        )


def _mend(descriptor: int, path: Path, transcript: Transcript, tail: bytes) -> Repair:
    if from_line(tail) is not None:
        transcript.take(tail)
        write_all(descriptor, b"\n")
        return Repair(0, None)
    saved_to = _save(tail, path)
    os.ftruncate(descriptor, os.fstat(descriptor).st_size - len(tail))
    return Repair(len(tail), saved_to)


def _save(tail: bytes, path: Path) -> Path:
    """Keeps what is cut off in a file of its own beside the journal."""
    number = 1
    while True:
        beside = path.with_name(f"{path.name}.torn-{number}")
        try:
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, _FOR_THE_USER_ALONE)
        except FileExistsError:
            number += 1
        else:
            break
    try:
        write_all(descriptor, tail)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return beside
