"""Packages of this Python: where they and their modules are, found without importing them."""

from __future__ import annotations

import os
import re
from pathlib import Path

from amplifier.problems import SourceProblem

_GROUP = "amplifier.modules"


def normalized(name: str) -> str:
    """The one spelling of a distribution's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def package_version(name: str) -> str:
    """The version of an installed distribution; raises ``SourceProblem`` where there is none."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        raise SourceProblem(
            f"The package '{name}' is not installed in this Python.",
            f"Install it, or name another source: pip install {name}",
        ) from None


def package_folder(name: str) -> Path:
    """The folder of the import package of an installed distribution; of several, the one that has a module."""
    from importlib.metadata import distribution

    package_version(name)
    found = distribution(name)
    named = [entry.module.partition(".")[0] for entry in found.entry_points if entry.group == _GROUP]
    for package in [*named, normalized(name).replace("-", "_")]:
        folder = import_folder(package)
        if folder is not None:
            return folder
    raise SourceProblem(
        f"The package '{name}' has no module: neither an entry point in '{_GROUP}' nor a package of its name.",
        "Is it the right package?",
    )


def module_folder(module_id: str) -> Path | None:
    """The folder to load an installed module from; ``None`` where there is none.

    Of a package with the usual name it is the one around it, which is on the path already: the folder of the package
    itself must not be there, where its files would hide others.
    """
    package = f"amplifier_module_{module_id.replace('-', '_')}"
    folder = import_folder(package)
    if folder is not None:
        return folder.parent
    return _in_module_folders(module_id) or _by_entry_point(module_id)


def import_folder(package: str) -> Path | None:
    """The folder of an import package; ``None`` for what is none."""
    from importlib.util import find_spec

    spec = find_spec(package) if package.isidentifier() else None
    places = list(spec.submodule_search_locations or ()) if spec and spec.origin else []
    return Path(places[0]) if places else None


def _in_module_folders(module_id: str) -> Path | None:
    listed = os.environ.get("AMPLIFIER_MODULES", "").split(os.pathsep)
    folders = (Path(folder, f"amplifier-module-{module_id}") for folder in listed if folder)
    return next((folder for folder in folders if folder.is_dir()), None)


def _by_entry_point(module_id: str) -> Path | None:
    from importlib.metadata import entry_points

    entry = next(iter(entry_points(group=_GROUP, name=module_id)), None)
    return None if entry is None else import_folder(entry.module.partition(".")[0])
