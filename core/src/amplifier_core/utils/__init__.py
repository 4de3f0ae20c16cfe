"""Small helpers for providers and hooks: retrying, shortening and redacting; loaded when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amplifier_core.utils.retry import RetryConfig, classify_error_message, retry_with_backoff
    from amplifier_core.utils.truncate import SENSITIVE_KEYS, redact_secrets, truncate_values

__all__ = [
    "SENSITIVE_KEYS",
    "RetryConfig",
    "classify_error_message",
    "redact_secrets",
    "retry_with_backoff",
    "truncate_values",
]

_RETRY_NAMES = frozenset({"RetryConfig", "classify_error_message", "retry_with_backoff"})


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f"{__name__}.{'retry' if name in _RETRY_NAMES else 'truncate'}")
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
