"""Mount plan → mounted modules: one path for all five kinds, then ``on_session_ready``, then ``session:fork``.

The orchestrator and the context must mount; any other module may fail, and then leaves no trace but a log line, an
event and an entry in the report.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from copy import deepcopy
from inspect import isroutine
from typing import Any

from amplifier_core._awaiting import belongs_to_caller, settle
from amplifier_core._error_text import describe_error, error_text
from amplifier_core._installed import Checkpoint, Mounted
from amplifier_core._plan import (
    SECTIONS,
    ModuleSpec,
    listed_specs,
    require_distinct_instances,
    required_spec,
    session_settings,
    unnamed_entries,
)
from amplifier_core.coordinator import NAMED_POINTS, ModuleCoordinator
from amplifier_core.events import MODULE_LOAD_FAILED, MODULE_ON_SESSION_READY_FAILED, SESSION_FORK
from amplifier_core.interfaces import implements, missing_members
from amplifier_core.kernel_events import MODULE_CONFIG_UNKNOWN
from amplifier_core.loader import TYPE_TO_MOUNT_POINT, ModuleLoader
from amplifier_core.module_sources import (
    ModuleLoadError,
    ModuleNotFoundError,
    ModuleValidationError,
    module_failure_reason,
)
from amplifier_core.report import ModuleProblem, MountedModule
from amplifier_core.utils.truncate import redact_config
from amplifier_core.validation.base import is_async_callable

logger = logging.getLogger(__name__)

_KIND_AT = {point: kind for kind, point in TYPE_TO_MOUNT_POINT.items()}
_REQUIRED = {"orchestrator": "orchestrator", "context": "context manager"}


class RequiredModuleError(RuntimeError):
    """The orchestrator or the context of a plan did not mount."""


class ModuleSkippedError(Exception):
    """A module chose to mount nothing, for example because a key is missing."""


async def initialize_session(
    config: dict[str, Any], coordinator: ModuleCoordinator, session_id: str, parent_id: str | None
) -> None:
    """Mounts everything the plan names, in the order orchestrator, context, providers, tools, hooks.

    Raises ``RuntimeError`` when the orchestrator or the context does not mount, ``ValueError`` for a plan of the wrong
    shape.
    """
    if coordinator.loader is None:
        coordinator.loader = ModuleLoader(coordinator=coordinator)
    required = [required_spec(config, kind) for kind in _REQUIRED]
    optional = {kind: listed_specs(config, kind) for kind in SECTIONS}
    require_distinct_instances(optional["provider"])
    queue = _ready_queue(coordinator.loader)
    try:
        for spec in required:
            await _mount_required(coordinator, spec, queue)
        for kind, specs in optional.items():
            for spec in specs:
                await _mount_optional(coordinator, spec, queue)
            _note_unnamed_entries(coordinator, config, kind)
        await _call_ready_callbacks(coordinator, queue)
    finally:
        queue.clear_on_session_ready_queue()
    await _tell_unknown_config_keys(coordinator)
    if parent_id:
        await _tell_fork(config, coordinator, session_id, parent_id)
    logger.info("Session %s initialized successfully", session_id)


async def _mount_required(coordinator: ModuleCoordinator, spec: ModuleSpec, queue: Any) -> None:
    role = _REQUIRED[spec.kind]
    logger.info("Loading %s: %s", role, spec.module_id)
    try:
        await _mount(coordinator, spec, queue)
    except BaseException as error:
        if belongs_to_caller(error):
            raise
        _note_problem(coordinator, spec, error)
        raise RequiredModuleError(f"Cannot initialize without {role}: {_told(error)}") from error


async def _mount_optional(coordinator: ModuleCoordinator, spec: ModuleSpec, queue: Any) -> None:
    instance = f" (instance: {spec.instance_id})" if spec.instance_id else ""
    logger.info("Loading %s: %s%s", spec.kind, spec.module_id, instance)
    try:
        await _call_provider_capability(coordinator, "provider.before_load", spec)
        await _mount(coordinator, spec, queue)
    except BaseException as error:
        if belongs_to_caller(error):
            raise
        _note_problem(coordinator, spec, error)
        await _tell_load_failure(coordinator, spec, error)
        await _call_provider_capability(coordinator, "provider.load_failure", spec, error)


async def _mount(coordinator: ModuleCoordinator, spec: ModuleSpec, queue: Any) -> None:
    """Loads and mounts one module; if anything goes wrong, all it did to the coordinator is undone."""
    checkpoint = Checkpoint(coordinator)
    try:
        mount_fn = await _load(coordinator, spec)
        returned = await settle(mount_fn(coordinator))
        mounted = checkpoint.mounted()
        if _adopt(coordinator, spec, returned, mounted, checkpoint.cleanups):
            mounted = checkpoint.mounted()
        _require_fitting_modules(spec, mounted)
        if spec.kind == "provider":
            _require_new_provider(mounted)
            if _move_provider_to_instance(spec, mounted):
                mounted = checkpoint.mounted()
    except BaseException:
        await checkpoint.unwind()
        raise
    has_callback = _enqueue_ready_callback(queue, mount_fn)
    # A module may leave all its work to on_session_ready.
    did_something = bool(mounted) or has_callback or not checkpoint.installation().is_empty
    _record(coordinator, spec, mounted, did_something)


async def _load(coordinator: ModuleCoordinator, spec: ModuleSpec) -> Callable[[ModuleCoordinator], Any]:
    loading = coordinator.loader.load(spec.module_id, spec.config, source_hint=spec.source, coordinator=coordinator)
    mount_fn: Any = await settle(loading)
    if not callable(mount_fn):
        raise ModuleLoadError(
            f"The loader gave {type(mount_fn).__name__} for module '{spec.module_id}', expected an async mount function"
        )
    return mount_fn


def _adopt(
    coordinator: ModuleCoordinator, spec: ModuleSpec, returned: Any, mounted: Mounted, cleanups_before: int
) -> bool:
    """Takes over what ``mount()`` returned: an instance it has not mounted itself, or a clean-up function.

    Tells whether that mounted an instance.
    """
    if returned is None:
        return False
    point = TYPE_TO_MOUNT_POINT[spec.kind]
    if spec.kind != "hook" and not isroutine(returned) and implements(spec.kind, returned):
        if any(entry.value is returned for entry in mounted.at(point)):
            return False
        if point not in NAMED_POINTS or isinstance(returned.name, str):
            coordinator.mount(point, returned)
            return True
    if callable(returned) and not coordinator.has_cleanup(returned, since=cleanups_before):
        coordinator.register_cleanup(returned)
    return False


def _require_fitting_modules(spec: ModuleSpec, mounted: Mounted) -> None:
    for point, entry in mounted:
        kind = _KIND_AT[point]
        is_vacated = entry.value is None and point not in NAMED_POINTS
        if not is_vacated and not implements(kind, entry.value):
            missing = ", ".join(missing_members(kind, entry.value))
            raise ModuleLoadError(
                f"Module '{spec.module_id}' mounted {type(entry.value).__name__} at '{point}' as '{entry.key}', "
                f"which is no {kind}: it lacks {missing}. See the {kind} contract."
            )


def _require_new_provider(mounted: Mounted) -> None:
    if not mounted.at("providers"):
        raise ModuleSkippedError(
            "Provider mount did not install a new provider instance; is a key or a setting missing?"
        )


def _move_provider_to_instance(spec: ModuleSpec, mounted: Mounted) -> bool:
    """Gives a provider that mounted under its default name the name of its instance; tells whether it had to."""
    default_name = spec.module_id.removeprefix("provider-")
    if not spec.instance_id or spec.instance_id == default_name:
        return False
    providers = mounted.at("providers")
    entry = next((entry for entry in providers if entry.key == default_name), None)
    if entry is None:
        raise ModuleLoadError(
            "Named provider mount did not install a new instance at its default mount name "
            f"'{default_name}' to be renamed to '{spec.instance_id}'; it mounted {[each.key for each in providers]}"
        )
    entry.table[spec.instance_id] = entry.value
    entry.put_back()
    logger.info("Remapped provider '%s' -> '%s'", default_name, spec.instance_id)
    return True


def _record(coordinator: ModuleCoordinator, spec: ModuleSpec, mounted: Mounted, did_something: bool) -> None:
    point = TYPE_TO_MOUNT_POINT[spec.kind]
    if did_something:
        names = tuple(entry.key for entry in mounted.at(point)) if point in NAMED_POINTS else ()
        coordinator.report.mounted.append(MountedModule(spec.kind, spec.module_id, names))
    else:
        told = f"mount() installed nothing: no {spec.kind}, no handler, no capability, no contributor"
        _note_problem(coordinator, spec, ModuleSkippedError(told))


class _ReadyQueue:
    """The queue of ready callbacks for a loader that has none: one that only loads is enough."""

    def __init__(self) -> None:
        self._callbacks: list[tuple[str, Callable[[ModuleCoordinator], Any]]] = []

    def get_on_session_ready_queue(self) -> list[tuple[str, Callable[[ModuleCoordinator], Any]]]:
        return list(self._callbacks)

    def enqueue_on_session_ready(self, module_id: str, fn: Callable[[ModuleCoordinator], Any]) -> None:
        self._callbacks.append((module_id, fn))

    def clear_on_session_ready_queue(self) -> None:
        self._callbacks.clear()


def _ready_queue(loader: Any) -> Any:
    return loader if hasattr(loader, "get_on_session_ready_queue") else _ReadyQueue()


def _enqueue_ready_callback(queue: Any, mount_fn: Any) -> bool:
    """Notes the module's ``on_session_ready``, if there is one; tells whether it will be called."""
    pair = getattr(mount_fn, "__on_session_ready__", None)
    if pair is None:
        return False
    module_id, on_session_ready = pair
    if not is_async_callable(on_session_ready):
        logger.warning(
            "on_session_ready of module '%s' must be async (async def on_session_ready(coordinator)). Skipping it.",
            module_id,
        )
        return False
    queue.enqueue_on_session_ready(module_id, on_session_ready)
    return True


