"""What providers of the Responses API remember between calls, and how cut answers become whole ones."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest
from tests.modkit.responses_world import MODEL, ORIGIN, answer, answered, asked, called, cut, said, thought, wire

from amplifier_core.llm_errors import ContentFilterError, LLMTimeoutError, NetworkError
from amplifier_core.message_models import ChatRequest, Message, ResponseFormatJson, ResponseFormatText
from amplifier_core.utils.retry import RetryConfig
from amplifier_modkit.llm.errors import Refusal
from amplifier_modkit.llm_responses.background import Patience, wait_for_answer
from amplifier_modkit.llm_responses.chain import Link, ResponseChain
from amplifier_modkit.llm_responses.continuing import joined, next_request
from amplifier_modkit.llm_responses.known_models import MODELS
from amplifier_modkit.llm_responses.refusals import LostChainError, LostReasoningError, judge
from amplifier_modkit.llm_responses.wire import ResponsesWire, ServiceForm

PATIENCE = Patience(poll_interval=2, timeout=6, retries=RetryConfig(0))


def items(*texts: str) -> list[dict[str, Any]]:
    """Items that say those texts."""
    return [{"role": "user", "content": text} for text in texts]


def test_a_chain_goes_on_from_the_latest_answer_that_ends_the_same_conversation() -> None:
    """Only what comes after it is sent; a conversation that ends with it is sent whole."""
    chain = ResponseChain()
    assert chain.find(items("a")) == Link(None, items("a"))
    chain.remember(items("a", "b"), "resp_1")
    chain.remember(items("a", "b", "c", "d"), "resp_2")
    assert chain.find(items("a", "b", "c")) == Link("resp_1", items("c"))
    assert chain.find(items("a", "b", "c", "d", "e")) == Link("resp_2", items("e"))
    assert chain.find(items("a", "b")) == Link(None, items("a", "b"))


def test_a_conversation_that_was_changed_is_sent_whole() -> None:
    """A shortened or rewritten beginning is not what the service has."""
    chain = ResponseChain()
    chain.remember(items("a", "b"), "resp_1")
    for changed in (items("b", "c"), items("A", "b", "c"), items("a", "b2", "c")):
        assert chain.find(changed) == Link(None, changed)
    chain.clear()
    assert chain.find(items("a", "b", "c")).response_id is None


def test_a_chain_forgets_the_oldest_answers() -> None:
    """It does not grow for ever."""
    chain = ResponseChain(most_answers=1)
    chain.remember(items("a"), "resp_1")
    chain.remember(items("b"), "resp_2")
    assert (chain.find(items("a", "x")).response_id, chain.find(items("b", "x")).response_id) == (None, "resp_2")


def test_an_answer_is_found_again_in_the_history_that_a_loop_stores() -> None:
    """With a chain, the next request has what came after the answer, and nothing twice."""
    chained = ResponsesWire(ServiceForm(origin=ORIGIN, catalogue=MODELS, stores=True), ResponseChain())
    response = chained.read_answer(answer(thought(), called()))
    chained.remember(asked("hi"), response, "resp_1")
    result = Message(role="tool", tool_call_id="call_fc_1", content="rain")
    body = chained.to_call(asked("hi", answered(response), result), MODEL, stream=False).body
    assert (body["previous_response_id"], body["store"]) == ("resp_1", True)
    assert body["input"] == [{"type": "function_call_output", "call_id": "call_fc_1", "output": "rain"}]
    chained.forget_answers()
    assert (
        "previous_response_id" not in chained.to_call(asked("hi", answered(response), result), MODEL, stream=False).body
    )


def test_without_a_chain_there_is_nothing_to_remember_and_to_forget() -> None:
    """Every request is sent whole."""
    alone = wire()
    response = alone.read_answer(answer(said("a")))
    alone.remember(asked("hi"), response, "resp_1")
    alone.forget_answers()
    assert len(alone.to_call(asked("hi", answered(response), "and?"), MODEL, stream=False).body["input"]) == 3


@pytest.mark.parametrize(
    ("request_", "body"),
    [
        (asked(), answer(said("a"))),
        (asked(), cut(said("a"), reason="content_filter")),
        (asked(max_output_tokens=5), cut(said("a"))),
        (asked(response_format=ResponseFormatJson()), cut(said("{"))),
        (asked(), cut(said("a"), called())),
        (asked(), cut(called("{", status="incomplete"))),
    ],
    ids=["whole", "filtered", "the caller's limit", "json", "with a call", "nothing but a call that was cut"],
)
def test_answers_that_are_whole_or_must_stay_cut_are_not_gone_on_with(request_: ChatRequest, body: Any) -> None:
    """There is no further request."""
    assert next_request(request_, wire().read_answer(body)) is None


def test_a_cut_answer_is_gone_on_with_behind_what_was_said() -> None:
    """A call that was cut short is made again instead."""
    response = wire().read_answer(cut(thought(), said("Once upon"), called('{"a', status="incomplete")))
    following = next_request(asked("tell", response_format=ResponseFormatText()), response)
    assert following is not None
    assert [item.get("type", "user") for item in wire().to_call(following, MODEL, stream=False).body["input"]] == [
        "user",
        "reasoning",
        "message",
    ]


def test_both_parts_of_an_answer_become_one() -> None:
    """Blocks in order, tokens and money added up, and the end of the second."""
    first = wire().read_answer(cut(said("Once "), called('{"a', status="incomplete")))
    second = wire().read_answer(answer(said("upon"), called(), response_id="resp_2"))
    assert first.usage is not None
    assert second.usage is not None
    first.usage.cost_usd, second.usage.cost_usd = Decimal("0.1"), Decimal("0.2")
    whole = joined(first, second)
    assert [block.type for block in whole.content] == ["text", "text", "tool_call"]
    assert whole.usage is not None
    assert (whole.usage.input_tokens, whole.usage.reasoning_tokens, whole.usage.cost_usd) == (200, 10, Decimal("0.3"))
    assert (whole.finish_reason, (whole.metadata or {})["response_id"]) == ("tool_calls", "resp_2")
    assert [call.id for call in whole.tool_calls or ()] == ["call_fc_1"]
    assert joined(first.model_copy(update={"usage": None}), second).usage == second.usage


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        (Refusal(400, "previous_response_not_found", "Previous response with id 'resp_1' not found."), LostChainError),
        (Refusal(400, "invalid_request_error", "Invalid `previous_response_id`."), LostChainError),
        (Refusal(400, "invalid_encrypted_content", "could not be verified"), LostReasoningError),
        (
            Refusal(400, None, "Item 'rs_1' of type 'reasoning' was provided without its required following item."),
            LostReasoningError,
        ),
        (Refusal(404, None, "Item with id 'rs_1' not found. Items are not persisted when"), LostReasoningError),
        (Refusal(400, "content_filter", "filtered"), ContentFilterError),
        (Refusal(None, "bio_policy", "no"), ContentFilterError),
        (Refusal(400, "invalid_value", "temperature"), None),
        (Refusal(500, "server_error", "previous_response_id"), None),
    ],
    ids=lambda value: value.code or value.message[:20] if isinstance(value, Refusal) else "",
)
def test_refusals_of_this_api_are_told_apart(refusal: Refusal, expected: Any) -> None:
    """What one gets past without the service's memory, what its filters refuse, and the rest."""
    assert judge(refusal) is expected


