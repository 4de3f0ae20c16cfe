"""The files of a project for completion: as git knows them, else as they lie there, and never more than a few."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

_MOST_FILES = 20_000
_MOST_SHOWN = 50
_LIMIT_S = 2.0
_FRESH_S = 5.0
_GIT = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")


class ProjectFiles:
    """The paths below a folder, relative to it, looked up anew every few seconds."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._clock = clock
        self._known: list[str] = []
        self._looked_at = float("-inf")

    def matching(self, word: str) -> list[str]:
        """The paths that fit what was typed, best first: those that begin with it, whose name does, that have it."""
        if self._clock() - self._looked_at > _FRESH_S:
            self._known = with_folders(_listed(self._folder))
            self._looked_at = self._clock()
        folded = word.casefold()
        ranked = ((_rank(path, folded), len(path), path) for path in self._known)
        return [path for *_, path in sorted(each for each in ranked if each[0] < _UNFIT)][:_MOST_SHOWN]


_UNFIT = 3


def _rank(path: str, folded: str) -> int:
    lowered = path.casefold()
    if lowered.startswith(folded):
        return 0
    name = lowered.rstrip("/").rpartition("/")[2]
    return 1 if name.startswith(folded) else 2 if folded in lowered else _UNFIT


def with_folders(files: Iterable[str]) -> list[str]:
    """``files`` and the folders that they are in, which end with a slash."""
    found: dict[str, None] = {}
    for file in files:
        parts = file.split("/")
        found.update(dict.fromkeys("/".join(parts[:depth]) + "/" for depth in range(1, len(parts))))
        found[file] = None
    return list(found)


def _listed(folder: Path) -> list[str]:
    try:
        done = subprocess.run(
            _GIT, cwd=folder, capture_output=True, timeout=_LIMIT_S, check=True, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return [file for file, _ in zip(_walked(folder), range(_MOST_FILES), strict=False)]
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name][:_MOST_FILES]


def _walked(folder: Path) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        within = Path(place).relative_to(folder)
        yield from (str(within / name) for name in sorted(files))
