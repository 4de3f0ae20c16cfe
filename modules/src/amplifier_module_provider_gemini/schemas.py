"""JSON Schemas as Gemini takes them: what it does not know is said in other words, or told as lost.

The service refuses a whole request for one keyword. A limit that it does not know goes into the description, where the
model still reads it; only what cannot be said there either is lost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

Schema = dict[str, Any]

KNOWN = frozenset(
    {
        "$id",
        "$defs",
        "$ref",
        "$anchor",
        "type",
        "format",
        "title",
        "description",
        "enum",
        "items",
        "prefixItems",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "anyOf",
        "oneOf",
        "properties",
        "additionalProperties",
        "required",
        "propertyOrdering",
    }
)
"""The keywords that the service documents."""

# Notes for people and tools, without which a schema allows the same.
_NOTES = frozenset({"$schema", "$comment", "default", "examples", "example", "deprecated", "readOnly", "writeOnly"})
_TOLD = {
    "pattern": "matches",
    "minLength": "at least so many characters:",
    "maxLength": "at most so many characters:",
    "exclusiveMinimum": "more than",
    "exclusiveMaximum": "less than",
    "multipleOf": "a multiple of",
    "uniqueItems": "without duplicates:",
    "minProperties": "at least so many entries:",
    "maxProperties": "at most so many entries:",
    "const": "always",
    "format": "format",
}
_FORMATS = frozenset({"date-time", "date", "time", "float", "double", "int32", "int64", "enum"})
_LISTS = ("anyOf", "oneOf", "prefixItems")
_NAMED = ("properties", "$defs")


def clean(schema: Any) -> tuple[Schema, list[str]]:
    """The schema as the service takes it, and the keywords whose meaning is lost."""
    cleaner = _Cleaner()
    return cleaner.clean(schema), sorted(set(cleaner.lost))


class _Cleaner:
    """Cleans one schema with all that is in it."""

    def __init__(self) -> None:
        self.lost: list[str] = []

    def clean(self, schema: Any) -> Schema:
        if not isinstance(schema, Mapping):
            if schema is False:
                self.lost.append("false")
            return {}
        given = self._unfolded(dict(cast("Mapping[str, Any]", schema)))
        cleaned: Schema = {}
        told: list[str] = []
        for key, value in given.items():
            if key in _TOLD and not (key == "format" and value in _FORMATS):
                if value is not False:
                    told.append(f"{_TOLD[key]} {json.dumps(value, ensure_ascii=False)}")
            elif key in KNOWN:
                cleaned[key] = self._inner(key, value)
            elif key not in _NOTES and not key.startswith("x-"):
                self.lost.append(key)
        if told:
            said = str(cleaned.get("description") or "")
            cleaned["description"] = f"{said} ({'; '.join(told)})".strip()
        return self._with_reference_alone(cleaned)

    def _unfolded(self, given: Schema) -> Schema:
        """The schema with words that the service knows for those that it does not."""
        if "definitions" in given:
            given["$defs"] = {**given.pop("definitions"), **given.get("$defs", {})}
        if isinstance(given.get("items"), list):
            given["prefixItems"] = given.pop("items")
        if isinstance(given.get("const"), str | int | float) and not isinstance(given["const"], bool):
            given["enum"] = [given.pop("const")]
        if given.get("type") == "integer":
            _include_bounds(given)
        parts: list[Any] = given.pop("allOf", [])
        for part in parts:
            folded = dict(cast("Mapping[str, Any]", part)) if isinstance(part, Mapping) else {}
            given = self._joined(given, self._unfolded(folded))
        return given

    def _joined(self, first: Schema, second: Schema) -> Schema:
        joined = dict(first)
        for key, value in second.items():
            if key not in joined or joined[key] == value:
                joined[key] = value
            elif key in _NAMED:
                joined[key] = {**joined[key], **value}
            elif key == "required":
                joined[key] = list(dict.fromkeys([*joined[key], *value]))
            elif key == "description":
                joined[key] = f"{joined[key]} {value}"
            else:
                self.lost.append("allOf")
        return joined

    def _inner(self, key: str, value: Any) -> Any:
        if key in _NAMED and isinstance(value, Mapping):
            return {name: self.clean(each) for name, each in cast("Mapping[str, Any]", value).items()}
        if key in _LISTS and isinstance(value, list):
            return [self.clean(each) for each in cast("list[Any]", value)]
        if key == "$ref" and isinstance(value, str):
            return value.replace("#/definitions/", "#/$defs/")
        if key == "items" or (key == "additionalProperties" and not isinstance(value, bool)):
            return self.clean(value)
        return value

    def _with_reference_alone(self, schema: Schema) -> Schema:
        """A reference stands alone; what is said beside it is said around it."""
        others = {key: value for key, value in schema.items() if not key.startswith("$")}
        if "$ref" not in schema or not others:
            return schema
        kept = {key: value for key, value in schema.items() if key.startswith("$") and key != "$ref"}
        if "anyOf" in others:
            self.lost.append("$ref")
            return {**kept, **others}
        return {**kept, **others, "anyOf": [{"$ref": schema["$ref"]}]}


def _include_bounds(schema: Schema) -> None:
    """Whole numbers beyond a bound begin with the next one."""
    for beyond, bound, step in (("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1)):
        if type(schema.get(beyond)) is int and bound not in schema:
            schema[bound] = schema.pop(beyond) + step
