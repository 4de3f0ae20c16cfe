"""Words of servers, made fit to be shown: without control characters, of bounded length, and without secrets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from amplifier_modkit.clipping import clip_chars
from amplifier_modkit.plain_text import on_one_line, without_controls

MOST_NAME_CHARS = 128
MOST_DESCRIPTION_CHARS = 4_000
MOST_ERROR_CHARS = 2_000
_MOST_SCHEMA_CHARS = 100_000
_MOST_DEPTH = 30
# Shorter ones would be found in any text.
_FEWEST_SECRET_CHARS = 6
_WORDS = ("description", "title", "$comment")


def one_line(text: str, most: int) -> str:
    """``text`` on one line of at most ``most`` characters."""
    line = on_one_line(text)
    return line if len(line) <= most else f"{line[: most - 1]}…"


def name_line(text: str) -> str:
    """A name on one line."""
    return one_line(text, MOST_NAME_CHARS)


def description_of(text: str | None) -> str:
    """A description, with its lines."""
    return clip_chars(without_controls(text or "").strip(), MOST_DESCRIPTION_CHARS)


def error_line(error: object) -> str:
    """What an error says, on one line."""
    return one_line(str(error), MOST_ERROR_CHARS) or type(error).__name__


def usable_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """A tool's JSON Schema with clean words; one that is too large, too deep or for no object becomes "any object"."""
    anything: dict[str, Any] = {"type": "object"}
    if schema.get("type", "object") != "object":
        return anything
    try:
        return {**anything, **_cleaned(schema, 0, [_MOST_SCHEMA_CHARS])}
    except OverflowError:
        return anything


def _cleaned(value: Any, depth: int, room: list[int]) -> Any:
    """A copy of ``value`` in which words are clean; raises ``OverflowError`` for more than there is room for."""
    if depth > _MOST_DEPTH or room[0] < 0:
        raise OverflowError
    if isinstance(value, dict):
        return {
            str(key): description_of(item)
            if key in _WORDS and isinstance(item, str)
            else _cleaned(item, depth + 1, _less(room, str(key)))
            for key, item in cast("dict[Any, Any]", value).items()
        }
    if isinstance(value, list):
        return [_cleaned(item, depth + 1, room) for item in cast("list[Any]", value)]
    _less(room, str(value))
    return value


def _less(room: list[int], text: str) -> list[int]:
    room[0] -= len(text) + 1
    return room


class Mask:
    """Covers the secrets of one server in whatever is told of it."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        # Longer ones first: one secret may be part of another.
        long_enough = {secret for secret in secrets if len(secret) >= _FEWEST_SECRET_CHARS}
        self._secrets = sorted(long_enough, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """``text`` with stars in place of secrets."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text
