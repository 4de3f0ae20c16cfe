"""Retrying provider calls and classifying their errors."""

from __future__ import annotations

import asyncio
import random
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_core.llm_errors import (
    AccessDeniedError,
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    LLMError,
    NotFoundError,
    ProviderUnavailableError,
    QuotaExceededError,
    RateLimitError,
)
from amplifier_core.utils.retry import RetryConfig, classify_error_message, retry_with_backoff

QUIET = RetryConfig(jitter=False)


class Clock:
    """Stands for ``asyncio.sleep`` and keeps the delays it was asked for."""

    def __init__(self) -> None:
        self.delays: list[float] = []

    async def sleep(self, delay: float) -> None:
        self.delays.append(delay)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Makes every wait immediate and recorded."""
    clock = Clock()
    monkeypatch.setattr(asyncio, "sleep", clock.sleep)
    return clock


def failing(*errors: BaseException) -> Callable[[], Any]:
    """An operation that raises each of ``errors`` in turn and then answers."""
    left = list(errors)

    async def operation() -> str:
        if left:
            raise left.pop(0)
        return "answer"

    return operation


def test_config_defaults() -> None:
    """Three retries, from one second doubling to a minute, with jitter, heeding the provider."""
    config = RetryConfig()
    assert (config.max_retries, config.initial_delay, config.max_delay, config.backoff_factor) == (3, 1.0, 60.0, 2.0)
    assert (config.jitter, config.honor_retry_after) == (0.2, True)


def test_config_positional_order() -> None:
    """Arguments come in their published order."""
    config = RetryConfig(1, 2, 3, 4, False, False)
    assert config == RetryConfig(
        max_retries=1, initial_delay=2.0, max_delay=3.0, backoff_factor=4.0, jitter=False, honor_retry_after=False
    )
    assert isinstance(config.initial_delay, float)


@pytest.mark.parametrize("name", ["max_retries", "initial_delay", "max_delay", "backoff_factor", "jitter"])
def test_config_is_read_only(name: str) -> None:
    """A configuration cannot be changed."""
    with pytest.raises(AttributeError):
        setattr(RetryConfig(), name, 1)


@pytest.mark.parametrize(("given", "read"), [(None, 0.2), (True, 0.2), (False, 0.0)])
def test_config_jitter_reads_as_a_number(given: Any, read: float) -> None:
    """Jitter is switched by a bool and reads 0.2 or 0.0, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert RetryConfig(jitter=given).jitter == read


@pytest.mark.parametrize(("given", "read"), [(0.5, 0.2), (1, 0.2), (0.0, 0.0), (0, 0.0)])
def test_config_jitter_as_a_number_is_deprecated(given: Any, read: float) -> None:
    """A number still switches jitter, with a warning."""
    with pytest.warns(DeprecationWarning, match="^passing a float for jitter is deprecated, use a bool$"):
        assert RetryConfig(jitter=given).jitter == read


def test_config_jitter_of_another_type_is_on() -> None:
    """Anything else switches jitter on, with a warning."""
    with pytest.warns(UserWarning, match="^jitter received an unexpected type; defaulting to True$"):
        assert RetryConfig(jitter="no").jitter == 0.2


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("min_delay", "initial_delay", "min_delay is deprecated, use initial_delay"),
        ("backoff_multiplier", "backoff_factor", "backoff_multiplier is deprecated, use backoff_factor"),
    ],
)
def test_config_old_names(old: str, new: str, text: str) -> None:
    """An old name still works, with a warning, and yields to the new one in silence."""
    with pytest.warns(DeprecationWarning, match=f"^{text}$") as caught:
        config = RetryConfig(**{old: 5.0})  # type: ignore[arg-type]
    assert getattr(config, new) == 5.0
    assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert getattr(RetryConfig(**{old: 5.0, new: 7.0}), new) == 7.0  # type: ignore[arg-type]
    with pytest.warns(DeprecationWarning, match=f"^{text}$"):
        assert getattr(config, old) == 5.0


