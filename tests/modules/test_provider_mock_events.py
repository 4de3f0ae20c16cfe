"""What the scripted provider tells the hooks: requests, responses, and answers in pieces."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from amplifier_core.correlation import current_request_id
from amplifier_core.events import LLM_REQUEST, LLM_RESPONSE
from amplifier_core.llm_errors import LLMError, StreamError
from amplifier_core.message_models import ChatRequest, ChatResponse, Message, TextBlock
from amplifier_core.testing import EventRecorder, FakeClock, SequentialIds, TestCoordinator
from amplifier_modkit.events import (
    LLM_STREAM_ABORTED,
    LLM_STREAM_BLOCK_DELTA,
    LLM_STREAM_BLOCK_END,
    LLM_STREAM_BLOCK_START,
)
from amplifier_module_provider_mock import mount
from amplifier_module_provider_mock.provider import MockProvider

REQUEST = ChatRequest(messages=[Message(role="system", content="be brief"), Message(role="user", content="hello")])
EVENTS = (
    LLM_REQUEST,
    LLM_RESPONSE,
    LLM_STREAM_BLOCK_START,
    LLM_STREAM_BLOCK_DELTA,
    LLM_STREAM_BLOCK_END,
    LLM_STREAM_ABORTED,
)
CALL = {"provider": "mock", "model": "mock-model"}


async def told(item: Any, request: ChatRequest = REQUEST, **settings: Any) -> list[tuple[str, dict[str, Any]]]:
    """The events of one call, without what every event carries; what the call raises is not."""
    recorder = EventRecorder(new_id=SequentialIds())
    provider = MockProvider([item], hooks=recorder, clock=FakeClock(), **settings)
    with suppress(LLMError, TimeoutError):
        await provider.complete(request)
    return recorder.events


def streamed(events: list[tuple[str, dict[str, Any]]]) -> list[tuple[Any, ...]]:
    """The stream's events in short: which, of what block, what text."""
    short = {LLM_STREAM_BLOCK_START: "start", LLM_STREAM_BLOCK_DELTA: "delta", LLM_STREAM_BLOCK_END: "end"}
    return [
        (short[event], data["block_index"], *([data["text"]] if "text" in data else []))
        for event, data in events
        if event in short
    ]


async def test_a_call_is_told_from_request_to_response() -> None:
    """Every event of a stream has the call's request id, the block's place and kind, and pieces are numbered."""
    item = {"thinking": "hm", "text": "hello", "tool_calls": [{"name": "dice", "arguments": {"a": 1}}], "delay_s": 2}
    usage = {"input_tokens": 3, "output_tokens": 6, "total_tokens": 9}
    thinking = {"request_id": "id-1", "block_index": 0, "block_type": "thinking"}
    text = {"request_id": "id-1", "block_index": 1, "block_type": "text"}
    call = {"request_id": "id-1", "block_index": 2, "block_type": "tool_use"}
    assert await told(item, chunk_chars=4) == [
        (LLM_REQUEST, {**CALL, "message_count": 2, "has_system": True}),
        (LLM_STREAM_BLOCK_START, thinking),
        (LLM_STREAM_BLOCK_DELTA, {**thinking, "sequence": 0, "text": "hm"}),
        (LLM_STREAM_BLOCK_END, thinking),
        (LLM_STREAM_BLOCK_START, text),
        (LLM_STREAM_BLOCK_DELTA, {**text, "sequence": 0, "text": "hell"}),
        (LLM_STREAM_BLOCK_DELTA, {**text, "sequence": 1, "text": "o"}),
        (LLM_STREAM_BLOCK_END, text),
        (LLM_STREAM_BLOCK_START, {**call, "name": "dice"}),
        (LLM_STREAM_BLOCK_DELTA, {**call, "sequence": 0, "text": '{"a"'}),
        (LLM_STREAM_BLOCK_DELTA, {**call, "sequence": 1, "text": ": 1}"}),
        (LLM_STREAM_BLOCK_END, call),
        (LLM_RESPONSE, {"request_id": "id-1", **CALL, "duration_ms": 2000.0, "status": "ok", "usage": usage}),
    ]
    assert current_request_id() is None


