"""The way from a root to a file, one name after another: links are followed by hand, and each step is judged first.

Only what has been judged is ever looked at, so a refusal does not tell whether something is there.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from amplifier_modkit.paths.errors import PathError, UnstablePathError
from amplifier_modkit.paths.folders import CAN_HOLD, Folder, SwappedError, is_link
from amplifier_modkit.paths.spelling import parts_of

MOST_LINKS = 40
"""Links that one way may have, as operating systems count; a name that changed on the way counts as well."""
_MOST_STEPS = 8_000


class Judge(Protocol):
    """Raises where a way must not go on."""

    def step(self, path: str, *, is_last: bool) -> None:
        """Judges a resolved path before it is looked at."""
        ...

    def meet(self, facts: os.stat_result, path: str) -> None:
        """Judges a folder that was entered, or the file at the end, by what it is."""
        ...

    def arrive(self, path: str) -> None:
        """Judges the end of the way, or where it breaks off."""
        ...


@dataclass(slots=True)
class Place:
    """Where a path leads: a name in a folder that is held open; to be closed.

    What has been judged is this place, whatever the path leads to by now.
    """

    folder: Folder
    name: str
    """``.`` for the folder itself."""
    missing: tuple[str, ...]
    """Names of folders that would have to be made on the way from ``folder`` to ``name``."""
    facts: os.stat_result | None
    """What was there; ``None`` for nothing."""
    is_linked: bool = False
    """Whether the name that was asked for is a link to this one."""

    @property
    def path(self) -> Path:
        """The resolved path."""
        return Path(self.folder.path, *self.missing, self.name)

    @property
    def is_folder(self) -> bool:
        """Whether a folder was there."""
        return self.facts is not None and stat.S_ISDIR(self.facts.st_mode)

    def close(self) -> None:
        """Lets go of the folder."""
        self.folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def walk(path: str, judge: Judge, *, is_held: bool = CAN_HOLD) -> Place:
    """The place where an absolute ``path`` leads.

    Raises what ``judge`` raises, ``UnstablePathError`` for a path without end, and ``OSError`` where a name is missing
    in the middle, no folder, or not ours to see.
    """
    way = _Way(path, judge, is_held)
    try:
        return way.go()
    except BaseException:
        way.folder.close()
        raise


class _Way:
    """A walk under way."""

    def __init__(self, path: str, judge: Judge, is_held: bool) -> None:
        self._asked = path
        self._judge = judge
        self._is_held = is_held
        self._root, names = parts_of(path)
        self._pending = deque(names)
        self._detours = 0
        self._is_linked = False
        self.folder = Folder.root(self._root, is_held=is_held)

    def go(self) -> Place:
        """Goes all the way."""
        for _ in range(_MOST_STEPS):
            place = self._step(self._pending.popleft() if self._pending else ".")
            if place is not None:
                return place
        raise UnstablePathError(self._asked, "has too many parts")

    def _step(self, name: str) -> Place | None:
        if name == "..":
            self._go_up()
            return None
        path = self.folder.path_of(name)
        self._judge.step(path, is_last=not self._pending)
        try:
            return self._pass(name, path)
        except SwappedError:
            self._count_detour()
            self._pending.appendleft(name)
        except PathError:
            raise
        except OSError as error:
            # What is outside of the allowed roots is refused alike, whether it is there or not.
            self._judge.arrive(path)
            error.filename = path
            raise
        return None

    def _pass(self, name: str, path: str) -> Place | None:
        facts = self.folder.look(name)
        if facts is None:
            return self._missing([name, *self._pending])
        if is_link(facts):
            self._follow(self.folder.read_link(name))
            return None
        if not self._pending:
            self._judge.arrive(path)
            self._judge.meet(facts, path)
            return Place(self.folder, name, (), facts, self._is_linked)
        if not stat.S_ISDIR(facts.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, "It is no folder")
        self._move_to(self.folder.enter(name))
        self._judge.meet(self.folder.facts(), path)
        return None

    def _missing(self, names: list[str]) -> Place:
        if ".." in names:
            raise FileNotFoundError(errno.ENOENT, "There is no such folder")
        *folders, last = names
        place = Place(self.folder, last, tuple(folders), None, self._is_linked)
        self._judge.step(str(place.path), is_last=True)
        self._judge.arrive(str(place.path))
        return place

    def _follow(self, target: str) -> None:
        self._count_detour()
        self._is_linked |= not self._pending
        names = list(Path(target).parts)
        if Path(target).is_absolute():
            self._root, names = parts_of(target)
            self._go_to_root()
        self._pending.extendleft(reversed(names))

    def _go_up(self) -> None:
        # Not by the system's "..": a folder that was moved meanwhile would lead to somebody else's parent.
        names = parts_of(self.folder.path)[1][:-1]
        self._go_to_root()
        self._pending.extendleft(reversed(names))

    def _go_to_root(self) -> None:
        self._move_to(Folder.root(self._root, is_held=self._is_held))

    def _move_to(self, folder: Folder) -> None:
        self.folder.close()
        self.folder = folder

    def _count_detour(self) -> None:
        self._detours += 1
        if self._detours > MOST_LINKS:
            raise UnstablePathError(self._asked, f"has more than {MOST_LINKS} links, or changes while it is followed")
