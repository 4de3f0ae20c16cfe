"""A file of lines that is put aside when it is full: ``events.jsonl``, then ``events.1.jsonl.gz``, up to a number.

Everything here blocks, and is called in a thread. Several processes may write to one file: each batch is written whole,
under a lock.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import logging
import os
import shutil
import stat
from collections.abc import Generator, Sequence
from pathlib import Path

from amplifier_modkit import file_lock

logger = logging.getLogger(__name__)

# Without it, Windows writes two characters for each line end; other systems do not have it.
_BINARY: int = getattr(os, "O_BINARY", 0)
_NO_LINKS: int = getattr(os, "O_NOFOLLOW", 0)
_FLAGS: int = os.O_RDWR | os.O_APPEND | os.O_CREAT | _BINARY | _NO_LINKS
_PARTIAL_FLAGS: int = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY | _NO_LINKS
_FOR_THE_USER_ALONE = 0o600
_FOLDER_FOR_THE_USER_ALONE = 0o700
_LOCK_TIMEOUT_S = 2.0
_COMPRESSED = ".gz"
_COPY_BYTES = 1 << 20
# Windows refuses to rename what is open.
_RENAMES_OPEN_FILES = os.name != "nt"


class RotatingFile:
    """Appends to the file at ``path``, which is opened for each batch only: it may be moved or removed in between.

    It has at most ``max_bytes``, and up to ``keep`` files with earlier lines are beside it.
    """

    def __init__(self, path: Path, *, max_bytes: int, keep: int, compress: bool) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._keep = keep
        self._compress = compress

    def append_some(self, lines: Sequence[bytes]) -> int:
        """Appends as many of the ``lines`` as the file has room for, and says how many; none if it was put aside.

        Raises ``OSError`` if that fails, and then none of them is there.
        """
        with self._opened() as descriptor:
            size = os.fstat(descriptor).st_size
            # A crash, or a full disk that could not be cleaned up after, may have left a line without its end.
            mending = b"\n" if size and not _ends_with_line_end(descriptor) else b""
            room = self._max_bytes - size - len(mending)
            if not size or len(lines[0]) <= room:
                count = _fitting(lines, room)
                _write_all(descriptor, mending + b"".join(lines[:count]), size)
                return count
            if _RENAMES_OPEN_FILES:
                self._put_aside()
                return 0
        self._put_aside()
        return 0

    def earlier(self, number: int) -> Path:
        """The path of what was put aside ``number`` times ago, before it is compressed."""
        return self.path.with_name(f"{self.path.stem}.{number}{self.path.suffix}")

    @contextlib.contextmanager
    def _opened(self) -> Generator[int]:
        """The file, open and locked, and still the one at the path."""
        while True:
            descriptor = self._open()
            try:
                _require_regular_file(descriptor, self.path)
                with file_lock.held(descriptor, _LOCK_TIMEOUT_S):
                    if self._is_at_path(descriptor):
                        yield descriptor
                        return
            finally:
                os.close(descriptor)

    def _open(self) -> int:
        try:
            return os.open(self.path, _FLAGS, _FOR_THE_USER_ALONE)
        except FileNotFoundError:
            _make_folders(self.path.parent)
            return os.open(self.path, _FLAGS, _FOR_THE_USER_ALONE)

    def _is_at_path(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), self.path.lstat())
        except FileNotFoundError:
            return False

    def _put_aside(self) -> None:
        # What gets beyond ``keep`` goes, and so does what an earlier setting left behind it.
        number = max(self._keep, 1)
        while _remove(self.earlier(number)):
            number += 1
        if self._keep == 0:
            self.path.unlink()
            return
        for number in range(self._keep - 1, 0, -1):
            for old, new in zip(_forms(self.earlier(number)), _forms(self.earlier(number + 1)), strict=True):
                with contextlib.suppress(FileNotFoundError):
                    old.replace(new)
        self.path.replace(self.earlier(1))
        if self._compress:
            _compress(self.earlier(1))


def _forms(path: Path) -> tuple[Path, Path]:
    return path, path.with_name(path.name + _COMPRESSED)


def _remove(path: Path) -> bool:
    """Removes what was put aside, in either form; says whether there was any."""
    found = [form for form in _forms(path) if form.exists()]
    for form in found:
        form.unlink(missing_ok=True)
    return bool(found)


def _make_folders(folder: Path) -> None:
    # ``mkdir(parents=True)`` would make those above with the usual mode.
    for each in reversed([each for each in (folder, *folder.parents) if not each.exists()]):
        each.mkdir(_FOLDER_FOR_THE_USER_ALONE, exist_ok=True)


def _require_regular_file(descriptor: int, path: Path) -> None:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def _ends_with_line_end(descriptor: int) -> bool:
    os.lseek(descriptor, -1, os.SEEK_END)
    return os.read(descriptor, 1) == b"\n"


def _fitting(lines: Sequence[bytes], room: int) -> int:
    """How many of the lines fit; the first one always does."""
    count, size = 1, len(lines[0])
    while count < len(lines) and size + len(lines[count]) <= room:
        size += len(lines[count])
        count += 1
    return count


def _write_all(descriptor: int, data: bytes, size_before: int) -> None:
    """Writes all of ``data``, however little the system takes at a time; or nothing."""
    left = memoryview(data)
    try:
        while left:
            written = os.write(descriptor, left)
            if written == 0:
                raise OSError(errno.EIO, "nothing was written")
            left = left[written:]
    except BaseException:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, size_before)
        raise


def _compress(path: Path) -> None:
    """Replaces a file by its compressed form; where that fails, a full disk say, the file stays as it is."""
    compressed = _forms(path)[1]
    partial = path.with_name(compressed.name + ".part")
    try:
        descriptor = os.open(partial, _PARTIAL_FLAGS, _FOR_THE_USER_ALONE)
        with (
            path.open("rb") as lines,
            os.fdopen(descriptor, "wb") as target,
            gzip.open(target, "wb", compresslevel=6) as packed,
        ):
            shutil.copyfileobj(lines, packed, _COPY_BYTES)
        partial.replace(compressed)
        path.unlink()
    except OSError as error:
        logger.debug("%s stays uncompressed: %s", path, error)
        with contextlib.suppress(OSError):
            partial.unlink()
