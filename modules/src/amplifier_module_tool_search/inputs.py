"""What a model gives a tool, read with care: schemas are not always obeyed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from amplifier_module_tool_search.problems import InputError

MOST_PATTERN_CHARS = 4096
MOST_PATTERNS = 100


def text_in(given: Mapping[str, Any], key: str) -> str | None:
    """The text under ``key``, which may be left out."""
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        raise InputError(f"'{key}' must be text, not {type(value).__name__}.")
    return value


def pattern_in(given: Mapping[str, Any], key: str = "pattern") -> str:
    """The pattern under ``key``: neither empty nor endless."""
    pattern = text_in(given, key)
    if not pattern:
        raise InputError(f"'{key}' is missing or empty. Give a pattern.")
    return _bounded(pattern, key)


def patterns_in(given: Mapping[str, Any], key: str) -> list[str]:
    """The list of patterns under ``key``, which may be left out; one text alone is a list as well."""
    value = given.get(key)
    if value is None:
        return []
    items = cast("list[Any]", value if isinstance(value, list) else [value])
    if not all(isinstance(item, str) and item for item in items) or len(items) > MOST_PATTERNS:
        raise InputError(f"'{key}' must be a list of texts that are not empty, {MOST_PATTERNS} at most.")
    return [_bounded(item, key) for item in items]


def choice_in(given: Mapping[str, Any], key: str, choices: Sequence[str]) -> str:
    """The one of ``choices`` under ``key``; the first if it was left out."""
    value = given.get(key)
    if value is None:
        return choices[0]
    if value not in choices:
        raise InputError(f"'{key}' must be one of {', '.join(choices)}.")
    return value


def whole_number_in(given: Mapping[str, Any], key: str, default: int) -> int:
    """The whole number under ``key``, 0 at least, which may be left out."""
    value = given.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1 or value < 0:
        raise InputError(f"'{key}' must be a whole number, 0 at least.")
    return int(value)


def flag_in(given: Mapping[str, Any], key: str, *, default: bool = False) -> bool:
    """The truth under ``key``, which may be left out."""
    value = given.get(key)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise InputError(f"'{key}' must be true or false, not {type(value).__name__}.")
    return value


def _bounded(pattern: str, key: str) -> str:
    if len(pattern) > MOST_PATTERN_CHARS or "\0" in pattern:
        raise InputError(f"'{key}' must have {MOST_PATTERN_CHARS} characters at most, and no NUL among them.")
    try:
        pattern.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"'{key}' holds half a character (a lone surrogate).") from error
    return pattern
