"""The provider error taxonomy."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from amplifier_core import llm_errors
from amplifier_core.llm_errors import (
    AbortError,
    AccessDeniedError,
    AuthenticationError,
    ConfigurationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    InvalidToolCallError,
    LLMError,
    LLMTimeoutError,
    NetworkError,
    NotFoundError,
    ProviderUnavailableError,
    QuotaExceededError,
    RateLimitError,
    StreamError,
)

TREE: dict[type[LLMError], tuple[type[Exception], bool]] = {
    LLMError: (Exception, False),
    RateLimitError: (LLMError, True),
    AuthenticationError: (LLMError, False),
    ContextLengthError: (LLMError, False),
    ContentFilterError: (LLMError, False),
    InvalidRequestError: (LLMError, False),
    ProviderUnavailableError: (LLMError, True),
    LLMTimeoutError: (LLMError, True),
    NotFoundError: (LLMError, False),
    StreamError: (LLMError, True),
    AbortError: (LLMError, False),
    InvalidToolCallError: (LLMError, False),
    ConfigurationError: (LLMError, False),
    AccessDeniedError: (AuthenticationError, False),
    NetworkError: (ProviderUnavailableError, True),
    QuotaExceededError: (RateLimitError, False),
}

EVERYTHING: dict[str, Any] = {
    "provider": "p",
    "model": "m",
    "status_code": 429,
    "retryable": True,
    "retry_after": 2.5,
    "delay_multiplier": 3.0,
}


def test_tree_is_complete() -> None:
    """Every error of the module is in the tree, and the docstring draws each of them."""
    defined = {cls for cls in vars(llm_errors).values() if isinstance(cls, type) and issubclass(cls, LLMError)}
    assert defined == set(TREE)
    assert [cls.__name__ for cls in TREE if cls.__name__ not in (llm_errors.__doc__ or "")] == []


@pytest.mark.parametrize("cls", TREE)
def test_base_and_defaults(cls: type[LLMError]) -> None:
    """Each class has one base, and only some are worth trying again by default."""
    base, is_retryable = TREE[cls]
    error = cls("boom")
    assert cls.__bases__ == (base,)
    assert str(error) == "boom"
    assert (error.provider, error.model, error.status_code) == (None, None, None)
    assert (error.retryable, error.retry_after, error.delay_multiplier) == (is_retryable, None, 1.0)


@pytest.mark.parametrize("cls", [cls for cls in TREE if cls is not InvalidToolCallError])
def test_details_are_attributes(cls: type[LLMError]) -> None:
    """What is told about the error is readable, and a given retryable overrules the class."""
    error = cls("boom", **EVERYTHING)
    assert {name: getattr(error, name) for name in EVERYTHING} == EVERYTHING
    assert cls("boom", retryable=False).retryable is False


def test_details_are_keyword_only() -> None:
    """Only the message is positional."""
    with pytest.raises(TypeError):
        LLMError("boom", "p")  # type: ignore[misc]
    with pytest.raises(TypeError):
        InvalidToolCallError("boom", "tool")  # type: ignore[misc]


def test_timeout_is_not_the_builtin_one() -> None:
    """A slow provider is not caught by handlers of the builtin TimeoutError."""
    assert not issubclass(LLMTimeoutError, TimeoutError)


def test_invalid_tool_call_names_the_tool() -> None:
    """An unreadable tool call tells the tool and the raw arguments, and takes no delays."""
    bare = InvalidToolCallError("bad")
    error = InvalidToolCallError(
        "bad", tool_name="bash", raw_arguments="{", provider="p", model="m", status_code=200, retryable=True
    )
    assert (bare.tool_name, bare.raw_arguments, bare.retryable) == (None, None, False)
    assert (error.tool_name, error.raw_arguments, error.provider, error.model) == ("bash", "{", "p", "m")
    assert (error.status_code, error.retryable, error.retry_after, error.delay_multiplier) == (200, True, None, 1.0)
    for name in ("retry_after", "delay_multiplier"):
        with pytest.raises(TypeError):
            InvalidToolCallError("bad", **{name: 1.0})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (LLMError("it's"), 'LLMError("it\'s")'),
        (LLMError("x", retryable=True), "LLMError('x', retryable=True)"),
        (RateLimitError("x", retryable=False), "RateLimitError('x')"),
        (RateLimitError("x", retry_after=0.0), "RateLimitError('x', retryable=True, retry_after=0.0)"),
        (LLMError("x", status_code=0, provider=""), "LLMError('x', provider='', status_code=0)"),
        (LLMError("x", delay_multiplier=2.0), "LLMError('x', delay_multiplier=2.0)"),
        (
            NetworkError("x", **EVERYTHING),
            "NetworkError('x', provider='p', model='m', status_code=429, retryable=True, retry_after=2.5, "
            "delay_multiplier=3.0)",
        ),
        (InvalidToolCallError("x", tool_name="bash"), "InvalidToolCallError('x')"),
    ],
)
def test_repr_shows_what_is_set(error: LLMError, text: str) -> None:
    """The repr has the class, the message and only the details that are set."""
    assert repr(error) == text


@pytest.mark.parametrize("cls", TREE)
def test_errors_survive_copy_and_pickle(cls: type[LLMError]) -> None:
    """An error that crosses a process border keeps its class and details."""
    error = cls("boom", provider="p", retryable=True)
    for copied in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(copied) is cls
        assert repr(copied) == repr(error)
