"""The module under validation, imported by the normal import system: what it declares, and where its ``mount`` is."""

from __future__ import annotations

import importlib
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from amplifier_core._discovery import is_folder
from amplifier_core._sys_path import hold_sys_path_entry, release_sys_path_entry
from amplifier_core.validation._checks import failed, passed
from amplifier_core.validation._failures import Culprit, is_for_caller
from amplifier_core.validation._location import Location, LocationError, RegisteredEntry, is_file, locate
from amplifier_core.validation._time_limit import interrupted_after
from amplifier_core.validation.base import ValidationCheck, import_module_from_path

_IMPORTABLE = "module_importable"
_IF_SLOW = "move what takes long from the top of the file into mount()"


@dataclass(frozen=True, slots=True)
class ImportedModule:
    """A module that could be imported; ``checks`` tells how that went."""

    name: str
    checks: list[ValidationCheck]
    namespaces: tuple[Any, ...]
    """Where to look for what the module declares, the first that has it counts."""
    folder: Path | None

    def declared(self, name: str) -> Any:
        """What the module says under ``name``, or ``None``."""
        return next((found for space in self.namespaces if (found := getattr(space, name, None)) is not None), None)


class ImportProblemError(Exception):
    """The module cannot be imported; the text is for its author."""


@contextmanager
def imported(module_path: str | Path, entry_point: str | None, limit_s: float) -> Generator[ImportedModule]:
    """The module at a path, or of a dotted name where there is no such path; importable for the time of the block.

    Raises ``ImportProblemError``, whatever is wrong.
    """
    path = Path(module_path)
    if _is_import_name(str(module_path)) and not (is_folder(path) or is_file(path)):
        yield _import_by_name(str(module_path), limit_s)
        return
    try:
        location = locate(path, entry_point)
    except LocationError as error:
        raise ImportProblemError(str(error)) from error
    with ExitStack() as stack:
        for folder in reversed(location.import_folders):
            if hold_sys_path_entry(folder):
                stack.callback(release_sys_path_entry, folder)
        yield _import_from(location, limit_s)


def failed_import(problem: ImportProblemError) -> ValidationCheck:
    """The check of a module that cannot be imported."""
    return failed(_IMPORTABLE, str(problem))


def _import_by_name(name: str, limit_s: float) -> ImportedModule:
    module = _guarded_import(name, None, limit_s)
    file: str | None = getattr(module, "__file__", None)
    folder = Path(file).parent if file else None
    return ImportedModule(name, [passed(_IMPORTABLE, f"Module '{name}' imported successfully")], (module,), folder)


def _import_from(location: Location, limit_s: float) -> ImportedModule:
    module = _guarded_import(location.source, location.source, limit_s)
    checks = [passed(_IMPORTABLE, f"Module loaded from {location.source}")]
    if location.problem:
        checks.append(failed("entry_point", location.problem))
    namespaces: tuple[Any, ...] = (module,)
    if location.entry:
        try:
            namespaces = (*_entry_namespaces(location.entry, location.source, limit_s), module)
        except ImportProblemError as problem:
            checks.append(failed("entry_point", str(problem)))
    return ImportedModule(location.name, checks, namespaces, location.source)


def _guarded_import(target: str | Path, folder: Path | None, limit_s: float) -> ModuleType:
    culprit = Culprit("the import", limit_s, folder, _IF_SLOW)
    try:
        with interrupted_after(limit_s):
            return importlib.import_module(target) if isinstance(target, str) else import_module_from_path(target)
    except ImportError as error:
        raise ImportProblemError(f"Failed to import module: {error}{_way_out(error)}") from error
    except BaseException as error:
        if is_for_caller(error):
            raise
        raise ImportProblemError(f"Error loading module: {culprit.told(error)}") from error


def _way_out(error: ImportError) -> str:
    lacks = isinstance(error, ModuleNotFoundError) and error.name
    return f". Install what provides '{error.name}', or correct the name" if lacks else ""


def _entry_namespaces(entry: RegisteredEntry, folder: Path, limit_s: float) -> tuple[Any, ...]:
    """What the entry point names, as a namespace with ``mount``, and the module it stands in."""
    try:
        module = _guarded_import(entry.module, folder, limit_s)
        target: Any = module
        for attribute in entry.attribute.split(".") if entry.attribute else ():
            target = getattr(target, attribute)
    except (AttributeError, ImportProblemError) as error:
        raise ImportProblemError(
            f"The entry point {entry} points to nothing: {error}. Let it name the mount function: {entry.package}:mount"
        ) from error
    return (module,) if target is module else (SimpleNamespace(mount=target), module)


def _is_import_name(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))
