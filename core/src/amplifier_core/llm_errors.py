"""The errors that providers raise, whatever the vendor, so that a caller can react by kind.

LLMError
├── AbortError
├── AuthenticationError
│   └── AccessDeniedError
├── ConfigurationError
├── ContentFilterError
├── ContextLengthError
├── InvalidRequestError
├── InvalidToolCallError
├── LLMTimeoutError              retryable
├── NotFoundError
├── ProviderUnavailableError     retryable
│   └── NetworkError             retryable
├── RateLimitError               retryable
│   └── QuotaExceededError
└── StreamError                  retryable
"""

from __future__ import annotations

from typing import ClassVar


class LLMError(Exception):
    """The base of all provider errors; says whether and how soon trying again makes sense.

    ``retry_after`` is the seconds the provider asks to wait; ``delay_multiplier`` stretches the caller's own delay.
    """

    _retryable_by_default: ClassVar[bool] = False

    attempts: int = 1
    """How often the call was made before this error was given up on; ``retry_with_backoff`` writes it down, so that
    whoever gets the error does not begin the same attempts again."""

    def __init__(
        self,
        message: str,
        *,
        provider: str | None = None,
        model: str | None = None,
        status_code: int | None = None,
        retryable: bool | None = None,
        retry_after: float | None = None,
        delay_multiplier: float = 1.0,
    ) -> None:
        super().__init__(message)
        self.provider = provider
        self.model = model
        self.status_code = status_code
        self.retryable = self._retryable_by_default if retryable is None else retryable
        self.retry_after = retry_after
        self.delay_multiplier = delay_multiplier

    def __repr__(self) -> str:
        named = {"provider": self.provider, "model": self.model, "status_code": self.status_code}
        parts = [repr(str(self)), *(f"{name}={value!r}" for name, value in named.items() if value is not None)]
        if self.retryable:
            parts.append("retryable=True")
        if self.retry_after is not None:
            parts.append(f"retry_after={self.retry_after!r}")
        if self.delay_multiplier != 1.0:
            parts.append(f"delay_multiplier={self.delay_multiplier!r}")
        return f"{type(self).__name__}({', '.join(parts)})"


class RateLimitError(LLMError):
    """Too many requests for now."""

    _retryable_by_default = True


class QuotaExceededError(RateLimitError):
    """The account's quota is used up; waiting a moment does not help, unlike with its parent."""

    _retryable_by_default = False


class AuthenticationError(LLMError):
    """The credentials are missing or wrong."""


class AccessDeniedError(AuthenticationError):
    """The credentials are right and do not allow this."""


class ContextLengthError(LLMError):
    """The request has more tokens than the model takes."""


class ContentFilterError(LLMError):
    """The provider's safety filter refused the request or the answer."""


class InvalidRequestError(LLMError):
    """The provider does not accept the request as it is."""


class ProviderUnavailableError(LLMError):
    """The provider is down or overloaded."""

    _retryable_by_default = True


class NetworkError(ProviderUnavailableError):
    """The provider cannot be reached."""


class LLMTimeoutError(LLMError):
    """The provider did not answer in time; deliberately no builtin ``TimeoutError``."""

    _retryable_by_default = True


class NotFoundError(LLMError):
    """The provider does not know the model or endpoint."""


class StreamError(LLMError):
    """The answer broke off while it streamed."""

    _retryable_by_default = True


class AbortError(LLMError):
    """The caller gave the request up."""


class InvalidToolCallError(LLMError):
    """The model asked for a tool call that cannot be read; trying again is the model's matter, so there is no delay."""

    def __init__(
        self,
        message: str,
        *,
        tool_name: str | None = None,
        raw_arguments: str | None = None,
        provider: str | None = None,
        model: str | None = None,
        status_code: int | None = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(message, provider=provider, model=model, status_code=status_code, retryable=retryable)
        self.tool_name = tool_name
        self.raw_arguments = raw_arguments


class ConfigurationError(LLMError):
    """The provider is set up wrongly."""
