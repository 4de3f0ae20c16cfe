"""JSON Schemas on their way to Gemini."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier_module_provider_gemini.schemas import KNOWN, clean


def test_what_the_service_knows_is_left_as_it_is() -> None:
    """Not a word is changed."""
    schema = {
        "type": "object",
        "title": "T",
        "properties": {
            "a": {"type": ["string", "null"], "enum": ["x", "y"], "description": "d"},
            "b": {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 9}, "minItems": 1},
            "c": {"anyOf": [{"type": "string", "format": "date-time"}, {"$ref": "#/$defs/N"}]},
            "d": {"prefixItems": [{"type": "number"}]},
            "enum": {"type": "string"},
        },
        "$defs": {"N": {"type": "object", "additionalProperties": {"type": "string"}}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert clean(schema) == (schema, [])


def test_limits_that_it_does_not_know_are_said_in_words() -> None:
    """The model reads them in the description, so nothing is lost."""
    schema = {
        "type": "string",
        "description": "A name.",
        "pattern": "^ä$",
        "minLength": 1,
        "format": "uuid",
        "uniqueItems": False,
        "default": "x",
        "x-order": 3,
    }
    said = 'A name. (matches "^ä$"; at least so many characters: 1; format "uuid")'
    assert clean(schema) == ({"type": "string", "description": said}, [])
    assert clean({"const": True}) == ({"description": "(always true)"}, [])


def test_bounds_of_whole_numbers_are_said_as_the_service_knows_them() -> None:
    """More than nought is at least one; other numbers have no next one, and neither has a bound beside another."""
    whole = {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10}
    assert clean(whole) == ({"type": "integer", "minimum": 1, "maximum": 9}, [])
    number = {"type": "number", "exclusiveMinimum": 0}
    assert clean(number) == ({"type": "number", "description": "(more than 0)"}, [])
    both = {"type": "integer", "exclusiveMinimum": 0, "minimum": 5}
    assert clean(both) == ({"type": "integer", "minimum": 5, "description": "(more than 0)"}, [])


def test_other_words_mean_the_same() -> None:
    """Constants, tuples, definitions, references with words beside them, and schemas of which all must hold."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "definitions": {"N": {"const": 3}},
        "properties": {
            "a": {"$ref": "#/definitions/N", "description": "three"},
            "b": {"items": [{"const": "x"}, True]},
        },
        "allOf": [
            {"properties": {"c": {}}, "required": ["c"], "description": "first", "type": "object"},
            {"required": ["c", "a"], "description": "second", "type": "object"},
            True,
        ],
    }
    assert clean(schema) == (
        {
            "$defs": {"N": {"enum": [3]}},
            "properties": {
                "a": {"description": "three", "anyOf": [{"$ref": "#/$defs/N"}]},
                "b": {"prefixItems": [{"enum": ["x"]}, {}]},
                "c": {},
            },
            "required": ["c", "a"],
            "description": "first second",
            "type": "object",
        },
        [],
    )


def test_what_cannot_be_said_is_told_as_lost() -> None:
    """By the keyword, each once."""
    schema: dict[str, Any] = {
        "type": "object",
        "not": {"type": "string"},
        "if": {},
        "then": {},
        "items": False,
        "properties": {
            "a": {"$ref": "#/$defs/N", "anyOf": [{"type": "string"}], "$id": "i"},
            "b": {"type": "string", "not": {}, "allOf": [{"type": "number"}]},
        },
    }
    assert clean(schema) == (
        {
            "type": "object",
            "items": {},
            "properties": {"a": {"$id": "i", "anyOf": [{"type": "string"}]}, "b": {"type": "string"}},
        },
        ["$ref", "allOf", "false", "if", "not", "then"],
    )


def test_a_schema_that_is_malformed_does_no_harm() -> None:
    """What is not what its keyword wants stays as it is."""
    assert clean({"properties": 3, "anyOf": 4, "$ref": 5}) == ({"properties": 3, "anyOf": 4}, ["$ref"])


NAMES = st.sampled_from(["a", "type", "$ref"])
LEAVES = st.sampled_from(
    [{"type": "string", "pattern": "x"}, {"const": 1}, {"const": None}, {"$ref": "#/definitions/a", "title": "t"}, True]
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(NAMES, inner, max_size=2),
            "definitions": st.dictionaries(NAMES, inner, max_size=2),
            "items": inner,
            "anyOf": st.lists(inner, max_size=2),
            "allOf": st.lists(inner, max_size=2),
            "additionalProperties": inner,
            "minLength": st.integers(0, 3),
            "not": inner,
            "description": st.just("d"),
        },
    ),
    max_leaves=6,
)


def keywords(schema: Any) -> set[str]:
    """All keywords of a schema and of those in it; names of properties are none."""
    if isinstance(schema, list):
        return set().union(*map(keywords, schema))
    if not isinstance(schema, dict):
        return set()
    named = [each for key in ("properties", "$defs") for each in schema.get(key, {}).values()]
    others = [value for key, value in schema.items() if key not in ("properties", "$defs")]
    return set(schema).union(*map(keywords, [*named, *others]))


@settings(max_examples=40)
@given(SCHEMAS)
def test_only_known_words_are_left_and_once_is_enough(schema: Any) -> None:
    """Whatever comes in; cleaning what is clean changes nothing."""
    cleaned, _ = clean(schema)
    assert keywords(cleaned) <= KNOWN
    assert clean(cleaned) == (cleaned, [])
