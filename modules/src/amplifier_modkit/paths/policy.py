"""The path policy of a session: what its tools may read and write, and the way to open what they may.

Whoever opens files asks ``visit`` or ``open_read``, which judge at the moment of use. ``check_read`` and
``check_write`` give the same verdict for those who only want to know.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from amplifier_modkit.paths.errors import PathDeniedError, naming
from amplifier_modkit.paths.folders import CAN_HOLD
from amplifier_modkit.paths.hard_links import has_name_below
from amplifier_modkit.paths.known_places import GUARDS, SECRETS, SYSTEM, guarded_roots, secret_roots
from amplifier_modkit.paths.rules import AccessRules, Verb, entry_for, exempt_roots
from amplifier_modkit.paths.settings import PathSettings
from amplifier_modkit.paths.spelling import absolute
from amplifier_modkit.paths.walk import Place, walk


@dataclass(slots=True)
class OpenFile:
    """A regular file that was judged and is open for reading; to be closed."""

    stream: BinaryIO
    path: Path
    facts: os.stat_result

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stream.close()


@dataclass(frozen=True, slots=True)
class PathPolicy:
    """What may be read and written in one session; it never changes, and any number of threads may use it."""

    working_dir: Path
    read: AccessRules
    write: AccessRules
    is_held: bool = CAN_HOLD
    """Whether folders are held open on the way; false only where the system cannot."""

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any] | PathSettings | None, working_dir: Path, *, is_held: bool = CAN_HOLD
    ) -> PathPolicy:
        """The policy that the config keys of ``PathSettings`` describe; their entries are looked up now."""
        settings = config if isinstance(config, PathSettings) else PathSettings.read(config)
        working_dir = working_dir.resolve()
        writable = (str(working_dir),) if settings.allowed_write_paths is None else settings.allowed_write_paths
        maker = _RulesMaker(settings, working_dir)
        read = maker.rules("read", settings.allowed_read_paths, settings.denied_read_paths)
        return cls(working_dir, read, maker.rules("write", writable, settings.denied_write_paths), is_held)

    def check_read(self, path: str | os.PathLike[str]) -> Path:
        """The resolved path if it may be read, there or not; raises ``PathDeniedError``, or another ``OSError``."""
        with self.visit(path, "read") as place:
            return place.path

    def check_write(self, path: str | os.PathLike[str]) -> Path:
        """The resolved path if it may be written, there or not; raises ``PathDeniedError``, or another ``OSError``."""
        with self.visit(path, "write") as place:
            return place.path

    def why_unreadable(self, resolved: str | os.PathLike[str]) -> str | None:
        """Why a resolved path may not be read, ``None`` if it may; asks no file system, for those who list many.

        What is opened must go through ``open_read`` nevertheless.
        """
        try:
            self.read.require(os.fspath(resolved))
        except PathDeniedError as denial:
            return str(denial)
        return None

    def visit(self, path: str | os.PathLike[str], *verbs: Verb) -> Place:
        """The place where ``path`` leads, judged for each of ``verbs`` and to be closed; it may be there or not.

        Raises ``PathDeniedError`` for what is denied, is outside of the allowed roots, or is neither file nor folder.
        """
        guard = _Guard([self.read if verb == "read" else self.write for verb in verbs])
        return walk(absolute(path, self.working_dir), guard, is_held=self.is_held)

    def open_read(self, path: str | os.PathLike[str]) -> OpenFile:
        """The regular file at ``path``, open for reading."""
        with self.visit(path, "read") as place:
            return self.open_place(place)

    def open_place(self, place: Place) -> OpenFile:
        """The file at a place that was visited for reading; raises ``FileNotFoundError`` or ``IsADirectoryError``."""
        path = str(place.path)
        if place.facts is None:
            raise FileNotFoundError(errno.ENOENT, "There is no such file", path)
        if place.is_folder:
            raise IsADirectoryError(errno.EISDIR, "It is a folder", path)
        with naming(path):
            descriptor, facts = place.folder.open_file(place.name)
        try:
            self._require_no_denied_name(facts, path)
            return OpenFile(os.fdopen(descriptor, "rb", buffering=0), place.path, facts)
        except BaseException:
            os.close(descriptor)
            raise

    def readable_roots(self) -> tuple[Path, ...] | None:
        """What may be read, but for what is denied; ``None`` is everything."""
        return None if self.read.allowed is None else tuple(map(Path, self.read.allowed))

    def writable_roots(self) -> tuple[Path, ...]:
        """What may be written, but for what is denied."""
        return tuple(map(Path, self.write.allowed or ()))

    def denied_roots(self) -> tuple[Path, ...]:
        """What may not be read and has a name: denied entries without wildcards, and the user's known secrets."""
        return _paths(entry.resolved for entry in self.read.denied_roots())

    def protected_roots(self) -> tuple[Path, ...]:
        """What may not be written and has a name, among it what guards agents directly below the writable roots."""
        guards = [str(each) for each in guarded_roots(self.writable_roots()) if self._is_protected(str(each))]
        return _paths([*(entry.resolved for entry in self.write.denied_roots()), *guards])

    def unreadable_below(self, root: str | os.PathLike[str]) -> Iterator[Path]:
        """The files below ``root`` that may not be read; goes through all of it, links are not followed."""
        for folder, _, names in os.walk(root):
            yield from (Path(folder, name) for name in names if self.why_unreadable(Path(folder, name)) is not None)

    def _is_protected(self, path: str) -> bool:
        try:
            self.write.require_not_denied(path)
        except PathDeniedError:
            return True
        return False

    def _require_no_denied_name(self, facts: os.stat_result, path: str) -> None:
        identity = facts.st_dev, facts.st_ino
        self.read.require_stranger(identity, path)
        if facts.st_nlink < 2:
            return
        for entry in self.read.denied_elsewhere(path):
            if has_name_below(entry.resolved, identity):
                raise self.read.denial(entry, path)


