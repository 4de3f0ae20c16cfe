"""Reads an answer of the API: its items become our blocks, each with what is needed to send it back unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from amplifier_core.message_models import (
    ChatResponse,
    ContentBlockUnion,
    TextBlock,
    ThinkingBlock,
    Usage,
)
from amplifier_modkit.llm.blocks import calls_of, carry
from amplifier_modkit.llm.wire import CONTENT_FILTER, LENGTH, OTHER, STOP, TOOL_CALLS, WireError
from amplifier_modkit.llm_responses.calls import CALL_ITEMS, read_call
from amplifier_modkit.llm_responses.marks import new_mark, without

_FAILED = ("failed", "cancelled")
_CUT_SHORT = {"max_output_tokens": LENGTH, "content_filter": CONTENT_FILTER}
_TOLD = ("model", "status", "service_tier", "incomplete_details", "tool_usage", "previous_response_id")
_STATUS_OF_CODE = {
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "server_error": 500,
    "server_is_overloaded": 503,
    "slow_down": 503,
    "vector_store_timeout": 504,
}
_BAD_REQUEST = 400

RESPONSE_ID = "response_id"
"""The key of an answer's metadata under which the service knows it."""


def read_response(body: Mapping[str, Any], origin: str) -> ChatResponse:
    """The answer in ``body``; raises ``WireError`` for one that failed, ``ValueError`` for what is no answer."""
    error: Any = body.get("error")
    if error or body.get("status") in _FAILED:
        raise failure(error, body.get("status"))
    output: Any = body.get("output")
    if not isinstance(output, list):
        raise ValueError(f"an answer of the Responses API must have the list 'output', got the keys {sorted(body)}")
    return to_response(body, cast("list[Any]", output), origin)


def to_response(body: Mapping[str, Any], output: Sequence[Any], origin: str) -> ChatResponse:
    """The answer with the items ``output``; ``body`` tells the rest, as far as it is known."""
    items = [cast("dict[str, Any]", item) for item in output if isinstance(item, dict)]
    has_thought = any(item.get("type") == "reasoning" for item in items)
    content = [block for item in items for block in _blocks_of(item, origin, has_thought)]
    calls = calls_of(content)
    reason, word = _finish(body, items, bool(calls))
    return ChatResponse(
        content=content,
        tool_calls=calls,
        usage=read_usage(body.get("usage")),
        finish_reason=reason,
        metadata={"stop_reason": word, RESPONSE_ID: body.get("id"), **_told(body)},
    )


def thinking_text(item: Mapping[str, Any]) -> str:
    """What one may read of a reasoning item: its summary, or the reasoning itself from services that show it."""
    parts = _list(item, "summary") or _list(item, "content")
    return "\n\n".join(str(part.get("text") or "") for part in parts)


def read_usage(usage: Any) -> Usage:
    """The tokens of an answer; zeros where the service counts none."""
    counted: Mapping[str, Any] = cast("Mapping[str, Any]", usage) if isinstance(usage, Mapping) else {}
    tokens_in, tokens_out = _count(counted, "input_tokens") or 0, _count(counted, "output_tokens") or 0
    of_input, of_output = counted.get("input_tokens_details"), counted.get("output_tokens_details")
    return Usage(
        input_tokens=tokens_in,
        output_tokens=tokens_out,
        total_tokens=_count(counted, "total_tokens") or tokens_in + tokens_out,
        reasoning_tokens=_count(of_output, "reasoning_tokens"),
        cache_read_tokens=_count(of_input, "cached_tokens"),
        cache_write_tokens=_count(of_input, "cache_write_tokens"),
    )


def failure(error: Any, status: Any = None) -> WireError:
    """The error that an answer, or an event of a stream, tells."""
    told: Mapping[str, Any] = cast("Mapping[str, Any]", error) if isinstance(error, Mapping) else {}
    code = str(told.get("code") or told.get("type") or "") or None
    message = str(told.get("message") or cast("Any", error) or f"the answer ended with the status '{status}'")
    return WireError(message, status=_STATUS_OF_CODE.get(code or "server_error", _BAD_REQUEST), code=code)


def _blocks_of(item: dict[str, Any], origin: str, has_thought: bool) -> Iterator[ContentBlockUnion]:
    kind = item.get("type")
    if kind in CALL_ITEMS:
        yield read_call(item, origin, has_thought)
    elif kind == "message":
        rest = without(item, "type", "role", "content")
        for part in _list(item, "content"):
            mark = new_mark(origin, rest, has_thought=has_thought, **_of_part(part))
            yield TextBlock.model_validate({"text": _part_text(part), **mark})
    elif kind == "reasoning":
        mark = new_mark(origin, item, has_thought=True)
        yield ThinkingBlock.model_validate({"thinking": thinking_text(item), **mark})
    else:
        block = carry(origin, item)
        yield block.model_copy(update=new_mark(origin, {}, has_thought=has_thought)) if has_thought else block


def _told(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: body[name] for name in _TOLD if body.get(name) is not None}


def _of_part(part: Mapping[str, Any]) -> dict[str, Any]:
    rest = without(part, "type", "text", "refusal")
    return {"part": rest, **({"is_refusal": True} if _is_refusal(part) else {})}


def _part_text(part: Mapping[str, Any]) -> str:
    return str((part.get("refusal") if _is_refusal(part) else part.get("text")) or "")


def _is_refusal(part: Mapping[str, Any]) -> bool:
    return part.get("type") == "refusal"


def _finish(body: Mapping[str, Any], items: Iterable[Mapping[str, Any]], has_calls: bool) -> tuple[str, str | None]:
    """Why the answer ended, and the service's own word for it."""
    status = body.get("status")
    if status == "incomplete":
        details: Any = body.get("incomplete_details")
        word = str(cast("Any", details).get("reason") if isinstance(details, Mapping) else status)
        return _CUT_SHORT.get(word, OTHER), word
    refused = any(
        _is_refusal(part) for item in items if item.get("type") == "message" for part in _list(item, "content")
    )
    if refused:
        return CONTENT_FILTER, "refusal"
    return TOOL_CALLS if has_calls else STOP, None if status is None else str(status)


def _list(item: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    parts: Any = item.get(name)
    return [part for part in cast("list[Any]", parts) if isinstance(part, dict)] if isinstance(parts, list) else []


def _count(holder: Any, name: str) -> int | None:
    value: Any = cast("Any", holder).get(name) if isinstance(holder, Mapping) else None
    return value if isinstance(value, int) else None
