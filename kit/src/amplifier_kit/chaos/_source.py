"""From a path or an import name to the mount function of a module, by the kernel's own loader where it can."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.loader import ModuleLoader
from amplifier_core.module_sources import ModuleLoadError
from amplifier_core.validation.base import check_mount_arity, check_mount_exists, import_module_from_path
from amplifier_kit.chaos._collaborators import Mount
from amplifier_kit.chaos._stage import SUBJECT

_FOLDER_PREFIX = "amplifier-module-"
_READY = "__on_session_ready__"  # where sessions look for what is to be called when everything is mounted


@dataclass(frozen=True, slots=True)
class LoadedModule:
    """A mount function with its config, and what gives back the places on ``sys.path`` that it needs."""

    mount: Mount
    release: Callable[[], None]


async def load_module(where: str | Path, config: dict[str, Any], entry_point: str | None = None) -> LoadedModule:
    """The module at a folder, a ``.py`` file or an import name. Raises what importing it raises.

    ``entry_point`` is the id of one of several modules in a folder.
    """
    if _is_folder(where):
        module_id = entry_point or Path(where).name.removeprefix(_FOLDER_PREFIX)
        return await _load_folder(Path(where), module_id, config)
    module = _import(where)
    mount, ready = _require_mount(module), getattr(module, "on_session_ready", None)
    return LoadedModule(bind(mount, config, ready), _nothing)


def absolute(where: str | Path) -> str | Path:
    """``where``, independent of the working directory; an import name stays what it is."""
    return Path(where).absolute() if Path(where).exists() else where


def bind(mount: Callable[..., Any], config: dict[str, Any], on_session_ready: Any = None) -> Mount:
    """``async def mount(coordinator)`` with its config, as loaders give it to sessions."""

    async def bound(coordinator: Any) -> Any:
        return await mount(coordinator, config)

    ready = getattr(mount, _READY, None) if on_session_ready is None else (SUBJECT, on_session_ready)
    if ready is not None:
        setattr(bound, _READY, ready)
    return bound


async def _load_folder(path: Path, module_id: str, config: dict[str, Any]) -> LoadedModule:
    coordinator = ModuleCoordinator()
    coordinator.mount("module-source-resolver", _Resolver(path))
    loader = ModuleLoader(coordinator)
    try:
        return LoadedModule(await loader.load(module_id, config), loader.cleanup)
    except BaseException:
        loader.cleanup()
        raise


class _Folder:
    """A module source that is there already."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def resolve(self) -> Path:
        return self._path


class _Resolver:
    """Knows one folder, whatever is asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def resolve(self, module_id: str) -> _Folder:
        return _Folder(self._path)


def _is_folder(where: str | Path) -> bool:
    return Path(where).is_dir()


def _import(where: str | Path) -> ModuleType:
    return import_module_from_path(where) if Path(where).is_file() else importlib.import_module(str(where))


def _require_mount(module: ModuleType) -> Callable[..., Any]:
    check = check_mount_exists(module)
    wrong = check_mount_arity(module.mount) if check.passed else check
    if wrong is not None:
        raise ModuleLoadError(f"{wrong.message} in {module.__name__}; expected: async def mount(coordinator, config)")
    return module.mount


def _nothing() -> None:
    """Nothing is to be given back."""
