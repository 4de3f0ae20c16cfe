"""The arguments of tool calls: narrowed to what the request gives, and always valid, whatever the model writes."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.modules.local_world import FakeEngine

from amplifier_core.message_models import ToolSpec
from amplifier_modkit.turns.schemas import Schema
from amplifier_module_provider_local.filling import fill
from amplifier_module_provider_local.narrowing import narrow, numbers_of, spans_of

REQUEST = "Lunch for 3 at 'Chez Nous' on Friday"


def narrowed(schema: Any, said: str = REQUEST) -> Any:
    """What the one required property of an object is narrowed to."""
    return narrow({"type": "object", "properties": {"a": schema}, "required": ["a"]}, said)["properties"]["a"]


def object_of(**properties: Any) -> dict[str, Any]:
    """A narrowed object."""
    named = {"properties": properties, "required": list(properties)}
    return {"type": "object", **named, "additionalProperties": False}


def partly(name: str, schema: Any) -> dict[str, Any]:
    """A schema that asks for one property."""
    return {"properties": {name: schema}, "required": [name]}


def test_texts_are_runs_of_words_or_what_stands_in_quotes() -> None:
    """Words keep their inner signs, such as those of paths and addresses."""
    assert spans_of("Open src/app.js") == ["Open", "Open src/app.js", "src/app.js"]
    assert spans_of('Say "a b"') == ["a b", "Say", 'Say "a', 'Say "a b', "a", "b"]
    assert spans_of("it's `so`.") == ["so", "it's", "it's `so`", "`so`"]
    assert spans_of("?!") == []
    assert len(spans_of("word " * 500)) < 400


def test_numbers_are_found_as_they_are_written() -> None:
    """A number inside a name is none."""
    assert numbers_of("Add -3 and 4.50, not v2 or 1.2.3") == ["-3", "4.50"]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"const": 7}, {"enum": [7]}),
        ({"enum": ["monday", "friday"]}, {"enum": ["friday"]}),
        ({"enum": ["sunday", 1]}, {"enum": ["sunday", 1]}),
        ({"type": "integer"}, {"enum": [3]}),
        ({"type": "integer", "minimum": 5, "maximum": True}, {"type": "integer", "minimum": 5}),
        ({"type": "number", "exclusiveMaximum": 3}, {"type": "number", "exclusiveMaximum": 3}),
        ({"type": "number", "exclusiveMinimum": 3}, {"type": "number", "exclusiveMinimum": 3}),
        ({"type": ["null", "boolean"]}, {"type": "boolean"}),
        ({"type": ["null"]}, {"type": "null"}),
        ({"type": "string", "format": "date"}, {"type": "string", "format": "date", "minLength": 1, "maxLength": 80}),
        ({"type": "string", "pattern": "^x+$", "maxLength": 5}, {"type": "string", "pattern": "^x+$"}),
        ({"type": "string", "minLength": 90}, {"type": "string", "minLength": 90, "maxLength": 90}),
        ({"type": "string", "maxLength": 0}, {"type": "string", "minLength": 0, "maxLength": 0}),
        ({"type": "string", "minLength": 6, "maxLength": 6}, {"enum": ["on Friday"[3:]]}),
        (True, {"type": "string", "minLength": 1, "maxLength": 80}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, {"enum": [3]}),
        ({"oneOf": [{"type": "integer"}, {"type": "boolean"}]}, {"anyOf": [{"enum": [3]}, {"type": "boolean"}]}),
        ({"anyOf": [{"type": "null"}]}, {"type": "null"}),
        ({"allOf": [{"type": "integer"}, {"minimum": 9}, True]}, {"type": "integer", "minimum": 9}),
        (
            {"type": "array", "items": {"type": "integer"}},
            {"type": "array", "items": {"enum": [3]}, "minItems": 1, "maxItems": 4},
        ),
        (
            {"type": "array", "items": {"type": "null"}, "minItems": 6, "maxItems": 9},
            {"type": "array", "items": {"type": "null"}, "minItems": 6, "maxItems": 6},
        ),
        (
            {"type": "array", "items": {"type": "null"}, "maxItems": 0},
            {"type": "array", "items": {"type": "null"}, "minItems": 0, "maxItems": 0},
        ),
        (
            {"properties": {"b": {"type": "null"}, "c": {"type": "null"}}, "required": ["b", 7]},
            object_of(b={"type": "null"}),
        ),
        (
            {"properties": {"b": {"type": "null"}, "c": {"type": "null", "default": None}}},
            object_of(b={"type": "null"}),
        ),
        (
            {"allOf": [partly("b", {"type": "null"}), partly("c", {"const": 1})]},
            object_of(b={"type": "null"}, c={"enum": [1]}),
        ),
    ],
)
def test_a_schema_is_narrowed_to_what_the_request_gives(schema: Any, expected: Any) -> None:
    """Choices, numbers and texts that were mentioned are taken; without any, the schema's own limits stay."""
    assert narrowed(schema) == expected


