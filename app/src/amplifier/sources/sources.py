"""From a source to a folder on this machine: by the lock, by the cache, or by fetching; checked to the byte."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from amplifier.paths import Places
from amplifier.problems import SourceProblem
from amplifier.settings import Settings
from amplifier.sources.address import Address, parse_source, told
from amplifier.sources.archive import archive_hash, fetch_archive, unpack
from amplifier.sources.cache import SourceCache
from amplifier.sources.git import GitFetch
from amplifier.sources.lock_file import Pin, lock_path, read_lock
from amplifier.sources.packages import package_folder, package_version
from amplifier.sources.tree import Limits, TreeWriter, tree_hash, without_compiled

Tell = Callable[[str], None]
State = Literal["locked", "cached", "fetched", "local"]


@dataclass(frozen=True, slots=True)
class Found:
    """A source that is there."""

    name: str
    """What lock and cache know it by: as it was written, paths as seen from the project."""
    address: Address
    folder: Path
    """The folder that it names; a file, where it names one."""
    root: Path
    """The whole of it, of which the folder is a part."""
    state: State
    pin: Pin | None = None
    """What it is to the byte; of folders and packages it is only computed when it is asked for."""


class Sources:
    """The sources of one call of the command; each is looked for once."""

    def __init__(
        self,
        places: Places,
        *,
        is_frozen: bool = False,
        is_offline: bool = False,
        limits: Limits | None = None,
        updates: Container[str] = (),
        environ: Mapping[str, str] | None = None,
        tell: Tell = lambda text: None,
    ) -> None:
        """``is_frozen`` takes nothing but what is locked; ``is_offline`` fetches nothing; ``tell`` gets warnings.

        Sources whose names are in ``updates`` are looked at anew, whatever lock and cache say.
        """
        self._places = places
        self._limits = limits or Limits()
        self._environ = os.environ if environ is None else environ
        self._tell = tell
        self._updates = updates
        self._verified: set[str] = set()
        self.is_frozen = is_frozen
        self.is_offline = is_offline
        self.cache = SourceCache(places.cache / "sources")
        self.used: dict[str, Found] = {}
        """Every source that was asked for, by its name."""

    @classmethod
    def of(
        cls,
        settings: Settings,
        places: Places,
        *,
        is_offline: bool = False,
        updates: Container[str] = (),
        tell: Tell = lambda text: None,
    ) -> Sources:
        """The sources as ``sources.frozen``, ``sources.offline`` and ``sources.timeout`` say."""
        return cls(
            places,
            is_frozen=settings.get("sources.frozen", False) is True,
            is_offline=is_offline or settings.get("sources.offline", False) is True,
            limits=Limits(timeout_s=float(settings.get("sources.timeout", Limits().timeout_s))),
            updates=updates,
            tell=tell,
        )

    @cached_property
    def locked(self) -> dict[str, Pin]:
        """What the project's lock says."""
        return read_lock(lock_path(self._places))

    def fetch(self, ref: str) -> Path:
        """The file or folder that ``ref`` names; what the loading of bundles takes as ``fetch``."""
        return self.find(ref).folder

    def find(self, given: Any) -> Found:
        """The source that a text or a mapping names.

        Raises ``SourceProblem`` where it cannot be had, or is not what was locked.
        """
        address = parse_source(given, self._places.project_dir)
        name = self.name_of(address)
        if name in self.used:
            return self.used[name]
        is_update = name in self._updates
        locked = None if is_update else self.locked.get(name)
        if (part := self._part_of_other(address, name)) is not None:
            self.used[name] = part
            return part
        if self.is_frozen and locked is None:
            raise SourceProblem(
                f"The source {told(name)} is not locked, and nothing else may be used.", "Lock it with: amplifier lock"
            )
        found = self._local(address, name) if address.kind in ("path", "package") else None
        if found is None:
            found = self._kept(address, name, locked, is_update=is_update)
        elif self.is_frozen:
            found = self._require_locked(found, locked)
        self.used[name] = found
        return found

    def pin_of(self, found: Found) -> Pin:
        """What a source is to the byte; of a folder, now."""
        if found.pin is not None:
            return found.pin
        version = package_version(found.address.place) if found.address.kind == "package" else ""
        try:
            return Pin(found.address.kind, tree_hash(found.root), version)
        except OSError as error:
            raise SourceProblem(
                f"{error.filename} cannot be read: {error.strerror}.", "Check who may read it."
            ) from None

    def name_of(self, address: Address) -> str:
        """What lock and cache know a source by."""
        if not address.is_local or address.kind == "package":
            return address.text
        path, project = Path(os.path.normpath(address.place)), self._places.project_dir
        shown = f"./{path.relative_to(project).as_posix()}" if path.is_relative_to(project) else str(path)
        return f"{shown}#subdirectory={address.subdirectory}" if address.subdirectory else shown

    def _part_of_other(self, address: Address, name: str) -> Found | None:
        """A folder inside a source that is there already, such as a module beside its bundle: locked with it."""
        if address.kind != "path":
            return None
        path = Path(os.path.normpath(address.place))
        whole = next((each for each in self.used.values() if each.pin and path.is_relative_to(each.root)), None)
        if whole is None:
            return None
        return replace(whole, address=address, folder=self._local(address, name).folder)

    def _local(self, address: Address, name: str) -> Found:
        root = package_folder(address.place) if address.kind == "package" else Path(address.place)
        if not root.exists():
            raise SourceProblem(f"The source {name} is not there: {root} does not exist.", "Check the path.")
        return Found(name, address, _inside(root, address), root, "local")

    def _require_locked(self, found: Found, locked: Pin | None) -> Found:
        pin = self.pin_of(found)
        if locked is None or (locked.tree, locked.revision) != (pin.tree, pin.revision):
            raise SourceProblem(
                f"The source {found.name} is not what was locked: its files have changed.",
                "If that is meant: amplifier lock",
            )
        return Found(found.name, found.address, found.folder, found.root, "locked", locked)

    def _kept(self, address: Address, name: str, locked: Pin | None, *, is_update: bool) -> Found:
        """A repository or an archive, whose content is in the cache or is brought there."""
        if not is_update and (found := self._in_cache(address, name, locked)) is not None:
            return found
        if self.is_offline and not address.is_local:
            raise SourceProblem(
                f"The source {told(name)} is not in the cache, and nothing may be fetched.",
                "Fetch it where there is a network: amplifier source update",
            )
        with self.cache.exclusively(name, self._limits.timeout_s):
            # Whoever held it before us may have brought it.
            found = None if is_update else self._in_cache(address, name, locked)
            return found or self._brought(address, name, locked)

    def _in_cache(self, address: Address, name: str, locked: Pin | None) -> Found | None:
        pin = locked or self.cache.pin(name)
        if pin is None:
            return None
        root = self.cache.tree(pin.tree)
        if not root.is_dir() or self._is_outdated(address, pin) or not self._is_whole(root, pin, name):
            return None
        return Found(name, address, _inside(root, address), root, "locked" if locked else "cached", pin)

    def _is_outdated(self, address: Address, pin: Pin) -> bool:
        """Whether an archive on this machine is another one than that which was unpacked."""
        return address.is_local and archive_hash(address, self._limits) != pin.revision

    def _is_whole(self, root: Path, pin: Pin, name: str) -> bool:
        if pin.tree in self._verified:
            return True
        if self.is_frozen:
            without_compiled(root)
        if _hash_now(root) == pin.tree:
            self._verified.add(pin.tree)
            return True
        if self.is_frozen:
            raise SourceProblem(
                f"The source {told(name)} is not what was locked: its files in {root} have changed.",
                "Somebody worked in the cache, or it is damaged. Remove that folder, and it is fetched again.",
            )
        self._tell(f"the files of {told(name)} in {root} have changed; they are fetched again")
        self.cache.discard(root)
        return False

    def _brought(self, address: Address, name: str, locked: Pin | None) -> Found:
        with self.cache.draft() as draft:
            writer = TreeWriter(draft / "tree", self._limits, told(name))
            revision = self._write(address, draft, writer, locked)
            pin = Pin(address.kind, tree_hash(draft / "tree"), revision, locked.requires if locked else ())
            if locked is not None and pin != locked:
                raise SourceProblem(
                    f"The source {told(name)} is not what was locked: expected {locked.revision} with the files "
                    f"{locked.tree}, got {pin.revision} with {pin.tree}.",
                    f"If the change is meant: amplifier lock --update {told(name)}. If not, ask those who made it.",
                )
            root = self.cache.adopt(draft / "tree", self.cache.tree(pin.tree))
        self._verified.add(pin.tree)
        self.cache.remember(name, pin)
        return Found(name, address, _inside(root, address), root, "fetched", pin)

    def _write(self, address: Address, draft: Path, writer: TreeWriter, locked: Pin | None) -> str:
        if address.kind == "zip":
            revision = fetch_archive(address, draft / "archive.zip", self._limits)
            unpack(draft / "archive.zip", writer, address)
            return revision
        fetched = GitFetch(address, draft, self._limits, self._environ)
        fetched.fetch(locked.revision if locked else None)
        fetched.write(writer)
        return fetched.commit


def _hash_now(root: Path) -> str | None:
    try:
        return tree_hash(root)
    except OSError:
        return None  # what cannot be read is not what it was


def _inside(root: Path, address: Address) -> Path:
    folder = root / address.subdirectory if address.subdirectory else root
    if not folder.exists():
        raise SourceProblem(
            f"The source {told(address.text)} has no '{address.subdirectory}'.",
            "Check the part behind '#subdirectory='.",
        )
    return folder
