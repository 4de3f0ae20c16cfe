"""Content blocks in every form."""

from __future__ import annotations

from typing import Any

import pytest

from amplifier_core.message_models import ChatResponse, ContentBlockUnion, Message, TextBlock, ThinkingBlock
from amplifier_modkit.llm.blocks import (
    blocks_in,
    calls_of,
    carried_in,
    carry,
    extras_of,
    fields_of,
    is_failed,
    output_text,
    read_arguments,
    text_in,
    tool_call,
)


def test_a_carried_block_comes_back_to_its_vendor_only() -> None:
    """A block of an unknown kind survives as a block that every reader takes, also by way of JSON."""
    block = {"type": "server_tool_use", "id": "s1", "input": {"query": "x"}}
    response = ChatResponse(content=[carry("toy", block)])
    again = ChatResponse.model_validate_json(response.model_dump_json())
    fields = fields_of(again.content[0])
    assert carried_in(fields, "toy") == block
    assert carried_in(fields, "other") is None
    assert carried_in({"type": "text", "text": "", "vendor": "toy"}, "toy") is None
    assert fields["text"] == ""


def test_blocks_are_read_from_models_dicts_and_text() -> None:
    """Empty fields are left out, extras are there."""
    models: list[ContentBlockUnion] = [ThinkingBlock.model_validate({"thinking": "hm", "signature": "s", "mark": 1})]
    mixed: Any = [*models, {"type": "odd", "x": None}, "plain"]
    message = Message.model_construct(role="assistant", content=mixed)
    assert blocks_in(message) == [
        {"type": "thinking", "thinking": "hm", "signature": "s", "mark": 1},
        {"type": "odd", "x": None},
        {"type": "text", "text": "plain"},
    ]
    assert blocks_in(Message(role="user", content="hi")) == [{"type": "text", "text": "hi"}]
    assert blocks_in(Message(role="user", content="")) == []
    assert blocks_in(Message.model_construct(role="user", content=None)) == []


def test_the_text_of_a_message_is_all_its_text() -> None:
    """Blocks stand on lines of their own; what is no text says nothing."""
    content: list[ContentBlockUnion] = [TextBlock(text="a"), ThinkingBlock(thinking="hm"), TextBlock(text="b")]
    assert text_in(Message(role="user", content=content)) == "a\nb"
    assert text_in(Message(role="user", content="c")) == "c"


def test_extras_are_what_the_vendor_said_beside() -> None:
    """Known keys and our own are not among them."""
    fields = {"type": "text", "text": "a", "vendor": "toy", "visibility": "user", "citations": []}
    assert extras_of(fields, frozenset({"type", "text"})) == {"citations": []}


@pytest.mark.parametrize(
    ("fields", "failed"),
    [({}, False), ({"metadata": {"is_error": True}}, True), ({"metadata": {}}, False), ({"is_error": True}, True)],
)
def test_a_failure_is_told_in_metadata_or_beside_it(fields: dict[str, Any], failed: bool) -> None:
    """Both places count."""
    assert is_failed(Message(role="tool", tool_call_id="1", content="x", **fields)) is failed


@pytest.mark.parametrize(("output", "text"), [("a", "a"), (None, ""), ({"ä": 1}, '{"ä": 1}'), (7, "7")])
def test_what_a_tool_gave_back_becomes_text(output: Any, text: str) -> None:
    """Text stays, data becomes JSON, nothing becomes nothing."""
    assert output_text(output) == text


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ({"a": 1}, {"a": 1}),
        (None, {}),
        ("", {}),
        ("  ", {}),
        ('{"a": "é"}', {"a": "é"}),
        ('{"a": ', '{"a": '),
        ("[1]", "[1]"),
        ([1], "[1]"),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_arguments_are_an_object_or_the_raw_text(raw: Any, read: Any) -> None:
    """Nothing is lost of what could not be read."""
    assert read_arguments(raw) == read


def test_a_call_that_cannot_be_read_goes_to_the_loop_as_it_is() -> None:
    """The block has an empty object, the call beside it the raw text."""
    content: list[ContentBlockUnion] = [
        TextBlock(text="hm"),
        tool_call("1", "read", '{"a": ', caller="x"),
        tool_call("2", "read", {"a": 1}),
    ]
    assert fields_of(content[1]) == {
        "type": "tool_call",
        "id": "1",
        "name": "read",
        "input": {},
        "raw_arguments": '{"a": ',
        "caller": "x",
    }
    calls = calls_of(content)
    assert calls is not None
    assert [(call.id, call.arguments) for call in calls] == [("1", '{"a": '), ("2", {"a": 1})]
    assert calls_of([]) is None
