"""What every validator is made of: checks and their results, import of a package, checks of a module's functions."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from amplifier_core._sys_path import first_on_sys_path
from amplifier_core.module_sources import SecondSourceError

Severity = Literal["error", "warning", "info"]


@dataclass
class ValidationCheck:
    """The outcome of one question about a module or a plan."""

    name: str
    passed: bool
    message: str
    severity: Severity


class CheckList:
    """Checks in the order they were made; a failed check counts by its severity."""

    checks: list[ValidationCheck]

    @property
    def passed(self) -> bool:
        """Whether no error check failed; warnings do not count."""
        return not self.errors

    @property
    def errors(self) -> list[ValidationCheck]:
        """Failed checks of severity ``error``."""
        return self._failed("error")

    @property
    def warnings(self) -> list[ValidationCheck]:
        """Failed checks of severity ``warning``."""
        return self._failed("warning")

    def add(self, check: ValidationCheck) -> None:
        """Appends a check."""
        self.checks.append(check)

    def summary(self) -> str:
        """One line with the verdict and the counts."""
        verdict = "PASSED" if self.passed else "FAILED"
        passed = sum(check.passed for check in self.checks)
        counts = f"({len(self.errors)} errors, {len(self.warnings)} warnings)"
        return f"{verdict}: {passed}/{len(self.checks)} checks passed {counts}"

    def _failed(self, severity: Severity) -> list[ValidationCheck]:
        return [check for check in self.checks if not check.passed and check.severity == severity]


@dataclass
class ValidationResult(CheckList):
    """The checks of one module."""

    module_type: str
    module_path: str
    checks: list[ValidationCheck] = field(default_factory=list[ValidationCheck])


def _is_coroutine_function(obj: Any) -> bool:
    # AsyncMock tells it by the flags of its code, which inspect understands from Python 3.12 on only.
    flags = getattr(getattr(obj, "__code__", None), "co_flags", 0)
    return inspect.iscoroutinefunction(obj) or (isinstance(flags, int) and bool(flags & inspect.CO_COROUTINE))


def is_async_callable(obj: Any) -> bool:
    """Whether calling ``obj`` gives a coroutine: async functions, partials of them, objects with async ``__call__``."""
    return _is_coroutine_function(obj) or (
        callable(obj) and not inspect.isroutine(obj) and _is_coroutine_function(obj.__call__)
    )


def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """The signature of ``function``, or ``None`` where it tells none."""
    try:
        return inspect.signature(function)
    except Exception:  # some callables written in C tell none, and an object may raise anything when it is looked at
        return None


def check_mount_exists(module: Any) -> ValidationCheck:
    """Whether the module has a callable ``mount``."""
    mount = getattr(module, "mount", None)
    if mount is None:
        return ValidationCheck("mount_exists", False, "No mount() function found in module", "error")
    if not callable(mount):
        return ValidationCheck("mount_exists", False, "mount is not callable", "error")
    return ValidationCheck("mount_exists", True, "mount() function found", "info")


def check_mount_arity(mount: Callable[..., Any]) -> ValidationCheck | None:
    """A failed check if ``mount`` cannot be called with coordinator and config by position, else ``None``."""
    signature = signature_of(mount)
    if signature is None or _takes(signature, 2):
        return None
    count = len(signature.parameters)
    message = (
        f"mount() should have at least 2 parameters (coordinator, config), found {count}"
        if count < 2
        else f"mount() should be callable with 2 parameters (coordinator, config), its signature is {signature}"
    )
    return ValidationCheck("mount_signature", False, message, "error")


def check_on_session_ready(module: Any) -> ValidationCheck | None:
    """A failed check if ``on_session_ready`` cannot be awaited with the coordinator; ``None`` if absent or fine."""
    ready = getattr(module, "on_session_ready", None)
    if ready is None:
        return None
    if not is_async_callable(ready):
        return _ready_problem("on_session_ready must be async: async def on_session_ready(coordinator)")
    signature = signature_of(ready)
    if signature is not None and not _requires_one(signature):
        return _ready_problem(
            f"on_session_ready must take exactly one required parameter, the coordinator; its signature is {signature}"
        )
    return None


def import_module_from_path(path: str | Path) -> ModuleType:
    """Imports the package folder or ``.py`` file at ``path`` by the normal import system, under its own name.

    The same file gives the same module each time. A name that is loaded from another file, or whose submodules are, is
    refused with an ``ImportError``: one process holds one module of a name.
    """
    name, file = _import_target(Path(path).absolute())
    if name in sys.modules:
        # Not taken from there: another thread may still be executing it, and the import system knows how to wait.
        loaded = importlib.import_module(name)
    else:
        _reject_foreign_submodules(name, file)
        loaded = _import_first(name, file)
    _reject_other_file(name, file, loaded)
    return loaded


def _ready_problem(message: str) -> ValidationCheck:
    return ValidationCheck("on_session_ready_async", False, message, "error")


def _takes(signature: inspect.Signature, count: int) -> bool:
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True


def _requires_one(signature: inspect.Signature) -> bool:
    return _takes(signature, 1) and not _takes(signature, 0)


def _import_target(path: Path) -> tuple[str, Path]:
    name, file = (path.name, path / "__init__.py") if path.is_dir() else (path.stem, path)
    if not file.is_file():
        raise ImportError(f"Cannot import {path}: expected a folder with __init__.py, or a .py file")
    if "." in name:
        raise ImportError(f"Cannot import {path}: '{name}' has a dot and so is no import name; rename it")
    return name, file


def _import_first(name: str, file: Path) -> ModuleType:
    folder = file.parent.parent if file.name == "__init__.py" else file.parent
    with first_on_sys_path(str(folder)):
        # The cached listing of a folder that has just been written may miss the package.
        sys.path_importer_cache.pop(str(folder), None)
        return importlib.import_module(name)


def _reject_other_file(name: str, file: Path, loaded: ModuleType) -> None:
    origin = getattr(loaded, "__file__", None)
    if origin is None or not _is_same_file(origin, file):
        raise SecondSourceError(_refusal(name, file, f"it is already loaded from {origin or 'the interpreter itself'}"))


def _reject_foreign_submodules(name: str, file: Path) -> None:
    folder = os.path.realpath(file.parent)
    for loaded_name, loaded in list(sys.modules.items()):
        if not loaded_name.startswith(name + "."):
            continue
        origin = getattr(loaded, "__file__", None)
        if origin and not os.path.realpath(origin).startswith(folder + os.sep):
            raise SecondSourceError(
                _refusal(name, file, f"its submodule '{loaded_name}' is already loaded from {origin}")
            )


def _refusal(name: str, file: Path, reason: str) -> str:
    return (
        f"Refusing to import '{name}' from {file}: {reason}, and a process can hold only one package of a name. "
        "Use one source for it, or rename one of the packages."
    )


def _is_same_file(origin: str, file: Path) -> bool:
    return os.path.realpath(origin) == os.path.realpath(file)
