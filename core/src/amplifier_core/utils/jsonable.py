"""The one conversion of anything to JSON data, for whatever leaves the process: logs, transcripts, the wire.

It never raises. What JSON cannot say becomes text; nothing is dropped in silence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, time
from enum import Enum
from typing import Any, cast

CYCLE = "[cyclic reference]"
TOO_DEEP = "[nested too deeply]"

# Far below what the interpreter's stack allows, so that the result can be written and read back anywhere.
MAX_DEPTH = 100

# Longer integers may exceed the interpreter's limit for decimal text; the lowest limit one can set is 640 digits.
_SAFE_INT_BITS = 2000


def to_jsonable(obj: object) -> Any:
    """``obj`` as data that ``json.dumps`` accepts; the input stays as it is.

    Models and dataclasses become dicts, tuples and sets lists, enums their values; decimals, dates, bytes, numbers that
    are not finite and unknown objects become text. Keys become text. A reference back to an enclosing object, and what
    is nested deeper than ``MAX_DEPTH``, is replaced by a marker.
    """
    return JsonConverter().convert(obj)


class JsonConverter:
    """One conversion from beginning to end; a subclass may replace texts, and values by their key, on the way."""

    def __init__(self) -> None:
        # The ids of the objects that enclose the current one. They are alive as long as they are in here.
        self._path: set[int] = set()

    def text(self, text: str) -> str:
        """What stands for a text, key or value."""
        # Lone surrogates are legal in a str and in no encoding.
        return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()

    def value(self, key: str, value: object) -> Any:
        """What stands for the value under ``key``."""
        return self.convert(value)

    def convert(self, obj: object) -> Any:
        """``obj`` as JSON data."""
        kind = type(obj)
        if kind is str:
            return self.text(cast("str", obj))
        if obj is None or kind is bool:
            return obj
        try:
            if kind is dict or kind is list or not isinstance(obj, _SCALARS):
                return self._convert_container(obj)
            return self._convert_scalar(obj)
        except Exception:
            return self._as_text(obj)

    def _convert_scalar(self, obj: object) -> Any:
        match obj:
            case Enum():
                return self.convert(obj.value)
            case str():
                return self.text(str(obj))
            case int():
                return _finite_digits(obj)
            case float():
                return float(obj) if math.isfinite(obj) else _non_finite(obj)
            case date() | time():
                return obj.isoformat()
            case _:
                return self.text(bytes(cast("bytes", obj)).decode("utf-8", "replace"))

    def _convert_container(self, obj: object) -> Any:
        if id(obj) in self._path:
            return CYCLE
        if len(self._path) >= MAX_DEPTH:
            return TOO_DEEP
        self._path.add(id(obj))
        try:
            return self._expand(obj)
        finally:
            self._path.discard(id(obj))

    def _expand(self, obj: object) -> Any:
        if isinstance(obj, dict | Mapping):
            return self._convert_entries(cast("Mapping[object, object]", obj))
        if isinstance(obj, list | tuple):
            return [self.convert(item) for item in cast("Iterable[object]", obj)]
        if isinstance(obj, set | frozenset):
            return [self.convert(item) for item in _ordered(cast("Iterable[object]", obj))]
        found = _fields_of(obj)
        return self._as_text(obj) if found is None else self.convert(found)

    def _convert_entries(self, mapping: Mapping[object, object]) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        for key, value in mapping.items():
            name = self.text(key) if type(key) is str else self._key(key)
            entries[name] = self.value(name, value)
        return entries

    def _key(self, key: object) -> str:
        return self._as_text(key.value if isinstance(key, Enum) else key)

    def _as_text(self, obj: object) -> str:
        try:
            return self.text(str(obj))
        except Exception:
            return f"<unprintable {type(obj).__name__}>"


_SCALARS: tuple[type[Any], ...] = (str, int, float, Enum, date, time, bytes, bytearray, memoryview)


def _fields_of(obj: object) -> Any:
    dump = getattr(type(obj), "model_dump", None)
    if dump is not None:
        return _dumped(obj, dump)
    if is_dataclass(obj) and not isinstance(obj, type):
        return {field.name: getattr(obj, field.name) for field in fields(obj)}
    return None


def _dumped(obj: object, dump: Callable[..., Any]) -> Any:
    try:
        return dump(obj, mode="json", warnings=False)
    except Exception:
        # JSON mode refuses what it does not know, and look-alikes of pydantic models take no arguments.
        return dump(obj)


def _ordered(items: Iterable[Any]) -> list[Any]:
    try:
        return sorted(items)
    except Exception:
        return list(items)


def _finite_digits(number: int) -> int | str:
    if number.bit_length() <= _SAFE_INT_BITS:
        return int(number)
    try:
        str(number)
    except ValueError:
        return hex(number)
    return int(number)


def _non_finite(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    return "Infinity" if number > 0 else "-Infinity"
