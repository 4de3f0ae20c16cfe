"""Answers of the Messages API as responses: every block kept, usage counted in full, the end explained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from amplifier_core.message_models import (
    ChatResponse,
    ContentBlockUnion,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    Usage,
)
from amplifier_core.models import ModelInfo
from amplifier_modkit.llm.blocks import VENDOR, calls_of, carry, read_arguments, tool_call
from amplifier_modkit.llm.wire import (
    CONTENT_FILTER,
    LENGTH,
    OTHER,
    PAUSE,
    STOP,
    TOOL_CALLS,
    WireError,
)
from amplifier_module_provider_anthropic.models import CATALOGUE, NAME

_ENDS: Mapping[str, str] = {
    "end_turn": STOP,
    "stop_sequence": STOP,
    "tool_use": TOOL_CALLS,
    "max_tokens": LENGTH,
    "model_context_window_exceeded": LENGTH,
    "refusal": CONTENT_FILTER,
    "pause_turn": PAUSE,
}
_STATUS_OF_ERROR = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_NOT_METADATA = frozenset({"content", "usage", "role", "type"})
_USAGE_KEYS = frozenset(
    {
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
        "output_tokens_details",
    }
)


def read_answer(body: Mapping[str, Any]) -> ChatResponse:
    """The response in a whole message; what has no place of its own is in ``metadata``."""
    if body.get("type") == "error":
        raise error_in(body)
    content = [_read_block(block) for block in body["content"]]
    reason = body.get("stop_reason")
    return ChatResponse(
        content=content,
        tool_calls=calls_of(content),
        usage=read_usage(body.get("usage") or {}),
        finish_reason=None if reason is None else _ENDS.get(reason, OTHER),
        metadata={key: value for key, value in body.items() if key not in _NOT_METADATA and value is not None},
    )


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """What the call took; input counts everything that was sent, read from the cache or not."""
    read, written = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
    sent = (usage.get("input_tokens") or 0) + (read or 0) + (written or 0)
    got = usage.get("output_tokens") or 0
    details: Mapping[str, Any] = usage.get("output_tokens_details") or {}
    extras = {key: value for key, value in usage.items() if key not in _USAGE_KEYS and value is not None}
    return Usage(
        input_tokens=sent,
        output_tokens=got,
        total_tokens=sent + got,
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=details.get("thinking_tokens"),
        **extras,
    )


def error_in(body: Mapping[str, Any]) -> WireError:
    """The error that an answer, or an event of a stream, tells."""
    error: Any = body.get("error")
    said: dict[str, Any] = dict(cast("Mapping[str, Any]", error)) if isinstance(error, Mapping) else {}
    code = str(said.get("type") or "error")
    return WireError(str(said.get("message") or code), status=_STATUS_OF_ERROR.get(code), code=code)


def read_models(body: Mapping[str, Any], *, only_latest: bool) -> list[ModelInfo]:
    """The models that the service lists, newest first; those that are gone are not."""
    listed = [each for each in body["data"] if each.get("lifecycle") != "retired"]
    if only_latest:
        listed = list({_line(each): each for each in reversed(listed)}.values())[::-1]
    return [
        CATALOGUE.info(
            each["id"],
            display_name=each.get("display_name"),
            context_window=each.get("max_input_tokens"),
            max_output_tokens=each.get("max_tokens"),
        )
        for each in listed
    ]


def _line(model: Mapping[str, Any]) -> str:
    known = CATALOGUE.find(model["id"])
    return model.get("line") or (known.family if known else model["id"])


def _read_block(block: Mapping[str, Any]) -> ContentBlockUnion:
    match block.get("type"):
        case "text":
            return TextBlock.model_validate(_kept(block))
        case "thinking":
            return ThinkingBlock.model_validate({**_kept(block), VENDOR: NAME})
        case "redacted_thinking":
            return RedactedThinkingBlock.model_validate({**_kept(block), VENDOR: NAME})
        case "tool_use":
            extras = {key: value for key, value in _kept(block).items() if key not in ("type", "id", "name", "input")}
            return tool_call(block["id"], block["name"], read_arguments(block.get("input")), **extras)
        case _:
            return carry(NAME, block)


def _kept(block: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if value is not None}