class _Guard:
    """Judges the steps of a walk by one set of rules or several."""

    def __init__(self, rules: Iterable[AccessRules]) -> None:
        self._rules = tuple(rules)

    def step(self, path: str, *, is_last: bool) -> None:
        for rules in self._rules:
            rules.require_not_denied(path, is_last=is_last)

    def arrive(self, path: str) -> None:
        for rules in self._rules:
            rules.require_inside(path)

    def meet(self, facts: os.stat_result, path: str) -> None:
        for rules in self._rules:
            rules.require_stranger((facts.st_dev, facts.st_ino), path)
            if not stat.S_ISREG(facts.st_mode) and not stat.S_ISDIR(facts.st_mode):
                raise PathDeniedError(
                    rules.verb,
                    path,
                    "it is neither a file nor a folder, but a device, a pipe or a socket",
                    "Use a file.",
                )


class _RulesMaker:
    """Makes rules of what a config says."""

    def __init__(self, settings: PathSettings, working_dir: Path) -> None:
        self._working_dir = working_dir
        self._hides_secrets = settings.allow_secrets is not True
        named = settings.allow_secrets if isinstance(settings.allow_secrets, tuple) else ()
        self._named_secrets = tuple(map(self._resolved, named))

    def rules(self, verb: Verb, allowed: tuple[str, ...] | None, denied: tuple[str, ...]) -> AccessRules:
        """The rules for one way of using files."""
        known = (SYSTEM, *((SECRETS,) if self._hides_secrets else ()), *((GUARDS,) if verb == "write" else ()))
        roots = None if allowed is None else tuple(map(self._resolved, allowed))
        exempt = exempt_roots((*(roots or ()), *self._named_secrets), known)
        homes = [Path(absolute("~", self._working_dir))] if self._hides_secrets else []
        secrets = [entry_for(str(path), str(path)) for home in homes for path in secret_roots(home)]
        return AccessRules(
            verb,
            roots,
            tuple(entry_for(each, absolute(each, self._working_dir)) for each in denied),
            known,
            exempt,
            tuple(entry for entry in secrets if entry.resolved not in exempt),
        )

    def _resolved(self, entry: str) -> str:
        return os.path.realpath(absolute(entry, self._working_dir))


def _paths(resolved: Iterable[str]) -> tuple[Path, ...]:
    return tuple(map(Path, dict.fromkeys(resolved)))