class Service:
    """Work in the background that shows the given statuses, or fails with errors among them."""

    def __init__(self, *statuses: Any, cancel_error: Exception | None = None) -> None:
        self.statuses = list(statuses)
        self.cancel_error = cancel_error
        self.asked: list[tuple[str, str]] = []
        self.told: list[tuple[Any, float]] = []

    async def ask(self, method: str, path: str) -> dict[str, Any]:
        self.asked.append((method, path))
        if method == "POST" and self.cancel_error is not None:
            raise self.cancel_error
        status = self.statuses.pop(0) if method == "GET" else "cancelled"
        if isinstance(status, BaseException):
            raise status
        return {"status": status}

    async def tell(self, status: Any, waited: float) -> None:
        self.told.append((status, waited))

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)

    async def wait(self, patience: Patience = PATIENCE) -> Any:
        return await wait_for_answer("resp_1", self.ask, self.tell, patience, self.sleep)


async def test_work_in_the_background_is_asked_for_until_it_is_done() -> None:
    """Each status is told with the seconds that passed."""
    service = Service("queued", "in_progress", "completed")
    assert await service.wait() == {"status": "completed"}
    assert service.told == [("queued", 2.0), ("in_progress", 4.0), ("completed", 6.0)]


async def test_asking_is_tried_again_where_that_may_help() -> None:
    """A line that fails for a moment does not lose the work."""
    service = Service(NetworkError("gone"), "completed")
    patience = Patience(poll_interval=2, timeout=6, retries=RetryConfig(1, 0.0, 0.0, jitter=False))
    assert await service.wait(patience) == {"status": "completed"}


async def test_work_that_takes_too_long_is_given_up_on_both_sides(caplog: pytest.LogCaptureFixture) -> None:
    """The error names the setting; the service is told to stop, and if that fails, the log says so."""
    service = Service(*["queued"] * 3, cancel_error=NetworkError("gone"))
    with pytest.raises(
        LLMTimeoutError, match="resp_1 was not ready after 6 s; 'background_timeout' is the limit"
    ) as caught:
        await service.wait()
    assert not caught.value.retryable
    assert service.asked[-1] == ("POST", "resp_1/cancel")
    assert "could not be cancelled: gone" in caplog.text


async def test_a_cancelled_wait_cancels_the_work() -> None:
    """The service does not go on for nobody."""
    service = Service(*["queued"] * 3)
    service.statuses[1] = asyncio.CancelledError()
    with pytest.raises(asyncio.CancelledError):
        await service.wait()
    assert service.asked[-1] == ("POST", "resp_1/cancel")


async def test_a_service_that_does_not_take_the_cancellation_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    """It is told in the log."""
    service = Service(*["queued"] * 3, cancel_error=TimeoutError())
    with pytest.raises(LLMTimeoutError):
        await service.wait()
    assert "could not be cancelled in time" in caplog.text
