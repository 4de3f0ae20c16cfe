"""How many tokens messages have: an estimate from their characters, corrected by what providers report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amplifier_modkit.messages import CALL_BLOCKS, has_blocks, kind_of

_CHARS_PER_TOKEN = 4
# Scripts other than Latin take about a token per three bytes of UTF-8.
_BYTES_PER_TOKEN = 3
_MESSAGE_TOKENS = 4
_IMAGE_TOKENS = 1_600
# Their data is no text for the model: what they cost has nothing to do with the length of their encoding.
_ENCODED = frozenset({"image", "image_url", "input_image", "base64"})
_NOT_SENT = frozenset({"role", "metadata", "tool_calls"})


def estimate(message: Mapping[str, Any]) -> int:
    """About how many tokens a message of plain data has; metadata is not sent and costs nothing."""
    size: float = 0
    for key, value in message.items():
        if key not in _NOT_SENT:
            size += len(value) if type(value) is str and value.isascii() else _size(value)
    calls = message.get("tool_calls")
    # The same calls may stand in the content as well; they are sent once.
    if calls and not has_blocks(message.get("content"), CALL_BLOCKS):
        size += _size(calls)
    return _MESSAGE_TOKENS + round(size / _CHARS_PER_TOKEN)


def estimate_text(text: str) -> int:
    """About how many tokens a text has."""
    return round(_size(text) / _CHARS_PER_TOKEN)


def _size(value: Any) -> float:
    """What a value takes, in Latin characters."""
    kind = kind_of(value)
    if kind is str:
        return len(value) if value.isascii() else _mixed_size(value)
    size: float = 0
    if kind is dict:
        for key, item in value.items():
            # Texts are measured in place: most of a message is texts, and a call for each would be most of the cost.
            if type(item) is not str:
                size += len(key) + _size(item)
            elif key == "type" and item in _ENCODED:
                return _IMAGE_TOKENS * _CHARS_PER_TOKEN
            else:
                size += len(key) + (len(item) if item.isascii() else _mixed_size(item))
    elif kind is list:
        for item in value:
            size += _size(item)
    elif value is not None:
        size = _CHARS_PER_TOKEN
    return size


def _mixed_size(text: str) -> float:
    ascii_chars = len(text.encode("ascii", "ignore"))
    other_bytes = len(text.encode("utf-8", "surrogatepass")) - ascii_chars
    return ascii_chars + other_bytes / _BYTES_PER_TOKEN * _CHARS_PER_TOKEN


class TokenMeter:
    """Turns estimates into tokens, and learns from the reports of one session's providers how to.

    A report fixes one point: the estimate of that request and its real tokens. From there ``ratio`` says what further
    estimated tokens really cost. What a request has beside its messages (tool descriptions) is in the report and
    becomes the overhead.
    """

    _LOWEST_RATIO = 0.5
    _HIGHEST_RATIO = 2.0
    # Below this the difference of two reports is mostly noise: rounding, and texts that were added for one call only.
    _TELLING_DIFFERENCE = 200

    def __init__(self) -> None:
        self._ratio: float | None = None
        self._reported = 0
        self._estimated = 0.0

    def report(self, reported: int, estimated: float) -> bool:
        """Takes the real tokens of a request whose estimate is known; says whether they are believed.

        A provider that reports far too little, for example only what its cache did not have, would switch compaction
        off.
        """
        if reported <= 0 or reported < estimated * self._LOWEST_RATIO:
            return False
        difference = estimated - self._estimated
        if self._reported and difference >= self._TELLING_DIFFERENCE:
            self._learn((reported - self._reported) / difference)
        self._reported, self._estimated = reported, estimated
        return True

    def tokens(self, estimated: float) -> float:
        """The tokens of a request with that estimate."""
        if not self._reported:
            return estimated
        if estimated >= self._estimated:
            return self._reported + (self._ratio or 1.0) * (estimated - self._estimated)
        overhead, scale = self._line()
        return overhead + scale * estimated

    def estimated(self, tokens: float) -> float:
        """The estimate at which a request has that many tokens; the inverse of ``tokens``, never below zero."""
        if not self._reported:
            return tokens
        if tokens >= self._reported:
            return self._estimated + (tokens - self._reported) / (self._ratio or 1.0)
        overhead, scale = self._line()
        return max(0.0, (tokens - overhead) / scale) if scale else 0.0

    def _learn(self, sample: float) -> None:
        sample = self._clamped(sample)
        self._ratio = sample if self._ratio is None else (self._ratio + sample) / 2

    def _line(self) -> tuple[float, float]:
        """Overhead and tokens per estimated token, below the reported point."""
        if not self._estimated:
            return float(self._reported), 0.0
        # Before anything was learnt, the request's own proportion is the best guess.
        ratio = self._ratio or self._clamped(self._reported / self._estimated)
        overhead = max(0.0, self._reported - ratio * self._estimated)
        return overhead, (self._reported - overhead) / self._estimated

    def _clamped(self, ratio: float) -> float:
        return min(self._HIGHEST_RATIO, max(self._LOWEST_RATIO, ratio))
