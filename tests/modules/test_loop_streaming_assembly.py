"""Pieces of a stream become an answer: every form of piece, and nothing lost on the way."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_core.content_models import TextContent, ThinkingContent, ToolCallContent
from amplifier_core.message_models import (
    ChatResponse,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolCallBlock,
    Usage,
)
from amplifier_module_loop_streaming.assembly import Assembly, Piece


def assembled(*pieces: Any) -> ChatResponse:
    """The response that the pieces make."""
    assembly = Assembly()
    for piece in pieces:
        assembly.add(piece)
    assembly.finish()
    return assembly.response()


def dumped(response: ChatResponse) -> dict[str, Any]:
    """The response as data, without what is empty."""
    return response.model_dump(exclude_none=True)


@pytest.mark.parametrize(
    "piece",
    ["a", TextContent(text="a"), TextBlock(text="a"), {"type": "text", "text": "a"}, {"content": "a"}, {"text": "a"}],
    ids=["str", "content", "block", "dict", "dict with content", "dict without type"],
)
def test_text_comes_in_many_forms(piece: Any) -> None:
    """Pieces of one kind in a row are one block."""
    assert dumped(assembled("b", piece)) == {"content": [{"type": "text", "text": "ba"}], "finish_reason": "stop"}


@pytest.mark.parametrize(
    "piece",
    [
        ThinkingContent(text="a"),
        ThinkingBlock(thinking="a"),
        {"type": "thinking", "thinking": "a"},
        {"type": "thinking", "text": "a"},
    ],
    ids=["content", "block", "dict", "dict with text"],
)
def test_thinking_comes_in_many_forms(piece: Any) -> None:
    """Thinking and text are blocks of their own, in the order in which they came."""
    assert dumped(assembled(piece, "b", piece))["content"] == [
        {"type": "thinking", "thinking": "a"},
        {"type": "text", "text": "b"},
        {"type": "thinking", "thinking": "a"},
    ]


def test_thinking_after_a_signature_is_another_block() -> None:
    """A signature is never put under more thinking than it signs; what a vendor adds to a block stays with it."""
    first = {"type": "thinking", "thinking": "a"}
    assert dumped(assembled(first, {"type": "thinking", "signature": "s", "vendor": 1}, first))["content"] == [
        {"type": "thinking", "thinking": "a", "signature": "s", "vendor": 1},
        {"type": "thinking", "thinking": "a"},
    ]


@pytest.mark.parametrize(
    ("piece", "arguments"),
    [
        (ToolCall(id="1", name="t", arguments={"a": 1}), {"a": 1}),
        (ToolCallBlock(id="1", name="t", input={"a": 1}), {"a": 1}),
        (ToolCallContent(id="1", name="t", arguments=None), {}),
        ({"type": "tool_use", "id": "1", "name": "t"}, {}),
        ({"type": "tool_call", "id": "1", "name": "t", "arguments": "{}"}, "{}"),
        ({"id": "1", "name": "t", "arguments": []}, []),
    ],
    ids=["tool call", "block", "content without arguments", "dict without", "text", "list"],
)
def test_a_tool_call_stands_among_the_blocks_and_in_the_list(piece: Any, arguments: Any) -> None:
    """Arguments that are no object stay in the list as they are, and are an empty object in the block."""
    block = {"type": "tool_call", "id": "1", "name": "t", "input": arguments if isinstance(arguments, dict) else {}}
    response = assembled("a", piece)
    assert [each.model_dump(exclude_none=True) for each in response.content] == [{"type": "text", "text": "a"}, block]
    assert [(call.id, call.name, call.arguments) for call in response.tool_calls or ()] == [("1", "t", arguments)]
    assert response.finish_reason == "tool_calls"


def test_a_tool_call_without_id_and_name_is_kept() -> None:
    """Whoever runs the calls gives it an id and tells the model what is wrong; a vendor's field survives."""
    response = assembled({"type": "tool_call", "thought_signature": "s"})
    assert dumped(response)["content"] == [
        {"type": "tool_call", "id": "", "name": "", "input": {}, "thought_signature": "s"}
    ]


