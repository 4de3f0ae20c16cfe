"""Tokens and money as servers of this protocol count them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from amplifier_core.message_models import ChatResponse, Usage
from amplifier_modkit.llm.blocks import output_text
from amplifier_modkit.pricing import to_money

_CHARS_PER_TOKEN = 4


def read_usage(body: Mapping[str, Any]) -> Usage | None:
    """The usage in an answer or in a chunk of a stream, in any of the known places; ``None`` where there is none."""
    counted = _mapping(body, "usage") or _mapping(_mapping(body, "x_groq"), "usage")
    if counted:
        return _from_usage(counted)
    timings = _mapping(body, "timings")
    return _from_timings(timings) if timings else None


def estimate_usage(body: Mapping[str, Any], response: ChatResponse) -> Usage:
    """What a call may have taken where the server does not count; ``is_estimate`` says that it is no count."""
    sent = [body.get(key) for key in ("messages", "tools")]
    made = [block.model_dump(exclude_none=True) for block in response.content]
    tokens_in, tokens_out = (len(output_text(each)) // _CHARS_PER_TOKEN for each in (sent, made))
    told: dict[str, Any] = {"is_estimate": True}
    return Usage(input_tokens=tokens_in, output_tokens=tokens_out, total_tokens=tokens_in + tokens_out, **told)


def _from_usage(counted: Mapping[str, Any]) -> Usage | None:
    tokens_in, tokens_out = _count(counted, "prompt_tokens"), _count(counted, "completion_tokens")
    total = _count(counted, "total_tokens")
    if tokens_in is None and tokens_out is None and total is None:
        return None
    tokens_in = max((total or 0) - (tokens_out or 0), 0) if tokens_in is None else tokens_in
    tokens_out = max((total or 0) - tokens_in, 0) if tokens_out is None else tokens_out
    sent, made = _mapping(counted, "prompt_tokens_details"), _mapping(counted, "completion_tokens_details")
    read = _first(_count(sent, "cached_tokens"), _count(counted, "prompt_cache_hit_tokens"))
    written = _first(_count(sent, "cache_write_tokens"), _count(sent, "cache_creation_tokens"))
    return Usage(
        input_tokens=tokens_in,
        output_tokens=tokens_out,
        total_tokens=tokens_in + tokens_out if total is None else total,
        reasoning_tokens=_first(_count(made, "reasoning_tokens"), _count(counted, "reasoning_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
        cost_usd=to_money(counted.get("cost")),
    )


def _from_timings(timings: Mapping[str, Any]) -> Usage | None:
    """The count that llama.cpp gives beside, or in place of, a usage; what it read from its cache comes apart."""
    fresh, made = _count(timings, "prompt_n"), _count(timings, "predicted_n")
    if fresh is None or made is None:
        return None
    read = _count(timings, "cache_n")
    tokens_in = fresh + (read or 0)
    return Usage(input_tokens=tokens_in, output_tokens=made, total_tokens=tokens_in + made, cache_read_tokens=read)


def _mapping(holder: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = holder.get(key)
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


def _count(holder: Mapping[str, Any], key: str) -> int | None:
    value = holder.get(key)
    return int(value) if isinstance(value, int | float) and value >= 0 else None


def _first(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)
