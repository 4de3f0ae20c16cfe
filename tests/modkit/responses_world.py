"""Items, answers and streams of the Responses API, as a service would send them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from amplifier_core.message_models import ChatRequest, ChatResponse, Message
from amplifier_modkit.llm.wire import Piece
from amplifier_modkit.llm_responses.known_models import MODELS
from amplifier_modkit.llm_responses.wire import ResponsesWire, ServiceForm

ORIGIN = "there"
MODEL = "gpt-6.1-sol"
USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 10},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 120,
}


def said(text: str, item_id: str = "msg_1", **more: Any) -> dict[str, Any]:
    """A message of the model."""
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": text}
    return {"id": item_id, "type": "message", "status": "completed", "role": "assistant", "content": [part], **more}


def refused(text: str) -> dict[str, Any]:
    """A message in which the model declines."""
    return {**said(""), "content": [{"type": "refusal", "refusal": text}]}


def thought(summary: str = "hm", item_id: str = "rs_1", secret: str | None = "gAAA=") -> dict[str, Any]:
    """Reasoning, with its encrypted content."""
    parts = [{"type": "summary_text", "text": summary}] if summary else []
    return {"id": item_id, "type": "reasoning", "summary": parts, "encrypted_content": secret}


def called(arguments: str = '{"city":"Paris"}', item_id: str = "fc_1", **more: Any) -> dict[str, Any]:
    """A call of the function ``weather``."""
    named = {"call_id": f"call_{item_id}", "name": "weather", "arguments": arguments}
    return {"id": item_id, "type": "function_call", "status": "completed", **named, **more}


def searched() -> dict[str, Any]:
    """A search that the service made itself."""
    action = {"type": "search", "query": "weather", "queries": ["weather"]}
    return {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": action}


def answer(*output: dict[str, Any], response_id: str = "resp_1", **more: Any) -> dict[str, Any]:
    """A whole answer."""
    named = {
        "id": response_id,
        "object": "response",
        "created_at": 1_760_000_000,
        "model": MODEL,
        "status": "completed",
    }
    echoed = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None}
    return {**named, **echoed, "output": list(output), "usage": USAGE, **more}


def cut(*output: dict[str, Any], reason: str = "max_output_tokens", **more: Any) -> dict[str, Any]:
    """An answer that ended at a limit."""
    return answer(*output, status="incomplete", incomplete_details={"reason": reason}, **more)


def stream_of(body: dict[str, Any], size: int = 3) -> list[dict[str, Any]]:
    """The events that ``body`` comes in, its texts in pieces of ``size`` characters."""
    begun = {**body, "status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for place, item in enumerate(body["output"]):
        events += _item_events(item, place, size)
    kind = "response.incomplete" if body["status"] == "incomplete" else "response.completed"
    events.append({"type": kind, "response": body})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _item_events(item: dict[str, Any], place: int, size: int) -> Iterable[dict[str, Any]]:
    at = {"output_index": place}
    about = {**at, "item_id": item["id"]}
    begun = {**item, **{key: "" if key != "summary" and key != "content" else [] for key in _GROWING if key in item}}
    yield {"type": "response.output_item.added", **at, "item": begun}
    match item["type"]:
        case "message":
            for number, part in enumerate(item["content"]):
                yield from _part_events(part, {**about, "content_index": number}, size)
        case "reasoning":
            for number, part in enumerate(item["summary"]):
                where = {**about, "summary_index": number}
                yield {"type": "response.reasoning_summary_part.added", **where, "part": {**part, "text": ""}}
                yield from _deltas("reasoning_summary_text", where, part["text"], size)
        case "function_call":
            yield from _deltas("function_call_arguments", about, item["arguments"], size)
        case "custom_tool_call":
            yield from _deltas("custom_tool_call_input", about, item["input"], size)
        case kind:
            yield {"type": f"response.{kind}.completed", **about}
    yield {"type": "response.output_item.done", **at, "item": item}


_GROWING = ("content", "summary", "arguments", "input", "encrypted_content")


def _part_events(part: dict[str, Any], where: dict[str, Any], size: int) -> Iterable[dict[str, Any]]:
    yield {"type": "response.content_part.added", **where, "part": {**part, "text": ""}}
    if part["type"] == "refusal":
        yield from _deltas("refusal", where, part["refusal"], size)
    else:
        yield from _deltas("output_text", {**where, "logprobs": []}, part["text"], size)
    yield {"type": "response.content_part.done", **where, "part": part}


def _deltas(kind: str, where: dict[str, Any], text: str, size: int) -> Iterable[dict[str, Any]]:
    for start in range(0, len(text), size):
        yield {"type": f"response.{kind}.delta", **where, "delta": text[start : start + size]}


def wire(**form: Any) -> ResponsesWire:
    """A wire to a service."""
    return ResponsesWire(ServiceForm(**{"origin": ORIGIN, "catalogue": MODELS, **form}))


def asked(*messages: Message | str, **wishes: Any) -> ChatRequest:
    """A request; texts are messages of the user."""
    spoken = [each if isinstance(each, Message) else Message(role="user", content=each) for each in messages]
    return ChatRequest(messages=spoken or [Message(role="user", content="hello")], **wishes)


def answered(response: ChatResponse) -> Message:
    """An answer as a loop stores it and sends it back: through JSON."""
    content = [block.model_dump(exclude_none=True) for block in response.content]
    return Message.model_validate({"role": "assistant", "content": json.loads(json.dumps(content))})


def told(body: dict[str, Any], size: int = 3) -> tuple[ChatResponse, list[Piece]]:
    """An answer read from its stream, and the pieces that were told."""
    reader = wire().open_stream()
    pieces = [piece for event in stream_of(body, size) for piece in reader.feed(event["type"], json.dumps(event))]
    assert reader.is_complete
    return reader.response(), pieces
