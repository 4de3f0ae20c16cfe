"""What ``.gitignore`` files leave out: those of the searched folders, of the folders above up to the repository's top,
and its ``.git/info/exclude``. The user's global list does not count: the same tree gives the same answer everywhere.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from amplifier_module_tool_search.globs import GlobError, PathGlob, name_glob

IGNORE_FILE = ".gitignore"
_MOST_BYTES = 1_000_000
_SPACES_AT_END = re.compile(r"(?<!\\)((?:\\\\)*)[ \t]+$")


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """One line of an ignore file."""

    name: re.Pattern[str] | None
    """For a rule about names in any folder."""
    path: PathGlob | None
    """For a rule about paths from the folder of the file."""
    is_only_for_folders: bool
    takes_in: bool
    """Whether it begins with ``!``."""

    @classmethod
    def from_line(cls, line: str) -> IgnoreRule | None:
        """The rule in a line; ``None`` for a comment, an empty line, or what is no glob."""
        text = _SPACES_AT_END.sub(r"\1", line.rstrip("\r\n"))
        if not text or text.startswith("#"):
            return None
        takes_in = text.startswith("!")
        text = text.removeprefix("!")
        is_only_for_folders = text.endswith("/")
        text = text.rstrip("/")
        if not text:
            return None
        try:
            if "/" not in text:
                return cls(name_glob(text), None, is_only_for_folders, takes_in)
            return cls(None, PathGlob.from_text(text), is_only_for_folders, takes_in)
        except GlobError:
            return None

    def matches(self, parts: Sequence[str], *, is_folder: bool) -> bool:
        """Whether it is about a path, given as its names from the folder of the file."""
        if self.is_only_for_folders and not is_folder:
            return False
        if self.name is not None:
            return self.name.fullmatch(parts[-1]) is not None
        return self.path is not None and self.path.matches(parts)


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules that hold in one folder, its own first and then those from above."""

    layers: tuple[tuple[int, tuple[IgnoreRule, ...]], ...] = ()
    """Rules, the last line first, with how many names the paths from the top have up to the folder of their file."""

    def with_lines(self, lines: Iterable[str], depth: int) -> IgnoreRules:
        """These with the lines of a file on top of them, in a folder at ``depth``."""
        rules = [rule for line in lines if (rule := IgnoreRule.from_line(line)) is not None]
        return IgnoreRules(((depth, tuple(reversed(rules))), *self.layers)) if rules else self

    def ignores(self, parts: Sequence[str], *, is_folder: bool) -> bool | None:
        """Whether a path, given as its names from the top, is left out; ``None`` if no rule is about it.

        The first rule that is about it decides.
        """
        for depth, rules in self.layers:
            below = parts[depth:]
            for rule in rules:
                if rule.matches(below, is_folder=is_folder):
                    return not rule.takes_in
        return None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What counts in a folder because of where it is: the rules from above, and its names from the top of them."""

    rules: IgnoreRules
    parts: tuple[str, ...]


def surroundings_of(folder: Path) -> Surroundings:
    """The rules from the top of the repository down to ``folder``, its own not among them; none outside of one.

    A folder that is ignored itself was named by somebody who wants to see into it, so what is above does not count.
    """
    top = next((each for each in (folder, *folder.parents) if os.path.lexists(each / ".git")), None)
    if top is None:
        return Surroundings(IgnoreRules(), ())
    parts = folder.relative_to(top).parts
    rules = IgnoreRules().with_lines(lines_of(top / ".git" / "info" / "exclude"), 0)
    for depth in range(len(parts)):
        rules = rules.with_lines(lines_of(top.joinpath(*parts[:depth], IGNORE_FILE)), depth)
        if rules.ignores(parts[: depth + 1], is_folder=True):
            return Surroundings(IgnoreRules(), ())
    return Surroundings(rules, parts)


def lines_of(file: Path) -> list[str]:
    """The lines of an ignore file; none of what is a link, is no file, or cannot be read."""
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return []
    try:
        data = os.read(descriptor, _MOST_BYTES) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    finally:
        os.close(descriptor)
    return data.decode("utf-8-sig", "surrogateescape").split("\n")