async def _call_ready_callbacks(coordinator: ModuleCoordinator, queue: Any) -> None:
    callbacks = queue.get_on_session_ready_queue()
    logger.info("Dispatching %d on_session_ready callbacks", len(callbacks))
    for module_id, on_session_ready in callbacks:
        await _call_ready_callback(coordinator, module_id, on_session_ready)


async def _call_ready_callback(
    coordinator: ModuleCoordinator, module_id: str, on_session_ready: Callable[[ModuleCoordinator], Any]
) -> None:
    try:
        await settle(on_session_ready(coordinator))
    except BaseException as error:
        if belongs_to_caller(error):
            raise
        told = _told(error)
        logger.warning("on_session_ready for '%s' raised: %s", module_id, told, exc_info=error)
        coordinator.report.failed.append(ModuleProblem("on_session_ready", module_id, told))
        await coordinator.hooks.emit(MODULE_ON_SESSION_READY_FAILED, {"module_id": module_id, "error": told})


async def _tell_unknown_config_keys(coordinator: ModuleCoordinator) -> None:
    """Emitted when everything is mounted, so that hooks of the same plan can hear it."""
    for unknown in coordinator.report.unknown_keys:
        data = {"module_id": unknown.module_id, "key": unknown.key, "nearest": unknown.nearest}
        await coordinator.hooks.emit(MODULE_CONFIG_UNKNOWN, data)


