"""The JSON forms of a run: the result, its trace, and the lines of a stream. Keys are stable."""

from __future__ import annotations

from typing import Any, cast

from amplifier.runtime.outcome import TurnOutcome

SCHEMA_VERSION = 1


def result_of(outcome: TurnOutcome, **more: Any) -> dict[str, Any]:
    """The result of a turn as one object."""
    problem = outcome.problem
    return {
        "type": "result",
        "version": SCHEMA_VERSION,
        "status": outcome.status,
        "is_error": outcome.is_error,
        "reason": outcome.reason,
        "response": outcome.text,
        "session_id": outcome.session_id,
        "provider": outcome.provider,
        "model": outcome.model,
        "num_turns": outcome.model_calls,
        "num_tool_calls": outcome.tool_calls,
        "duration_ms": outcome.duration_ms,
        "usage": outcome.usage.to_dict(),
        "cost_usd": outcome.usage.cost_usd,
        "denials": [each.to_dict() for each in outcome.denials],
        "exit_code": outcome.exit_code,
        "error": None if problem is None else problem.to_dict(),
        **more,
    }


def init_of(
    session_id: str, model: str | None, provider: str | None, tools: list[str], working_dir: str
) -> dict[str, Any]:
    """The first line of a stream."""
    facts = {"session_id": session_id, "model": model, "provider": provider, "tools": tools, "cwd": working_dir}
    return {"type": "init", "version": SCHEMA_VERSION, **facts}


def stream_line(event: str, data: dict[str, Any], *, has_partials: bool) -> dict[str, Any] | None:
    """The line that tells of an event; ``None`` for events of which a stream does not tell."""
    session = {"session_id": data.get("session_id"), "parent_id": data.get("parent_id")}
    if event == "prompt:submit":
        return {"type": "message", "role": "user", "text": _text(data.get("prompt")), **session}
    if event == "content_block:end":
        return _block_line(data, session)
    if event == "tool:pre":
        call = {"id": data.get("tool_call_id"), "name": data.get("tool_name"), "input": data.get("tool_input")}
        return {"type": "tool_use", **call, **session}
    if event in ("tool:post", "tool:error"):
        return _result_line(event, data, session)
    if event == "llm:stream_block_delta" and has_partials:
        return {"type": "partial", "block_type": data.get("block_type"), "text": data.get("text"), **session}
    return None


def _block_line(data: dict[str, Any], session: dict[str, Any]) -> dict[str, Any] | None:
    block: Any = data.get("block")
    fields = cast("dict[str, Any]", block if isinstance(block, dict) else getattr(block, "__dict__", {}))
    kind = data.get("block_type") or fields.get("type")
    text = fields.get("text") or fields.get("thinking")
    if kind not in ("text", "thinking") or not text:
        return None
    role = {"type": "message", "role": "assistant"} if kind == "text" else {"type": "thinking"}
    return {**role, "text": _text(text), **session}


def _result_line(event: str, data: dict[str, Any], session: dict[str, Any]) -> dict[str, Any]:
    result: object = data.get("result")
    fields = cast("dict[str, Any]", result) if isinstance(result, dict) else {}
    is_error = event == "tool:error" or fields.get("success") is False
    call = {"id": data.get("tool_call_id"), "name": data.get("tool_name")}
    return {"type": "tool_result", **call, "is_error": is_error, "output": _output(event, data), **session}


def _output(event: str, data: dict[str, Any]) -> Any:
    return data.get("error" if event == "tool:error" else "result")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def without_images(value: Any) -> Any:
    """JSON data in which the size of an image stands in the place of its bytes."""
    if isinstance(value, list):
        return [without_images(each) for each in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value)
    data = fields.get("data")
    if fields.get("type") == "base64" and isinstance(data, str):
        return {**fields, "data": f"[{len(data):,} characters]"}
    return {key: without_images(each) for key, each in fields.items()}
