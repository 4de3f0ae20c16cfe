"""Tool calls and their results in a list of messages, in every form in which messages carry them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast


def parted_calls(messages: Iterable[Any]) -> list[str]:
    """What is without its other half, as text: calls without a result, results without a call before them."""
    open_calls: dict[str, None] = {}
    orphans: list[str] = []
    for message in map(_fields, messages):
        for call_id in _calls_in(message):
            open_calls[call_id] = None
        for call_id in _results_in(message):
            if call_id in open_calls:
                del open_calls[call_id]
            else:
                orphans.append(f"result of '{call_id}' without its call")
    return orphans + [f"call '{call_id}' without its result" for call_id in open_calls]


def _calls_in(message: Mapping[str, Any]) -> list[str]:
    listed = [_fields(call).get("id") for call in _entries(message.get("tool_calls"))]
    blocks = [block.get("id") for block in _blocks(message, "tool_call", "tool_use")]
    return list(dict.fromkeys(str(call_id) for call_id in (*listed, *blocks)))


def _results_in(message: Mapping[str, Any]) -> list[str]:
    own = [message.get("tool_call_id")] if message.get("role") == "tool" else []
    blocks = [block.get("tool_call_id", block.get("tool_use_id")) for block in _blocks(message, "tool_result")]
    return list(dict.fromkeys(str(call_id) for call_id in (*own, *blocks) if call_id is not None))


def _blocks(message: Mapping[str, Any], *types: str) -> list[Mapping[str, Any]]:
    return [block for block in map(_fields, _entries(message.get("content"))) if block.get("type") in types]


def _entries(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _fields(value: Any) -> Mapping[str, Any]:
    dump = getattr(value, "model_dump", None)
    fields = dump() if callable(dump) else value
    return cast("Mapping[str, Any]", fields) if isinstance(fields, Mapping) else {}
