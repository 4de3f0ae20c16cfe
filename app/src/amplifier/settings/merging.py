"""How the settings of two scopes meet: mappings merge, the value of the higher one wins, lists as declared."""

from __future__ import annotations

from typing import Any, cast

from amplifier.settings.schema import Schema, schema_at


def merge(lower: dict[str, Any], upper: dict[str, Any]) -> dict[str, Any]:
    """The settings of both scopes; neither is changed. ``None`` of the higher scope takes a value away."""
    return _merge_mappings(lower, upper, schema_at(()) or {})


def _merge(lower: Any, upper: Any, declared: Schema) -> Any:
    if isinstance(lower, dict) and isinstance(upper, dict):
        return _merge_mappings(cast("dict[str, Any]", lower), cast("dict[str, Any]", upper), declared)
    if isinstance(lower, list) and isinstance(upper, list):
        return _merge_lists(cast("list[Any]", lower), cast("list[Any]", upper), declared.get("x-merge"))
    return upper


def _merge_mappings(lower: dict[str, Any], upper: dict[str, Any], declared: Schema) -> dict[str, Any]:
    inner: dict[str, Schema] = declared.get("properties", {})
    return lower | {
        name: _merge(lower[name], value, inner.get(name, {})) if name in lower else value
        for name, value in upper.items()
    }


def _merge_lists(lower: list[Any], upper: list[Any], how: str | None) -> list[Any]:
    if how == "append":
        return [*lower, *(each for each in upper if each not in lower)]
    return _merge_entries(lower, upper) if how == "by-id" else upper


def _merge_entries(lower: list[Any], upper: list[Any]) -> list[Any]:
    merged = list(lower)
    places = {identity: index for index, each in enumerate(merged) if (identity := _identity(each))}
    for each in upper:
        if (identity := _identity(each)) in places:
            index = places[identity]
            merged[index] = _merge(merged[index], each, {})
        else:
            merged.append(each)
    return merged


def _identity(entry: Any) -> Any:
    """What an entry of a list of modules is known by: its id, else its module."""
    return next((str(entry[name]) for name in ("id", "instance_id", "module") if entry.get(name)), None)
