"""Answers of the Messages API as data, whole and streamed, and back again."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.modules.anthropic_world import (
    MODEL,
    PLAIN,
    USER,
    make,
    message,
    sent,
    streamed,
    text_block,
)

from amplifier_core.message_models import (
    ChatRequest,
    ToolCall,
    Usage,
)
from amplifier_modkit.llm.blocks import fields_of
from amplifier_modkit.llm.repair import repair
from amplifier_modkit.llm.wire import WireError
from amplifier_modkit.turns.replies import read_reply
from amplifier_modkit.turns.requests import to_model
from amplifier_module_provider_anthropic.config import AnthropicConfig
from amplifier_module_provider_anthropic.wire import AnthropicWire

ANSWER = message(
    {"type": "thinking", "thinking": "Hm, ü.", "signature": "sig=="},
    {"type": "redacted_thinking", "data": "secret=="},
    {**text_block("Grüße 🌍"), "citations": [{"type": "web", "url": "u"}, {"type": "web", "url": "v"}]},
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
    {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result", "url": "u"}]},
    {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "ä"}, "caller": {"type": "direct"}},
    {"type": "tool_use", "id": "t2", "name": "list", "input": {}},
    stop_reason="tool_use",
    usage={
        "input_tokens": 10,
        "cache_read_input_tokens": 200,
        "cache_creation_input_tokens": 30,
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 20},
        "server_tool_use": {"web_search_requests": 1},
        "service_tier": None,
    },
)


def test_an_answer_is_read_without_loss() -> None:
    """Blocks in order, calls in both places, usage in full, and the rest as metadata."""
    response = AnthropicWire().read_answer(ANSWER)
    kinds = [block.type for block in response.content]
    assert kinds == ["thinking", "redacted_thinking", "text", "text", "text", "tool_call", "tool_call"]
    assert response.tool_calls == [
        ToolCall(id="t1", name="read", arguments={"path": "ä"}),
        ToolCall(id="t2", name="list", arguments={}),
    ]
    assert response.usage == Usage.model_validate(
        {
            "input_tokens": 240,
            "output_tokens": 50,
            "total_tokens": 290,
            "cache_read_tokens": 200,
            "cache_write_tokens": 30,
            "reasoning_tokens": 20,
            "server_tool_use": {"web_search_requests": 1},
        }
    )
    assert response.finish_reason == "tool_calls"
    assert response.metadata == {"id": "msg_1", "model": MODEL, "stop_reason": "tool_use"}


def test_an_answer_goes_back_as_it_came_by_way_of_a_stored_conversation() -> None:
    """Signatures, encrypted thinking, citations, blocks of unknown kinds: byte for byte what the service sent."""
    response, _ = streamed(ANSWER)
    reply = read_reply(make("http://127.0.0.1:9", None, "k"), response, lambda: "new")
    stored = json.loads(json.dumps(reply.message))
    results = [{"role": "tool", "tool_call_id": each, "content": "x"} for each in ("t1", "t2")]
    turns = sent(USER, stored, *results)
    assert turns[1]["content"] == ANSWER["content"]
    by_another = AnthropicWire(PLAIN).to_call(
        repair(ChatRequest(messages=[to_model(each) for each in (USER, stored, *results)]), "other").request,
        MODEL,
        stream=False,
    )
    assert [block["type"] for block in by_another.body["messages"][1]["content"]] == ["text", "tool_use", "tool_use"]


@pytest.mark.parametrize("pieces", [1, 3, 100])
def test_a_stream_gives_the_same_as_the_whole(pieces: int) -> None:
    """However many pieces there are; those of texts, thinking and calls are told, others are not."""
    response, told = streamed(copy.deepcopy(ANSWER), pieces)
    assert response == AnthropicWire().read_answer(ANSWER)
    texts = {
        index: "".join(piece.text for piece in told if piece.index == index and piece.kind == "delta")
        for index in sorted({piece.index for piece in told})
    }
    assert texts == {0: "Hm, ü.", 2: "Grüße 🌍", 5: '{"path": "ä"}', 6: "{}"}
    begun = [(piece.index, piece.block_type, piece.name) for piece in told if piece.kind == "start"]
    assert begun == [(0, "thinking", None), (2, "text", None), (5, "tool_use", "read"), (6, "tool_use", "list")]
    assert [piece.index for piece in told if piece.kind == "end"] == [0, 2, 5, 6]


def test_a_call_with_broken_arguments_is_for_the_loop_to_answer() -> None:
    """The raw text is in the call; the block goes back with an empty object."""
    broken = {"type": "tool_use", "id": "t1", "name": "read", "input": '{"path": '}
    response, _ = streamed(message(broken, stop_reason="tool_use"))
    assert [(call.id, call.arguments) for call in response.tool_calls or ()] == [("t1", '{"path": ')]
    (block,) = response.content
    assert fields_of(block)["input"] == {}
    turns = sent(USER, {"role": "assistant", "content": [fields_of(block)]})
    assert turns[1]["content"] == [{"type": "tool_use", "id": "t1", "name": "read", "input": {}}]


def test_a_stream_may_begin_with_text_and_have_events_to_come() -> None:
    """Text in the first event counts; events and deltas that nobody knows yet are passed over."""
    reader = AnthropicWire().open_stream()
    events: list[dict[str, Any]] = [
        {"type": "content_block_start", "index": 0, "content_block": text_block("Hel")},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "lo"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "mood_delta", "mood": "good"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ""}},
        {"type": "weather", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "strange"}},
    ]
    told = [piece.text for event in events for piece in reader.feed("", json.dumps(event)) if piece.kind == "delta"]
    assert told == ["Hel", "lo"]
    assert not reader.is_complete
    response = reader.response()
    assert [fields_of(block) for block in response.content] == [text_block("Hello")]
    assert response.finish_reason == "other"


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "content_filter"),
        ("pause_turn", "pause"),
        ("boredom", "other"),
        (None, None),
    ],
)
def test_the_end_of_an_answer_is_explained(reason: str | None, finish: str | None) -> None:
    """In the common words; a refusal can be seen, with its reason."""
    details = {"type": "refusal", "category": "bio", "explanation": "no"}
    whole = message(text_block("x"), stop_reason=reason or "", stop_details=details)
    whole["stop_reason"] = reason
    response = AnthropicWire().read_answer(whole)
    assert response.finish_reason == finish
    assert (response.metadata or {})["stop_details"] == details
    assert streamed(whole)[0] == response


@pytest.mark.parametrize(
    ("error", "status", "code", "told"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, 529, "overloaded_error", "Overloaded"),
        ({"type": "strange_error"}, None, "strange_error", "strange_error"),
        (None, None, "error", "error"),
    ],
)
def test_an_error_in_an_answer_is_told(error: Any, status: int | None, code: str, told: str) -> None:
    """Whole or in a stream, with the status that it would have had."""
    body = {"type": "error", "error": error}
    with pytest.raises(WireError) as whole:
        AnthropicWire().read_answer(body)
    with pytest.raises(WireError) as in_stream:
        list(AnthropicWire().open_stream().feed("error", json.dumps(body)))
    for raised in (whole.value, in_stream.value):
        assert (raised.status, raised.code, raised.message) == (status, code, told)


def test_models_are_listed_by_line() -> None:
    """The newest of each, unless all are wanted; retired ones never; the service's word goes before what is known."""
    body = {
        "data": [
            {"id": "claude-next-9", "display_name": "Next", "max_input_tokens": 5, "max_tokens": 4, "line": "next"},
            {"id": "claude-sonnet-5-5", "display_name": "Claude Sonnet 5.5", "line": "sonnet"},
            {"id": "claude-sonnet-5", "display_name": "Claude Sonnet 5"},
            {"id": "claude-old", "lifecycle": "retired"},
            {"id": "claude-odd"},
        ]
    }
    latest = AnthropicWire().read_models(body)
    assert [model.id for model in latest] == ["claude-next-9", "claude-sonnet-5-5", "claude-odd"]
    assert (latest[0].context_window, latest[0].max_output_tokens) == (5, 4)
    assert (latest[1].context_window, latest[1].max_output_tokens) == (1_000_000, 128_000)
    everything = AnthropicWire(AnthropicConfig(filtered=False)).read_models(body)
    assert [model.id for model in everything] == [
        "claude-next-9",
        "claude-sonnet-5-5",
        "claude-sonnet-5",
        "claude-odd",
    ]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
