"""Every fault that a service over HTTP can have, as a table of checks that each vendor's tests run with its own frames.

A vendor's test is::

    @pytest.mark.parametrize("fault", FAULTS, ids=str)
    async def test_a_fault_ends_as_it_should(fault: Fault) -> None:
        await fault.check_with(VENDOR)
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from typing import Any

import pytest
from tests.modules.llm_server import Answer, Frame, LlmServer, frame_bytes, json_answer, serving, sse_answer

from amplifier_core.events import LLM_REQUEST, LLM_RESPONSE, PROVIDER_RETRY
from amplifier_core.hooks import HookRegistry
from amplifier_core.llm_errors import (
    AccessDeniedError,
    AuthenticationError,
    ContextLengthError,
    LLMError,
    LLMTimeoutError,
    NetworkError,
    NotFoundError,
    ProviderUnavailableError,
    RateLimitError,
    StreamError,
)
from amplifier_core.message_models import ChatRequest, ChatResponse, Message, TextBlock
from amplifier_modkit.events import LLM_STREAM_ABORTED, LLM_STREAM_BLOCK_DELTA
from amplifier_modkit.llm.errors import BrokenStreamError
from amplifier_modkit.llm.provider import HttpProvider

KEY = "sk-test-0123456789abcdef"
TEXT = "Grüße an die Welt: 你好, 🌍!"
_EVENTS = (LLM_REQUEST, LLM_RESPONSE, PROVIDER_RETRY, LLM_STREAM_ABORTED)


@dataclass(frozen=True)
class VendorUnderTest:
    """What the table needs to know of a vendor: how it answers, well and badly, and how its provider is made."""

    make: Callable[..., HttpProvider]
    """``make(url, hooks, key, **settings)``"""
    frames: Callable[[str], Sequence[Frame]]
    """The stream of an answer that says a text, in at least three pieces."""
    body: Callable[[str], Any]
    """The same as one JSON text."""
    refusal: Callable[[str], Any]
    """The JSON of an error with a message."""


class Told:
    """The events of a call, in order."""

    def __init__(self) -> None:
        self.hooks = HookRegistry()
        self.events: list[tuple[str, dict[str, Any]]] = []
        for event in (*_EVENTS, LLM_STREAM_BLOCK_DELTA):
            self.hooks.register(event, self._note)

    async def _note(self, event: str, data: dict[str, Any]) -> None:
        self.events.append((event, data))

    @property
    def names(self) -> list[str]:
        """The names of the events, without the pieces of streams."""
        return [event for event, _ in self.events if event in _EVENTS]

    @property
    def streamed(self) -> str:
        """The text of all pieces."""
        return "".join(data["text"] for event, data in self.events if event == LLM_STREAM_BLOCK_DELTA)

    def last(self, event: str) -> dict[str, Any]:
        """The data of the latest event of a name."""
        return next(data for name, data in reversed(self.events) if name == event)


@dataclass(frozen=True)
class Fault:
    """One fault by name, and what has to come of it."""

    name: str
    check: Callable[[VendorUnderTest], Awaitable[None]]

    async def check_with(self, vendor: VendorUnderTest) -> None:
        """Lets the fault happen to a vendor's provider, and asserts what comes of it."""
        await self.check(vendor)

    def __str__(self) -> str:
        return self.name


def question(**wishes: Any) -> ChatRequest:
    """A request with one message."""
    return ChatRequest(messages=[Message(role="user", content="Say hello")], **wishes)


def text_of(response: ChatResponse | None) -> str:
    """All text of a response."""
    assert response is not None
    return "".join(block.text for block in response.content if isinstance(block, TextBlock))


async def ask(vendor: VendorUnderTest, server: LlmServer, told: Told, **settings: Any) -> ChatResponse:
    """One call without a second attempt, unless the settings say otherwise."""
    quick = {"max_retries": 0, "min_retry_delay": 0.0, "retry_jitter": False, "timeout": 5.0}
    provider = vendor.make(server.url, told.hooks, KEY, **{**quick, **settings})
    try:
        return await provider.complete(question())
    finally:
        await provider.close()


async def failing(vendor: VendorUnderTest, server: LlmServer, told: Told, **settings: Any) -> LLMError:
    """The error that one call ends with; the key is nowhere in it, nor in what was told."""
    with pytest.raises(LLMError) as raised:
        await ask(vendor, server, told, **settings)
    assert KEY not in f"{raised.value} {raised.value!r} {told.events}"
    assert told.names[0] == LLM_REQUEST
    assert told.names[-1] == LLM_RESPONSE
    return raised.value


A_DATE = "a date"
"""Stands in a header for the moment that a refusal asks to wait for."""


