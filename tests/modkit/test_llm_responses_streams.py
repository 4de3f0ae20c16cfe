"""Streams of the Responses API: their pieces, what is left of one that breaks off, and the oddities of servers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.modkit.responses_world import ORIGIN, answer, called, refused, said, searched, stream_of, thought, told, wire

from amplifier_modkit.llm.wire import Piece, WireError
from amplifier_modkit.llm_responses.streams import ResponsesStream


def feed(reader: ResponsesStream, *events: dict[str, Any]) -> list[Piece]:
    """Gives events to a reader."""
    return [piece for event in events for piece in reader.feed("message", json.dumps(event))]


def test_blocks_are_told_while_they_grow() -> None:
    """Each block begins, grows and ends at its place in the answer; a search of the service has one, too."""
    two_parts = thought("ab")
    two_parts["summary"] = [{"type": "summary_text", "text": "ab"}, {"type": "summary_text", "text": "c"}]
    _, pieces = told(answer(two_parts, searched(), said("hello"), called('{"a":1}')), size=4)
    assert pieces == [
        Piece("start", 0, "thinking"),
        Piece("delta", 0, "thinking", "ab"),
        Piece("delta", 0, "thinking", "\n\n"),
        Piece("delta", 0, "thinking", "c"),
        Piece("end", 0, "thinking"),
        Piece("start", 2, "text"),
        Piece("delta", 2, "text", "hell"),
        Piece("delta", 2, "text", "o"),
        Piece("end", 2, "text"),
        Piece("start", 3, "tool_use", name="weather"),
        Piece("delta", 3, "tool_use", '{"a"'),
        Piece("delta", 3, "tool_use", ":1}"),
        Piece("end", 3, "tool_use"),
    ]


def test_what_came_of_a_stream_that_breaks_off_is_kept() -> None:
    """Whole items are whole; of the others there is what came, and no finish reason that promises more."""
    custom = {"id": "ct", "type": "custom_tool_call", "call_id": "c1", "name": "sql", "input": "select"}
    output = [thought("think"), said("hello"), refused("cannot"), called('{"a":1}'), custom]
    for place, item in enumerate(output):
        item["id"] = f"id_{place}"
    events = stream_of(answer(*output), size=2)
    seen: set[str] = set()
    for count in range(len(events)):
        reader = wire().open_stream()
        feed(reader, *events[:count])
        response = reader.response()
        assert not reader.is_complete
        assert (response.finish_reason, (response.metadata or {})["stop_reason"]) == ("other", "broken_off")
        seen.add(json.dumps([block.model_dump(exclude_none=True) for block in response.content]))
    assert len(seen) > len(output)
    reader = wire().open_stream()
    feed(reader, *(event for event in events[:-1] if event["type"] != "response.output_item.done"))
    dumps = [block.model_dump() for block in reader.response().content]
    assert [dump.get("text") or dump.get("thinking") or dump.get("input") for dump in dumps] == [
        "think",
        "hello",
        "cannot",
        {"a": 1},
        {"input": "select"},
    ]


def test_a_last_event_without_items_is_filled_with_those_that_came() -> None:
    """Some services send the items once only."""
    events = stream_of(answer(said("hello"), called()))
    events[-1] = {**events[-1], "response": {**events[-1]["response"], "output": []}}
    reader = wire().open_stream()
    feed(reader, *events)
    assert reader.response() == wire().read_answer(answer(said("hello"), called()))


def test_events_without_places_and_announcements_are_understood() -> None:
    """Items are told apart by their ids, and begin with their first delta if need be."""
    reader = wire().open_stream()
    pieces = feed(
        reader,
        {"type": "response.reasoning_text.delta", "item_id": "r", "delta": "hm"},
        {"type": "response.output_text.delta", "item_id": "m", "delta": "hel"},
        {"type": "response.output_text.delta", "item_id": "m", "delta": "lo"},
        {"type": "response.refusal.delta", "item_id": "n", "content_index": 0, "delta": "no"},
        {"type": "response.content_part.done", "item_id": "elsewhere"},
        {"type": "response.function_call_arguments.delta", "item_id": "f", "delta": None},
        {"type": "response.output_item.done", "item": said("late", "l")},
        {"type": "response.unheard_of", "x": 1},
        {"type": "response.created", "response": None},
    )
    assert [(piece.kind, piece.index, piece.text) for piece in pieces] == [
        ("start", 0, ""),
        ("delta", 0, "hm"),
        ("start", 1, ""),
        ("delta", 1, "hel"),
        ("delta", 1, "lo"),
        ("start", 2, ""),
        ("delta", 2, "no"),
        ("start", 3, ""),
        ("delta", 3, ""),
    ]
    ended = feed(reader, {"type": "response.completed", "response": {"status": "completed"}})
    assert [(piece.kind, piece.index) for piece in ended] == [("end", 0), ("end", 1), ("end", 2), ("end", 3)]
    response = reader.response()
    assert [block.type for block in response.content] == ["thinking", "text", "text", "tool_call", "text"]
    assert response.finish_reason == "content_filter"


def test_the_name_of_an_event_may_stand_outside_its_data() -> None:
    """The type in the data, where there is one, goes before."""
    reader = wire().open_stream()
    assert list(reader.feed("response.output_text.delta", '{"item_id": "m", "delta": "a"}'))[-1].text == "a"
    assert list(reader.feed("message", "[DONE]")) == []


def test_a_part_that_was_told_is_not_begun_again_and_reasoning_has_no_parts() -> None:
    """A repeated announcement changes nothing; neither does one for a part of another kind of item."""
    reader = wire().open_stream()
    added = {"type": "response.content_part.added", "output_index": 0, "part": {"type": "output_text"}}
    message = {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "m"}}
    reasoning = {"type": "response.output_item.added", "output_index": 1, "item": {"type": "reasoning", "id": "r"}}
    patch = {"type": "response.output_item.added", "output_index": 2, "item": {"type": "apply_patch_call", "id": "p"}}
    pieces = feed(reader, message, added, added, reasoning, {**added, "output_index": 1}, patch)
    assert [(piece.kind, piece.block_type, piece.name) for piece in pieces] == [
        ("start", "text", None),
        ("start", "thinking", None),
        ("start", "tool_use", "apply_patch"),
    ]


@pytest.mark.parametrize(
    ("event", "status", "code", "message"),
    [
        ({"type": "error", "code": "rate_limit_exceeded", "message": "slow"}, 429, "rate_limit_exceeded", "slow"),
        ({"type": "error", "error": {"type": "server_error", "message": "oops"}}, 500, "server_error", "oops"),
        (
            {"type": "response.failed", "response": answer(error={"code": "invalid_prompt", "message": "no"})},
            400,
            "invalid_prompt",
            "no",
        ),
        ({"type": "response.failed", "response": {"error": "odd"}}, 500, None, "odd"),
    ],
    ids=["plain", "nested", "failed answer", "odd"],
)
def test_an_error_in_a_stream_is_an_error(event: Any, status: int, code: str | None, message: str) -> None:
    """It has the status that it would have had as an HTTP answer."""
    with pytest.raises(WireError) as caught:
        feed(wire().open_stream(), event)
    assert (caught.value.status, caught.value.code, caught.value.message) == (status, code, message)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (answer(status="failed", error={"code": "server_error", "message": "oops"}), 500, "oops"),
        (answer(status="cancelled"), 500, "the answer ended with the status 'cancelled'"),
        ({"error": {"message": "bad key", "code": "invalid_api_key"}}, 400, "bad key"),
    ],
    ids=["failed", "cancelled", "only an error"],
)
def test_an_answer_that_failed_is_an_error(body: Any, status: int, message: str) -> None:
    """Its reason is told."""
    with pytest.raises(WireError) as caught:
        wire().read_answer(body)
    assert (caught.value.status, caught.value.message) == (status, message)


def test_what_is_no_answer_is_told_as_such() -> None:
    """The error says what is missing, or what came instead."""
    with pytest.raises(ValueError, match=r"must have the list 'output', got the keys \['choices'\]"):
        wire().read_answer({"choices": []})
    with pytest.raises(ValueError, match="an event must be a JSON object, got '\\[1\\]'"):
        list(ResponsesStream(ORIGIN).feed("message", "[1]"))