@pytest.mark.parametrize(
    ("chunks", "pieces"),
    [(["a", "", "bc"], ["a", "", "bc"]), (2, ["ab", "c"]), (9, ["abc"])],
)
async def test_the_script_decides_how_a_text_comes(chunks: Any, pieces: list[str]) -> None:
    """In pieces of its own, or in pieces of a length; the text is the same."""
    item = {"chunks": chunks} if isinstance(chunks, list) else {"text": "abc", "chunks": chunks}
    assert streamed(await told(item)) == [("start", 0), *(("delta", 0, piece) for piece in pieces), ("end", 0)]


async def test_a_piece_may_have_a_template() -> None:
    """Pieces are filled one by one, and make up the text of the response."""
    provider = MockProvider([{"chunks": ["You said ", "{{prompt}}", "."]}], hooks=(recorder := EventRecorder()))
    response = await provider.complete(REQUEST)
    assert response.content == [TextBlock(text="You said hello.")]
    assert [text for _, _, text in streamed(recorder.events)[1:-1]] == ["You said ", "hello", "."]


async def test_blocks_without_text_begin_and_end() -> None:
    """An answer of any blocks can be streamed; raw arguments come as the model wrote them."""
    blocks = [{"type": "redacted_thinking", "data": "…"}, {"type": "text", "text": "a"}]
    assert streamed(await told({"blocks": blocks})) == [
        ("start", 0),
        ("end", 0),
        ("start", 1),
        ("delta", 1, "a"),
        ("end", 1),
    ]
    broken = await told({"tool_calls": [{"name": "dice", "arguments": '{"a'}]})
    assert streamed(broken) == [("start", 0), ("delta", 0, '{"a'), ("end", 0)]


async def test_a_ready_response_streams_as_well() -> None:
    """A response object of a Python script is told like every other answer."""
    events = await told(ChatResponse(content=[TextBlock(text="ready")]))
    assert streamed(events) == [("start", 0), ("delta", 0, "ready"), ("end", 0)]
    assert events[-1][1]["usage"] is None


@pytest.mark.parametrize("item", ["hello", ChatResponse(content=[TextBlock(text="hello")])])
async def test_streaming_can_be_switched_off(item: Any) -> None:
    """By the config for all calls, by the request's metadata for one."""
    quiet = REQUEST.model_copy(update={"metadata": {"stream": False}})
    expected = [LLM_REQUEST, LLM_RESPONSE]
    assert [event for event, _ in await told(item, stream=False)] == expected
    assert [event for event, _ in await told(item, quiet)] == expected
    assert len(await told(item, REQUEST.model_copy(update={"metadata": {"stream": True}}))) > 2


@pytest.mark.parametrize(
    ("item", "pieces", "came", "total"),
    [
        (
            {"text": "abcd", "chunks": 1, "break_after": 2},
            [("start", 0), ("delta", 0, "a"), ("delta", 0, "b")],
            "ab",
            4,
        ),
        ({"thinking": "a", "text": "b", "break_after": 1}, [("start", 0), ("delta", 0, "a")], "a", 2),
        (
            {"thinking": "a", "text": "bc", "chunks": 1, "break_after": 2},
            [("start", 0), ("delta", 0, "a"), ("end", 0), ("start", 1), ("delta", 1, "b")],
            "ab",
            3,
        ),
        ({"text": "a", "break_after": 9}, [("start", 0), ("delta", 0, "a")], "a", 1),
    ],
)
async def test_a_stream_may_break_off(item: dict[str, Any], pieces: list[Any], came: str, total: int) -> None:
    """After so many pieces, without the end of the block; the error tells what came, and the hooks that it ended."""
    events = await told(item)
    message = f"The stream broke off after {len(came)} of {total} pieces; what came: {came!r}"
    assert streamed(events) == pieces
    assert events[-2:] == [
        (LLM_STREAM_ABORTED, {"request_id": "id-1", "error": f"StreamError: {message}"}),
        (
            LLM_RESPONSE,
            {
                "request_id": "id-1",
                **CALL,
                "duration_ms": 0.0,
                "status": "error",
                "error": {"type": "StreamError", "msg": message},
            },
        ),
    ]