@dataclass(frozen=True)
class Refused:
    """A refusal: what the service says, and the error that is to come of it."""

    status: int
    error: type[LLMError]
    is_retryable: bool
    headers: Mapping[str, str]
    retry_after: float | None = None

    def told_headers(self) -> Mapping[str, str]:
        """The headers as they go out now; a date is made at that moment, however long tests before have taken."""
        later = format_datetime(datetime.now(UTC) + timedelta(seconds=self.retry_after or 0), usegmt=True)
        return {name: later if value == A_DATE else value for name, value in self.headers.items()}


async def _is_refused(case: Refused, vendor: VendorUnderTest) -> None:
    for streams in (True, False):
        answer = json_answer(vendor.refusal(f"Told off, {KEY}"), case.status, case.told_headers())
        async with serving(answer, answer) as server:
            told = Told()
            error = await failing(vendor, server, told, use_streaming=streams, max_retries=0)
            assert type(error) is case.error
            assert (error.status_code, error.retryable) == (case.status, case.is_retryable)
            assert error.retry_after == (case.retry_after and pytest.approx(case.retry_after, rel=0.2))
            assert "Told off" in str(error)
            assert told.names == [LLM_REQUEST, LLM_RESPONSE]
            assert told.last(LLM_RESPONSE)["status"] == "error"
            assert len(server.requests) == 1


async def _is_tried_again_or_not(case: Refused, vendor: VendorUnderTest) -> None:
    refusal = json_answer(vendor.refusal("Told off"), case.status, {})
    async with serving(refusal, sse_answer(vendor.frames(TEXT))) as server:
        told = Told()
        if not case.is_retryable:
            await failing(vendor, server, told, max_retries=3)
            assert len(server.requests) == 1
            return
        response = await ask(vendor, server, told, max_retries=1)
        assert text_of(response) == TEXT
        assert server.bodies[0] == server.bodies[1]
        assert told.names == [LLM_REQUEST, PROVIDER_RETRY, LLM_RESPONSE]
        assert told.last(PROVIDER_RETRY)["error_type"] == case.error.__name__


async def _same_however_cut(change: Callable[[Answer], Answer], vendor: VendorUnderTest) -> None:
    async with serving(change(sse_answer(vendor.frames(TEXT)))) as server:
        told = Told()
        response = await ask(vendor, server, told)
        assert text_of(response) == told.streamed == TEXT
        assert told.names == [LLM_REQUEST, LLM_RESPONSE]
        assert told.last(LLM_RESPONSE)["status"] == "ok"


async def _breaks_midway(change: Callable[[Answer], Answer], vendor: VendorUnderTest) -> None:
    whole = sse_answer(vendor.frames(TEXT))
    async with serving(change(whole), whole) as server:
        told = Told()
        error = await failing(vendor, server, told, timeout=0.15 if change is _stalled else 5.0)
        assert isinstance(error, StreamError)
        assert isinstance(error, BrokenStreamError)
        assert error.retryable
        assert TEXT.startswith(text_of(error.partial))
        assert text_of(error.partial) == told.streamed != ""
        assert told.names == [LLM_REQUEST, LLM_STREAM_ABORTED, LLM_RESPONSE]


async def _is_tried_again_after_a_break(vendor: VendorUnderTest) -> None:
    whole = sse_answer(vendor.frames(TEXT))
    async with serving(_dropped(whole), whole) as server:
        told = Told()
        assert text_of(await ask(vendor, server, told, max_retries=1)) == TEXT
        assert told.names == [LLM_REQUEST, LLM_STREAM_ABORTED, PROVIDER_RETRY, LLM_RESPONSE]
        assert told.streamed.endswith(TEXT)


async def _never_begins(answer: Answer, expected: type[LLMError], status: str, vendor: VendorUnderTest) -> None:
    for streams in (True, False):
        async with serving(answer) as server:
            told = Told()
            limit_s = 5.0 if answer.ending == "drop" else 0.03
            error = await failing(vendor, server, told, timeout=limit_s, use_streaming=streams)
            assert type(error) is expected
            assert error.retryable
            assert told.names == [LLM_REQUEST, LLM_RESPONSE]
            assert told.last(LLM_RESPONSE)["status"] == status


async def _nobody_is_there(vendor: VendorUnderTest) -> None:
    async with serving() as server:
        pass
    assert type(await failing(vendor, server, Told())) is NetworkError


async def _is_empty(vendor: VendorUnderTest) -> None:
    async with serving(sse_answer([])) as server:
        error = await failing(vendor, server, Told())
        assert isinstance(error, BrokenStreamError)
        assert text_of(error.partial) == ""
    async with serving(json_answer(b"")) as server:
        assert type(await failing(vendor, server, Told(), use_streaming=False)) is ProviderUnavailableError


async def _is_no_answer(body: bytes, vendor: VendorUnderTest) -> None:
    async with serving(json_answer(body)) as server:
        assert type(await failing(vendor, server, Told(), use_streaming=False)) is ProviderUnavailableError


async def _is_huge(vendor: VendorUnderTest) -> None:
    text = TEXT * 20_000
    async with serving(sse_answer(vendor.frames(text)), json_answer(vendor.body(text))) as server:
        assert text_of(await ask(vendor, server, Told())) == text
        assert text_of(await ask(vendor, server, Told(), use_streaming=False)) == text


