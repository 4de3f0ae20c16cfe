"""The shapes that values of a bundle's file must have: each function gives the value, or raises with file and line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from amplifier.bundles.document import Document, dotted, type_name
from amplifier.bundles.merge import Entry
from amplifier.nearest import nearest
from amplifier.settings.key_paths import KeyPath


def require_mapping(document: Document, path: KeyPath, value: Any) -> dict[str, Any]:
    """``value`` with texts as keys; nothing at all is an empty mapping."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise document.problem(path, f"{dotted(path)} must be a mapping of keys, got {type_name(value)}")
    return {str(key): inner for key, inner in cast("dict[Any, Any]", value).items()}


def require_list(document: Document, path: KeyPath, value: Any) -> list[Any]:
    """``value`` as a list; nothing at all is an empty one."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise document.problem(
            path, f"{dotted(path)} must be a list, got {type_name(value)}", "Begin each item with '- '."
        )
    return cast("list[Any]", value)


def require_text(document: Document, path: KeyPath, value: Any) -> str:
    """``value`` as a text; nothing at all is an empty one, and a number is what it looks like."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool | dict | list):
        raise document.problem(path, f"{dotted(path)} must be a text, got {type_name(cast('Any', value))}")
    return str(value)


def require_flag(document: Document, path: KeyPath, value: Any) -> bool:
    """``value``, which is true or false."""
    if not isinstance(value, bool):
        raise document.problem(path, f"{dotted(path)} must be true or false, got {type_name(value)}")
    return value


def require_modules(document: Document, path: KeyPath, value: Any) -> list[Entry]:
    """A list of modules: ids, or mappings with ``module``."""
    entries = enumerate(require_list(document, path, value))
    return [require_module(document, (*path, str(place)), entry) for place, entry in entries]


def require_module(document: Document, path: KeyPath, value: Any, *, is_named: bool = True) -> Entry:
    """One module; only where another bundle names it may ``module`` be missing."""
    if isinstance(value, str) and value:
        return {"module": value}
    if not isinstance(value, dict):
        raise document.problem(
            path, f"{dotted(path)} must be the id of a module or a mapping with 'module', got {type_name(value)}"
        )
    entry = require_mapping(document, path, value)
    for key in ("module", "id", "instance_id"):
        if entry.get(key) is not None or (key == "module" and (is_named or "source" in entry)):
            entry[key] = require_text(document, (*path, key), entry.get(key))
    if "config" in entry:
        entry["config"] = require_mapping(document, (*path, "config"), entry["config"])
    if not isinstance(entry.get("source"), str | dict | None):
        raise document.problem((*path, "source"), f"{dotted((*path, 'source'))} must say where the module comes from")
    if isinstance(source := entry.get("source"), str) and source.startswith(("./", "../")):
        # Whoever loads the module does not know which file said so.
        entry["source"] = str(document.file.parent.absolute() / source)
    return entry


def unknown_keys(document: Document, path: KeyPath, given: Iterable[str], known: Iterable[str]) -> list[str]:
    """A warning for each key that nobody reads, with the one that was probably meant."""
    choices = sorted(known)
    return [
        f"{document.place((*path, key))}: nobody reads '{dotted((*path, key))}'{_meant(key, choices)}"
        for key in given
        if key not in choices
    ]


def _meant(key: str, choices: list[str]) -> str:
    near = nearest(key, choices)
    return f"; did you mean '{near}'?" if near else f" (known: {', '.join(choices)})"
