"""Redacts data of any shape: texts by what is in them, and the values of names that stand for secrets.

What has no secrets comes back as the very object. What has some comes back as a copy of the same kind, as far as
there is one; the input stays as it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import pairwise
from operator import is_
from pathlib import PurePath
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, cast
from uuid import UUID

from amplifier_core.utils.jsonable import CYCLE, MAX_DEPTH, TOO_DEEP
from amplifier_modkit.secrets.judging import Style, is_named_secret, is_secret
from amplifier_modkit.secrets.masks import Hits, is_one_mask, mask
from amplifier_modkit.secrets.names import NameRule, name_rule
from amplifier_modkit.secrets.parts import parts_of, put_together
from amplifier_modkit.secrets.text import SECRETS, redact_text

RedactText = Callable[[str], tuple[str, Hits]]

_UNTOUCHED = (bool, type(None), date, time, timedelta, UUID, Enum, type, ModuleType)
_UNTOUCHED_TOO = (FunctionType, BuiltinFunctionType, MethodType)
_NUMBERS = (int, float, complex, Decimal)
_BYTES = (bytes, bytearray, memoryview)
_NAME = re.compile(r"-{0,2}[A-Za-z_][\w.\-]*")
_NAME_KEYS = ("name", "key", "Name", "Key", "header")
_VALUE_KEYS = ("value", "Value")
_JSON_TYPES = frozenset({"string", "object", "array", "integer", "number", "boolean", "null"})
_SCHEMA_MARKS = ("$ref", "anyOf", "oneOf", "allOf")
_SCHEMA_WORDS = frozenset(
    {
        *("type", "description", "title", "format", "pattern", "minLength", "maxLength", "items", "properties", "$ref"),
        *("required", "anyOf", "oneOf", "allOf", "additionalProperties", "deprecated", "readOnly", "writeOnly"),
    }
)


def redact_value(
    obj: Any,
    groups: Collection[str] = SECRETS,
    *,
    allow: Collection[str] = (),
    redact: RedactText | None = None,
) -> tuple[Any, Hits]:
    """``obj`` without its secrets, and how many of each kind there were; doing it twice changes nothing more.

    ``allow`` names places that are left alone, such as ``a.b[0]``. ``redact`` redacts the texts in the place of
    ``redact_text`` with ``groups``, for a caller that remembers results.
    """
    walk = _Walk(redact or (lambda text: redact_text(text, groups)), frozenset(allow))
    result = walk.redact(obj)
    return (result if walk.hits or walk.is_too_deep else obj), walk.hits


class _Promise(NamedTuple):
    """The kind of secret that the name of a value, or of something around it, promises."""

    rule: NameRule
    is_direct: bool
    """Whether the name is its own."""


class _Walk:
    """One pass through an object; every shared part of it is looked at once."""

    def __init__(self, redact: RedactText, allow: frozenset[str]) -> None:
        self.hits: Hits = Counter()
        self.is_too_deep = False
        self._redact = redact
        self._allow = allow
        self._enclosing: set[int] = set()
        self._done: dict[tuple[int, _Promise | None], Any] = {}

    def redact(self, obj: Any, promise: _Promise | None = None, path: str = "") -> Any:
        if self._allow and path in self._allow:
            return obj
        if isinstance(obj, str):
            return self._text(obj, promise)
        if isinstance(obj, _UNTOUCHED):
            return obj
        if isinstance(obj, _NUMBERS):
            return self._number(obj, promise)
        if isinstance(obj, _BYTES):
            return self._bytes(obj, promise)
        return self._nested(obj, promise, path)

    def _text(self, text: str, promise: _Promise | None) -> str:
        redacted, hits = self._redact(text)
        if promise is None or is_one_mask(redacted) or not _is_kept(promise, str(text)):
            if not hits:
                return text
            self.hits.update(hits)
            return redacted
        self.hits[promise.rule.id] += 1
        return mask(promise.rule.id)

    def _number(self, number: Any, promise: _Promise | None) -> Any:
        if promise is None or promise.rule.id != "password" or not (promise.rule.is_strong and promise.is_direct):
            return number
        self.hits["password"] += 1
        return mask("password")

    def _bytes(self, data: Any, promise: _Promise | None) -> Any:
        # One character per byte: every mask and everything that can be a secret is ASCII.
        before = self.hits.total()
        text = self._text(bytes(data).decode("latin-1"), promise)
        return data if self.hits.total() == before else text.encode("latin-1")

    def _nested(self, obj: Any, promise: _Promise | None, path: str) -> Any:
        known = (id(obj), promise)
        if known in self._done and not self._allow:
            return self._done[known]
        if id(obj) in self._enclosing:
            return CYCLE
        if len(self._enclosing) >= MAX_DEPTH:
            self.is_too_deep = True
            return TOO_DEEP
        self._enclosing.add(id(obj))
        try:
            result = self._done[known] = self._by_kind(obj, promise, path)
        finally:
            self._enclosing.discard(id(obj))
        return result

    def _by_kind(self, obj: Any, promise: _Promise | None, path: str) -> Any:
        kind = cast("type[Any]", type(obj))
        if kind is dict:
            return self._named(obj, promise, path)
        if kind is list:
            return self._listed(obj, promise, path)
        parts = parts_of(obj)
        if parts is None:
            return self._opaque(obj)
        values: Any = parts.values
        changed = (self._named if parts.is_named else self._listed)(values, promise, path)
        return obj if changed is values else put_together(obj, parts, changed)

    def _named(self, entries: dict[Any, Any], promise: _Promise | None, path: str) -> dict[Any, Any]:
        promised = _promises(entries, promise)
        changed: dict[Any, Any] = {}
        is_same = True
        for key, value in entries.items():
            shown_key = self._key(key)
            shown = self.redact(value, promised(key), _below(path, key) if self._allow else "")
            is_same = is_same and shown_key is key and shown is value
            changed[shown_key if shown_key not in changed else _like(changed, shown_key)] = shown
        return entries if is_same else changed

    def _key(self, key: Any) -> Any:
        if not isinstance(key, str):
            return key
        redacted, hits = self._redact(key)
        if not hits:
            return key
        self.hits.update(hits)
        return redacted

    def _listed(self, items: list[Any], promise: _Promise | None, path: str) -> list[Any]:
        own = _promises_of_items(items)
        changed = [
            self.redact(item, own.get(index, promise), f"{path}[{index}]" if self._allow else "")
            for index, item in enumerate(items)
        ]
        return items if all(map(is_, changed, items)) else changed

    def _opaque(self, obj: Any) -> Any:
        """What can only be shown as text is replaced by that text, if it shows a secret."""
        if isinstance(obj, _UNTOUCHED_TOO) or _shows_nothing(obj):
            return obj
        try:
            text = f"{type(obj).__name__}: {obj}" if isinstance(obj, BaseException) else str(obj)
        except Exception:
            return obj
        redacted, hits = self._redact(text)
        self.hits.update(hits)
        return redacted if hits else obj


def _below(path: str, key: object) -> str:
    return f"{path}.{key}" if path else str(key)


def _like(entries: Mapping[Any, Any], key: Any) -> Any:
    """A key like ``key`` that is free: masks can make two keys the same."""
    number = 2
    while f"{key}#{number}" in entries:
        number += 1
    return f"{key}#{number}"


def _is_kept(promise: _Promise, text: str) -> bool:
    """Whether the text is the secret that its name promises."""
    return is_named_secret(promise.rule, text) if promise.is_direct else is_secret(promise.rule, text, Style.QUOTED)


def _shows_nothing(obj: Any) -> bool:
    kind = cast("type[Any]", type(obj))
    return kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__ and not isinstance(obj, PurePath)


def _promises(entries: Mapping[Any, Any], around: _Promise | None) -> Callable[[Any], _Promise | None]:
    """What the key of each entry promises, where nothing else does what is around them all."""
    inherited = None if around is None else _Promise(around.rule, False)
    named = _named_beside(entries) if any(key in entries for key in _VALUE_KEYS) else None
    # A schema describes a secret and has none; and the tokens of an answer stand beside how likely they were.
    harmless = _SCHEMA_WORDS if around is not None and _is_schema(entries) else frozenset[str]()
    likely = "token" if "logprob" in entries else None

    def promise_of(key: Any) -> _Promise | None:
        if not isinstance(key, str) or key == likely:
            return inherited
        if key in harmless:
            return None
        rule = name_rule(key) or (named if key in _VALUE_KEYS else None)
        return inherited if rule is None else _Promise(rule, True)

    return promise_of


def _named_beside(entries: Mapping[Any, Any]) -> NameRule | None:
    """The kind of secret that an entry tells the name of, whose value stands in another one."""
    return next((name_rule(entries[key]) for key in _NAME_KEYS if isinstance(entries.get(key), str)), None)


def _is_schema(entries: Mapping[Any, Any]) -> bool:
    kind = entries.get("type")
    return (isinstance(kind, str) and kind in _JSON_TYPES) or any(mark in entries for mark in _SCHEMA_MARKS)


def _promises_of_items(items: Sequence[Any]) -> dict[int, _Promise]:
    """The items that stand behind the name of a secret: the value of an option, the second half of a header."""
    promises: dict[int, _Promise] = {}
    for index, (item, following) in enumerate(pairwise(items)):
        name = _as_name(item)
        rule = name_rule(name) if _NAME.fullmatch(name) else None
        if rule is None:
            continue
        value = _as_name(following)
        is_header = len(items) == 2 and is_secret(rule, value, Style.QUOTED)
        if not value.startswith("-") if name.startswith("-") else is_header:
            promises[index + 1] = _Promise(rule, True)
    return promises


def _as_name(item: Any) -> str:
    if isinstance(item, bytes):
        return item.decode("latin-1")
    return item if isinstance(item, str) else ""