def test_config_refuses_wrong_counts() -> None:
    """The number of retries is a whole number that is not negative."""
    with pytest.raises(OverflowError, match="max_retries must not be negative, got -1"):
        RetryConfig(max_retries=-1)
    for wrong in (1.0, "1", None):
        with pytest.raises(TypeError, match="max_retries must be an integer, got"):
            RetryConfig(max_retries=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="max_delay must be a number of seconds or a factor, got str"):
        RetryConfig(max_delay="60")  # type: ignore[arg-type]


async def test_success_needs_no_wait(clock: Clock) -> None:
    """An operation that succeeds is called once."""
    assert await retry_with_backoff(failing()) == "answer"
    assert clock.delays == []


async def test_delays_double_up_to_the_limit(clock: Clock) -> None:
    """Each wait is longer by the factor, never longer than the maximum."""
    config = RetryConfig(max_retries=5, initial_delay=2, max_delay=10, jitter=False)
    assert await retry_with_backoff(failing(*[RateLimitError("x")] * 5), config) == "answer"
    assert clock.delays == [2.0, 4.0, 8.0, 10.0, 10.0]


async def test_the_last_error_is_raised_as_it_is(clock: Clock) -> None:
    """After the last attempt that attempt's error object comes out, without the earlier ones behind it."""
    errors = [RateLimitError(str(number)) for number in range(4)]
    with pytest.raises(RateLimitError) as caught:
        await retry_with_backoff(failing(*errors), QUIET)
    assert caught.value is errors[3]
    assert caught.value.attempts == 4
    assert caught.value.__context__ is None
    assert clock.delays == [1.0, 2.0, 4.0]


async def test_no_retries_means_one_attempt(clock: Clock) -> None:
    """With no retries the first error is the last."""
    with pytest.raises(RateLimitError):
        await retry_with_backoff(failing(RateLimitError("x")), RetryConfig(max_retries=0))
    assert clock.delays == []


@pytest.mark.parametrize(
    "error",
    [LLMError("x"), QuotaExceededError("x"), RateLimitError("x", retryable=False), ValueError("x"), TimeoutError()],
)
async def test_other_errors_pass_at_once(clock: Clock, error: Exception) -> None:
    """Only a retryable provider error is tried again."""
    with pytest.raises(type(error)) as caught:
        await retry_with_backoff(failing(error), QUIET)
    assert caught.value is error
    assert clock.delays == []


async def test_provider_may_ask_for_more_time(clock: Clock) -> None:
    """A longer retry_after is heeded even above the maximum; a shorter one is not."""
    errors = [RateLimitError("x", retry_after=90.0), RateLimitError("x", retry_after=0.5)]
    await retry_with_backoff(failing(*errors), QUIET)
    assert clock.delays == [90.0, 2.0]


async def test_provider_is_ignored_when_told_so(clock: Clock) -> None:
    """Without honor_retry_after the provider's wish makes no difference."""
    await retry_with_backoff(
        failing(RateLimitError("x", retry_after=90.0)), RetryConfig(jitter=False, honor_retry_after=False)
    )
    assert clock.delays == [1.0]


@pytest.mark.parametrize(
    ("multiplier", "delay"),
    [(10.0, 100.0), (0.5, 5.0), (0.0, 10.0), (-2.0, 10.0), (float("inf"), 10.0), (float("nan"), 10.0)],
)
async def test_error_may_stretch_the_delay(clock: Clock, multiplier: float, delay: float) -> None:
    """A finite positive multiplier stretches the delay, above the maximum as well."""
    config = RetryConfig(initial_delay=20, max_delay=10, jitter=False)
    await retry_with_backoff(failing(RateLimitError("x", delay_multiplier=multiplier)), config)
    assert clock.delays == [delay]


async def test_error_without_multiplier(clock: Clock) -> None:
    """An error that lost the attribute waits as usual."""
    error = RateLimitError("x")
    del error.delay_multiplier
    await retry_with_backoff(failing(error), QUIET)
    assert clock.delays == [1.0]


@pytest.mark.parametrize(("drawn", "factor"), [(0.0, 0.5), (0.5, 1.0), (0.75, 1.25)])
async def test_jitter_comes_last(clock: Clock, monkeypatch: pytest.MonkeyPatch, drawn: float, factor: float) -> None:
    """Jitter scales the final delay from half to one and a half, so it may undercut retry_after."""
    monkeypatch.setattr(random, "random", lambda: drawn)
    await retry_with_backoff(failing(RateLimitError("x", retry_after=100.0)))
    assert clock.delays == [100.0 * factor]


async def test_on_retry_is_told_before_each_wait(clock: Clock) -> None:
    """The observer gets the attempt counted from one, the delay and the error, before the wait."""
    errors = [RateLimitError("a"), ProviderUnavailableError("b")]
    told: list[tuple[int, float, LLMError, int]] = []

    async def on_retry(attempt: int, delay: float, error: LLMError) -> None:
        told.append((attempt, delay, error, len(clock.delays)))

    await retry_with_backoff(failing(*errors), QUIET, on_retry=on_retry)
    assert told == [(1, 1.0, errors[0], 0), (2, 2.0, errors[1], 1)]


async def test_huge_attempts_do_not_overflow(clock: Clock) -> None:
    """A delay too large for a float is the maximum, and nothing stays nothing."""
    for initial, last in ((1.0, 3.0), (0.0, 0.0)):
        config = RetryConfig(max_retries=3, initial_delay=initial, max_delay=3, backoff_factor=1e200, jitter=False)
        await retry_with_backoff(failing(*[RateLimitError("x")] * 3), config)
        assert clock.delays[-1] == last


@given(
    retries=st.integers(1, 8),
    initial=st.floats(0, 100),
    maximum=st.floats(0, 100),
    factor=st.floats(1, 10),
    retry_after=st.none() | st.floats(0, 1000),
)
async def test_delays_grow_within_bounds(
    retries: int, initial: float, maximum: float, factor: float, retry_after: float | None
) -> None:
    """Without jitter delays never shrink, never undercut the provider, and exceed the maximum only for it."""
    clock = Clock()
    errors = [RateLimitError(str(number), retry_after=retry_after) for number in range(retries)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio, "sleep", clock.sleep)
        await retry_with_backoff(failing(*errors), RetryConfig(retries, initial, maximum, factor, False))
    asked = retry_after or 0.0
    assert len(clock.delays) == retries
    assert clock.delays == sorted(clock.delays)
    assert all(asked <= delay <= max(maximum, asked) for delay in clock.delays)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (401, AuthenticationError),
        (403, AccessDeniedError),
        (404, NotFoundError),
        (413, ContextLengthError),
        (429, RateLimitError),
        (500, ProviderUnavailableError),
        (529, ProviderUnavailableError),
        (600, ProviderUnavailableError),
        (400, InvalidRequestError),
        (422, InvalidRequestError),
        (418, LLMError),
        (200, LLMError),
        (None, LLMError),
    ],
)
def test_status_decides(status: int | None, expected: type[LLMError]) -> None:
    """A telling status code is enough, whatever the provider."""
    assert classify_error_message("hm", status_code=status) is expected
    assert classify_error_message("hm", status_code=status, provider="p") is expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Context length exceeded", ContextLengthError),
        ("too many tokens", ContextLengthError),
        ("MAXIMUM CONTEXT", ContextLengthError),
        ("Rate limit hit", RateLimitError),
        ("too many requests", RateLimitError),
        ("authentication failed", AuthenticationError),
        ("bad API key", AuthenticationError),
        ("Unauthorized", AuthenticationError),
        ("model not found", NotFoundError),
        ("content filter", ContentFilterError),
        ("safety system", ContentFilterError),
        ("was blocked", ContentFilterError),
        ("boom", LLMError),
        ("rate limit: too many tokens", ContextLengthError),
        ("api key not found", AuthenticationError),
    ],
)
def test_text_decides_otherwise(message: str, expected: type[LLMError]) -> None:
    """Without a telling status the first known phrase decides, also before a bare 400."""
    assert classify_error_message(message) is expected
    assert classify_error_message(message, status_code=400) is (
        InvalidRequestError if expected is LLMError else expected
    )
    assert classify_error_message(message, status_code=401) is AuthenticationError
