"""Narrows the schema of a tool's arguments to what a request gives: values come out of its words and numbers.

A small model that may write any text writes nonsense; one that may only choose among what was said mostly chooses
well. What is narrowed never allows more than the schema does, as far as the schema can be followed; whoever uses the
result still checks it. Data in, data out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

_MOST_WORDS = 40
_MOST_SPAN_WORDS = 8
_MOST_CHARS = 80
_MOST_ITEMS = 4
_MOST_DEPTH = 12
_SHORT_TEXT: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": _MOST_CHARS}

_WORD = re.compile(r"[^\s,?!;:\"'()\[\]]+(?:['’][^\W\d]+)?")
_QUOTED = re.compile(r"\"([^\"]+)\"|'([^']+)'(?!\w)|“([^”]+)”|`([^`]+)`")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?!\w|\.\d)")


def narrow(schema: Mapping[str, Any], said: str) -> dict[str, Any]:
    """The schema of an object with the required properties of ``schema``; if none is, with those without a default.

    Raises ``ValueError`` for what cannot be followed, such as a schema that contains itself without end.
    """
    narrowed = _Narrowing(schema, said).node(schema, 0)
    return narrowed if narrowed.get("type") == "object" else {"type": "object", "properties": {}}


def spans_of(said: str) -> list[str]:
    """The runs of words in a request, and what stands in quotes, each once; of a long request the first words."""
    quoted = [next(filter(None, found.groups())) for found in _QUOTED.finditer(said)]
    words = list(_WORD.finditer(said))[:_MOST_WORDS]
    runs = [
        said[first.start() : last.end()].rstrip(".")
        for place, first in enumerate(words)
        for last in words[place : place + _MOST_SPAN_WORDS]
    ]
    return list(dict.fromkeys(span for span in [*quoted, *runs] if span))


def numbers_of(said: str) -> list[str]:
    """The numbers in a request as they are written there."""
    return _NUMBER.findall(said)


class _Narrowing:
    """One schema on its way, with what the request has to offer."""

    def __init__(self, root: Mapping[str, Any], said: str) -> None:
        self._root = root
        self._said = said.lower()
        self._spans = spans_of(said)
        self._numbers = numbers_of(said)

    def node(self, schema: Any, depth: int) -> dict[str, Any]:
        if depth > _MOST_DEPTH:
            raise ValueError(f"the schema is more than {_MOST_DEPTH} levels deep")
        if not isinstance(schema, Mapping):
            return dict(_SHORT_TEXT)
        given = cast("Mapping[str, Any]", schema)
        if isinstance(given.get("$ref"), str):
            return self.node(_referred(self._root, given["$ref"]), depth + 1)
        if "const" in given:
            return {"enum": [given["const"]]}
        if isinstance(given.get("enum"), list):
            return {"enum": self._mentioned(given["enum"])}
        for key in ("anyOf", "oneOf"):
            if isinstance(given.get(key), list):
                return self._alternatives({k: v for k, v in given.items() if k != key}, given[key], depth)
        if isinstance(given.get("allOf"), list):
            return self.node(_merged([{k: v for k, v in given.items() if k != "allOf"}, *given["allOf"]]), depth + 1)
        return self._of_type(given, depth)

    def _of_type(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        kind: Any = schema.get("type")
        if isinstance(kind, list):
            kind = next((each for each in cast("list[Any]", kind) if each != "null"), "null")
        if kind == "object" or (kind is None and "properties" in schema):
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, depth)
        if kind in ("integer", "number"):
            return self._number(schema, kind)
        if kind in ("boolean", "null"):
            return {"type": kind}
        return self._text(schema)

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties: dict[str, Any] = schema.get("properties") or {}
        wanted = [name for name in schema.get("required") or () if isinstance(name, str)]
        names = list(dict.fromkeys(wanted)) or [name for name in properties if not _has_default(properties[name])]
        kept = {name: self.node(properties.get(name), depth + 1) for name in names}
        return {"type": "object", "properties": kept, "required": names, "additionalProperties": False}

    def _array(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        least = _whole(schema.get("minItems")) or 0
        most = _whole(schema.get("maxItems"))
        most = max(_MOST_ITEMS, least) if most is None else min(most, max(_MOST_ITEMS, least))
        items = self.node(schema.get("items"), depth + 1)
        return {"type": "array", "items": items, "minItems": min(max(least, 1), most), "maxItems": most}

    def _number(self, schema: Mapping[str, Any], kind: str) -> dict[str, Any]:
        bounds = {
            key: schema[key]
            for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
            if isinstance(schema.get(key), int | float) and not isinstance(schema[key], bool)
        }
        said = [number for number in map(_to_number, dict.fromkeys(self._numbers)) if _fits(number, kind, bounds)]
        return {"enum": said} if said else {"type": kind, **bounds}

    def _text(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        shape = {key: schema[key] for key in ("pattern", "format") if isinstance(schema.get(key), str)}
        least, most = _whole(schema.get("minLength")), _whole(schema.get("maxLength"))
        limits = {"minLength": 1 if least is None else least, "maxLength": max(_MOST_CHARS, least or 0)}
        if most is not None:
            limits = {"minLength": min(limits["minLength"], most), "maxLength": min(limits["maxLength"], most)}
        if shape:
            return {"type": "string", **shape, **({} if "pattern" in shape else limits)}
        said = [span for span in self._spans if limits["minLength"] <= len(span) <= limits["maxLength"]]
        if not said:
            return {"type": "string", **limits}
        sums = _arithmetic(self._numbers)
        return {"anyOf": [{"enum": said}, sums]} if sums and most is None else {"enum": said}

    def _mentioned(self, values: list[Any]) -> list[Any]:
        """The texts among ``values`` that the request has as words, or all values if it has none."""
        named = [
            value
            for value in values
            if isinstance(value, str) and re.search(rf"(?<!\w){re.escape(value.lower())}(?!\w)", self._said)
        ]
        return named or values

    def _alternatives(self, shared: dict[str, Any], options: list[Any], depth: int) -> dict[str, Any]:
        kept = [option for option in options if option != {"type": "null"}] or options
        nodes = [self.node(_merged([shared, option]), depth + 1) for option in kept]
        return nodes[0] if len(nodes) == 1 else {"anyOf": nodes}


def _referred(root: Mapping[str, Any], reference: str) -> Any:
    if not reference.startswith("#"):
        raise ValueError(f"the schema refers to {reference}, which is elsewhere")
    node: Any = root
    for step in filter(None, reference[1:].split("/")):
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, Mapping) or name not in node:
            raise ValueError(f"the schema refers to {reference}, which is not there")
        node = cast("Mapping[str, Any]", node)[name]
    return node


def _merged(parts: Iterable[Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for part in parts:
        for key, value in cast("dict[str, Any]", part if isinstance(part, dict) else {}).items():
            known = merged.get(key)
            if isinstance(known, dict) and isinstance(value, dict):
                merged[key] = {**known, **value}
            elif isinstance(known, list) and isinstance(value, list) and key == "required":
                merged[key] = [*known, *value]
            else:
                merged[key] = value
    return merged


def _arithmetic(numbers: list[str]) -> dict[str, Any] | None:
    """Texts that join two or more of the request's numbers by signs."""
    if len(numbers) < 2:
        return None
    number = f"({'|'.join(map(re.escape, dict.fromkeys(numbers)))})"
    return {"type": "string", "pattern": f"^{number}( [-+*/^] {number}){{1,{_MOST_ITEMS}}}$"}


def _to_number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _fits(number: float, kind: str, bounds: Mapping[str, Any]) -> bool:
    if kind == "integer" and not isinstance(number, int):
        return False
    return (
        bounds.get("minimum", number) <= number <= bounds.get("maximum", number)
        and ("exclusiveMinimum" not in bounds or number > bounds["exclusiveMinimum"])
        and ("exclusiveMaximum" not in bounds or number < bounds["exclusiveMaximum"])
    )


def _has_default(schema: Any) -> bool:
    return isinstance(schema, Mapping) and "default" in schema


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
