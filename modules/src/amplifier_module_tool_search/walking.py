"""The way through a tree: which files and folders a search looks at. Links are never followed.

Both engines search the files that are found here, so they agree on them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from amplifier_module_tool_search.globs import name_glob
from amplifier_module_tool_search.ignoring import IGNORE_FILE, IgnoreRules, lines_of, surroundings_of
from amplifier_module_tool_search.problems import ProblemError

_WILD = frozenset("*?[\\")


class StoppedError(ProblemError):
    """Nobody waits for the search any more."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What of a tree is looked at."""

    exclusions: tuple[str, ...] = ()
    """Globs of names below the root that are passed over, with everything in them."""
    includes_ignored: bool = False
    """Whether hidden, ignored and excluded files are looked at as well."""
    shows_hidden_files: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A file or folder below the root."""

    entry: os.DirEntry[str]
    parts: tuple[str, ...]
    """Its names from the root."""
    is_folder: bool

    @property
    def name(self) -> str:
        """Its path from the root."""
        return "/".join(self.parts)


@dataclass(frozen=True, slots=True)
class _Folder:
    parts: tuple[str, ...]
    rules: IgnoreRules


class Walk:
    """One way through a tree, from ``root``, which is resolved; used by one thread."""

    def __init__(
        self,
        root: Path,
        scope: Scope,
        *,
        may_enter: Callable[[str], bool] = lambda path: True,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self._root = root
        self._scope = scope
        self._may_enter = may_enter
        self._is_stopped = is_stopped
        self._above: tuple[str, ...] = ()
        self._plain = frozenset(each for each in scope.exclusions if not _WILD & set(each))
        self._globs = [name_glob(each) for each in scope.exclusions if each not in self._plain]

    def found(self) -> Iterator[Found]:
        """Everything that is looked at, folders included, in no order; raises ``StoppedError`` when it is stopped."""
        rules = IgnoreRules()
        if not self._scope.includes_ignored:
            surroundings = surroundings_of(self._root)
            self._above, rules = surroundings.parts, surroundings.rules
        waiting = [_Folder((), rules)]
        while waiting:
            if self._is_stopped():
                raise StoppedError("The search was stopped.")
            folder = waiting.pop()
            for each in self._in(folder):
                yield each[0]
                if each[0].is_folder:
                    waiting.append(_Folder(each[0].parts, each[1]))

    def _in(self, folder: _Folder) -> Iterator[tuple[Found, IgnoreRules]]:
        path = os.path.join(self._root, *folder.parts)  # noqa: PTH118 - one text per folder, not one object per name
        try:
            with os.scandir(path) as listing:
                entries = list(listing)
        except OSError:  # gone meanwhile, or not ours to see: there is nothing to find
            return
        rules = self._rules_in(folder, path, entries)
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            parts = (*folder.parts, entry.name)
            if self._is_passed_over(entry.name, parts, rules, is_folder=is_folder):
                continue
            if not is_folder or self._may_enter(entry.path):
                yield Found(entry, parts, is_folder), rules

    def _rules_in(self, folder: _Folder, path: str, entries: Sequence[os.DirEntry[str]]) -> IgnoreRules:
        if self._scope.includes_ignored or not any(entry.name == IGNORE_FILE for entry in entries):
            return folder.rules
        return folder.rules.with_lines(lines_of(Path(path, IGNORE_FILE)), len(self._above) + len(folder.parts))

    def _is_passed_over(self, name: str, parts: tuple[str, ...], rules: IgnoreRules, *, is_folder: bool) -> bool:
        if self._scope.includes_ignored:
            return False
        if name in self._plain or (self._globs and any(glob.fullmatch(name) for glob in self._globs)):
            return True
        is_ignored = rules.ignores((*self._above, *parts), is_folder=is_folder) if rules.layers else None
        if is_ignored is not None:
            # What an ignore file takes in by name is wanted, though it be hidden.
            return is_ignored
        return name.startswith(".") and (is_folder or not self._scope.shows_hidden_files)
