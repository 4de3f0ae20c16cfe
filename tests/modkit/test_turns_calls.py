"""Tool calls as models really make them: ids, names and arguments of every kind, read without a crash."""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_core.message_models import ToolCall, ToolCallBlock
from amplifier_core.testing import MockTool, SequentialIds
from amplifier_modkit.turns.calls import ArgumentChecker, CallError, RequestedCall, read_arguments, read_calls


def test_calls_are_taken_over_as_they_are() -> None:
    """Models and dicts are read alike, also under the older name of the tool, in their order."""
    found = [
        ToolCall(id="a", name="read", arguments={"path": "x"}),
        {"id": "b", "tool": "write", "arguments": '{"path": "y"}'},
    ]
    assert read_calls(found, SequentialIds()) == [
        RequestedCall("a", "read", {"path": "x"}),
        RequestedCall("b", "write", '{"path": "y"}'),
    ]


def test_a_block_is_read_like_a_call() -> None:
    """What a block calls ``input`` are the arguments; a tool never runs without those that the model gave."""
    found = [ToolCallBlock(id="a", name="t", input={"n": 1}), {"id": "b", "name": "t", "input": {"n": 2}}]
    assert [call.arguments for call in read_calls(found, SequentialIds())] == [{"n": 1}, {"n": 2}]


def test_a_call_without_an_id_of_its_own_gets_one() -> None:
    """Ids that are missing, empty, no text or used twice are replaced."""
    found = [{"id": each, "name": "t"} for each in ("a", "a", "", None, 7)]
    assert [call.id for call in read_calls(found, SequentialIds())] == [
        "a",
        "call_id-1",
        "call_id-2",
        "call_id-3",
        "call_id-4",
    ]


def test_a_made_up_id_never_equals_one_that_the_model_chose() -> None:
    """A model that guesses what ids look like cannot make two calls share one, neither before nor behind."""
    found = [{"id": "call_id-1"}, {"id": ""}, {"id": "call_id-1"}, {"id": "call_id-1_"}]
    ids = [call.id for call in read_calls(found, SequentialIds())]
    assert (len(set(ids)), ids[0]) == (4, "call_id-1")


@pytest.mark.slow
@given(st.lists(st.one_of(st.none(), st.sampled_from(["a", "call_x", "call_x_", ""]), st.text(max_size=3)), max_size=8))
def test_ids_are_always_unique(ids: list[Any]) -> None:
    """Whatever ids a model gives, and even if made-up ones are all the same, each call has one of its own."""
    calls = read_calls([{"id": each, "name": "t"} for each in ids], lambda: "x")
    assert len({call.id for call in calls}) == len(ids)


def test_a_name_that_is_no_text_is_read_as_empty() -> None:
    """A call of nothing stays a call, so that it gets its result."""
    found = [{"id": "a", "name": name} for name in (None, "", 5, ["x"], {"y": 1})]
    assert [(call.id, call.name) for call in read_calls(found, SequentialIds())][1:] == [
        ("call_id-1", ""),
        ("call_id-2", ""),
        ("call_id-3", ""),
        ("call_id-4", ""),
    ]


@pytest.mark.parametrize("nothing", [None, "", "  \n", "null"])
def test_no_arguments_are_an_empty_object(nothing: Any) -> None:
    """A model that leaves them out calls the tool without arguments."""
    assert read_arguments(RequestedCall("a", "t", nothing)) == {}


