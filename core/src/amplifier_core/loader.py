"""The module loader: module id → source → checked mount function. Mounting it is left to the caller."""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

from amplifier_core._discovery import (
    FOLDER_PREFIX,
    MODULE_GROUP,
    TYPE_TO_MOUNT_POINT,
    as_folders,
    discover_modules,
    find_module_folder,
    find_package_dir,
    folders_to_search,
    guess_from_naming,
    is_folder,
    package_name,
)
from amplifier_core._entry_points import EntryPointIndex
from amplifier_core._error_text import error_text
from amplifier_core._mount_functions import (
    Mount,
    MountFunction,
    RawMount,
    bind_transported,
    describe_module,
    import_installed,
    import_package,
    load_entry_point,
)
from amplifier_core._resolution import resolve_folder
from amplifier_core._sys_path import hold_sys_path_entry, release_sys_path_entry
from amplifier_core._transports import PYTHON, TRANSPORT_GROUP, load_by_transport, read_manifest, transport_of
from amplifier_core.models import ModuleInfo
from amplifier_core.module_sources import (
    MODULE_FAILURE_REASONS,
    ModuleLoadError,
    ModuleNotFoundError,
    ModuleValidationError,
    SecondSourceError,
    module_failure_reason,
)

__all__ = [
    "MODULE_FAILURE_REASONS",
    "TYPE_TO_MOUNT_POINT",
    "AmplifierModuleLoader",
    "ModuleLoadError",
    "ModuleLoader",
    "ModuleNotFoundError",
    "ModuleValidationError",
    "module_failure_reason",
]

logger = logging.getLogger(__name__)

ReadyCallback = tuple[str, Callable[[Any], Awaitable[Any]]]


