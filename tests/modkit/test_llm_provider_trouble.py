"""A provider over HTTP in trouble: limits, refusals, broken streams, and what is too much."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.modkit.llm_world import Hours, Told, answer, make_toy, question, stream, text_of
from tests.modules.llm_server import Answer, json_answer, serving, sse_answer

from amplifier_core.events import (
    LLM_REQUEST,
    LLM_RESPONSE,
    PROVIDER_THROTTLE,
)
from amplifier_core.llm_errors import (
    ContextLengthError,
    InvalidRequestError,
    LLMTimeoutError,
    ProviderUnavailableError,
    RateLimitError,
)
from amplifier_core.message_models import (
    ChatRequest,
    ChatResponse,
)
from amplifier_modkit.events import (
    LLM_STREAM_ABORTED,
    LLM_STREAM_BLOCK_END,
)
from amplifier_modkit.llm import http
from amplifier_modkit.llm.errors import BrokenStreamError
from amplifier_modkit.llm.limits import RateLimit


async def test_a_request_that_is_too_long_is_not_sent_again() -> None:
    """Nothing would change; the loop can shorten it."""
    async with serving(json_answer({"error": {"message": "prompt is too long"}}, 400)) as server:
        provider = make_toy(server.url, max_retries=5)
        with pytest.raises(ContextLengthError):
            await provider.complete(question())
        await provider.close()
        assert len(server.requests) == 1


async def test_a_longer_wait_than_the_plan_allows_is_not_waited_for() -> None:
    """The error comes out at once, as one that may pass, with the time that the service asks for."""
    refusal = json_answer({"error": {"message": "slow down"}}, 429, {"retry-after": "900"})
    async with serving(refusal) as server:
        provider = make_toy(server.url, max_retries=5, max_retry_delay=60)
        with pytest.raises(RateLimitError) as raised:
            await provider.complete(question())
        await provider.close()
        assert (raised.value.retry_after, raised.value.retryable, raised.value.attempts) == (900.0, True, 1)
        assert len(server.requests) == 1


async def test_a_service_that_asks_to_wait_is_heard_by_other_instances() -> None:
    """The next call with the same key waits, tells why, and is then sent."""
    refusal = json_answer({"error": {"message": "slow down"}}, 429, {"retry-after": "30"})
    async with serving(refusal, answer()) as server:
        hours, told = Hours(), Told()
        first = make_toy(server.url, timing=hours.timing, max_retries=0)
        second = make_toy(server.url, told.hooks, timing=hours.timing)
        with pytest.raises(RateLimitError):
            await first.complete(question())
        await second.complete(question())
        await asyncio.gather(first.close(), second.close())
    assert hours.waits == [30.0]
    (throttled,) = told.of(PROVIDER_THROTTLE)
    assert (throttled["delay"], throttled["reason"]) == (30.0, "the service asked to wait")


async def test_a_limit_is_respected_before_it_bites() -> None:
    """When an answer tells that little is left, the next call waits until there is more."""
    headers = {
        "x-ratelimit-limit-requests": "100",
        "x-ratelimit-remaining-requests": "1",
        "x-ratelimit-reset-requests": "12s",
    }
    async with serving(answer(headers=headers), answer()) as server:
        hours, told = Hours(), Told()
        provider = make_toy(server.url, told.hooks, timing=hours.timing)
        await provider.complete(question())
        await provider.complete(question())
        await provider.close()
    assert hours.waits == [12.0]
    limits = {"requests": RateLimit("requests", 100, 1, 12.0)._asdict()}
    assert told.of(LLM_RESPONSE)[0]["rate_limits"] == limits
    assert told.names == [LLM_REQUEST, LLM_RESPONSE, LLM_REQUEST, PROVIDER_THROTTLE, LLM_RESPONSE]


async def test_so_many_calls_run_at_once() -> None:
    """A third call is sent only when one of two is through."""
    stalled = Answer(silent=True)
    async with serving(stalled, stalled, answer()) as server:
        providers = [make_toy(server.url, max_concurrent_requests=2) for _ in range(3)]
        calls = [asyncio.ensure_future(provider.complete(question())) for provider in providers]
        await server.until_asked(2)
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(server.requests) == 2
        calls[0].cancel()
        assert text_of(await calls[2]) == "hi"
        calls[1].cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await asyncio.gather(*(provider.close() for provider in providers))


async def test_a_request_may_have_less_time() -> None:
    """Its own limit is for the whole call, attempts and waits included."""
    async with serving(Answer(silent=True)) as server:
        told = Told()
        provider = make_toy(server.url, told.hooks)
        with pytest.raises(LLMTimeoutError, match=r"no answer within 0\.03 s"):
            await provider.complete(question(timeout=0.03))
        await provider.close()
    assert told.of(LLM_RESPONSE)[0]["status"] == "timeout"


async def test_an_error_inside_an_answer_is_a_refusal() -> None:
    """Whole or streamed, what the vendor says decides."""
    bad = {"error": "senseless", "status": 400}
    async with serving(json_answer(bad), sse_answer([(None, bad)])) as server:
        for streams in (False, True):
            provider = make_toy(server.url, use_streaming=streams)
            with pytest.raises(InvalidRequestError, match="HTTP status 400: senseless"):
                await provider.complete(question())
            await provider.close()


async def test_an_error_in_the_middle_breaks_the_stream_if_it_may_pass() -> None:
    """Then what came is on the error; a refusal for good is one also after pieces."""
    busy, senseless = {"error": "busy", "status": 529}, {"error": "senseless", "status": 400}
    begun = (None, {"text": "a"})
    async with serving(sse_answer([begun, (None, busy)]), sse_answer([begun, (None, senseless)])) as server:
        told = Told()
        provider = make_toy(server.url, told.hooks, max_retries=0)
        with pytest.raises(BrokenStreamError, match="broke off: busy") as raised:
            await provider.complete(question())
        with pytest.raises(InvalidRequestError):
            await provider.complete(question())
        await provider.close()
    assert (text_of(raised.value.partial), raised.value.status_code) == ("a", 529)
    assert told.names.count(LLM_STREAM_ABORTED) == 2


async def test_a_stream_that_is_too_long_is_not_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What broke it would break it again."""
    monkeypatch.setattr(http, "MAX_ANSWER_BYTES", 60)
    async with serving(stream("a" * 10, "b" * 10, "c" * 100)) as server:
        provider = make_toy(server.url, max_retries=3)
        with pytest.raises(BrokenStreamError) as raised:
            await provider.complete(question())
        await provider.close()
        assert raised.value.retryable is False
        assert len(server.requests) == 1


