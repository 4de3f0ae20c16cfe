"""Where modules are: ids, package names and kinds, folders to search, and the package inside a folder."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from amplifier_core._entry_points import EntryPointIndex
from amplifier_core._error_text import describe_error
from amplifier_core.models import ModuleInfo

logger = logging.getLogger("amplifier_core.loader")

MODULE_GROUP = "amplifier.modules"
PROJECT_FILE = "pyproject.toml"
SEARCH_PATH_VARIABLE = "AMPLIFIER_MODULES"
FOLDER_PREFIX = "amplifier-module-"
PACKAGE_PREFIX = "amplifier_module_"

TYPE_TO_MOUNT_POINT = {
    "orchestrator": "orchestrator",
    "provider": "providers",
    "tool": "tools",
    "hook": "hooks",
    "context": "context",
    "resolver": "module-source-resolver",
}

# The order matters: 'tool-provider' has always been a provider, and 'hooks-tool-x' a tool.
_KIND_BY_WORD = (
    ("orchestrat", "orchestrator"),
    ("loop", "orchestrator"),
    ("provider", "provider"),
    ("tool", "tool"),
    ("hook", "hook"),
    ("context", "context"),
)


def package_name(module_id: str) -> str:
    """The import name that belongs to a module id by convention: ``tool-bash`` is ``amplifier_module_tool_bash``."""
    return PACKAGE_PREFIX + module_id.replace("-", "_")


def kind_from_naming(module_id: str) -> str | None:
    """The kind that the first telling word inside an id names, or ``None``."""
    return next((kind for word, kind in _KIND_BY_WORD if word in module_id), None)


def guess_from_naming(module_id: str) -> tuple[str, str]:
    """Kind and mount point of a module that does not declare them: by its id, else those of a tool."""
    kind = kind_from_naming(module_id) or "tool"
    return kind, TYPE_TO_MOUNT_POINT[kind]


def as_folders(search_paths: Iterable[str | Path] | str | Path | None) -> list[Path]:
    """Search paths in any of the forms in which callers give them."""
    given = [search_paths] if isinstance(search_paths, str | Path) else search_paths or ()
    return [Path(folder) for folder in given]


def folders_to_search(search_paths: list[Path]) -> list[Path]:
    """Those given, else those that ``AMPLIFIER_MODULES`` lists now (separated like ``PATH``)."""
    if search_paths:
        return search_paths
    listed = os.environ.get(SEARCH_PATH_VARIABLE, "").split(os.pathsep)
    return [Path(folder) for folder in listed if folder]


def discover_modules(installed: EntryPointIndex, folders: Iterable[Path]) -> dict[str, ModuleInfo]:
    """Every module that can be loaded without a resolver: installed ones, then those in ``folders``; the first wins."""
    found: dict[str, ModuleInfo] = {}
    for module_id in _discovered_ids(installed, folders):
        if module_id in found:
            logger.debug("Module '%s' was discovered twice; the first one counts", module_id)
            continue
        try:
            found[module_id] = _describe_module(module_id)
        except Exception as error:
            logger.error("Cannot describe module '%s': %s", module_id, describe_error(error))
    return found


def is_folder(path: Path) -> bool:
    """Whether there is a readable folder; a name that no file system can have is none."""
    try:
        return path.is_dir()
    except OSError:
        return False


def find_module_folder(module_id: str, folders: Iterable[Path]) -> Path | None:
    """The folder ``amplifier-module-<id>`` in the first of ``folders`` that has it; needs no listing of them."""
    if not _is_file_name(module_id):
        return None
    candidates = (folder / (FOLDER_PREFIX + module_id) for folder in folders)
    return next((candidate for candidate in candidates if is_folder(candidate)), None)


def find_package_dir(module_id: str, path: Path) -> Path | None:
    """The Python package of a module inside ``path``, or ``None``.

    That is ``path`` itself, else by preference: ``amplifier_module_<id>``, ``<id>`` with underscores, the package that
    ``pyproject.toml`` registers for the id, the first ``amplifier_module_*``, any other package registered there; each
    also under ``src/``.
    """
    if not is_folder(path):
        return None
    if _is_package(path):
        return path
    roots = (path, path / "src")
    candidates = (root / name for name in _package_names(module_id, path) for root in roots)
    return next((candidate for candidate in candidates if _is_package(candidate)), None)


def registered_entry_points(path: Path) -> dict[str, str]:
    """Module ids with the values of their entry points, as ``pyproject.toml`` in ``path`` registers them.

    Empty when it registers none. Raises ``ValueError`` for a file that cannot be read or has another shape.
    """
    project_file = path / PROJECT_FILE
    if not project_file.is_file():
        return {}
    import tomllib

    try:
        entries: Any = tomllib.loads(project_file.read_text("utf-8"))["project"]["entry-points"][MODULE_GROUP]
        return {name: value.strip() for name, value in entries.items()}
    except KeyError:
        return {}
    except Exception as error:
        raise ValueError(f"Cannot read {project_file}: {describe_error(error)}") from error


def _discovered_ids(installed: EntryPointIndex, folders: Iterable[Path]) -> Iterator[str]:
    for entry in installed.all():
        logger.debug("Discovered module '%s' via entry point %s", entry.name, entry.value)
        yield entry.name
    for folder in folders:
        yield from _ids_in_folder(folder)


def _ids_in_folder(folder: Path) -> Iterator[str]:
    if not folder.exists():
        logger.warning("Module path does not exist: %s", folder)
        return
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.name.startswith(FOLDER_PREFIX) and entry.is_dir())
    except OSError as error:
        logger.warning("Module path cannot be read: %s (%s)", folder, describe_error(error))
        return
    for name in names:
        module_id = name.replace(FOLDER_PREFIX, "")
        if module_id:
            logger.debug("Discovered module '%s' in %s", module_id, folder)
            yield module_id


def _describe_module(module_id: str) -> ModuleInfo:
    kind, mount_point = guess_from_naming(module_id)
    return ModuleInfo(
        id=module_id,
        name=module_id.replace("-", " ").title(),
        version="1.0.0",
        type=cast(Any, kind),
        mount_point=mount_point,
        description=f"Module: {module_id}",
    )


def _package_names(module_id: str, path: Path) -> Iterator[str]:
    """Directory names in order of preference; lazily, since the later ones cost a listing or a parse."""
    for name in (package_name(module_id), module_id.replace("-", "_")):
        if name.isidentifier():
            yield name
    registered = _registered_packages(path)
    if module_id in registered:
        yield registered[module_id]
    for root in (path, path / "src"):
        yield from sorted(candidate.name for candidate in root.glob(PACKAGE_PREFIX + "*"))
    yield from registered.values()


def _registered_packages(path: Path) -> dict[str, str]:
    """Module ids with their top-level packages, as the entry points in ``pyproject.toml`` register them."""
    try:
        entries = registered_entry_points(path)
    except ValueError as error:
        logger.warning("%s", error)
        return {}
    named = {name: value.partition(":")[0].partition(".")[0].strip() for name, value in entries.items()}
    return {name: package for name, package in named.items() if package.isidentifier()}


def _is_package(path: Path) -> bool:
    return is_folder(path) and (path / "__init__.py").is_file()


def _is_file_name(text: str) -> bool:
    return "\0" not in text and Path(text).name == text