async def test_a_stream_may_break_off_with_another_error() -> None:
    """With an error of its own, and, without a number, after all that the answer has to say."""
    events = await told({"text": "abc", "error": {"type": "LLMTimeoutError", "message": "late"}})
    assert [event for event, _ in events] == [
        LLM_REQUEST,
        LLM_STREAM_BLOCK_START,
        LLM_STREAM_BLOCK_DELTA,
        LLM_STREAM_ABORTED,
        LLM_RESPONSE,
    ]
    assert (events[-2][1]["error"], events[-1][1]["status"]) == ("LLMTimeoutError: late", "timeout")


@pytest.mark.parametrize("item", [{"text": "abc", "break_after": 0}, {"error": {"type": "TimeoutError"}}])
async def test_nothing_is_aborted_that_has_not_begun(item: dict[str, Any]) -> None:
    """An error before the first piece is a failed call and no broken stream."""
    assert [event for event, _ in await told(item)] == [LLM_REQUEST, LLM_RESPONSE]


async def test_a_cancellation_in_a_stream_is_told() -> None:
    """Whoever showed the pieces hears that no more will come."""
    seen: list[str] = []
    coordinator = TestCoordinator()
    await mount(coordinator, {"script": ["hello"]})

    async def watch(event: str, data: dict[str, Any]) -> None:
        seen.append(event)
        if event == LLM_STREAM_BLOCK_DELTA:
            task.cancel()
            await asyncio.sleep(0)

    for event in EVENTS:
        coordinator.hooks.register(event, watch)
    task = asyncio.create_task(coordinator.get("providers", "mock").complete(REQUEST))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == [
        LLM_REQUEST,
        LLM_STREAM_BLOCK_START,
        LLM_STREAM_BLOCK_DELTA,
        LLM_STREAM_ABORTED,
        LLM_RESPONSE,
    ]


async def test_without_hooks_nothing_is_told_and_everything_works() -> None:
    """A provider outside a session answers and breaks off like any other."""
    provider = MockProvider(["a", {"text": "b", "break_after": 1}])
    assert (await provider.complete(REQUEST)).content == [TextBlock(text="a")]
    with pytest.raises(StreamError, match="The stream broke off after 1 of 1 pieces; what came: 'b'"):
        await provider.complete(REQUEST)


@pytest.mark.parametrize("key", ["raw", "raw_debug"])
async def test_raw_events_carry_request_and_response(key: str) -> None:
    """On demand, as JSON data, also with arguments that are none."""
    settings: dict[str, Any] = {"stream": False, key: True}
    (_, request), (_, response) = await told({"tool_calls": [{"name": "dice", "arguments": "{"}]}, **settings)
    assert [message["content"] for message in request["raw"]["messages"]] == ["be brief", "hello"]
    assert response["raw"]["tool_calls"][0]["arguments"] == "{"


async def test_the_clock_of_the_session_is_used_where_one_can_wait_on_it() -> None:
    """A session with a clock of its own plays delays in no time."""
    clock = FakeClock()
    coordinator = TestCoordinator(clock=clock)
    before = clock()
    await mount(coordinator, {"script": [{"text": "a", "delay_s": 60}]})
    await coordinator.get("providers", "mock").complete(REQUEST)
    assert (clock() - before).total_seconds() == 60
