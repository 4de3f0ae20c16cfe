"""What a model gives a tool, read with care: schemas are not always obeyed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from amplifier_module_tool_filesystem.problems import InputError


def text_in(given: Mapping[str, Any], key: str) -> str:
    """The text under ``key``; it may be empty."""
    value = given.get(key)
    if not isinstance(value, str):
        raise InputError(f"'{key}' must be text{_got(given, key)}.")
    return value


def path_in(given: Mapping[str, Any], key: str = "file_path") -> str:
    """The path under ``key``."""
    path = text_in(given, key)
    if not path.strip():
        raise InputError(f"'{key}' is empty. Give the path of a file.")
    return path


def whole_number_in(given: Mapping[str, Any], key: str, default: int) -> int:
    """The whole number under ``key``, which may be left out."""
    value = given.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise InputError(f"'{key}' must be a whole number{_got(given, key)}.")
    return int(value)


def flag_in(given: Mapping[str, Any], key: str) -> bool:
    """The truth under ``key``, which may be left out."""
    value = given.get(key)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise InputError(f"'{key}' must be true or false{_got(given, key)}.")
    return value


def objects_in(given: Mapping[str, Any], key: str) -> list[Mapping[str, Any]] | None:
    """The list of objects under ``key``; ``None`` if it was left out."""
    value = given.get(key)
    if value is None:
        return None
    items = cast("list[Any]", value) if isinstance(value, list) else []
    if not items or not all(isinstance(item, dict) for item in items):
        raise InputError(f"'{key}' must be a list of objects, with one in it at least.")
    return items


def _got(given: Mapping[str, Any], key: str) -> str:
    return f", not {type(given[key]).__name__}" if key in given else ", and it is missing"