async def _tell_fork(config: dict[str, Any], coordinator: ModuleCoordinator, session_id: str, parent_id: str) -> None:
    session = session_settings(config)
    data: dict[str, Any] = {"parent": parent_id, "session_id": session_id}
    if session.get("metadata"):
        data["metadata"] = session["metadata"]
    if session.get("raw"):
        data["raw"] = redact_config(config)
    await coordinator.hooks.emit(SESSION_FORK, data)


async def _tell_load_failure(coordinator: ModuleCoordinator, spec: ModuleSpec, error: BaseException) -> None:
    data: dict[str, Any] = {
        "module_type": spec.kind,
        "module_id": spec.module_id,
        "error": _told(error),
        "reason_code": module_failure_reason(error),
    }
    if spec.instance_id:
        data["instance_id"] = spec.instance_id
    await coordinator.hooks.emit(MODULE_LOAD_FAILED, data)


def _note_problem(coordinator: ModuleCoordinator, spec: ModuleSpec, error: BaseException) -> None:
    told = _told(error)
    skipped = isinstance(error, ModuleSkippedError)
    is_ours = isinstance(error, ModuleSkippedError | ModuleValidationError | ModuleNotFoundError)
    logger.warning("Failed to load %s '%s': %s", spec.kind, spec.module_id, told, exc_info=None if skipped else error)
    problems = coordinator.report.skipped if skipped else coordinator.report.failed
    # The text of a foreign exception ("'key'") says little without its type.
    reason = told if is_ours else describe_error(error)
    problems.append(ModuleProblem(spec.kind, spec.module_id, reason, module_failure_reason(error)))


def _note_unnamed_entries(coordinator: ModuleCoordinator, config: dict[str, Any], kind: str) -> None:
    for place in unnamed_entries(config, kind):
        logger.warning("%s names no module and is left out", place)
        coordinator.report.skipped.append(ModuleProblem(kind, place, "the entry names no module (key 'module')"))


async def _call_provider_capability(coordinator: ModuleCoordinator, name: str, spec: ModuleSpec, *details: Any) -> None:
    capability = coordinator.get_capability(name) if spec.kind == "provider" else None
    if capability is not None:
        await settle(capability(coordinator, deepcopy(spec.entry), *details))


def _told(error: BaseException) -> str:
    return error_text(error) or repr(error)
