"""Trying a provider call again: how often, how long to wait, and which error a vendor's message stands for."""

from __future__ import annotations

import asyncio
import math
import operator
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from amplifier_core.llm_errors import (
    AccessDeniedError,
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    LLMError,
    NotFoundError,
    ProviderUnavailableError,
    RateLimitError,
)

T = TypeVar("T")

_INITIAL_DELAY = 1.0
_BACKOFF_FACTOR = 2.0
_JITTER_ON, _JITTER_OFF = 0.2, 0.0

_BY_STATUS: dict[int, type[LLMError]] = {
    401: AuthenticationError,
    403: AccessDeniedError,
    404: NotFoundError,
    413: ContextLengthError,
    429: RateLimitError,
}
# The first entry with a phrase in the message wins.
_BY_PHRASE: tuple[tuple[tuple[str, ...], type[LLMError]], ...] = (
    (("context length", "too many tokens", "maximum context"), ContextLengthError),
    (("rate limit", "too many requests"), RateLimitError),
    (("authentication", "api key", "unauthorized"), AuthenticationError),
    (("not found",), NotFoundError),
    (("content filter", "safety", "blocked"), ContentFilterError),
)


@dataclass(frozen=True, init=False, slots=True)
class RetryConfig:
    """How often to try again and how long to wait in between, in seconds; read-only.

    ``jitter`` is given as a bool and reads 0.2 when on and 0.0 when off; when on, each delay is taken times a random
    factor from 0.5 to 1.5. ``min_delay`` and ``backoff_multiplier`` are old names of ``initial_delay`` and
    ``backoff_factor``.
    """

    max_retries: int
    initial_delay: float
    max_delay: float
    backoff_factor: float
    jitter: float
    honor_retry_after: bool

    def __init__(
        self,
        max_retries: int = 3,
        initial_delay: float = _INITIAL_DELAY,
        max_delay: float = 60.0,
        backoff_factor: float = _BACKOFF_FACTOR,
        jitter: object = None,
        honor_retry_after: bool = True,
        min_delay: float | None = None,
        backoff_multiplier: float | None = None,
    ) -> None:
        if min_delay is not None and initial_delay == _INITIAL_DELAY:
            _warn_old_name("min_delay", "initial_delay")
            initial_delay = min_delay
        if backoff_multiplier is not None and backoff_factor == _BACKOFF_FACTOR:
            _warn_old_name("backoff_multiplier", "backoff_factor")
            backoff_factor = backoff_multiplier
        values = {
            "max_retries": _count("max_retries", max_retries),
            "initial_delay": _number("initial_delay", initial_delay),
            "max_delay": _number("max_delay", max_delay),
            "backoff_factor": _number("backoff_factor", backoff_factor),
            "jitter": _JITTER_ON if _is_jitter_on(jitter) else _JITTER_OFF,
            "honor_retry_after": honor_retry_after,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def min_delay(self) -> float:
        """The old name of ``initial_delay``."""
        _warn_old_name("min_delay", "initial_delay")
        return self.initial_delay

    @property
    def backoff_multiplier(self) -> float:
        """The old name of ``backoff_factor``."""
        _warn_old_name("backoff_multiplier", "backoff_factor")
        return self.backoff_factor


def _warn_old_name(old: str, new: str) -> None:
    warnings.warn(f"{old} is deprecated, use {new}", DeprecationWarning, stacklevel=3)


def _count(name: str, value: object) -> int:
    try:
        count = operator.index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {type(value).__name__}") from None
    if count < 0:
        raise OverflowError(f"{name} must not be negative, got {count}")
    return count


def _number(name: str, value: object) -> float:
    if not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number of seconds or a factor, got {type(value).__name__}")
    return float(value)


def _is_jitter_on(jitter: object) -> bool:
    if jitter is None or isinstance(jitter, bool):
        return jitter is not False
    if isinstance(jitter, int | float):
        warnings.warn("passing a float for jitter is deprecated, use a bool", DeprecationWarning, stacklevel=3)
        return jitter != 0
    warnings.warn("jitter received an unexpected type; defaulting to True", UserWarning, stacklevel=3)
    return True


async def retry_with_backoff(
    operation: Callable[[], Awaitable[T]],
    config: RetryConfig | None = None,
    *,
    on_retry: Callable[[int, float, LLMError], Awaitable[object]] | None = None,
) -> T:
    """Awaits ``operation()`` until it succeeds, at most ``max_retries + 1`` times.

    Only a retryable ``LLMError`` is tried again; the last one is raised, with the number of ``attempts`` noted on it.
    Before each wait ``on_retry(attempt, delay, error)`` is awaited; its attempts count from one.
    """
    config = config or RetryConfig()
    attempt = 0
    while True:
        try:
            return await operation()
        except LLMError as error:
            if not error.retryable or attempt >= config.max_retries:
                error.attempts = attempt + 1
                raise
            delay = _delay(config, attempt, error)
            attempt += 1
            if on_retry is not None:
                await on_retry(attempt, delay, error)
        # Outside the handler, so that an error of the next attempt does not drag this one along as its context.
        await asyncio.sleep(delay)


def _delay(config: RetryConfig, attempt: int, error: LLMError) -> float:
    delay = _backoff(config, attempt)
    multiplier = getattr(error, "delay_multiplier", 1.0)
    if math.isfinite(multiplier) and multiplier > 0:
        delay *= multiplier
    if config.honor_retry_after and error.retry_after is not None:
        delay = max(delay, error.retry_after)
    return delay * _random_factor() if config.jitter else delay


def _backoff(config: RetryConfig, attempt: int) -> float:
    try:
        return min(config.initial_delay * config.backoff_factor**attempt, config.max_delay)
    except OverflowError:
        return config.max_delay if config.initial_delay else 0.0


def _random_factor() -> float:
    from random import random  # only needed when something goes wrong, and slow to import

    return 0.5 + random()


def classify_error_message(
    message: str, *, status_code: int | None = None, provider: str | None = None
) -> type[LLMError]:
    """The error class for a vendor's ``message`` and HTTP ``status_code``; ``provider`` makes no difference."""
    if status_code is not None:
        if status_code >= 500:
            return ProviderUnavailableError
        if status_code in _BY_STATUS:
            return _BY_STATUS[status_code]
    text = message.lower()
    for phrases, error_class in _BY_PHRASE:
        if any(phrase in text for phrase in phrases):
            return error_class
    return InvalidRequestError if status_code in (400, 422) else LLMError
