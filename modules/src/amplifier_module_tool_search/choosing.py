"""Which files a search looks into, and which of those that match are told: in threads, since it asks the disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from amplifier_module_tool_search.engine import Files
from amplifier_module_tool_search.globs import FileFilter
from amplifier_module_tool_search.place import IsStopped, Root, SearchPlace
from amplifier_module_tool_search.texts import HEAD_BYTES, is_binary
from amplifier_module_tool_search.walking import Found, Scope, StoppedError


@dataclass(frozen=True, slots=True)
class Choice:
    """The files that are searched."""

    root: Root
    files: Files
    too_large: int
    """How many were left out because of their size."""


@dataclass(frozen=True, slots=True)
class Chooser:
    """Chooses the files for one search."""

    place: SearchPlace
    path: str | None
    scope: Scope
    filters: tuple[FileFilter, ...]
    max_bytes: int

    def chosen(self, is_stopped: IsStopped) -> Choice:
        """The files to search."""
        root = self.place.root(self.path)
        if root.only is not None:
            found = [(root.only, root.folder.joinpath(root.only).stat().st_size)]
        else:
            walk = self.place.walk(root, self.scope, is_stopped)
            found = [(each.name, size) for each in walk.found() if (size := self._size(each)) is not None]
        names = [name for name, size in found if size <= self.max_bytes]
        return Choice(root, Files(root.folder, names, self.max_bytes), len(found) - len(names))

    def _size(self, found: Found) -> int | None:
        """The size of a file that is to be searched; ``None`` for others."""
        if found.is_folder or not found.entry.is_file(follow_symlinks=False):
            return None
        if not all(each.takes(found.parts) for each in self.filters):
            return None
        try:
            return found.entry.stat(follow_symlinks=False).st_size
        except OSError:  # gone meanwhile
            return None


def told_of(place: SearchPlace, root: Root, names: Iterable[str]) -> Callable[[IsStopped], list[str]]:
    """Gives those of the files that match which may be told, in order: that may be read, and are text."""

    def select(is_stopped: IsStopped) -> list[str]:
        selected: list[str] = []
        for name in sorted(names):
            if is_stopped():
                raise StoppedError("The search was stopped.")
            path = str(root.folder.joinpath(*name.split("/")))
            if place.may_read(path) and not _is_no_text(path):
                selected.append(name)
        return selected

    return select


def _is_no_text(path: str) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:  # gone meanwhile, or a link by now: nothing to tell
        return True
    try:
        return is_binary(os.read(descriptor, HEAD_BYTES))
    except OSError:  # a folder by now
        return True
    finally:
        os.close(descriptor)