def test_arguments_in_json_text_are_read() -> None:
    """Some providers hand the text of the arguments through."""
    assert read_arguments(RequestedCall("a", "t", ' {"n": 1} ')) == {"n": 1}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            '{"n": ',
            "are not valid JSON: Expecting value: line 1 column 7 (char 6). Call it again with one JSON object.",
        ),
        ("ls -l", "are not valid JSON: Expecting value: line 1 column 1 (char 0). Call it again with one JSON object."),
        ("[1]", "must be one JSON object with the parameters by name, got an array."),
        ([1], "must be one JSON object with the parameters by name, got an array."),
        ("5", "must be one JSON object with the parameters by name, got a number."),
        (0.5, "must be one JSON object with the parameters by name, got a number."),
        (True, "must be one JSON object with the parameters by name, got a boolean."),
        ('"text"', "must be one JSON object with the parameters by name, got something else."),
        (object(), "must be one JSON object with the parameters by name, got something else."),
    ],
)
def test_the_model_learns_what_is_wrong_with_its_arguments(arguments: Any, told: str) -> None:
    """What is no JSON object is refused with words that help to do better."""
    with pytest.raises(CallError) as refused:
        read_arguments(RequestedCall("a", "t", arguments))
    assert str(refused.value) == f"The arguments of tool 't' {told}"


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, '{"n": ' + "9" * 5_000 + "}"])
def test_text_that_is_too_much_for_the_parser_is_refused_like_any_other(text: str) -> None:
    """Neither endless nesting nor a number of five thousand digits does more than fail."""
    with pytest.raises(CallError, match="^The arguments of tool 't' are not valid JSON"):
        read_arguments(RequestedCall("a", "t", text))


@pytest.mark.slow
@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text in place of arguments leads to another error."""
    with suppress(CallError):
        assert isinstance(read_arguments(RequestedCall("a", "t", text)), dict)


PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


def test_arguments_that_miss_the_schema_are_refused_with_the_schema() -> None:
    """The model is told each mistake and what would be right."""
    with pytest.raises(CallError) as refused:
        ArgumentChecker().require_fit("read", MockTool("read", input_schema=PATH), {"path": 5})
    assert str(refused.value) == (
        "The arguments of tool 'read' do not fit: path: 5 is not of type \"string\". "
        f"They must fit this schema: {json.dumps(PATH)}"
    )


@pytest.mark.parametrize(
    "tool",
    [
        MockTool("any"),
        MockTool("any", input_schema={}),
        object(),
        type("BadSchema", (), {"name": "any", "input_schema": "none"})(),
        type("BadName", (), {"name": 5, "input_schema": PATH})(),
    ],
)
def test_a_tool_without_a_readable_schema_takes_every_object(tool: Any) -> None:
    """What cannot be described cannot be checked; that is told where the tool is offered."""
    assert ArgumentChecker().require_fit("any", tool, {"whatever": 1}) is None


def test_the_schema_may_come_from_a_method() -> None:
    """A tool with ``get_schema()`` is checked like one with ``input_schema``."""

    class Reader:
        name = "read"
        description = ""

        def get_schema(self) -> dict[str, Any]:
            return dict(PATH)

    checker, reader = ArgumentChecker(), Reader()
    checker.require_fit("read", reader, {"path": "x"})
    with pytest.raises(CallError, match='"path" is a required property'):
        checker.require_fit("read", reader, {})


def test_a_schema_that_is_none_is_reported_once_and_not_enforced(caplog: pytest.LogCaptureFixture) -> None:
    """A mistake of the tool's author does not make the tool useless, and does not fill the log."""
    checker, tool = ArgumentChecker(), MockTool("t", input_schema={"type": "nonsense"})
    with caplog.at_level(logging.WARNING):
        checker.require_fit("t", tool, {})
        checker.require_fit("t", tool, {"a": 1})
    (line,) = caplog.messages
    assert line.startswith("The schema of tool 't' is no JSON Schema, so its arguments are not checked: ")


def test_a_tool_that_changes_its_schema_is_checked_against_the_latest() -> None:
    """Tools may offer more while they run; an equal schema in another object is the same schema."""
    checker, tool = ArgumentChecker(), MockTool("t", input_schema=PATH)
    checker.require_fit("t", tool, {"path": "x"})
    tool.input_schema = json.loads(json.dumps(PATH))
    checker.require_fit("t", tool, {"path": "x"})
    tool.input_schema = {"type": "object", "required": ["file"]}
    with pytest.raises(CallError, match='"file" is a required property'):
        checker.require_fit("t", tool, {"path": "x"})
