"""Input made from JSON schemas, and tool calls found in messages."""

from __future__ import annotations

from typing import Any

import pytest

from amplifier_core.message_models import Message, ToolCallBlock, ToolResultBlock
from amplifier_kit.chaos._conversation import parted_calls
from amplifier_kit.chaos._samples import fitting_input, huge_inputs, malformed_inputs

PATH = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, {}),
        ({"type": "object", "properties": {}}, {}),
        ({"properties": {"a": PATH, "b": PATH}, "required": ["b"]}, {"b": "chaos"}),
        ({"properties": {"a": PATH, "b": PATH}}, {"a": "chaos", "b": "chaos"}),
        ({"properties": {"a": {"type": "integer"}, "b": {"type": "number"}}}, {"a": 1, "b": 1.0}),
        ({"properties": {"a": {"type": "boolean"}, "b": {"type": "array"}}}, {"a": False, "b": []}),
        ({"properties": {"a": {"type": ["null", "string"]}, "b": {"type": []}}}, {"a": None, "b": "chaos"}),
        ({"properties": {"a": {"enum": ["x", "y"]}, "b": {"const": 3}}}, {"a": "x", "b": 3}),
        ({"properties": {"a": {"default": "z"}, "b": {"examples": ["e"]}}}, {"a": "z", "b": "e"}),
        ({"properties": {"a": {"anyOf": [{"type": "integer"}, PATH]}, "b": {"oneOf": [True]}}}, {"a": 1, "b": "chaos"}),
        ({"properties": {"a": {"properties": {"b": PATH}}}}, {"a": {"b": "chaos"}}),
        ({"properties": {"a": {"enum": []}, "b": None}, "required": True}, {"a": "chaos", "b": "chaos"}),
        ({"type": "string"}, {}),
    ],
)
def test_the_smallest_input_that_fits(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    """Required properties get a harmless value of their type, whatever the schema says it in."""
    assert fitting_input(schema) == expected


def test_a_schema_that_contains_itself_ends() -> None:
    """A schema without end gives an input with one."""
    schema: dict[str, Any] = {"properties": {}}
    schema["properties"]["self"] = schema
    text = str(fitting_input(schema))
    assert text.count("self") == 5


def test_malformed_inputs_leave_out_and_replace_each_property() -> None:
    """Among them are no input at all, each property missing, and each of a wrong type."""
    made = list(malformed_inputs({"properties": {"a": PATH, "b": PATH}}, {"a": "x"}))
    assert {} in made
    assert {"a": "x", 1: None} in made
    assert all({"a": "x", "b": strange} in made for strange in (None, 0, [], {}, "\x00\ud800"))


def test_huge_inputs_fill_each_property() -> None:
    """Each property gets a text, a list and a number of absurd size, one at a time."""
    sizes = [len(str(made.get("a", ""))) for made in huge_inputs({"properties": {"a": PATH}}, {})]
    assert sizes == [0, 1_200_000, 180_000, 31]


CALL: dict[str, Any] = {"role": "assistant", "tool_calls": [{"id": "1"}, {"id": "2"}]}


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], []),
        ([CALL, {"role": "tool", "tool_call_id": "1"}, {"role": "tool", "tool_call_id": "2"}], []),
        ([CALL, {"role": "tool", "tool_call_id": "1"}], ["call '2' without its result"]),
        ([{"role": "tool", "tool_call_id": "1"}], ["result of '1' without its call"]),
        ([{"role": "tool", "content": "no id"}, {"role": "user", "content": "text"}, None], []),
        (
            [{"role": "assistant", "content": [{"type": "tool_use", "id": "1"}, "text", {"type": "text"}]}],
            ["call '1' without its result"],
        ),
        (
            [
                Message(role="assistant", content=[ToolCallBlock(id="1", name="x", input={})]),
                Message(role="user", content=[ToolResultBlock(tool_call_id="1", output=None)]),
            ],
            [],
        ),
        (
            [
                {"role": "assistant", "content": [{"type": "tool_call", "id": "1"}], "tool_calls": [{"id": "1"}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1"}]},
            ],
            [],
        ),
    ],
)
def test_what_is_without_its_other_half_is_told(messages: list[Any], expected: list[str]) -> None:
    """Calls and results are matched in every form that messages have for them."""
    assert parted_calls(messages) == expected