def test_a_text_is_a_run_of_the_request_or_its_numbers_with_signs_between() -> None:
    """Two numbers or more make arithmetic; a limit on the length excludes it, since it could be longer."""
    said = "Add 12 and 12"
    sums = {"type": "string", "pattern": "^(12)( [-+*/^] (12)){1,4}$"}
    assert narrowed({"type": "string"}, said) == {"anyOf": [{"enum": spans_of(said)}, sums]}
    assert narrowed({"type": "string", "maxLength": 3}, said) == {"enum": ["Add", "12", "and"]}


def test_a_whole_number_is_none_of_the_requests_fractions() -> None:
    """A number of the request is taken where the schema allows it."""
    assert narrowed({"type": "integer"}, "1.5 or 2") == {"enum": [2]}
    assert narrowed({"type": "number"}, "1.5 or 2") == {"enum": [1.5, 2]}


def test_references_inside_the_schema_are_followed() -> None:
    """As generated schemas have them."""
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/x~1y"}},
        "$defs": {"x/y": {"type": "boolean"}},
    }
    assert narrow(schema, "")["properties"] == {"a": {"type": "boolean"}}
    assert narrow({"type": "string"}, "") == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ("#", "the schema is more than 12 levels deep"),
        ("#/$defs/gone", "the schema refers to #/$defs/gone, which is not there"),
        ("https://example.com/x", "the schema refers to https://example.com/x, which is elsewhere"),
    ],
)
async def test_a_schema_that_cannot_be_followed_is_not_called(
    reference: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A warning says why; nothing is asked of the model."""
    parameters = {"type": "object", "properties": {"a": {"$ref": reference}}, "required": ["a"]}
    engine = FakeEngine()
    with caplog.at_level(logging.WARNING):
        assert await fill(engine, ToolSpec(name="odd", parameters=parameters), "hi", 0) is None
    assert [record.getMessage() for record in caplog.records] == [
        f"Tool 'odd' is not called: its schema cannot be followed: {told}"
    ]
    assert engine.bodies == []


async def test_a_schema_that_the_engine_refuses_is_not_called(caplog: pytest.LogCaptureFixture) -> None:
    """What the engine says is told."""
    engine = FakeEngine(lambda body: [{"error": {"code": 400, "message": "no such pattern"}}])
    tool = ToolSpec(name="odd", parameters={"type": "object", "properties": {"a": {"type": "string"}}})
    with caplog.at_level(logging.WARNING):
        assert await fill(engine, tool, "hi", 0) is None
    assert caplog.messages == ["Tool 'odd' is not called: its schema cannot be followed: no such pattern"]


@pytest.mark.parametrize(
    ("parameters", "arguments"),
    [({}, {}), ({"type": "object"}, {}), ({"type": "object", "minProperties": 1}, None)],
)
async def test_a_tool_without_parameters_is_called_without_asking(parameters: Any, arguments: Any) -> None:
    """There is nothing to fill in; a schema that wants something unnamed all the same cannot be satisfied."""
    engine = FakeEngine()
    assert await fill(engine, ToolSpec(name="now", parameters=parameters), "What time is it?", 0) == arguments
    assert engine.bodies == []


async def test_what_does_not_fit_is_drawn_again_with_more_variety() -> None:
    """The likeliest is tried first, then two others, each with a seed of its own."""
    answers = iter(['{"a": 4}', "[1]", '{"a": 9}'])
    engine = FakeEngine(lambda body: next(answers))
    tool = ToolSpec(name="odd", parameters={"type": "object", "properties": {"a": {"type": "number", "multipleOf": 3}}})
    assert await fill(engine, tool, "hi", 5) == {"a": 9}
    assert [(body["temperature"], body["seed"]) for body in engine.bodies] == [(0.0, 5), (0.7, 6), (1.0, 7)]
    asked = engine.bodies[0]["messages"][-1]["content"]
    assert asked == "odd (a)\nhi"


NAMES = st.sampled_from(["city", "n", "what", "at"])
VALUES = st.sampled_from(["red", "3", 3, None, "Friday"])


def limited(kind: str, least: str, most: str, lowest: int) -> st.SearchStrategy[Any]:
    """Schemas of one type with both limits."""
    limits = st.tuples(st.integers(lowest, 9), st.integers(0, 9))
    return limits.map(lambda each: {"type": kind, least: each[0], most: each[0] + each[1]})


LEAVES = st.one_of(
    st.sampled_from([{"type": "boolean"}, {"type": "number"}, {"type": "string"}]),
    limited("integer", "minimum", "maximum", -9),
    limited("string", "minLength", "maxLength", 0),
    st.lists(VALUES, min_size=1, unique_by=repr).map(lambda values: {"enum": values}),
)


def objects_of(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas of objects, some of whose properties are required."""
    return st.dictionaries(NAMES, values, min_size=1).flatmap(
        lambda properties: st.lists(st.sampled_from(sorted(properties)), unique=True).map(
            lambda required: {"type": "object", "properties": properties, "required": required}
        )
    )


SCHEMAS = objects_of(
    st.recursive(
        LEAVES,
        lambda inner: st.one_of(
            objects_of(inner),
            st.builds(lambda items: {"type": "array", "items": items, "maxItems": 3}, inner),
            st.builds(lambda options: {"anyOf": options}, st.lists(inner, min_size=1, max_size=3)),
        ),
        max_leaves=6,
    )
)


WRITTEN = st.lists(st.text() | st.sampled_from(['{"city": 1}', "{}", '{"n": true']), min_size=3, max_size=3)


def sample(schema: dict[str, Any], data: st.DataObject) -> Any:
    """A value that ``schema`` allows, as a grammar would let the model write it."""
    if "enum" in schema:
        return data.draw(st.sampled_from(schema["enum"]))
    if "anyOf" in schema:
        return sample(data.draw(st.sampled_from(schema["anyOf"])), data)
    match schema["type"]:
        case "object":
            return {name: sample(each, data) for name, each in schema["properties"].items()}
        case "array":
            size = data.draw(st.integers(schema["minItems"], schema["maxItems"]))
            return [sample(schema["items"], data) for _ in range(size)]
        case "string" if "pattern" in schema:
            return data.draw(st.from_regex(schema["pattern"], fullmatch=True))
        case "string":
            return data.draw(st.text(min_size=schema["minLength"], max_size=schema["maxLength"]))
        case "integer":
            return data.draw(st.integers(schema["minimum"], schema["maximum"]))
        case "number":
            return data.draw(st.floats(allow_nan=False, allow_infinity=False))
        case _:
            return data.draw(st.booleans())


@pytest.mark.slow
@settings(max_examples=25)
@given(SCHEMAS, st.text(max_size=40) | st.just(REQUEST), st.data())
def test_what_the_narrowed_schema_allows_the_schema_allows(schema: Any, said: str, data: st.DataObject) -> None:
    """Narrowing takes away and never adds."""
    value = sample(narrow(schema, said), data)
    assert Schema(schema).complaint(value) is None


@pytest.mark.slow
@settings(max_examples=25)
@given(SCHEMAS, st.text(max_size=20), WRITTEN)
async def test_arguments_fit_the_schema_whatever_the_model_writes(schema: Any, said: str, written: list[str]) -> None:
    """An engine without any grammar at all cannot make a call that does not fit."""
    answers = iter(written)
    engine = FakeEngine(lambda body: [{"choices": [{"delta": {"content": next(answers)}, "finish_reason": "stop"}]}])
    arguments = await fill(engine, ToolSpec(name="tool", parameters=schema), said, 0)
    assert arguments is None or (Schema(schema).complaint(arguments) is None and json.dumps(arguments) != "")