JSONS = st.dictionaries(TEXTS, st.one_of(TEXTS, st.integers(), st.booleans(), st.none(), st.lists(TEXTS)), max_size=3)
BLOCKS = st.one_of(
    TEXTS.filter(str.strip).map(text_block),
    st.builds(lambda t, s: {"type": "thinking", "thinking": t, "signature": s}, TEXTS, TEXTS),
    st.builds(lambda d: {"type": "redacted_thinking", "data": d}, TEXTS),
    st.builds(lambda i: {"type": "tool_use", "name": "read", "input": i}, JSONS),
    st.builds(lambda i: {"type": "server_tool_use", "id": "s", "name": "web_search", "input": i}, JSONS),
    st.builds(lambda c: {"type": "invented_block", "content": c}, JSONS),
)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(BLOCKS, min_size=1, max_size=5))
def test_whatever_an_answer_has_comes_back_unchanged(blocks: list[dict[str, Any]]) -> None:
    """Read, stored as JSON and sent again, every block is what the service gave; streamed or not."""
    numbered = [
        {**block, "id": f"t{place}"} if block["type"] == "tool_use" else block for place, block in enumerate(blocks)
    ]
    response = AnthropicWire().read_answer(message(*copy.deepcopy(numbered)))
    assert streamed(message(*copy.deepcopy(numbered)))[0] == response
    stored = json.loads(response.model_dump_json(exclude_none=True))
    # ``None`` inside of arguments is data, which a dump without empty fields would lose.
    kept = [json.loads(block.model_dump_json()) for block in response.content]
    assert len(stored["content"]) == len(kept)
    turns = sent(USER, {"role": "assistant", "content": kept})
    assert turns[1]["content"] == numbered
