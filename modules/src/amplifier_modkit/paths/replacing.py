"""Writing a file as one step: the whole text is on the disk under another name before it takes the file's own.

Mode, owner and extended attributes of the former file are kept, as far as the system lets us. Other names of it (hard
links) keep the former text: they may be where writing is not allowed.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress

from amplifier_modkit.paths.errors import UnstablePathError, naming
from amplifier_modkit.paths.folders import Folder, SwappedError
from amplifier_modkit.paths.walk import Place

_NEW_FILE = 0o666
_PRIVATE = 0o600
_PERMISSIONS = 0o777
_MOST_NAME_CHARS = 40


def replace_file(
    place: Place, data: bytes, *, mode: int | None = None, before_effect: Callable[[], None] = lambda: None
) -> os.stat_result:
    """Writes ``data`` to the place and gives what the file is by then; ``mode`` is one to have instead of the former.

    ``before_effect`` is called when all that is left is to give the file its name; what it raises stops that. So does
    ``SwappedError``, if something else is at the place by then.
    """
    folder = place.folder
    temporary = temporary_name(place.name)
    with naming(str(place.path)):
        # Nobody else may look at it before it has the mode of the file that it replaces.
        descriptor = folder.create_file(temporary, _NEW_FILE if place.facts is None else _PRIVATE)
        try:
            written = _fill(descriptor, data, place, mode)
            before_effect()
            require_unchanged(place)
            folder.rename(temporary, place.name)
        except BaseException:
            with suppress(FileNotFoundError):
                folder.remove_file(temporary)
            raise
        folder.sync()
        _require_ours(folder, place.name, written)
    return written


def temporary_name(name: str) -> str:
    """A name beside ``name`` that nobody can know beforehand."""
    return f".{name[:_MOST_NAME_CHARS]}.{secrets.token_hex(8)}.tmp"


def require_unchanged(place: Place) -> None:
    """Raises ``SwappedError`` if something else is at the place than when it was judged."""
    now = place.folder.look(place.name)
    if _state(now) != _state(place.facts):
        raise SwappedError(str(place.path))


def make_folders(place: Place) -> list[str]:
    """Makes the folders that are missing on the way to the place, moves it there, and gives the paths of those made.

    A folder that somebody else makes at the same time is as good; anything else raises ``SwappedError``.
    """
    made: list[str] = []
    with naming(str(place.path)):
        while place.missing:
            name, *rest = place.missing
            with suppress(FileExistsError):
                place.folder.make_folder(name)
                made.append(place.folder.path_of(name))
            inner = place.folder.enter(name)
            place.folder.close()
            place.folder, place.missing = inner, tuple(rest)
            place.facts = None if rest else inner.look(place.name)
    return made


def _fill(descriptor: int, data: bytes, place: Place, mode: int | None) -> os.stat_result:
    try:
        _write_all(descriptor, data)
        if place.facts is not None:
            _take_after(descriptor, place, place.facts)
        if mode is not None and hasattr(os, "fchmod"):
            os.fchmod(descriptor, mode & _PERMISSIONS)
        os.fsync(descriptor)
        return os.fstat(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _take_after(descriptor: int, place: Place, former: os.stat_result) -> None:
    mine = os.fstat(descriptor)
    if hasattr(os, "fchown") and (mine.st_uid, mine.st_gid) != (former.st_uid, former.st_gid):
        # A file of another user in a shared folder: its group matters most, and we may always leave it to ourselves.
        for owner in ((former.st_uid, former.st_gid), (-1, former.st_gid)):
            with suppress(PermissionError):
                os.fchown(descriptor, *owner)
                break
    if hasattr(os, "fchmod"):
        # Without the bits that lend somebody's rights, which the system drops as well when a file is written to.
        os.fchmod(descriptor, stat.S_IMODE(former.st_mode) & _PERMISSIONS)
    _copy_attributes(descriptor, place)


def _copy_attributes(descriptor: int, place: Place) -> None:
    if not hasattr(os, "listxattr"):
        return
    with suppress(OSError):  # not every file system has them, and not all are ours to set
        source, _ = place.folder.open_file(place.name)
        try:
            for name in os.listxattr(source):
                with suppress(OSError):
                    os.setxattr(descriptor, name, os.getxattr(source, name))
        finally:
            os.close(source)


def _require_ours(folder: Folder, name: str, written: os.stat_result) -> None:
    now = folder.look(name)
    if now is None or (now.st_dev, now.st_ino) != (written.st_dev, written.st_ino):
        raise UnstablePathError(folder.path_of(name), "was replaced by somebody else right after it was written")


def _state(facts: os.stat_result | None) -> tuple[int, ...] | None:
    if facts is None:
        return None
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns
