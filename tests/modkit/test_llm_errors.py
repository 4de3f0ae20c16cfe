"""What went wrong, in the kernel's words."""

from __future__ import annotations

import json
from email.utils import formatdate
from typing import Any

import pytest

from amplifier_core.llm_errors import (
    ConfigurationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    LLMError,
    LLMTimeoutError,
    ProviderUnavailableError,
    QuotaExceededError,
    RateLimitError,
)
from amplifier_core.message_models import ChatResponse
from amplifier_modkit.llm.errors import Blame, Refusal, class_of, read_refusal, refusal_of
from amplifier_modkit.llm.wire import WireError

NOW = 1_800_000_000.0


def refusal(body: Any, status: int = 400, **headers: str) -> Refusal:
    """The refusal in an answer with that body."""
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    return read_refusal(status, {name.replace("_", "-"): value for name, value in headers.items()}, sent, NOW)


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ({"error": {"type": "x", "message": "no"}}, "x", "no"),
        ({"error": {"code": "c", "type": "x", "message": "no"}}, "c x", "no"),
        ({"error": {"code": 400, "status": "INVALID", "message": "no"}}, "INVALID", "no"),
        ([{"error": {"message": "no"}}], None, "no"),
        ({"error": "no"}, None, "no"),
        ({"message": "no", "type": "x"}, "x", "no"),
        ({"detail": [{"loc": 1}]}, None, '[{"loc": 1}]'),
        ({"error": 7, "message": "no"}, None, "no"),
        ({}, None, "{}"),
        ([], None, "[]"),
        (b"<html><style>p {}</style><b>Bad</b>\n gateway</html>", None, "Bad gateway"),
        (b"\xff", None, "\ufffd"),
        (b"", None, ""),
    ],
)
def test_the_words_of_a_refusal_are_found_in_every_common_form(body: Any, code: str | None, message: str) -> None:
    """Whatever a service writes, its code and its message are told."""
    found = refusal(body)
    assert (found.code, found.message) == (code, message)


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry_after": "7"}, {}, 7.0),
        ({"retry_after": "0.5"}, {}, 0.5),
        ({"retry_after_ms": "250", "retry_after": "7"}, {}, 0.25),
        ({"retry_after": formatdate(NOW + 90, usegmt=True)}, {}, 90.0),
        ({"retry_after": formatdate(NOW - 90, usegmt=True)}, {}, 0.0),
        ({"retry_after": "soon"}, {}, None),
        ({"retry_after": "-3"}, {}, None),
        ({"retry_after": "inf"}, {}, None),
        ({}, {"error": {"details": [{"x": 1}, 5, {"retryDelay": "1.5s"}]}}, 1.5),
        ({}, {"error": {"details": [{"retryDelay": "soon"}]}}, None),
        ({}, {"error": {"details": "none"}}, None),
        ({}, {}, None),
    ],
)
def test_the_wait_that_a_service_asks_for_is_read_in_every_form(
    headers: dict[str, str], body: Any, seconds: float | None
) -> None:
    """Seconds, milliseconds, a date, or a detail of the body; what cannot be read asks for nothing."""
    assert refusal(body, 429, **headers).retry_after == seconds


@pytest.mark.parametrize(
    ("status", "message", "error_class"),
    [
        (400, "prompt is too long: 201 tokens > 200 maximum", ContextLengthError),
        (400, "code context_length_exceeded", ContextLengthError),
        (400, "input length and `max_tokens` exceed context limit: 150 + 64 > 200", ContextLengthError),
        (400, "the request exceeds the available context size", ContextLengthError),
        (400, "The input token count (9) exceeds the maximum number of tokens allowed (8)", ContextLengthError),
        (413, "request_too_large", ContextLengthError),
        (None, "maximum context length is 8", ContextLengthError),
        (400, "max_tokens: must be positive", InvalidRequestError),
        (400, "blocked by our safety system", ContentFilterError),
        (400, "Your credit balance is too low", QuotaExceededError),
        (429, "insufficient_quota", QuotaExceededError),
        (402, "pay", QuotaExceededError),
        (429, "slow down", RateLimitError),
        (302, "elsewhere", ConfigurationError),
        (408, "late", LLMTimeoutError),
        (409, "conflict", ProviderUnavailableError),
        (503, "context length", ProviderUnavailableError),
        (418, "teapot", LLMError),
    ],
)
def test_a_refusal_is_of_the_class_that_fits(status: int | None, message: str, error_class: type[LLMError]) -> None:
    """The status decides, and where it says little, the words do."""
    assert class_of(Refusal(status, None, message)) is error_class


def test_a_gate_before_the_service_is_no_refusal_of_the_service() -> None:
    """A challenge for browsers may pass, although its status says that access is denied."""
    assert class_of(Refusal(403, None, "Just a moment", headers={"cf-mitigated": "challenge"})) is (
        ProviderUnavailableError
    )


def test_an_error_names_who_and_covers_what_is_secret() -> None:
    """Provider, model, status, waiting time and the vendor's own factor are on the error; the key is not."""
    blame = Blame("toy", "toy-2", ("s3cret",), delay_multipliers={529: 10.0})
    error = blame.refused(Refusal(529, None, "Key s3cret is overloaded", 3.0))
    assert str(error) == "toy refused the request with HTTP status 529: Key *** is overloaded"
    assert (error.provider, error.model, error.status_code) == ("toy", "toy-2", 529)
    assert (error.retry_after, error.delay_multiplier) == (3.0, 10.0)
    assert str(blame.refused(Refusal(None, None, ""))) == "toy refused the request: no reason given"
    assert str(blame.failed(LLMError, "s3cret")) == "toy: ***"
    assert len(str(blame.failed(LLMError, "x" * 2_000))) == 501
    assert str(Blame("toy", secrets=("long-s3cret",)).failed(LLMError, "xlong-s3cretx")) == "toy: x***x"
    assert str(Blame("toy", secrets=("ok",)).failed(LLMError, "the token is 'ok'")) == "toy: the token is '***'"


def test_a_vendor_may_know_better() -> None:
    """Its own judgement goes before the common rules, and leaves to them what it does not know."""
    blame = Blame("toy", judge=lambda refusal: QuotaExceededError if refusal.code == "broke" else None)
    assert type(blame.refused(Refusal(500, "broke", "x"))) is QuotaExceededError
    assert type(blame.refused(Refusal(500, None, "x"))) is ProviderUnavailableError


def test_a_broken_stream_has_what_came() -> None:
    """The error carries the partial answer."""
    partial = ChatResponse(content=[])
    error = Blame("toy").broken("it broke", partial)
    assert error.partial is partial
    assert error.retryable
    assert str(error) == "toy: it broke"


def test_an_error_inside_an_answer_is_a_refusal() -> None:
    """Status, code and message are those of the vendor."""
    assert refusal_of(WireError("no", status=529, code="busy")) == Refusal(529, "busy", "no")
