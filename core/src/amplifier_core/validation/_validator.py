"""The one mechanism behind the five validators: import, structure, then a try on a throw-away coordinator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

from amplifier_core._discovery import TYPE_TO_MOUNT_POINT
from amplifier_core._module_config import CONFIG_DECLARATION, check_config
from amplifier_core.module_sources import ModuleLoadError
from amplifier_core.validation._checks import Kind, failed, passed
from amplifier_core.validation._failures import Culprit, is_for_caller
from amplifier_core.validation._imported import ImportedModule, ImportProblemError, failed_import, imported
from amplifier_core.validation._probe import Probe
from amplifier_core.validation._time_limit import interrupted_after
from amplifier_core.validation.base import (
    ValidationCheck,
    ValidationResult,
    check_mount_arity,
    check_mount_exists,
    check_on_session_ready,
    is_async_callable,
)

TYPE_DECLARATION = "__amplifier_module_type__"
_IF_SLOW = "leave what takes long to a task or to on_session_ready, and give connections a time limit"


class ModuleValidator:
    """Validates modules of one kind; may be used again and again.

    ``time_limit_s`` holds for the import, for ``mount()`` and for each clean-up function.
    """

    kind: ClassVar[Kind]

    def __init__(self, time_limit_s: float = 10.0) -> None:
        if not time_limit_s > 0:
            raise ValueError(f"time_limit_s must be a positive number of seconds, got {time_limit_s!r}")
        self.time_limit_s = time_limit_s

    async def validate(
        self, module_path: str | Path, entry_point: str | None = None, config: dict[str, Any] | None = None
    ) -> ValidationResult:
        """Every check of the module at a path, or of a dotted module name; whatever it does, nothing is raised.

        ``entry_point`` selects one of several modules that a ``pyproject.toml`` registers. The module is imported and
        really mounted, with ``config``, on a coordinator of its own, and cleaned up again.
        """
        result = ValidationResult(self.kind.name, str(module_path))
        try:
            with imported(module_path, entry_point, self.time_limit_s) as module:
                await self._check(module, config, result)
        except ImportProblemError as problem:
            result.add(failed_import(problem))
        return result

    async def _check(self, module: ImportedModule, config: dict[str, Any] | None, result: ValidationResult) -> None:
        result.checks += module.checks
        culprit = Culprit("the module", self.time_limit_s, module.folder)
        mount: Any = None
        try:
            with interrupted_after(self.time_limit_s):
                mount = self._check_structure(module, config, result)
        except BaseException as error:
            if is_for_caller(error):
                raise
            result.add(failed("mount_exists", f"Error while reading the module: {culprit.told(error)}"))
        if mount is not None:
            probe = Probe(self.kind, replace(culprit, name="mount()", if_slow=_IF_SLOW))
            result.checks += await probe.run(mount, config or {})

    def _check_structure(self, module: ImportedModule, config: dict[str, Any] | None, result: ValidationResult) -> Any:
        """The checks that call nothing; gives the mount function if there is one."""
        mount = module.declared("mount")
        result.add(check_mount_exists(SimpleNamespace(mount=mount)))
        if not callable(mount):
            return None
        result.add(check_mount_signature(mount))
        ready = check_on_session_ready(SimpleNamespace(on_session_ready=module.declared("on_session_ready")))
        result.checks += [ready] if ready else []
        result.checks += check_declared_type(self.kind.name, module.declared(TYPE_DECLARATION))
        result.checks += _check_config(module, config)
        return mount


def check_declared_type(kind: str | None, declared: Any) -> list[ValidationCheck]:
    """What is wrong with the kind a module declares, if anything."""
    if declared is None or declared == kind:
        return []
    if not isinstance(declared, str) or declared not in TYPE_TO_MOUNT_POINT:
        known = ", ".join(TYPE_TO_MOUNT_POINT)
        return [failed("module_type", f"{TYPE_DECLARATION} is {declared!r:.100}; expected one of: {known}")]
    return [failed("module_type", f"{TYPE_DECLARATION} says '{declared}', validated as '{kind}'", "warning")]


def check_mount_signature(mount: Any) -> ValidationCheck:
    """Whether ``mount`` is async and takes coordinator and config."""
    wrong_arity = check_mount_arity(mount)
    if wrong_arity:
        return wrong_arity
    if not is_async_callable(mount):
        return failed("mount_signature", "mount() should be async (async def mount(...))")
    return passed("mount_signature", "mount() is async with correct signature")


def _check_config(module: ImportedModule, config: dict[str, Any] | None) -> list[ValidationCheck]:
    try:
        unknown = check_config(module.name, module.declared(CONFIG_DECLARATION), config or {})
    except ModuleLoadError as error:
        # Without a config, the values it lacks are no fault of the module.
        is_fault = config is not None or error.reason_code == "invalid_module_metadata"
        return [failed("module_config", str(error), "error" if is_fault else "warning")]
    return [failed("module_config", str(key), "warning") for key in unknown]
