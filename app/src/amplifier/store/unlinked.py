"""Files reached without ever following a link, so that nobody can lead a writer elsewhere by putting one on the way.

A path is walked name by name from the root, each folder held open; what is written takes its place in one step.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_PRIVATE = 0o600
_PERMISSIONS = 0o777
_CHUNK_BYTES = 1 << 20
_MOST_NAME_CHARS = 40


class RefusedError(Exception):
    """A path that is not used as it is now; the text tells why, as ``is a link``."""


@dataclass(frozen=True, slots=True)
class Present:
    """A file as it is now."""

    data: bytes | None
    """``None`` where there is more of it than was asked for."""
    mode: int
    identity: tuple[int, ...]


def look(path: Path, most_bytes: int) -> Present | None:
    """What is at an absolute path; ``None`` for nothing.

    Raises ``RefusedError`` for anything but a plain file behind plain folders, ``OSError`` for one that is not ours.
    """
    try:
        with _folder_of(path, is_made=False) as folder:
            _facts(folder, path.name)
            descriptor = os.open(path.name, _READ, dir_fd=folder)
            with os.fdopen(descriptor, "rb") as file:
                facts = os.fstat(file.fileno())
                data = file.read(most_bytes + 1) if facts.st_size <= most_bytes else None
    except FileNotFoundError:
        return None
    whole = None if data is None or len(data) > most_bytes else data
    return Present(whole, stat.S_IMODE(facts.st_mode), _identity(facts))


def put(path: Path, data: bytes, mode: int, present: Present | None) -> None:
    """Writes a file in the place of what was seen there, with the folders on its way.

    Raises ``RefusedError`` where there is something else by now, or a link on the way, and ``OSError``.
    """
    with _folder_of(path, is_made=True) as folder:
        draft = f".{path.name[:_MOST_NAME_CHARS]}.{os.urandom(8).hex()}.tmp"
        descriptor = os.open(draft, _CREATE, _PRIVATE, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fchmod(file.fileno(), mode & _PERMISSIONS)
                os.fsync(file.fileno())
            _require_same(folder, path.name, present)
            os.rename(draft, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft, dir_fd=folder)
            raise
        _sync(folder)


def remove(path: Path, present: Present | None) -> None:
    """Removes the file that was seen; raises as ``put`` does."""
    with _folder_of(path, is_made=False) as folder:
        _require_same(folder, path.name, present)
        os.unlink(path.name, dir_fd=folder)
        _sync(folder)


@contextmanager
def _folder_of(path: Path, *, is_made: bool) -> Generator[int]:
    if os.open not in os.supports_dir_fd:  # pragma: no cover - Windows
        raise RefusedError("cannot be reached safely on this system")
    names = path.parent.parts
    folder = os.open(names[0], _FOLDER)
    try:
        for name in names[1:]:
            inner = _entered(folder, name, is_made=is_made)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _entered(folder: int, name: str, *, is_made: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not is_made:
            raise
        os.mkdir(name, dir_fd=folder)
        return _entered(folder, name, is_made=False)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR):
            raise
        raise RefusedError(f"is behind '{name}', which is no folder but a file or a link") from None


def _facts(folder: int, name: str) -> os.stat_result:
    facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISREG(facts.st_mode):
        raise RefusedError("is a link" if stat.S_ISLNK(facts.st_mode) else "is no plain file")
    return facts


def _require_same(folder: int, name: str, present: Present | None) -> None:
    try:
        now = _identity(_facts(folder, name))
    except FileNotFoundError:
        now = None
    if now != (None if present is None else present.identity):
        raise RefusedError("was changed by somebody else at this moment")


def _identity(facts: os.stat_result) -> tuple[int, ...]:
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns


def _sync(folder: int) -> None:
    # Not every file system can; the file itself is on the disk in any case.
    with suppress(OSError):
        descriptor = os.open(".", os.O_RDONLY, dir_fd=folder)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
