"""The way from a module to its folder that the kernel takes: by the source of the plan, else as it is installed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from amplifier.problems import SourceProblem
from amplifier.sources.dependencies import Dependencies, packages_in
from amplifier.sources.packages import module_folder
from amplifier.sources.sources import Found, Sources

INSTALLED = "installed"
"""The source that stands for "as it is installed", for a setting that overrules a bundle's source."""

_SECTIONS = ("providers", "tools", "hooks")
_ROLES = ("orchestrator", "context")


class Folder:
    """A module that is on this machine."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def resolve(self) -> Path:
        """The folder that has the package."""
        return self._path


class SourceResolver:
    """The resolver to mount at ``module-source-resolver``; serves a session and its children."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._dependencies = Dependencies(sources.cache, is_frozen=sources.is_frozen, is_offline=sources.is_offline)

    async def async_resolve(self, module_id: str, source_hint: Any = None) -> Folder:
        """The folder of a module; what has to be fetched is fetched without holding up others.

        Raises the kernel's ``ModuleNotFoundError``.
        """
        return await asyncio.to_thread(self.resolve, module_id, source_hint)

    def resolve(self, module_id: str, source_hint: Any = None) -> Folder:
        """The same, for those who wait."""
        from amplifier_core.module_sources import ModuleNotFoundError as NotFoundError

        if source_hint is None or source_hint == INSTALLED:
            folder = module_folder(module_id)
            if folder is None:
                raise NotFoundError(
                    f"The module '{module_id}' is not installed, and nobody names a source for it. "
                    f"Install its package, or name one: amplifier source add {module_id} SOURCE"
                )
            return Folder(folder)
        try:
            found = self._sources.find(source_hint)
            self._offer(self.overlay_of(found))
        except SourceProblem as problem:
            raise NotFoundError(
                f"The module '{module_id}' cannot be had: {problem.message} {problem.hint}", tried=[str(source_hint)]
            ) from problem
        return Folder(_importable(found))

    def overlay_of(self, found: Found) -> Path | None:
        """The folder with what a source needs beside the installed packages; ``None`` where that is nothing."""
        return self._dependencies.overlay(found.folder, found.pin.requires if found.pin else (), found.name)

    def requires_of(self, found: Found) -> tuple[str, ...]:
        """The packages that a source needs beside the installed ones, each with its version; they are there then."""
        overlay = self.overlay_of(found)
        return () if overlay is None else tuple(packages_in(overlay))

    def _offer(self, overlay: Path | None) -> None:
        # Last, so that what is installed counts more; for as long as the process, since modules import late.
        if overlay is not None and str(overlay) not in sys.path:
            sys.path.append(str(overlay))


def _importable(found: Found) -> Path:
    """The folder to give to the kernel: around the package of an installed distribution, else the source itself."""
    return found.folder.parent if found.address.kind == "package" and not found.address.subdirectory else found.folder


def sources_in(plan: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each module of a mount plan that has a source, with the source; those of agents as well."""
    session = cast("Mapping[str, Any]", plan.get("session") or {})
    entries: list[Any] = [session.get(role) for role in _ROLES]
    for section in _SECTIONS:
        entries += plan.get(section) or ()
    for entry in entries:
        if isinstance(entry, Mapping):
            fields = cast("Mapping[str, Any]", entry)
            if fields.get("source") is not None and fields["source"] != INSTALLED:
                yield str(fields.get("module")), fields["source"]
    for agent in cast("Mapping[str, Any]", plan.get("agents") or {}).values():
        if isinstance(agent, Mapping):
            yield from sources_in(cast("Mapping[str, Any]", agent))
