"""Input for tools, made from their JSON schema: one that fits, many that do not, and some that are far too large."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

_DEPTH = 5
_HUGE_TEXT = "chaos " * 200_000
_HUGE_LIST = ["chaos"] * 20_000
_HUGE_NUMBER = 10**30
_STRANGE: tuple[Any, ...] = (
    None,
    "",
    "chaos",
    0,
    -1,
    1.5,
    True,
    [],
    [None],
    {},
    {"chaos": {"chaos": None}},
    "\x00\ud800",
)
_BY_TYPE: dict[str, Any] = {"integer": 1, "number": 1.0, "boolean": False, "array": [], "null": None}


def fitting_input(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The smallest input that a schema allows: required properties, or all where none is marked so."""
    value = _fitting(schema, _DEPTH)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def malformed_inputs(schema: Mapping[str, Any], fitting: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Inputs as a confused model gives them: parts missing, of the wrong type, unknown, or not text at all."""
    yield {}
    yield {"chaos_unknown": "chaos"}
    yield {**fitting, "chaos_unknown": {"chaos": [None]}}
    yield cast("dict[str, Any]", {**fitting, 1: None})
    for name in _property_names(schema, fitting):
        yield {key: value for key, value in fitting.items() if key != name}
        for strange in _STRANGE:
            yield {**fitting, name: strange}


def huge_inputs(schema: Mapping[str, Any], fitting: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Inputs whose size nobody has thought of."""
    yield {**fitting, "chaos_unknown": _HUGE_TEXT}
    for name in _property_names(schema, fitting):
        for huge in (_HUGE_TEXT, _HUGE_LIST, _HUGE_NUMBER):
            yield {**fitting, name: huge}


def _property_names(schema: Mapping[str, Any], fitting: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys([*_mapping(schema.get("properties")), *fitting]))


def _fitting(schema: Mapping[str, Any], depth: int) -> Any:
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    for key in ("enum", "examples", "anyOf", "oneOf", "allOf"):
        choices = schema.get(key)
        if isinstance(choices, list) and choices:
            first = cast("list[Any]", choices)[0]
            return _fitting(_mapping(first), depth - 1) if key.endswith("Of") else first
    return _fitting_type(schema, depth)


def _fitting_type(schema: Mapping[str, Any], depth: int) -> Any:
    given: Any = schema.get("type", "object" if "properties" in schema else "string")
    kind = str(given[0] if isinstance(given, list) and given else given)  # pyright: ignore[reportUnknownArgumentType]
    return _fitting_object(schema, depth) if kind == "object" else _BY_TYPE.get(kind, "chaos")


def _fitting_object(schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
    properties = _mapping(schema.get("properties"))
    required: Any = schema.get("required")
    wanted = [name for name in properties if not isinstance(required, list) or name in required]
    return {name: _fitting(_mapping(properties[name]), depth - 1) for name in wanted} if depth > 0 else {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