class ModuleLoader:
    """Finds and loads the modules of one session, by a mounted resolver or else by itself.

    An id keeps the source it was first loaded from. ``search_paths`` are folders of ``amplifier-module-<id>`` folders;
    without any, ``AMPLIFIER_MODULES`` lists them.
    """

    def __init__(self, coordinator: Any = None, search_paths: Iterable[str | Path] | None = None) -> None:
        self.coordinator = coordinator
        self._search_paths = as_folders(search_paths)
        self._module_info: dict[str, ModuleInfo] = {}
        self._loaded_modules: dict[str, RawMount] = {}
        # For every id that was loaded from a folder: that folder, and what it needs on ``sys.path``.
        self._sources: dict[str, Path] = {}
        self._needed_paths: dict[str, list[str]] = {}
        self._mount_functions: dict[str, MountFunction] = {}
        self._added_paths: list[str] = []
        self._on_session_ready_queue: list[ReadyCallback] = []
        self._installed = EntryPointIndex(MODULE_GROUP)
        self._transports = EntryPointIndex(TRANSPORT_GROUP)

    @property
    def _coordinator(self) -> Any:
        return self.coordinator

    @_coordinator.setter
    def _coordinator(self, coordinator: Any) -> None:
        self.coordinator = coordinator

    def for_coordinator(self, coordinator: Any) -> ModuleLoader:
        """A new loader with the same search paths for another coordinator, such as a child session's."""
        return type(self)(coordinator=coordinator, search_paths=self._search_paths)

    async def discover(self) -> list[ModuleInfo]:
        """The modules that can be loaded without a resolver: installed ones first, then those in the search paths."""
        if self._installed.is_read:
            self._installed.refresh()
        self._module_info = discover_modules(self._installed, folders_to_search(self._search_paths))
        return list(self._module_info.values())

    async def load(
        self,
        module_id: str,
        config: dict[str, Any] | None = None,
        source_hint: Any = None,
        coordinator: Any = None,
        *,
        profile_source: Any = None,
    ) -> Mount:
        """A fresh ``async def mount(coordinator)`` for the module, bound to ``config``; nothing of it is called yet.

        ``source_hint`` (or ``profile_source``) goes to the mounted resolver as it is. The resolver is the one of the
        loader's own coordinator; ``coordinator`` serves where it has none. Raises ``ModuleNotFoundError`` when nobody
        knows the module and ``ModuleLoadError`` when it is there and cannot be loaded.
        """
        try:
            _reject_bad_request(module_id, config)
            hint = profile_source if source_hint is None else source_hint
            return await self._load(module_id, config, hint, self._mounted_resolver(coordinator))
        except Exception as error:
            logger.error("Failed to load module '%s': %s", module_id, error_text(error))
            raise

    async def initialize(self, module: Mount, coordinator: Any) -> Any:
        """Calls a mount function and gives back what it returns; a failure is logged and raised."""
        try:
            return await module(coordinator)
        except Exception as error:
            logger.error("Failed to initialize module: %s", error_text(error))
            raise

    def get_on_session_ready_queue(self) -> list[ReadyCallback]:
        """The callbacks to run once everything is mounted, in the order of mounting, as a copy."""
        return list(self._on_session_ready_queue)

    def enqueue_on_session_ready(self, module_id: str, fn: Callable[[Any], Awaitable[Any]]) -> None:
        """Adds a callback; whoever mounts calls this after the mount succeeded."""
        self._on_session_ready_queue.append((module_id, fn))

    def clear_on_session_ready_queue(self) -> None:
        """Forgets all callbacks."""
        self._on_session_ready_queue.clear()

    def cleanup(self) -> None:
        """Gives up the ``sys.path`` entries this loader added, last first; those that another loader needs stay."""
        while self._added_paths:
            release_sys_path_entry(self._added_paths.pop())

    def _mounted_resolver(self, coordinator: Any) -> Any:
        own = self.coordinator if self.coordinator is not None else coordinator
        if own is None:
            return None
        try:
            return own.get("module-source-resolver")
        except ValueError:
            return None

    async def _load(self, module_id: str, config: dict[str, Any] | None, hint: Any, resolver: Any) -> Mount:
        if resolver is None:
            return await self._load_direct(module_id, config)
        path = await resolve_folder(resolver, module_id, hint)
        self._reject_second_source(module_id, path)
        if module_id in self._sources and module_id in self._loaded_modules:
            return self._bind(module_id, config)
        return await self._load_from_folder(module_id, path, config)

    async def _load_direct(self, module_id: str, config: dict[str, Any] | None = None) -> Mount:
        if module_id in self._loaded_modules:
            return self._bind(module_id, config)
        may_be_outdated = self._installed.is_read
        found = self._search(module_id)
        if found is None and may_be_outdated:
            self._installed.refresh()
            found = self._search(module_id)
        if found is None:
            raise self._not_found(module_id)
        if isinstance(found, Path):
            return await self._load_from_folder(module_id, found, config)
        return self._bind(module_id, config)

    def _search(self, module_id: str) -> RawMount | Path | None:
        raw = self._load_entry_point(module_id)
        if raw is not None:
            return raw
        folder = find_module_folder(module_id, folders_to_search(self._search_paths))
        return folder.absolute() if folder else self._load_filesystem(module_id)

    def _load_entry_point(self, module_id: str) -> RawMount | None:
        entry = self._installed.find(module_id)
        if entry is None:
            return None
        return self._remember(load_entry_point(module_id, entry), f"entry point {entry.value}")

    def _load_filesystem(self, module_id: str) -> RawMount | None:
        name = package_name(module_id)
        module = import_installed(module_id, name)
        return None if module is None else self._remember(describe_module(module_id, name, module), f"package {name}")

    async def _load_from_folder(self, module_id: str, path: Path, config: dict[str, Any] | None) -> Mount:
        if not is_folder(path):
            raise _no_package(module_id, path)
        manifest = read_manifest(module_id, path)
        transport = transport_of(module_id, path, manifest)
        if transport != PYTHON:
            mount = await load_by_transport(self._transports, transport, module_id, path, manifest, config or {})
            self._sources[module_id] = path
            return bind_transported(module_id, mount)
        await self._validate_module(module_id, path, config)
        self._sources[module_id] = path
        return self._bind(module_id, config)

    async def _validate_module(self, module_id: str, path: Path, config: dict[str, Any] | None = None) -> Path:
        """Imports the package at ``path`` and checks its structure, never calling ``mount``; gives back its folder."""
        package = self._find_package_dir(module_id, path)
        if package is None:
            raise _no_package(module_id, path)
        self._needed_paths[module_id] = [str(path)] if package == path else [str(path), str(package.parent)]
        self._hold_needed_paths(module_id)
        self._remember(describe_module(module_id, package, import_package(module_id, path, package)), path)
        return package

    def _find_package_dir(self, module_id: str, path: Path) -> Path | None:
        return find_package_dir(module_id, Path(path))

    def _guess_from_naming(self, module_id: str) -> tuple[str, str]:
        return guess_from_naming(module_id)

    def _hold_needed_paths(self, module_id: str) -> None:
        for entry in self._needed_paths.get(module_id, ()):
            if entry not in self._added_paths and hold_sys_path_entry(entry):
                self._added_paths.append(entry)

    def _remember(self, function: MountFunction, origin: object) -> RawMount:
        self._mount_functions[function.module_id] = function
        self._loaded_modules[function.module_id] = function.raw
        logger.info("[module:loaded] %s from %s", function.module_id, origin)
        return function.raw

    def _bind(self, module_id: str, config: dict[str, Any] | None) -> Mount:
        raw = self._loaded_modules[module_id]
        self._hold_needed_paths(module_id)  # they are gone when the session was cleaned up and starts anew
        function = self._mount_functions.get(module_id)
        if function is None or function.raw is not raw:  # somebody put a function of his own into the cache
            function = MountFunction.of_raw(module_id, raw)
        return function.bind(config)

    def _reject_second_source(self, module_id: str, path: Path) -> None:
        known = self._sources.get(module_id)
        if known is not None and os.path.realpath(known) != os.path.realpath(path):
            raise SecondSourceError(
                f"Refusing to load '{module_id}' from {path}: it is already loaded from {known}. "
                "Use one source for it, or load the other one in a process of its own."
            )

    def _not_found(self, module_id: str) -> ModuleNotFoundError:
        problem = f" (unreadable: {self._installed.problem})" if self._installed.problem else ""
        tried = [f"entry point '{module_id}' in group '{MODULE_GROUP}'{problem}"]
        for folder in folders_to_search(self._search_paths):
            remark = "" if is_folder(folder) else " (no such search path)"
            tried += [f"{folder / (FOLDER_PREFIX + module_id)}{remark}"]
        tried += [f"import of {package_name(module_id)}"]
        return ModuleNotFoundError(
            f"Module '{module_id}' not found via entry points or filesystem. Tried: {'; '.join(tried)}. "
            f"{self._suggestion(module_id)}Install the package that provides it, add the folder that holds "
            f"{FOLDER_PREFIX}{module_id} to AMPLIFIER_MODULES, or mount a module-source-resolver.",
            tried=tried,
        )

    def _suggestion(self, module_id: str) -> str:
        from difflib import get_close_matches

        near = get_close_matches(module_id[:100], [entry.name for entry in self._installed.all()], n=1)
        return f"Did you mean '{near[0]}'? " if near else ""


AmplifierModuleLoader = ModuleLoader


def _reject_bad_request(module_id: Any, config: Any) -> None:
    if not isinstance(module_id, str) or not module_id.strip():
        raise ModuleLoadError(f"A module id must be a non-empty string such as 'tool-bash', got {module_id!r:.100}")
    if config is not None and not isinstance(config, dict):
        raise ModuleLoadError(
            f"Module '{module_id}' was given a config of type {type(config).__name__}; expected a dict (or nothing). "
            f"Correct the 'config' of '{module_id}' in the mount plan."
        )


def _no_package(module_id: str, path: Path) -> ModuleLoadError:
    missing = not is_folder(path)
    expected = (
        f"a folder with __init__.py, {package_name(module_id)}/__init__.py or the package its pyproject.toml registers"
    )
    return ModuleLoadError(
        f"Module '{module_id}' has no valid Python package at {path}: "
        + ("there is no such folder. Correct the source." if missing else f"expected {expected}."),
        reason_code="missing_source" if missing else "invalid_package_layout",
    )
