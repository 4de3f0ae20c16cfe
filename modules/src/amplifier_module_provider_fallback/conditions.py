"""Which condition an error is an instance of. Errors of the request itself are of none: nobody else would accept it."""

from __future__ import annotations

from amplifier_core.llm_errors import (
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    LLMError,
    LLMTimeoutError,
    NotFoundError,
    ProviderUnavailableError,
    RateLimitError,
    StreamError,
)
from amplifier_module_provider_fallback.config import Condition

_CONDITIONS: tuple[tuple[type[LLMError], Condition], ...] = (
    (ProviderUnavailableError, "unavailable"),
    (LLMTimeoutError, "unavailable"),
    (StreamError, "unavailable"),
    (RateLimitError, "rate_limit"),
    (ContextLengthError, "context_length"),
    (AuthenticationError, "authentication"),
    (ContentFilterError, "content_filter"),
    (NotFoundError, "not_found"),
)
# A request that is too long for one says nothing about the next request.
_PASSING = frozenset[Condition]({"context_length", "content_filter"})


def condition_of(error: LLMError) -> Condition | None:
    """The condition that ``error`` is an instance of, if any."""
    return next((condition for kind, condition in _CONDITIONS if isinstance(error, kind)), None)


def calls_for_rest(condition: Condition) -> bool:
    """Whether a provider that failed so is likely to fail again with the next request."""
    return condition not in _PASSING
