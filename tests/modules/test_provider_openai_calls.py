"""Calls of the provider over a real socket: whole and streamed, cut and gone on with, chained, in the background."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest
from tests.modkit.responses_world import MODEL, answer, answered, asked, called, cut, refused, said, stream_of, thought
from tests.modules.llm_server import Answer, json_answer, serving, sse_answer
from tests.modules.openai_world import KEY, refusal, streamed, text_in, whole, world

from amplifier_core.llm_errors import (
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    LLMError,
    LLMTimeoutError,
    NotFoundError,
    ProviderUnavailableError,
    QuotaExceededError,
    RateLimitError,
    StreamError,
)
from amplifier_core.message_models import ChatRequest, Message, TextBlock, ToolSpec
from amplifier_modkit.llm_responses.chain import ResponseChain
from amplifier_modkit.llm_responses.config import ResponsesConfig
from amplifier_modkit.llm_responses.events import (
    PROVIDER_BACKGROUND_STATUS,
    PROVIDER_INCOMPLETE_CONTINUATION,
    PROVIDER_RESPONSE_CHAIN_INVALIDATED,
)
from amplifier_modkit.llm_responses.provider import ResponsesProvider
from amplifier_modkit.llm_responses.wire import ResponsesWire, ServiceForm
from amplifier_module_provider_openai.service import OPENAI


async def test_an_answer_is_told_while_it_comes_and_returned_whole() -> None:
    """Deltas are events; the response has content, usage, cost, and what the service calls it."""
    async with world(streamed(answer(thought("hm"), said("hello"), called()))) as here:
        response = await here.provider.complete(asked("hi"))
    assert [block.type for block in response.content] == ["thinking", "text", "tool_call"]
    assert response.usage is not None
    assert response.usage.cost_usd == Decimal("0.000329")
    deltas = [(data["block_index"], data["text"]) for data in here.told("llm:stream_block_delta")]
    assert deltas[:3] == [(0, "hm"), (1, "hel"), (1, "lo")]
    assert here.told("llm:response")[0]["usage"]["cache_read_tokens"] == 40
    assert len({data["request_id"] for _, data in here.seen.events}) == 1
    (request,) = here.service.requests
    assert (request.method, request.path, request.headers["authorization"]) == ("POST", "/responses", f"Bearer {KEY}")
    assert (request.body["stream"], request.body["store"]) == (True, False)
    assert here.provider.cost() == {"cost_usd": "0.000329"}


async def test_a_request_can_do_without_a_stream() -> None:
    """Nothing is told on the way; the answer is the same."""
    async with world(whole(answer(said("hello"))), streamed(answer(said("hello")))) as here:
        quiet = await here.provider.complete(asked("hi", metadata={"stream": False}))
        loud = await here.provider.complete(asked("hi"))
    assert quiet == loud
    assert [body["stream"] for body in here.service.bodies] == [False, True]


async def test_reasoning_goes_back_as_it_came_over_a_whole_turn() -> None:
    """The second request has the items of the first answer, to the letter, and the result of the call."""
    async with world(streamed(answer(thought(), called())), streamed(answer(said("Rain.")))) as here:
        tools = [ToolSpec(name="weather", parameters={})]
        first = await here.provider.complete(asked("hi", tools=tools))
        result = Message(role="tool", tool_call_id="call_fc_1", content="rain")
        await here.provider.complete(asked("hi", answered(first), result, tools=tools))
    assert here.service.bodies[1]["input"] == [
        {"role": "user", "content": "hi"},
        thought(),
        called(),
        {"type": "function_call_output", "call_id": "call_fc_1", "output": "rain"},
    ]


async def test_a_refusal_is_visible() -> None:
    """Its words are the answer, and the finish reason says what they are."""
    async with world(streamed(answer(refused("I cannot help.")))) as here:
        response = await here.provider.complete(asked("hi"))
    assert (text_in(response), response.finish_reason) == ("I cannot help.", "content_filter")


async def test_a_cut_answer_is_gone_on_with() -> None:
    """What came is sent back with the request; both parts are one answer, at places of their own, and paid for."""
    parts = (streamed(cut(said("Once "))), streamed(answer(said("upon", "msg_2"), response_id="resp_2")))
    async with world(*parts, max_tokens=16) as here:
        response = await here.provider.complete(asked("tell"))
    assert (text_in(response), response.finish_reason) == ("Once upon", "stop")
    assert response.usage is not None
    assert (response.usage.output_tokens, response.usage.cost_usd) == (40, Decimal("0.000658"))
    assert here.provider.cost() == {"cost_usd": "0.000658"}
    (told,) = here.told(PROVIDER_INCOMPLETE_CONTINUATION)
    facts = {"provider": "openai", "model": MODEL, "continuation": 1, "max_continuations": 5}
    assert told.items() >= {**facts, "reason": "max_output_tokens"}.items()
    assert [data["block_index"] for data in here.told("llm:stream_block_start")] == [0, 1]
    assert here.service.bodies[1]["input"] == [{"role": "user", "content": "tell"}, said("Once ")]


async def test_a_provider_needs_neither_hooks_nor_ids_of_answers() -> None:
    """One that is made by hand tells nobody, and a service that names no answers has none to go on from."""
    nameless = whole({**cut(said("Once ")), "id": None})
    async with serving(nameless, whole(answer(said("upon", "m2")))) as service:
        settings = ResponsesConfig(base_url=service.url, use_streaming=False)
        wire = ResponsesWire(ServiceForm(origin="openai", catalogue=OPENAI.catalogue), ResponseChain())
        provider = ResponsesProvider(wire, settings, OPENAI, key=KEY)
        assert text_in(await provider.complete(asked("tell"))) == "Once upon"
        await provider.close()
    assert "previous_response_id" not in service.bodies[1]


async def test_a_cut_answer_is_gone_on_with_five_times_at_most() -> None:
    """Then it is returned as it is, and says that it was cut."""
    async with world(*[whole(cut(said("a", f"m{number}"))) for number in range(9)], use_streaming=False) as here:
        response = await here.provider.complete(asked("tell"))
    assert (text_in(response), response.finish_reason) == ("aaaaaa", "length")
    assert len(here.service.requests) == 6


async def test_a_limit_of_the_caller_is_kept() -> None:
    """Nobody gets more than they asked for."""
    async with world(whole(cut(said("a")))) as here:
        response = await here.provider.complete(asked("tell", max_output_tokens=5))
    assert (text_in(response), response.finish_reason, len(here.service.requests)) == ("a", "length", 1)


async def test_what_came_is_returned_where_going_on_fails() -> None:
    """The beginning is paid for: it comes back with a degradation that tells why it is not the whole."""
    broken = streamed(answer(said("upon", "m2"), called())).first(8)
    async with world(streamed(cut(said("Once "))), broken, max_retries=0) as here:
        response = await here.provider.complete(asked("tell", stop=["x"]))
    assert (text_in(response), response.finish_reason, response.tool_calls) == ("Once upon", "length", None)
    assert response.degradation is not None
    assert response.degradation.requested == "stop sequences; the whole answer"
    assert "going on failed: openai: the stream broke off" in response.degradation.reason
    async with world(whole(cut(said("Once "))), refusal(400, "x", "no"), use_streaming=False) as here:
        response = await here.provider.complete(asked("tell"))
    assert (text_in(response), response.finish_reason) == ("Once ", "length")


async def test_chained_requests_send_only_what_is_left() -> None:
    """The service has the rest; a history that was changed meanwhile is sent whole."""
    answers = [whole(answer(said(f"a{number}", f"m{number}"), response_id=f"resp_{number}")) for number in range(4)]
    async with world(*answers, enable_state=True, use_streaming=False) as here:
        history: list[Message] = [Message(role="system", content="Be brief.")]
        for number in range(3):
            history.append(Message(role="user", content=f"q{number}"))
            history.append(answered(await here.provider.complete(ChatRequest(messages=history))))
        compacted = [history[0], *history[3:], Message(role="user", content="q3")]
        await here.provider.complete(ChatRequest(messages=compacted))
    bodies = here.service.bodies
    assert [body.get("previous_response_id") for body in bodies] == [None, "resp_0", "resp_1", None]
    assert [len(body["input"]) for body in bodies] == [1, 1, 1, 5]
    assert all(body["store"] and body["instructions"] == "Be brief." for body in bodies)


async def test_a_chain_that_the_service_lost_is_sent_whole_once() -> None:
    """It is told, and costs no retry."""
    lost = refusal(400, "previous_response_not_found", "Previous response with id 'resp_1' not found.")
    answers = (whole(answer(said("a"))), lost, whole(answer(said("b"), response_id="resp_2")))
    async with world(*answers, enable_response_chaining=True, use_streaming=False) as here:
        first = await here.provider.complete(asked("q"))
        second = await here.provider.complete(asked("q", answered(first), "and?"))
    assert text_in(second) == "b"
    assert [len(body["input"]) for body in here.service.bodies] == [1, 1, 3]
    (told,) = here.told(PROVIDER_RESPONSE_CHAIN_INVALIDATED)
    assert (told["provider"], told["previous_response_id"]) == ("openai", "resp_1")
    assert "provider:retry" not in here.events


async def test_a_refusal_that_only_speaks_of_chains_is_an_error() -> None:
    """Without a chain there is nothing to leave out."""
    async with world(refusal(400, "x", "previous_response_id is odd")) as here:
        with pytest.raises(InvalidRequestError):
            await here.provider.complete(asked("q"))
    assert len(here.service.requests) == 1


async def test_reasoning_that_the_service_cannot_read_is_left_out_once() -> None:
    """The answer comes without it, and says so; with nothing to leave out the refusal is an error."""
    no = refusal(400, "invalid_encrypted_content", "The encrypted content could not be verified.")
    async with world(no, streamed(answer(said("b"))), no) as here:
        mine = answered(here.provider.wire.read_answer(answer(thought(), said("a"))))
        response = await here.provider.complete(asked("q", mine, "and?"))
        with pytest.raises(InvalidRequestError):
            await here.provider.complete(asked("q"))
    assert [item.get("type", "user") for item in here.service.bodies[1]["input"]] == ["user", "message", "user"]
    assert response.degradation is not None
    assert response.degradation.requested == "the reasoning of earlier answers"


async def test_deep_research_runs_in_the_background_and_is_fetched_when_it_is_done() -> None:
    """Its status is told meanwhile; wishes that it does not know are told as ever."""
    queued, running = answer(status="queued"), answer(status="in_progress")
    answers = (whole(queued), whole(running), whole(answer(said("Found."))))
    async with world(*answers, poll_interval=0.001) as here:
        response = await here.provider.complete(asked("find", model="o3-deep-research", temperature=1.0))
    assert text_in(response) == "Found."
    assert response.degradation is not None
    assert response.degradation.requested == "temperature 1.0"
    assert [(seen.method, seen.path) for seen in here.service.requests] == [
        ("POST", "/responses"),
        ("GET", "/responses/resp_1"),
        ("GET", "/responses/resp_1"),
    ]
    told = here.told(PROVIDER_BACKGROUND_STATUS)
    assert [(data["status"], data["response_id"]) for data in told] == [
        ("in_progress", "resp_1"),
        ("completed", "resp_1"),
    ]


async def test_work_in_the_background_that_is_done_at_once_needs_no_waiting() -> None:
    """The first answer is the answer."""
    async with world(whole(answer(said("Found.")))) as here:
        response = await here.provider.complete(asked("find", metadata={"background": True}))
    assert (text_in(response), len(here.service.requests)) == ("Found.", 1)


FAULTS: list[tuple[Answer, type[LLMError], bool]] = [
    (refusal(401, "invalid_api_key", f"Incorrect API key provided: {KEY}"), AuthenticationError, False),
    (refusal(404, "model_not_found", "The model does not exist"), NotFoundError, False),
    (refusal(400, "context_length_exceeded", "Your input exceeds the context window"), ContextLengthError, False),
    (refusal(400, "content_filter", "The response was filtered"), ContentFilterError, False),
    (refusal(429, "rate_limit_exceeded", "Rate limit reached"), RateLimitError, True),
    (refusal(429, "insufficient_quota", "You exceeded your current quota"), QuotaExceededError, False),
    (refusal(500, "server_error", "oops"), ProviderUnavailableError, True),
    (json_answer(b"<html>bad gateway</html>", 502), ProviderUnavailableError, True),
    (
        sse_answer([("error", {"type": "error", "code": "server_error", "message": "oops"})]),
        ProviderUnavailableError,
        True,
    ),
    (whole(answer(status="failed", error={"code": "invalid_prompt", "message": "no"})), ContentFilterError, False),
    (whole({"odd": True}), ProviderUnavailableError, True),
    (streamed(answer(said("hello"))).first(4), StreamError, True),
    (sse_answer([(None, "{not json")]), StreamError, True),
]


@pytest.mark.parametrize(("fault", "error_class", "is_retried"), FAULTS)
async def test_faults_are_errors_of_the_kernel(fault: Answer, error_class: type[LLMError], is_retried: bool) -> None:
    """Those that may pass are tried again, the others are not; no key is shown in any."""
    async with world(fault, fault, max_retries=1) as here:
        with pytest.raises(error_class) as caught:
            await here.provider.complete(asked("hi"))
    assert len(here.service.requests) == (2 if is_retried else 1)
    assert KEY not in str(caught.value)
    assert KEY not in str(here.seen.events)
    assert here.events[-1] == "llm:response"


async def test_a_broken_stream_has_what_came() -> None:
    """The error carries the beginning of the answer."""
    async with world(streamed(answer(said("hello"))).first(4), max_retries=0) as here:
        with pytest.raises(StreamError) as caught:
            await here.provider.complete(asked("hi"))
    partial: Any = caught.value
    assert [block.text for block in partial.partial.content if isinstance(block, TextBlock)] == ["hel"]
    assert "llm:stream_aborted" in here.events


@pytest.mark.parametrize("size", [5, 7])
async def test_a_stream_may_be_cut_anywhere(size: int) -> None:
    """Pieces of a few bytes, in the middle of characters, make the same answer."""
    body = answer(thought("für"), said("日本語 ✓"), called('{"ü":"日"}'))
    async with world(streamed(body).cut(size)) as here:
        assert await here.provider.complete(asked("hi")) == _priced(here.provider, body)


def _priced(provider: Any, body: dict[str, Any]) -> Any:
    response = provider.wire.read_answer(body)
    response.usage.cost_usd = provider.vendor.catalogue.cost_of(response.usage, MODEL)
    return response


async def test_silence_is_a_time_out_and_cancelling_hangs_up() -> None:
    """Before the first byte and in the middle; a cancelled call closes its connection at once."""
    stalled = streamed(answer(said("hello"))).first(4, "stall")
    async with world(Answer(silent=True), stalled, stalled, timeout=0.05, max_retries=0) as here:
        with pytest.raises(LLMTimeoutError):
            await here.provider.complete(asked("hi"))
        with pytest.raises(StreamError):
            await here.provider.complete(asked("hi"))
    async with world(stalled) as here:
        task = asyncio.create_task(here.provider.complete(asked("hi")))
        await here.first_delta.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(here.service.left.wait(), 5)


async def test_an_empty_answer_is_an_answer() -> None:
    """No blocks, and the usage that it took."""
    async with world(streamed(answer())) as here:
        response = await here.provider.complete(asked("hi"))
    assert (response.content, response.finish_reason) == ([], "stop")


async def test_a_history_with_gaps_is_repaired_on_the_way() -> None:
    """A call without a result gets one; reasoning of others is left out."""
    async with world(streamed(answer(said("ok")))) as here:
        mine = answered(here.provider.wire.read_answer(answer(thought(), called())))
        foreign = {"type": "thinking", "thinking": "hm", "signature": "s", "vendor": "elsewhere"}
        other = Message.model_validate({"role": "assistant", "content": [foreign, {"type": "text", "text": "x"}]})
        await here.provider.complete(asked("q", mine, other, "and?"))
    items = here.service.bodies[0]["input"]
    assert [item.get("type") or item["role"] for item in items] == [
        "user",
        "reasoning",
        "function_call",
        "function_call_output",
        "assistant",
        "user",
    ]


async def test_a_huge_answer_comes_through() -> None:
    """A megabyte of text in large pieces is put together in time that does not explode."""
    text = "x" * 1_000_000
    frames = [(event["type"], event) for event in stream_of(answer(said(text)), size=50_000)]
    async with world(sse_answer(frames)) as here:
        assert text_in(await here.provider.complete(asked("hi"))) == text
