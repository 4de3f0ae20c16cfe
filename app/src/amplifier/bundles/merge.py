"""The merge rules of bundles, as pure functions: the later one wins, nothing that is given is changed.

Mappings merge key by key, lists are joined without duplicates, lists of modules merge by the id of their entries, and
everything else is replaced. Merging is associative as long as a key holds the same kind of value everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

Entry = dict[str, Any]
"""A module in a list: ``module``, and perhaps ``source``, ``config``, ``id`` or ``instance_id``."""


def deep_merge(below: Mapping[str, Any], above: Mapping[str, Any], *, joins_lists: bool = True) -> dict[str, Any]:
    """Both mappings as one; without ``joins_lists`` a list replaces the one below it."""
    merged = dict(below)
    for key, value in above.items():
        merged[key] = _merged(merged[key], value, joins_lists) if key in merged else value
    return merged


def join_lists(below: Sequence[Any], above: Sequence[Any]) -> list[Any]:
    """What is in either list, each thing once, in the order in which they first appear."""
    joined: dict[str, Any] = {}
    for item in (*below, *above):
        # Equality would take 1 and true for the same thing.
        joined.setdefault(repr(item), item)
    return list(joined.values())


def merge_modules(below: Sequence[Entry], above: Sequence[Entry], *, joins_lists: bool = True) -> list[Entry]:
    """Both lists as one: a module that is in both keeps its place and has the config of both."""
    merged: dict[str, Entry] = {}
    for entry in (*below, *above):
        key = entry_key(entry)
        merged[key] = merge_entry(merged[key], entry, joins_lists=joins_lists) if key in merged else entry
    return list(merged.values())


def merge_entry(below: Entry, above: Entry, *, joins_lists: bool = True) -> Entry:
    """One module that two bundles speak of. The source of a module is none for another one."""
    is_another = "module" in above and above["module"] != below.get("module", above["module"])
    kept = {key: value for key, value in below.items() if key != "source"} if is_another else below
    return deep_merge(kept, above, joins_lists=joins_lists)


def merge_session(below: Mapping[str, Any], above: Mapping[str, Any], *, joins_lists: bool = True) -> dict[str, Any]:
    """The ``session`` of two bundles; its two modules merge like those of a list."""
    merged = deep_merge(below, above, joins_lists=joins_lists)
    for role in ("orchestrator", "context"):
        if role in below and role in above:
            merged[role] = merge_entry(below[role], above[role], joins_lists=joins_lists)
    return merged


def entry_key(entry: Entry) -> str:
    """What an entry is known by among the modules of its list."""
    module = str(entry.get("module") or "")
    given = str(entry.get("instance_id") or entry.get("id") or module)
    return module if given == short_name(module) else given


def short_name(module: str) -> str:
    """The id of a module without the word for its kind: ``provider-openai`` is ``openai``."""
    return module.split("-", 1)[1] if module.startswith(("provider-", "tool-", "hooks-")) else module


def _merged(below: Any, above: Any, joins_lists: bool) -> Any:
    if isinstance(below, dict) and isinstance(above, dict):
        return deep_merge(cast("Entry", below), cast("Entry", above), joins_lists=joins_lists)
    if joins_lists and isinstance(below, list) and isinstance(above, list):
        return join_lists(cast("list[Any]", below), cast("list[Any]", above))
    return above
