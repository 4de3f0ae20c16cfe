"""Any value as JSON data of limited size: long texts, long lists and deep heaps are cut, each with a note."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, cast

from amplifier_core.utils.jsonable import JsonConverter
from amplifier_modkit.clipping import clip_chars

MOST_ENTRIES = 200
"""Entries of one list or object."""

MOST_CHARS = 200_000
"""Characters of all longer texts of one record."""

MOST_VALUES = 5_000
"""Values of one record."""

_LEFT_OUT = "[... left out: the record is too large ...]"
_NOTE_KEY = "..."
# Texts up to here are always told: names, ids and words, whose number has a limit of its own.
_SHORT_CHARS = 64
_SCALARS = frozenset({str, int, float, bool, type(None)})


def shortened(value: object, max_text_chars: int) -> Any:
    """``value`` as JSON data, with no text longer than ``max_text_chars`` and all of it within the limits above."""
    return _Shortening(max_text_chars).convert(value)


class _Shortening(JsonConverter):
    """One conversion; what is beyond a limit is replaced by a note."""

    def __init__(self, max_text_chars: int) -> None:
        super().__init__()
        self._max_text_chars = max_text_chars
        self._chars_left = MOST_CHARS
        self._values_left = MOST_VALUES

    def text(self, text: str) -> str:
        """The text, or its beginning and end."""
        if len(text) > _SHORT_CHARS:
            text = self._clipped(text)
            self._chars_left -= len(text)
        return super().text(text)

    def convert(self, obj: object) -> Any:
        """The value, or as many of its entries as there may be."""
        self._values_left -= 1
        if self._values_left < 0:
            return _LEFT_OUT
        if type(obj) in _SCALARS:
            return super().convert(obj)
        if isinstance(obj, list | tuple) and len(cast("list[Any]", obj)) > MOST_ENTRIES:
            obj = _last_entries(cast("list[Any] | tuple[Any, ...]", obj))
        elif isinstance(obj, Mapping) and len(cast("Mapping[Any, Any]", obj)) > MOST_ENTRIES:
            obj = _first_entries(cast("Mapping[Any, Any]", obj))
        return super().convert(cast("object", obj))

    def _clipped(self, text: str) -> str:
        room = min(self._max_text_chars, self._chars_left)
        return clip_chars(text, room) if room > _SHORT_CHARS else _LEFT_OUT


def _last_entries(entries: list[Any] | tuple[Any, ...]) -> list[Any]:
    # A list that grows, such as a conversation, has at its end what is of interest now.
    return [_note(len(entries) - MOST_ENTRIES), *entries[-MOST_ENTRIES:]]


def _first_entries(entries: Mapping[Any, Any]) -> dict[Any, Any]:
    return {**dict(islice(entries.items(), MOST_ENTRIES)), _NOTE_KEY: _note(len(entries) - MOST_ENTRIES)}


def _note(count: int) -> str:
    return f"[... {count:,} entries left out ...]"