async def test_without_hooks_nothing_is_told_and_everything_works() -> None:
    """A provider can be used alone."""
    async with serving(stream("a"), json_answer({"nonsense": 1})) as server:
        provider = make_toy(server.url, max_retries=0)
        assert text_of(await provider.complete(question())) == "a"
        with pytest.raises(ProviderUnavailableError, match=r"cannot be read \(KeyError"):
            await provider.complete(question())
        await provider.close()


async def test_a_further_answer_goes_on_counting_blocks() -> None:
    """What continues an answer is told behind what came before."""
    from amplifier_modkit.llm.telling import CallEvents
    from amplifier_modkit.llm.wire import Piece

    told = Told()
    events = CallEvents(told.hooks, "toy", "toy-2")
    events.go_on_after(2)
    await events.piece(Piece("end", 0, "text"))
    assert [data["block_index"] for data in told.of(LLM_STREAM_BLOCK_END)] == [2]


async def test_a_request_that_cannot_be_sent_is_the_callers_fault() -> None:
    """Data of a shape that nobody expects is an invalid request, not a crash; nothing leaves."""
    told = Told()
    provider = make_toy("http://127.0.0.1:9", told.hooks)
    strange: Any = [7]
    with pytest.raises(InvalidRequestError, match="something that cannot be sent"):
        await provider.complete(ChatRequest.model_construct(messages=strange))
    assert told.names == []


async def test_what_came_may_itself_be_unreadable() -> None:
    """Then the error has an empty answer, and is still the error of the stream."""
    async with serving(sse_answer([(None, {"call": {"name": "x"}})])) as server:
        provider = make_toy(server.url, max_retries=0)
        with pytest.raises(BrokenStreamError, match="ended before the answer did") as raised:
            await provider.complete(question())
        await provider.close()
    assert raised.value.partial == ChatResponse(content=[])
