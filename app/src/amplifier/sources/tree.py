"""Folders of source code: written file by file with names that stay inside, and known by a hash of all they hold."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from amplifier.problems import SourceProblem

NOT_PART = frozenset({".git", "__pycache__"})
"""Folders that do not count: they belong to whoever works with the code, not to the code."""

_CHUNK = 1 << 16
_LONGEST_NAME = 1000


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a source may be; what is meant as code is far below."""

    max_files: int = 20_000
    max_bytes: int = 500_000_000
    timeout_s: float = 120.0


class TreeWriter:
    """Writes the files of one source below ``root``, which must not be there yet."""

    def __init__(self, root: Path, limits: Limits, source: str) -> None:
        self._root = root
        self._limits = limits
        self._source = source
        self._files = 0
        self._bytes = 0
        self._links: list[tuple[str, str]] = []
        root.mkdir(parents=True)

    def add_file(self, name: str, chunks: Iterable[bytes], *, is_executable: bool = False) -> None:
        """Writes one file; ``name`` has ``/`` between its parts."""
        if set(PurePosixPath(name).parts) & NOT_PART:
            return
        path = self._new(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755 if is_executable else 0o644)
        except (FileExistsError, NotADirectoryError):
            raise self._refused(f"has {name!r} twice") from None
        with os.fdopen(descriptor, "wb") as file:
            for chunk in chunks:
                self._bytes += len(chunk)
                if self._bytes > self._limits.max_bytes:
                    raise self._refused(f"is larger than {self._limits.max_bytes:,} bytes")
                file.write(chunk)

    def add_link(self, name: str, target: str) -> None:
        """Keeps a link for ``finish``: made before the files, it could lead them elsewhere."""
        self._new(name)
        self._links.append((name, target))

    def finish(self) -> None:
        """Makes the links; each must lead to a file or folder of the same source."""
        root = self._root.resolve()
        for name, target in self._links:
            path = self._root / name
            inside = os.path.normpath(PurePosixPath(name).parent / target)
            is_outside = PurePosixPath(target).is_absolute() or inside.startswith("..") or "\\" in target
            # The way to a link may itself lead over a link.
            if is_outside or not path.parent.resolve().is_relative_to(root):
                raise self._leads_out(name, target)
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                path.symlink_to(target)
            except FileExistsError:
                raise self._refused(f"has {name!r} twice") from None
        for name, target in self._links:
            # Where links lead over links is only known once all are there.
            if not (self._root / name).resolve().is_relative_to(root):
                raise self._leads_out(name, target)

    def _leads_out(self, name: str, target: str) -> SourceProblem:
        return self._refused(f"has the link {name!r} to {target!r}, which is outside")

    def _new(self, name: str) -> Path:
        self._files += 1
        if self._files > self._limits.max_files:
            raise self._refused(f"has more than {self._limits.max_files:,} files")
        parts = PurePosixPath(name).parts
        is_inside = parts and name.isprintable() and not name.startswith("/") and ".." not in parts
        is_inside = is_inside and "\\" not in name and ":" not in parts[0] and len(name) <= _LONGEST_NAME
        if not is_inside:
            raise self._refused(f"has a file named {name[:200]!r}, which is not a name inside a folder")
        return self._root / name

    def _refused(self, why: str) -> SourceProblem:
        return SourceProblem(f"The source {self._source} {why}.", "It is not used; ask those who made it.")


def tree_hash(root: Path) -> str:
    """The hash of all names, contents, links and executable files below ``root``; folders of ``NOT_PART`` are left out.

    Raises ``OSError`` where something cannot be read.
    """
    total = hashlib.sha256()
    for name, entry in sorted(_entries(root, "")):
        (kind, content), spelled = _content(entry), os.fsencode(name)
        total.update(f"{kind} {len(spelled)} {len(content)} ".encode() + spelled + content)
    return f"sha256:{total.hexdigest()}"


def _content(entry: os.DirEntry[str]) -> tuple[str, bytes]:
    """What an entry adds to the hash; a file adds its own hash, so that it need not be in memory."""
    if entry.is_symlink():
        return "link", os.fsencode(Path(entry.path).readlink())
    if not entry.is_file(follow_symlinks=False):
        return "other", b""
    digest = hashlib.sha256()
    # Every start of a session looks at every file: a file object would double the time.
    descriptor = os.open(entry.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        mode = os.fstat(descriptor).st_mode
        while chunk := os.read(descriptor, _CHUNK):
            digest.update(chunk)
    finally:
        os.close(descriptor)
    return "program" if mode & stat.S_IXUSR else "file", digest.digest()


def _entries(folder: Path | str, prefix: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in NOT_PART:
                    yield from _entries(entry.path, f"{prefix}{entry.name}/")
            else:
                yield f"{prefix}{entry.name}", entry


def without_compiled(root: Path) -> None:
    """Removes what Python has compiled below ``root``, which the hash does not know."""
    for folder in list(root.rglob("__pycache__")):
        shutil.rmtree(folder, ignore_errors=True)
