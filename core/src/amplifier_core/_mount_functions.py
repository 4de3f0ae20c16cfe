"""From a package to an awaited mount function: importing it, checking its structure, binding ``mount`` to a config."""

from __future__ import annotations

import builtins
import importlib
import logging
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from inspect import isawaitable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from amplifier_core._discovery import TYPE_TO_MOUNT_POINT
from amplifier_core._error_text import describe_error
from amplifier_core._module_config import CONFIG_DECLARATION, check_config
from amplifier_core.module_sources import ModuleLoadError, SecondSourceError
from amplifier_core.validation.base import (
    ValidationCheck,
    ValidationResult,
    check_mount_arity,
    check_mount_exists,
    import_module_from_path,
    is_async_callable,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

logger = logging.getLogger("amplifier_core.loader")

RawMount = Callable[..., Any]
Mount = Callable[[Any], Awaitable[Any]]

TYPE_DECLARATION = "__amplifier_module_type__"
READY_ATTRIBUTE = "__on_session_ready__"


@dataclass(frozen=True, slots=True)
class MountFunction:
    """A module's own ``mount`` with what the module declares beside it; the loader keeps it and binds it to configs."""

    module_id: str
    raw: RawMount
    on_session_ready: Callable[[Any], Awaitable[Any]] | None = None
    declared_config: Any = None

    @classmethod
    def of_raw(cls, module_id: str, raw: RawMount) -> MountFunction:
        """What a bare function tells: only the callback attached to it, if any."""
        ready = getattr(raw, READY_ATTRIBUTE, None)
        return cls(module_id, raw, ready[1] if ready else None)

    def bind(self, config: dict[str, Any] | None) -> Mount:
        """``async def mount(coordinator)`` with this config; checks the config each time before it mounts."""
        settings = config or {}

        async def mount(coordinator: Any) -> Any:
            _tell_unknown_keys(self.module_id, self.declared_config, settings, coordinator)
            return await _awaited(self.module_id, self.raw(coordinator, settings))

        if self.on_session_ready is not None:
            setattr(mount, READY_ATTRIBUTE, (self.module_id, self.on_session_ready))
        return mount


def bind_transported(module_id: str, mount_by_transport: Mount) -> Mount:
    """The mount function of a transport, with the same guard as any other."""

    async def mount(coordinator: Any) -> Any:
        return await _awaited(module_id, mount_by_transport(coordinator))

    return mount


def import_package(module_id: str, path: Path, package: Path) -> ModuleType:
    """Imports the package of a module that was found at ``path``; whatever goes wrong is a ``ModuleLoadError``."""
    try:
        return import_module_from_path(package)
    except SecondSourceError as error:
        raise SecondSourceError(f"Module '{module_id}' found at {path} but failed to load: {error}") from error
    except (Exception, SystemExit) as error:
        where = f"found at {path} but failed to load: importing {package / '__init__.py'}"
        raise ModuleLoadError(_failed_import(module_id, where, error)) from error


def import_installed(module_id: str, name: str) -> ModuleType | None:
    """The installed package ``name``, or ``None``. Raises ``ModuleLoadError`` if it does not import."""
    if not _is_importable(name):
        return None
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise ModuleLoadError(
            _failed_import(module_id, f"is installed but failed to load: importing {name}", error)
        ) from error


def load_entry_point(module_id: str, entry: EntryPoint) -> MountFunction:
    """The mount function that an entry point names, directly or as the ``mount`` of a module.

    A broken entry point is a ``ModuleLoadError``.
    """
    try:
        target = entry.load()
        namespaces = [sys.modules.get(entry.module), sys.modules.get(getattr(target, "__module__", ""))]
    except (Exception, SystemExit) as error:
        where = f"is installed but failed to load: its entry point {entry.value}"
        raise ModuleLoadError(_failed_import(module_id, where, error), reason_code="invalid_entry_point") from error
    if isinstance(target, ModuleType):
        return describe_module(module_id, entry.value, target)
    return describe_module(module_id, entry.value, SimpleNamespace(mount=target), *namespaces)


def describe_module(module_id: str, origin: object, module: Any, *more_namespaces: Any) -> MountFunction:
    """The mount function of an imported module, after its structure was checked; nothing of the module is called.

    Declarations are taken from the first of the namespaces that has them. Raises ``ModuleLoadError``.
    """
    namespaces = (module, *more_namespaces)
    raw = _checked_mount(module_id, origin, module)
    _reject_unknown_type(module_id, _declared(TYPE_DECLARATION, namespaces))
    ready = _checked_ready(module_id, _declared("on_session_ready", namespaces))
    if ready is not None:
        # Some look for the callback on the function itself; one that takes no attributes (a bound method) goes without.
        with suppress(AttributeError, TypeError):
            setattr(raw, READY_ATTRIBUTE, (module_id, ready))
    return MountFunction(module_id, raw, ready, _declared(CONFIG_DECLARATION, namespaces))


def _checked_mount(module_id: str, origin: object, module: Any) -> RawMount:
    result = ValidationResult(module_type="module", module_path=str(origin))
    result.add(ValidationCheck("module_importable", True, f"Module loaded from {origin}", "info"))
    result.add(check_mount_exists(module))
    wrong_arity = check_mount_arity(module.mount) if result.passed else None
    if wrong_arity:
        result.add(wrong_arity)
    if not result.passed:
        errors = "; ".join(f"{check.name}: {check.message}" for check in result.errors)
        raise ModuleLoadError(
            f"Module '{module_id}' failed validation: {result.summary()}. Errors: {errors}. "
            f"Expected in {origin}: async def mount(coordinator, config)",
            reason_code="invalid_entry_point",
        )
    logger.info("[module:validated] %s - %s", module_id, result.summary())
    return module.mount


def _reject_unknown_type(module_id: str, kind: Any) -> None:
    if kind is not None and not (isinstance(kind, str) and kind in TYPE_TO_MOUNT_POINT):
        raise ModuleLoadError(
            f"Module '{module_id}' has unknown type '{kind}'. Valid types: {list(TYPE_TO_MOUNT_POINT)}. "
            f"Correct its {TYPE_DECLARATION}.",
            reason_code="invalid_module_metadata",
        )


def _checked_ready(module_id: str, ready: Any) -> Callable[[Any], Awaitable[Any]] | None:
    if ready is None or is_async_callable(ready):
        return ready
    logger.warning(
        "on_session_ready of module '%s' must be async (async def on_session_ready(coordinator)). Skipping it.",
        module_id,
    )
    return None


def _declared(name: str, namespaces: tuple[Any, ...]) -> Any:
    return next((found for space in namespaces if (found := getattr(space, name, None)) is not None), None)


def _is_importable(name: str) -> bool:
    from importlib.util import find_spec

    return name.isidentifier() and (sys.modules.get(name) is not None or find_spec(name) is not None)


def _failed_import(module_id: str, where: str, error: BaseException) -> str:
    lacking = error.name if isinstance(error, builtins.ModuleNotFoundError) else None
    way_out = f"Install what provides '{lacking}'." if lacking else "Repair the module, or use another version of it."
    return f"Module '{module_id}' {where} raised {describe_error(error)}. {way_out}"


def _tell_unknown_keys(module_id: str, declared: Any, config: dict[str, Any], coordinator: Any) -> None:
    unknown = check_config(module_id, declared, config)
    for key in unknown:
        logger.warning("%s", key)
    report = getattr(coordinator, "report", None)
    if report is not None:
        report.unknown_keys.extend(unknown)


async def _awaited(module_id: str, answer: Any) -> Any:
    if not isawaitable(answer):
        raise ModuleLoadError(
            f"Module '{module_id}': mount must be async (async def mount(coordinator, config)); "
            f"calling it gave {type(answer).__name__}, which cannot be awaited",
            reason_code="invalid_entry_point",
        )
    return await answer