async def _comes_whole(vendor: VendorUnderTest) -> None:
    async with serving(json_answer(vendor.body(TEXT)), json_answer(vendor.body(TEXT))) as server:
        assert text_of(await ask(vendor, server, Told(), use_streaming=False)) == TEXT
        assert text_of(await ask(vendor, server, Told())) == TEXT


async def _is_cancelled(change: Callable[[Answer], Answer], vendor: VendorUnderTest) -> None:
    async with serving(change(sse_answer(vendor.frames(TEXT)))) as server:
        told = Told()
        call = asyncio.ensure_future(ask(vendor, server, told, max_retries=5))
        await server.arrived.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(server.left.wait(), 2)
        assert (len(server.requests), server.hang_ups) == (1, 1)
        assert PROVIDER_RETRY not in told.names
        assert told.last(LLM_RESPONSE)["error"]["type"] == "CancelledError"


def _dropped(answer: Answer) -> Answer:
    return answer.first(len(answer.pieces) // 2 + 1, "drop")


def _stalled(answer: Answer) -> Answer:
    return answer.first(len(answer.pieces) // 2 + 1, "stall")


def _ended_early(answer: Answer) -> Answer:
    return answer.first(len(answer.pieces) // 2 + 1, "end")


def _garbled(answer: Answer) -> Answer:
    half = len(answer.pieces) // 2 + 1
    return replace(answer, pieces=[*answer.pieces[:half], frame_bytes(None, '{"type": '), *answer.pieces[half:]])


def _with_line_ends(answer: Answer) -> Answer:
    return replace(answer, pieces=[piece.replace(b"\n", b"\r\n") for piece in answer.pieces]).cut(5)


def _with_comments(answer: Answer) -> Answer:
    return replace(answer, pieces=[b": still here\n\n" + piece for piece in answer.pieces])


def _silent(answer: Answer) -> Answer:
    return replace(answer, silent=True)


REFUSALS = {
    "401": Refused(401, AuthenticationError, False, {}),
    "403": Refused(403, AccessDeniedError, False, {}),
    "404": Refused(404, NotFoundError, False, {}),
    "413": Refused(413, ContextLengthError, False, {}),
    "429": Refused(429, RateLimitError, True, {}),
    "429 with seconds": Refused(429, RateLimitError, True, {"retry-after": "7"}, 7.0),
    "429 with a date": Refused(429, RateLimitError, True, {"retry-after": A_DATE}, 3600.0),
    "500": Refused(500, ProviderUnavailableError, True, {}),
    "502": Refused(502, ProviderUnavailableError, True, {}),
    "529": Refused(529, ProviderUnavailableError, True, {"retry-after": "3"}, 3.0),
}
_SAME: dict[str, Callable[[Answer], Answer]] = {
    "a slow drip": lambda answer: answer.cut(1),
    "frames split in seven bytes": lambda answer: answer.cut(7),
    "everything at once": lambda answer: answer.cut(1_000_000),
    "other line ends": _with_line_ends,
    "comments in between": _with_comments,
}
_BROKEN: dict[str, Callable[[Answer], Answer]] = {
    "disconnect midway": _dropped,
    "time-out midway": _stalled,
    "an end midway": _ended_early,
    "a malformed frame": _garbled,
}
_SILENCE = Answer(silent=True)
_NOTHING_YET = replace(sse_answer([]), ending="stall")

FAULTS: list[Fault] = [
    *(Fault(f"status {name}", partial(_is_refused, case)) for name, case in REFUSALS.items()),
    *(Fault(f"again after {name}", partial(_is_tried_again_or_not, case)) for name, case in REFUSALS.items()),
    *(Fault(name, partial(_same_however_cut, change)) for name, change in _SAME.items()),
    *(Fault(name, partial(_breaks_midway, change)) for name, change in _BROKEN.items()),
    Fault("again after a break", _is_tried_again_after_a_break),
    Fault("time-out before", partial(_never_begins, _SILENCE, LLMTimeoutError, "timeout")),
    Fault("time-out after the headers", partial(_never_begins, _NOTHING_YET, LLMTimeoutError, "timeout")),
    Fault("disconnect before", partial(_never_begins, replace(_SILENCE, ending="drop"), NetworkError, "error")),
    Fault("nobody there", _nobody_is_there),
    Fault("an empty answer", _is_empty),
    Fault("an answer that is no JSON", partial(_is_no_answer, b"<html>hello</html>")),
    Fault("an answer that is no answer", partial(_is_no_answer, b"[1, 2]")),
    Fault("a huge answer", _is_huge),
    Fault("a whole answer", _comes_whole),
    Fault("cancelled midway", partial(_is_cancelled, _stalled)),
    Fault("cancelled before", partial(_is_cancelled, _silent)),
]
