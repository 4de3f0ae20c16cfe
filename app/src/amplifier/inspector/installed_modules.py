"""The modules of this Python, found by entry points, names and folders, and told by their source; none is imported."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from amplifier.nearest import nearest
from amplifier.problems import UsageProblem

GROUP = "amplifier.modules"
KINDS = {
    "provider": "provider",
    "tool": "tool",
    "hooks": "hook",
    "hook": "hook",
    "loop": "orchestrator",
    "orchestrator": "orchestrator",
    "context": "context",
}
"""What the first word of an id says about its kind."""

_PACKAGE_PREFIX, _FOLDER_PREFIX = "amplifier_module_", "amplifier-module-"
_KIND_DECLARATION = "__amplifier_module_type__"


class InstalledModule(NamedTuple):
    """A module that the kernel would find without being told a source."""

    id: str
    kind: str
    """``provider``, ``tool``, ``hook``, ``orchestrator``, ``context``, or ``unknown``."""
    description: str
    distribution: str | None
    version: str | None
    package: Path | None
    """Its folder; ``None`` where an entry point names a package that is not there."""


class _Place(NamedTuple):
    distribution: str | None
    version: str | None
    package: Path | None


def installed_modules(environ: Mapping[str, str]) -> list[InstalledModule]:
    """All of them by kind and id; of two with one id the one that the kernel takes: entry points, folders, packages."""
    places: dict[str, _Place] = {}
    for found in (_by_entry_points(), _in_folders(environ), _by_package_names()):
        for module_id, place in found:
            places.setdefault(module_id, place)
    modules = [_described(module_id, place) for module_id, place in places.items()]
    return sorted(modules, key=lambda module: (module.kind, module.id))


def require_module(module_id: str, environ: Mapping[str, str]) -> InstalledModule:
    """The module of this id; raises ``UsageProblem`` with the nearest one if there is none."""
    modules = {module.id: module for module in installed_modules(environ)}
    if module_id in modules:
        return modules[module_id]
    near = nearest(module_id, modules)
    meant = f"; did you mean '{near}'?" if near else "."
    raise UsageProblem(f"There is no module '{module_id}'{meant}", "amplifier module list shows what is installed.")


def _by_entry_points() -> Iterator[tuple[str, _Place]]:
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP):
        name = None if entry.dist is None else entry.dist.name
        version = None if entry.dist is None else entry.dist.version
        yield entry.name, _Place(name, version, _package_of(entry.module.partition(".")[0]))


def _in_folders(environ: Mapping[str, str]) -> Iterator[tuple[str, _Place]]:
    for folder in environ.get("AMPLIFIER_MODULES", "").split(os.pathsep):
        if folder and Path(folder).is_dir():
            for found in sorted(Path(folder).glob(f"{_FOLDER_PREFIX}*/")):
                module_id = found.name.removeprefix(_FOLDER_PREFIX)
                yield module_id, _Place(None, None, _package_in(found, module_id))


def _by_package_names() -> Iterator[tuple[str, _Place]]:
    from pkgutil import iter_modules

    for found in iter_modules():
        if found.ispkg and found.name.startswith(_PACKAGE_PREFIX):
            module_id = found.name.removeprefix(_PACKAGE_PREFIX).replace("_", "-")
            yield module_id, _Place(None, None, _package_of(found.name))


def _package_of(name: str) -> Path | None:
    spec = find_spec(name) if name.isidentifier() else None
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def _package_in(folder: Path, module_id: str) -> Path:
    name = _PACKAGE_PREFIX + module_id.replace("-", "_")
    around = [folder / name, folder / "src" / name]
    return next((each for each in around if each.is_dir()), folder)


def _described(module_id: str, place: _Place) -> InstalledModule:
    kind, description = _told_by_source(place.package)
    named = KINDS.get(module_id.partition("-")[0], "unknown")
    return InstalledModule(module_id, kind or named, description, *place)


def _told_by_source(package: Path | None) -> tuple[str | None, str]:
    """The kind that the source declares, and the first line of what it says about itself."""
    if package is None:
        return None, "its package is not there"
    try:
        tree = ast.parse((package / "__init__.py").read_bytes())
    except (OSError, SyntaxError, ValueError) as error:
        return None, f"cannot be read: {error}"
    line = (ast.get_docstring(tree) or "").partition("\n")[0]
    # Which module it is stands beside it.
    return next(_declared_kinds(tree), None), re.sub(r"^The module ``[\w-]+``: ", "", line)


def _declared_kinds(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(_is_kind(target) for target in node.targets):
            value = node.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value.value


def _is_kind(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id == _KIND_DECLARATION
