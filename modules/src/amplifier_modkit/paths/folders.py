"""A folder that is held open, so that a name in it means the same file however its path changes meanwhile.

Where the system can open a name relative to a folder (``openat`` and its kin), every step is one from an open folder,
and no link is ever followed by the system itself. Elsewhere steps are taken by path, and what was opened is compared
with what was looked at; a link that is swapped at that very moment can still misplace a write there.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from types import TracebackType
from typing import Self

from amplifier_modkit.paths.errors import UnstablePathError

CAN_HOLD = os.open in os.supports_dir_fd and os.stat in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
"""Whether the system opens names relative to an open folder."""

_COMMON = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
# Without O_PATH a folder that may be passed through, but not be listed, could not be entered.
_ENTER = _COMMON | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_PATH", os.O_RDONLY)
# A pipe in place of a file must not wait for its other end, and a terminal must not become ours.
_OPEN = _COMMON | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
# How Windows tells a junction, which is a link in all but name.
_JUNCTION = 0xA0000003
# No descriptor: whoever uses a closed folder gets an error, and never a step by path.
_CLOSED = -1


class SwappedError(UnstablePathError):
    """What was looked at a moment ago is something else by now."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "was changed by somebody else meanwhile")


class Folder:
    """A folder by its resolved path, held by a descriptor where the system can do so; to be closed."""

    def __init__(self, path: str, descriptor: int | None) -> None:
        self.path = path
        self.descriptor = descriptor

    @classmethod
    def root(cls, path: str, *, is_held: bool = CAN_HOLD) -> Folder:
        """The root of a file system."""
        return cls(path, os.open(path, _ENTER) if is_held else None)

    def enter(self, name: str) -> Folder:
        """The folder ``name`` in this one; ``SwappedError`` if it is none any more."""
        try:
            if self.descriptor is None:
                return Folder(self._require_folder(name), None)
            return Folder(self.path_of(name), os.open(name, _ENTER, dir_fd=self.descriptor))
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise SwappedError(self.path_of(name)) from error
            raise

    def facts(self) -> os.stat_result:
        """What this folder is."""
        if self.descriptor is None:
            return os.stat(self.path, follow_symlinks=False)  # noqa: PTH116 - Path.lstat() is the same
        return os.fstat(self.descriptor)

    def look(self, name: str) -> os.stat_result | None:
        """What ``name`` is, a link being a link; ``None`` if there is nothing."""
        try:
            return os.stat(self._at(name), dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def read_link(self, name: str) -> str:
        """Where the link ``name`` points; ``SwappedError`` if it is none any more."""
        try:
            return os.readlink(self._at(name), dir_fd=self.descriptor).removeprefix("\\\\?\\")
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):
                raise SwappedError(self.path_of(name)) from error
            raise

    def open_file(self, name: str) -> tuple[int, os.stat_result]:
        """A descriptor of the regular file ``name`` to read from, and what it is.

        ``SwappedError`` for a link or anything else that has taken its place.
        """
        try:
            descriptor = os.open(self._at(name), os.O_RDONLY | _OPEN, dir_fd=self.descriptor)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO):
                raise SwappedError(self.path_of(name)) from error
            raise
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or not self._is_still(name, facts):
            os.close(descriptor)
            raise SwappedError(self.path_of(name))
        return descriptor, facts

    def create_file(self, name: str, mode: int) -> int:
        """A descriptor of the file ``name`` to write to; ``FileExistsError`` if there is anything by that name."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _COMMON
        return os.open(self._at(name), flags, mode, dir_fd=self.descriptor)

    def make_folder(self, name: str) -> None:
        """Makes the folder ``name``; ``FileExistsError`` if there is anything by that name."""
        os.mkdir(self._at(name), dir_fd=self.descriptor)

    def rename(self, name: str, new_name: str) -> None:
        """Gives a file in here another name, in place of whatever has it."""
        here = self.descriptor
        os.replace(self._at(name), self._at(new_name), src_dir_fd=here, dst_dir_fd=here)

    def remove_file(self, name: str) -> None:
        """Removes the file ``name``."""
        os.unlink(self._at(name), dir_fd=self.descriptor)

    def remove_folder(self, name: str) -> None:
        """Removes the empty folder ``name``."""
        os.rmdir(self._at(name), dir_fd=self.descriptor)

    def names(self) -> list[str]:
        """The names of what is in here."""
        if self.descriptor is None:
            return os.listdir(self.path)  # noqa: PTH208 - as above
        descriptor = os.open(".", os.O_RDONLY | _COMMON, dir_fd=self.descriptor)
        try:
            return os.listdir(descriptor)  # noqa: PTH208 - as above
        finally:
            os.close(descriptor)

    def sync(self) -> None:
        """Has the names in here on the disk, where the system can do so."""
        if self.descriptor is None:
            return
        with suppress(OSError):  # not every file system does, and a folder may be one that we cannot list
            descriptor = os.open(".", os.O_RDONLY | _COMMON, dir_fd=self.descriptor)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def path_of(self, name: str) -> str:
        """The resolved path of ``name`` in here; of ``.`` it is the folder's own."""
        if name == ".":
            return self.path
        return self.path + name if self.path.endswith(os.sep) else self.path + os.sep + name

    def close(self) -> None:
        """Lets go of it; a second time does nothing."""
        if self.descriptor is not None and self.descriptor != _CLOSED:
            os.close(self.descriptor)
            self.descriptor = _CLOSED

    def _at(self, name: str) -> str:
        return name if self.descriptor is not None else self.path_of(name)

    def _require_folder(self, name: str) -> str:
        facts = self.look(name)
        if facts is None or is_link(facts) or not stat.S_ISDIR(facts.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name)
        return self.path_of(name)

    def _is_still(self, name: str, facts: os.stat_result) -> bool:
        """Whether what was opened has the name still, asked only where opening by name may have followed a link."""
        if self.descriptor is not None:
            return True
        now = self.look(name)
        is_same = now is not None and (now.st_dev, now.st_ino) == (facts.st_dev, facts.st_ino)
        return is_same and os.path.realpath(self.path) == self.path

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def is_link(facts: os.stat_result) -> bool:
    """Whether it is a symbolic link, or what serves as one on Windows."""
    return stat.S_ISLNK(facts.st_mode) or getattr(facts, "st_reparse_tag", 0) == _JUNCTION
