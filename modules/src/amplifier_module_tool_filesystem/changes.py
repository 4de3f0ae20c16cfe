"""Changing one file on the disk: nothing is overwritten that the session does not know, and nothing by halves."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from amplifier_modkit.paths.io_threads import Leave
from amplifier_modkit.paths.replacing import make_folders, replace_file
from amplifier_modkit.paths.walk import Place
from amplifier_module_tool_filesystem.desk import Desk
from amplifier_module_tool_filesystem.ledger import Fingerprint
from amplifier_module_tool_filesystem.problems import ProblemError

_WRITABLE = 0o222


@dataclass(frozen=True, slots=True)
class Change:
    """A change that was made to a file."""

    path: Path
    size: int
    warning: str | None = None


def require_changeable(place: Place) -> None:
    """Raises ``IsADirectoryError`` for a folder, and ``ProblemError`` for a file whose mode lets nobody write."""
    if place.is_folder:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(place.path))
    if place.facts is not None and not place.facts.st_mode & _WRITABLE:
        mode = stat.filemode(place.facts.st_mode)
        raise ProblemError(f"{place.path} is read-only ({mode}). Leave it alone, or have its mode changed first.")


def write(desk: Desk, place: Place, former: bytes | None, data: bytes, leave: Leave) -> Change:
    """Writes a file whose place was judged, and notes that the session knows it; ``former`` is what it holds."""
    links = 1 if place.facts is None else place.facts.st_nlink

    def begin() -> None:
        leave.take()
        desk.checkpoint(place, former, data)

    facts = replace_file(place, data, before_effect=begin)
    desk.ledger.note(place.path, Fingerprint.of(facts, data))
    warning = (
        f"The file had {links - 1} other name(s) (hard links); those keep the former content." if links > 1 else None
    )
    return Change(place.path, len(data), warning)


@contextmanager
def folders_made(desk: Desk, place: Place, leave: Leave) -> Generator[list[str]]:
    """Makes the folders that are missing on the way; when the block fails, they are gone again."""
    if place.missing:
        leave.take()
    made = make_folders(place)
    try:
        yield made
    except BaseException:
        remove_folders(desk, made)
        raise


def remove_folders(desk: Desk, made: list[str]) -> None:
    """Removes folders that were made a moment ago, unless somebody has put something there."""
    for path in reversed(made):
        with suppress(OSError), desk.policy.visit(path, "write") as place:
            place.folder.remove_folder(place.name)


def require_known(desk: Desk, place: Place, data: bytes | None) -> None:
    """Raises ``StaleError`` unless the session has read what is at the place, or nothing is there."""
    if place.facts is not None and desk.config.require_read:
        desk.ledger.require_current(place.path, Fingerprint.of(place.facts, data))
