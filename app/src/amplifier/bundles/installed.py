"""Which modules this Python has, found without importing any of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

IsInstalled = Callable[[str], bool]

_GROUP = "amplifier.modules"


def is_installed(module: str) -> bool:
    """Whether the kernel finds a module of this id without being told a source."""
    return _is_package(module) or _is_in_folders(module) or module in _entry_points()


def _is_package(module: str) -> bool:
    # Asked first: it is quick, and the answer for almost every module.
    from importlib.util import find_spec

    name = f"amplifier_module_{module.replace('-', '_')}"
    return name.isidentifier() and find_spec(name) is not None


def _is_in_folders(module: str) -> bool:
    folders = os.environ.get("AMPLIFIER_MODULES", "").split(os.pathsep)
    return any(Path(folder, f"amplifier-module-{module}").is_dir() for folder in folders if folder)


@cache
def _entry_points() -> frozenset[str]:
    from importlib.metadata import entry_points

    return frozenset(entry.name for entry in entry_points(group=_GROUP))
