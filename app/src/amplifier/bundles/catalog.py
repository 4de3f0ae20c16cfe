"""Bundles that are known by a name: built in, added by settings, and in the bundle folders of user and project."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

from amplifier.bundles.folders import BUNDLE_FILES, SUFFIXES
from amplifier.paths import Places

BUILT_IN = Path(__file__).parent / "builtin"


class Known(NamedTuple):
    """A bundle that has a name: what the name stands for, and who gave it."""

    name: str
    ref: str
    """A path, or an address that has to be fetched."""
    kind: str
    """``built-in``, ``added``, ``user``, ``project`` or ``folder``."""


def known_bundles(places: Places, added: Mapping[str, Any], search: Iterable[Path] = ()) -> dict[str, Known]:
    """Every bundle with a name. A project that was cloned cannot take the name of a bundle that is there already."""
    found = [
        *_in_folder(BUILT_IN, "built-in"),
        *(Known(name, ref, "added") for name, ref in _added(added)),
        *(known for folder in search for known in _in_folder(folder, "folder")),
        *_in_folder(places.home / "bundles", "user"),
        *_in_folder(places.project_dir / ".amplifier" / "bundles", "project"),
    ]
    by_name: dict[str, Known] = {}
    for known in found:
        by_name.setdefault(known.name, known)
    return by_name


def _added(added: Mapping[str, Any]) -> list[tuple[str, str]]:
    refs: list[tuple[str, str]] = []
    for name, given in added.items():
        ref = cast("Mapping[str, Any]", given).get("uri") if isinstance(given, Mapping) else given
        if isinstance(ref, str) and ref:
            refs.append((name, ref))
    return refs


def _in_folder(folder: Path, kind: str) -> list[Known]:
    if not folder.is_dir():
        return []
    files = [entry for entry in sorted(folder.iterdir()) if entry.suffix in SUFFIXES and entry.is_file()]
    named = [Known(file.stem, str(file), kind) for file in files]
    folders = [file for name in BUNDLE_FILES for file in sorted(folder.glob(f"*/{name}"))]
    return [*named, *(Known(file.parent.name, str(file), kind) for file in folders)]
