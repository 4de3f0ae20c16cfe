"""Validation without importing: what the source of a module tells, for code that nobody trusts yet."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from amplifier_core._discovery import MODULE_GROUP, PROJECT_FILE, TYPE_TO_MOUNT_POINT, kind_from_naming
from amplifier_core.validation._checks import failed, passed
from amplifier_core.validation._location import Location, LocationError, locate, module_id_of
from amplifier_core.validation._shapes import stand_in
from amplifier_core.validation._source import (
    MISSING,
    UNKNOWN,
    Definition,
    Found,
    FunctionNode,
    Missing,
    Source,
    SourceError,
    SourceFile,
    parse_file,
)
from amplifier_core.validation._validator import TYPE_DECLARATION, check_declared_type, check_mount_signature
from amplifier_core.validation._visible import VisibleMounts
from amplifier_core.validation.base import ValidationCheck, ValidationResult, check_mount_exists, check_on_session_ready

_KIND_BY_PREFIX = {
    "provider": "provider",
    "tool": "tool",
    "hook": "hook",
    "hooks": "hook",
    "loop": "orchestrator",
    "orchestrator": "orchestrator",
    "context": "context",
    "resolver": "resolver",
}


def detect_kind(path: str | Path) -> str | None:
    """The kind of the module at ``path``: what its source declares, else what its names say, else ``None``.

    Nothing is imported.
    """
    folder = Path(path).absolute()
    try:
        location = locate(folder)
    except LocationError:
        return _kind_by_names([module_id_of(folder)])
    try:
        declared = _declared_type(parse_file(location.file))
    except SourceError:
        declared = None
    return declared or _kind_by_names(_names_of(location))


def validate_static(path: str | Path, kind: str | None = None, entry_point: str | None = None) -> ValidationResult:
    """Every check of the module at ``path`` that its source decides; nothing of it is imported or called.

    Without ``kind`` it is found out. ``entry_point`` selects one of several modules that ``pyproject.toml`` registers.
    """
    kind = kind or detect_kind(path)
    result = ValidationResult(kind or "unknown", str(path))
    try:
        location = locate(Path(path), entry_point)
    except LocationError as error:
        result.add(failed("package_found", str(error)))
        return result
    result.add(passed("package_found", f"Package found at {location.source}"))
    source = Source(location.name, location.source)
    result.checks += [failed("source_parses", problem) for problem in source.problems]
    if not source.problems:
        result.add(passed("source_parses", f"All files can be parsed: {len(source.files)}"))
    if location.name in source.files:
        try:
            result.checks += _structure(location, source, kind)
        except RecursionError:
            result.add(failed("source_parses", f"{location.file} is nested too deeply to be judged; simplify it"))
    return result


def _structure(location: Location, source: Source, kind: str | None) -> Iterator[ValidationCheck]:
    home = location.name
    found = source.lookup(home, "mount")
    yield from _check_registration(location, source)
    if location.entry is not None:
        registered = _entry_target(source, location.entry.module, location.entry.attribute)
        if isinstance(registered, Definition) and isinstance(registered.node, FunctionNode):
            home, found = location.entry.module, registered
    yield from _check_mount(found)
    yield from _check_ready(source.lookup(home, "on_session_ready"))
    declared = source.files[location.name].constant(TYPE_DECLARATION)
    yield from check_declared_type(kind, declared) or _tell_declared(declared)
    if isinstance(found, Definition) and isinstance(found.node, FunctionNode):
        yield from VisibleMounts(source, found, found.node).checks(kind)


def _check_registration(location: Location, source: Source) -> Iterator[ValidationCheck]:
    entry = location.entry
    if location.problem:
        yield failed("entry_point", location.problem)
    elif entry is None:
        if location.is_registrable:
            text = f"{location.project / PROJECT_FILE} registers no entry point for {location.name}"
            yield failed("entry_point", f'{text} in [project.entry-points."{MODULE_GROUP}"]', "warning")
    elif isinstance(_entry_target(source, entry.module, entry.attribute), Missing):
        way_out = f"Let it name the mount function: {entry.package}:mount"
        yield failed("entry_point", f"The entry point {entry} points to nothing. {way_out}")
    else:
        yield passed("entry_point", f"Registered as {entry}")


def _entry_target(source: Source, module: str, attribute: str) -> Found:
    """What an entry point names, directly or as the ``mount`` of a module."""
    if module not in source.files:
        return MISSING
    name, _, rest = attribute.partition(".")
    found = source.lookup(module, name or "mount")
    is_member = bool(rest) and not isinstance(found, Missing)
    return UNKNOWN if is_member else found


def _check_mount(found: Found) -> Iterator[ValidationCheck]:
    if isinstance(found, Missing):
        yield check_mount_exists(SimpleNamespace())
        return
    function = _plain(found)
    if function is None:
        yield passed("mount_exists", "mount is defined in a way that only an import could tell")
        return
    mount = stand_in(function)
    yield check_mount_exists(SimpleNamespace(mount=mount))
    yield check_mount_signature(mount)


def _check_ready(found: Found) -> list[ValidationCheck]:
    function = _plain(found)
    ready = check_on_session_ready(SimpleNamespace(on_session_ready=stand_in(function))) if function else None
    return [ready] if ready else []


def _plain(found: Found) -> FunctionNode | None:
    """The function itself, unless a decorator may have made something else of it."""
    node = found.node if isinstance(found, Definition) else None
    return node if isinstance(node, FunctionNode) and not node.decorator_list else None


def _tell_declared(declared: Any) -> list[ValidationCheck]:
    return [passed("module_type", f"{TYPE_DECLARATION} is '{declared}'")] if declared is not None else []


def _declared_type(tree: ast.Module) -> str | None:
    declared = SourceFile(tree, is_package=True).constant(TYPE_DECLARATION)
    return declared if isinstance(declared, str) and declared in TYPE_TO_MOUNT_POINT else None


def _names_of(location: Location) -> list[str]:
    registered = [location.entry.name] if location.entry else []
    return [*registered, module_id_of(location.source.with_suffix("")), module_id_of(location.given)]


def _kind_by_names(names: list[str]) -> str | None:
    by_prefix = (_KIND_BY_PREFIX.get(re.split(r"[-_]", name, maxsplit=1)[0]) for name in names)
    by_word = (kind_from_naming(name) for name in names)
    return next((kind for kind in (*by_prefix, *by_word) if kind), None)
