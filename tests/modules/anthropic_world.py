"""Claude as the tests have it: answers and frames of the service, and a provider that asks a local server."""

from __future__ import annotations

import json
from typing import Any

from tests.modules.llm_server import Frame
from tests.modules.provider_faults import VendorUnderTest

from amplifier_core.hooks import HookRegistry
from amplifier_core.message_models import ChatRequest, ChatResponse
from amplifier_modkit.llm.provider import Timing
from amplifier_modkit.llm.repair import repair
from amplifier_modkit.llm.wire import WireCall
from amplifier_modkit.turns.requests import to_model
from amplifier_module_provider_anthropic.config import AnthropicConfig
from amplifier_module_provider_anthropic.models import ANTHROPIC
from amplifier_module_provider_anthropic.provider import AnthropicProvider
from amplifier_module_provider_anthropic.wire import AnthropicWire

MODEL = "claude-sonnet-5-5"


def make(
    url: str, hooks: HookRegistry | None, key: str | None, *, timing: Timing | None = None, **settings: Any
) -> AnthropicProvider:
    """A provider that asks the server at ``url``."""
    config = AnthropicConfig(base_url=url, **settings)
    return AnthropicProvider(AnthropicWire(config), config, ANTHROPIC, key=key, hooks=hooks, timing=timing)


def message(*content: dict[str, Any], stop_reason: str = "end_turn", **fields: Any) -> dict[str, Any]:
    """A whole message of the service."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": list(content),
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 5},
        **fields,
    }


def text_block(text: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": text}


def frames_of(answer: dict[str, Any], pieces: int = 4) -> list[Frame]:
    """The stream of a whole message, the text of each block in that many pieces."""
    start = {**answer, "content": [], "stop_reason": None, "usage": {**answer["usage"], "output_tokens": 1}}
    frames: list[tuple[str, dict[str, Any]]] = [("message_start", {"message": start}), ("ping", {})]
    for index, block in enumerate(answer["content"]):
        frames += [(name, {"index": index, **data}) for name, data in _block_frames(block, pieces)]
    end = {"stop_reason": answer["stop_reason"], "stop_sequence": answer["stop_sequence"]}
    if "stop_details" in answer:
        end["stop_details"] = answer["stop_details"]
    frames += [("message_delta", {"delta": end, "usage": answer["usage"]}), ("message_stop", {})]
    return [(name, {"type": name, **data}) for name, data in frames]


def _block_frames(block: dict[str, Any], pieces: int) -> list[tuple[str, dict[str, Any]]]:
    fields = {"text": ("text_delta", "text"), "thinking": ("thinking_delta", "thinking")}
    kind = block["type"]
    empty, deltas = dict(block), list[dict[str, Any]]()
    if kind in fields:
        name, field = fields[kind]
        empty[field] = ""
        deltas = [{"type": name, field: piece} for piece in _cut(block[field], pieces)]
        if "signature" in block:
            empty["signature"] = ""
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        if "citations" in block:
            empty["citations"] = None
            deltas += [{"type": "citations_delta", "citation": each} for each in block["citations"]]
    elif kind in ("tool_use", "server_tool_use"):
        empty["input"] = {}
        raw = block["input"] if isinstance(block["input"], str) else json.dumps(block["input"], ensure_ascii=False)
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *_cut(raw, pieces)]]
    begin = ("content_block_start", {"content_block": empty})
    return [begin, *(("content_block_delta", {"delta": delta}) for delta in deltas), ("content_block_stop", {})]


def _cut(text: str, pieces: int) -> list[str]:
    size = max(1, -(-len(text) // pieces))
    return [text[start : start + size] for start in range(0, len(text), size)]


def refusal(told: str, kind: str = "some_error") -> dict[str, Any]:
    """The error of the service."""
    return {"type": "error", "error": {"type": kind, "message": told}, "request_id": "req_1"}


VENDOR = VendorUnderTest(
    make=make,
    frames=lambda text: frames_of(message(text_block(text))),
    body=lambda text: message(text_block(text)),
    refusal=refusal,
)


PLAIN = AnthropicConfig(enable_prompt_caching=False)
USER = {"role": "user", "content": "hi"}


def call_of(*messages: dict[str, Any], model: str = MODEL, config: AnthropicConfig = PLAIN, **wishes: Any) -> WireCall:
    """What goes out for these messages."""
    request = ChatRequest(messages=[to_model(each) for each in messages or (USER,)], **wishes)
    return AnthropicWire(config).to_call(repair(request, "anthropic").request, model, stream=False)


def sent(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages that go out."""
    return call_of(*messages).body["messages"]


def streamed(answer: dict[str, Any], pieces: int = 3) -> tuple[ChatResponse, list[Any]]:
    """The response of a stream, and the pieces that were told."""
    reader = AnthropicWire().open_stream()
    told = [piece for event, data in frames_of(answer, pieces) for piece in reader.feed(event or "", json.dumps(data))]
    assert reader.is_complete
    return reader.response(), told
