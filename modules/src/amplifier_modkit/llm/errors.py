"""What went wrong, in the kernel's words: from an HTTP status and body, from an error inside a stream, from the line.

A key never gets into a message: whoever knows it hands it in to be covered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from amplifier_core.llm_errors import (
    ConfigurationError,
    ContextLengthError,
    LLMError,
    LLMTimeoutError,
    ProviderUnavailableError,
    QuotaExceededError,
    StreamError,
)
from amplifier_core.message_models import ChatResponse
from amplifier_core.utils.retry import classify_error_message
from amplifier_modkit.llm.wire import WireError

_MOST_CHARS = 500
_COVER = "***"
_SHORT_SECRET_CHARS = 8
_TAG = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)s")

_TOO_LONG = re.compile(
    r"(prompt|input) is too long|context[ _](length|window|size|limit)|maximum context|too many tokens"
    r"|exceeds? (the )?(maximum|limit|available)[^.]{0,40}(tokens|context)|reduce the length|request_too_large"
    r"|string_above_max_length|token count[^.]{0,40}exceeds",
    re.IGNORECASE,
)
_NO_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|credit balance is too low|billing_error|billing_hard_limit"
    r"|insufficient (credits|funds|balance)|payment required",
    re.IGNORECASE,
)


class BrokenStreamError(StreamError):
    """The answer broke off while it streamed; ``partial`` is what came."""

    partial: ChatResponse | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A vendor's no: the HTTP status, the vendor's own word for the kind, its message, and how long to wait."""

    status: int | None
    code: str | None
    message: str
    retry_after: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


Judge = Callable[[Refusal], type[LLMError] | None]
"""What a vendor knows better about a refusal than the common rules; ``None`` leaves it to them."""


@dataclass(frozen=True, slots=True)
class Blame:
    """Who is named in errors, what is covered in them, and the vendor's own rules."""

    provider: str
    model: str | None = None
    secrets: Sequence[str] = ()
    judge: Judge | None = None
    delay_multipliers: Mapping[int, float] = field(default_factory=dict[int, float])

    def refused(self, refusal: Refusal) -> LLMError:
        """The error for a vendor's no."""
        error_class = (self.judge and self.judge(refusal)) or class_of(refusal)
        told = self.cover(refusal.message) or "no reason given"
        status = "" if refusal.status is None else f" with HTTP status {refusal.status}"
        error = error_class(f"{self.provider} refused the request{status}: {told}", **self._named(refusal.status))
        error.retry_after = refusal.retry_after
        error.delay_multiplier = self.delay_multipliers.get(refusal.status or 0, 1.0)
        return error

    def failed(self, error_class: type[LLMError], told: str, **fields: Any) -> LLMError:
        """An error that is not the vendor's own word."""
        return error_class(self.cover(f"{self.provider}: {told}"), **self._named(None), **fields)

    def broken(self, told: str, partial: ChatResponse) -> BrokenStreamError:
        """A stream that broke off."""
        error = BrokenStreamError(self.cover(f"{self.provider}: {told}"), **self._named(None))
        error.partial = partial
        return error

    def cover(self, text: str) -> str:
        """``text`` without the secrets, and no longer than one reads."""
        for secret in self.secrets:
            # Local servers have keys like "none", which are words as well.
            is_short = len(secret) < _SHORT_SECRET_CHARS
            text = re.sub(rf"\b{re.escape(secret)}\b", _COVER, text) if is_short else text.replace(secret, _COVER)
        return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}…"

    def _named(self, status: int | None) -> dict[str, Any]:
        return {"provider": self.provider, "model": self.model, "status_code": status}


def read_refusal(status: int, headers: Mapping[str, str], body: bytes, now: float) -> Refusal:
    """The no in an HTTP answer; ``now`` is the time that a date in ``retry-after`` is compared with."""
    text = body.decode("utf-8", "replace")
    parsed = _parsed(text)
    code, message = _code_and_message(parsed) if parsed is not None else (None, _plain(text))
    waits = (_retry_after(headers, now), _wait_in(parsed))
    wait = next((each for each in waits if each is not None), None)
    return Refusal(status, code, message or _plain(text), wait, headers)


def refusal_of(error: WireError) -> Refusal:
    """The no that came inside an answer."""
    return Refusal(error.status, error.code, error.message)


def class_of(refusal: Refusal) -> type[LLMError]:
    """The kernel's class for a refusal, by what all vendors have in common."""
    status, told = refusal.status, f"{refusal.code or ''} {refusal.message}"
    if refusal.headers.get("cf-mitigated") == "challenge":
        return ProviderUnavailableError  # a gate in front of the vendor, not the vendor
    if status == 402 or (_NO_QUOTA.search(told) and (status is None or status < 500)):
        return QuotaExceededError
    if status in (None, 400, 413, 422) and _TOO_LONG.search(told):
        return ContextLengthError
    if status is not None and 300 <= status < 400:
        return ConfigurationError
    if status == 408:
        return LLMTimeoutError
    if status in (409, 425):
        return ProviderUnavailableError
    return classify_error_message(told, status_code=status)


def _retry_after(headers: Mapping[str, str], now: float) -> float | None:
    millis = _number(headers.get("retry-after-ms"))
    if millis is not None:
        return millis / 1000
    given = headers.get("retry-after")
    seconds = _number(given)
    if seconds is not None or given is None:
        return seconds
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(given).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        parsed: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(parsed, list) and parsed:
        parsed = cast("list[Any]", parsed)[0]
    return cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else None


def _code_and_message(body: Mapping[str, Any]) -> tuple[str | None, str]:
    error: Any = body.get("error", body)
    if isinstance(error, str):
        return None, error
    holder = cast("Mapping[str, Any]", error) if isinstance(error, Mapping) else body
    codes = [holder.get(key) for key in ("code", "type", "status")]
    message: Any = next((holder[key] for key in ("message", "detail", "error") if holder.get(key)), "")
    words = [code for code in codes if isinstance(code, str) and code]
    return " ".join(words) or None, message if isinstance(message, str) else json.dumps(message)


def _wait_in(body: Mapping[str, Any] | None) -> float | None:
    """How long to wait, as some vendors say it inside the error's details."""
    error: Any = (body or {}).get("error")
    details: Any = cast("Mapping[str, Any]", error).get("details") if isinstance(error, Mapping) else None
    for detail in cast("list[Any]", details) if isinstance(details, list) else ():
        delay: Any = cast("Mapping[str, Any]", detail).get("retryDelay") if isinstance(detail, Mapping) else None
        match = _DURATION.fullmatch(delay) if isinstance(delay, str) else None
        if match:
            return float(match[1])
    return None


def _plain(text: str) -> str:
    return _SPACE.sub(" ", _TAG.sub(" ", text)).strip()