def test_blocks_that_come_whole_are_kept_and_told_without_text() -> None:
    """Redacted thinking must go back to the vendor unchanged."""
    assembly = Assembly()
    assert assembly.add("a") == Piece(0, "text", "a", 0, is_first=True)
    redacted = assembly.add(RedactedThinkingBlock(data="x"))
    assert redacted == Piece(1, "redacted_thinking", "", 0, is_first=True, ended=(0, "text"))
    assert assembly.finish() == (1, "redacted_thinking")
    assert assembly.finish() is None
    assert dumped(assembly.response())["content"][1] == {"type": "redacted_thinking", "data": "x"}


def test_what_means_nothing_is_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """An object of another kind, a block that nobody knows and nothing at all do not end a stream."""

    @dataclass
    class Ping:
        at: int = 0

    with caplog.at_level(logging.WARNING):
        response = assembled("a", Ping(), {"type": "ping"}, None, "b")
    assert dumped(response)["content"] == [{"type": "text", "text": "ab"}]
    assert caplog.messages == [
        "A piece of type 'Ping' in a stream means nothing here and is left out",
        "A piece of type 'ping' in a stream means nothing here and is left out",
        "A piece of type 'NoneType' in a stream means nothing here and is left out",
    ]


def test_usage_may_be_a_piece_and_a_response_overrules_everything() -> None:
    """Neither is told to anybody as a piece."""
    usage, whole = Usage(input_tokens=1, output_tokens=1, total_tokens=2), ChatResponse(content=[])
    assembly = Assembly()
    assert (assembly.add(usage), assembly.has_begun) == (None, False)
    assert assembly.response().usage is usage
    assert assembly.add(whole) is None
    assert assembly.response() is whole


def test_pieces_tell_index_sequence_and_the_block_that_ended() -> None:
    """A sequence counts within its block; the piece that begins a block names the one before it."""
    assembly = Assembly()
    told = [assembly.add(piece) for piece in ("a", "b", {"name": "t", "id": "1", "arguments": {"x": 1}}, "c")]
    assert told == [
        Piece(0, "text", "a", 0, is_first=True),
        Piece(0, "text", "b", 1, is_first=False),
        Piece(1, "tool_use", '{"x": 1}', 0, is_first=True, name="t", ended=(0, "text")),
        Piece(2, "text", "c", 0, is_first=True, ended=(1, "tool_use")),
    ]


TEXTS = st.text(max_size=5)
PIECES = st.one_of(
    TEXTS,
    TEXTS.map(lambda text: ThinkingContent(text=text)),
    st.builds(
        ToolCall, id=st.uuids().map(str), name=TEXTS, arguments=st.dictionaries(TEXTS, st.integers(), max_size=2)
    ),
)


@pytest.mark.slow
@given(st.lists(PIECES, max_size=20))
def test_nothing_that_streams_is_lost(pieces: list[Any]) -> None:
    """All text, all thinking and all calls are in the response, in order; every block begins once and ends once."""
    assembly = Assembly()
    told = [piece for piece in map(assembly.add, pieces) if piece is not None]
    ended = [*(piece.ended for piece in told if piece.ended), assembly.finish()]
    response = assembly.response()
    text = "".join(block.text for block in response.content if isinstance(block, TextBlock))
    thinking = "".join(block.thinking for block in response.content if isinstance(block, ThinkingBlock))
    assert text == "".join(piece for piece in pieces if isinstance(piece, str))
    assert thinking == "".join(piece.text for piece in pieces if isinstance(piece, ThinkingContent))
    assert list(response.tool_calls or ()) == [piece for piece in pieces if isinstance(piece, ToolCall)]
    starts = [(piece.block_index, piece.block_type) for piece in told if piece.is_first]
    assert starts == [each for each in ended if each is not None]
    assert [index for index, _ in starts] == list(range(len(response.content)))
