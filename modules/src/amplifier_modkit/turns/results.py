"""What a tool gave back: read in any form, and told to the model as the tool's own output."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, cast

from pydantic import ValidationError

from amplifier_core.models import ToolResult, sanitize_for_llm
from amplifier_core.utils.jsonable import to_jsonable
from amplifier_modkit.messages import Message, plain

_RESULT_FIELDS = frozenset({"success", "output", "error", "content", "is_error"})


def failure(message: str, **details: Any) -> ToolResult:
    """A result that says what went wrong."""
    return ToolResult(success=False, output=message, error={"message": message, **details})


def to_result(value: Any) -> ToolResult:
    """What a tool or a hook gave, as a ``ToolResult``: one itself, its fields as a dict, or just the output."""
    if isinstance(value, ToolResult):
        return value
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        if fields.keys() <= _RESULT_FIELDS and ("success" in fields or "output" in fields or "is_error" in fields):
            error = fields.get("error")
            told = {"error": {"message": error} if error else None} if isinstance(error, str) else {}
            with suppress(ValidationError):  # it only looks like a result, so it is the output
                return ToolResult.model_validate({**fields, **told})
    return ToolResult(output=cast("Any", value))


def to_text(result: ToolResult) -> str:
    """The output as the model reads it: text as it is, everything else as JSON, never a Python ``repr``.

    A failure that has an output besides its error tells both.
    """
    error = _error_text(result)
    if result.output is None:
        return sanitize_for_llm(error or ("Success" if result.success else "Error: the tool failed without saying why"))
    text = _output_text(result.output)
    return sanitize_for_llm(text if error is None or error in text else f"Error: {error}\n\n{text}")


def to_message(call_id: str, name: str, result: ToolResult) -> Message:
    """The message that answers a tool call."""
    message: Message = {"role": "tool", "tool_call_id": call_id, "name": name, "content": _content(result)}
    if not result.success:
        message["metadata"] = {"is_error": True}
    return message


def _content(result: ToolResult) -> str | list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = plain(result.content or [])
    if not blocks:
        return to_text(result)
    for block in blocks:
        if "text" in block:
            block["text"] = sanitize_for_llm(block["text"])
    # The blocks say it better than the output, unless there was a failure to tell.
    return blocks if result.success else [{"type": "text", "text": to_text(result)}, *blocks]


def _output_text(output: Any) -> str:
    if isinstance(output, str):
        return output
    data = to_jsonable(output)
    if not isinstance(data, str):
        return json.dumps(data, ensure_ascii=False)
    return f"[a {type(output).__name__} that has no text]" if data == object.__repr__(output) else data


def _error_text(result: ToolResult) -> str | None:
    if result.success or not result.error:
        return None
    message = result.error.get("message") or result.error.get("msg")
    return _output_text(message or result.error)
