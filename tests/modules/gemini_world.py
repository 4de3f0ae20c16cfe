"""Gemini as the tests have it: answers and frames of the service, and a provider that asks a local server."""

from __future__ import annotations

import json
from typing import Any

from tests.modules.llm_server import Frame
from tests.modules.provider_faults import VendorUnderTest

from amplifier_core.hooks import HookRegistry
from amplifier_core.message_models import ChatRequest, ChatResponse
from amplifier_modkit.llm.blocks import fields_of
from amplifier_modkit.llm.provider import Timing
from amplifier_modkit.llm.repair import repair
from amplifier_modkit.llm.wire import Piece, WireCall
from amplifier_modkit.turns.requests import to_model
from amplifier_module_provider_gemini.config import GeminiConfig
from amplifier_module_provider_gemini.models import GEMINI
from amplifier_module_provider_gemini.provider import GeminiProvider
from amplifier_module_provider_gemini.wire import GeminiWire

MODEL = "gemini-3.8-flash"
ARGON = "gemini-4-argon"
OLD = "gemini-2.5-flash"
LITE = "gemini-3.1-flash-lite"
USER = {"role": "user", "content": "hi"}
PATH = f"/v1beta/models/{MODEL}"


def make(
    url: str, hooks: HookRegistry | None, key: str | None, *, timing: Timing | None = None, **settings: Any
) -> GeminiProvider:
    """A provider that asks the server at ``url``."""
    config = GeminiConfig(base_url=url, **settings)
    return GeminiProvider(GeminiWire(config), config, GEMINI, key=key, hooks=hooks, timing=timing)


def answer(*parts: dict[str, Any], reason: str | None = "STOP", **fields: Any) -> dict[str, Any]:
    """A whole answer of the service."""
    ending = {"finishReason": reason} if reason else {}
    return {
        "candidates": [{"content": {"role": "model", "parts": list(parts)}, "index": 0, **ending}],
        "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 5, "totalTokenCount": 16},
        "modelVersion": MODEL,
        "responseId": "r1",
        **fields,
    }


def frames_of(whole: dict[str, Any], pieces: int = 4) -> list[Frame]:
    """The stream of a whole answer, each text in that many pieces; what a part has besides comes with its last one."""
    candidate = whole["candidates"][0]
    cut = [piece for part in candidate["content"]["parts"] for piece in _cut(part, pieces)]
    frames: list[Frame] = []
    for place, part in enumerate(cut):
        ending = {key: value for key, value in candidate.items() if key != "content"} if place == len(cut) - 1 else {}
        frames.append((None, {**whole, "candidates": [{"content": {"parts": [part]}, "index": 0, **ending}]}))
    return frames


def _cut(part: dict[str, Any], pieces: int) -> list[dict[str, Any]]:
    text = part.get("text")
    if not text:
        return [part]
    size = max(1, -(-len(text) // pieces))
    thought = {"thought": True} if part.get("thought") else {}
    cut = [{"text": text[start : start + size], **thought} for start in range(0, len(text), size)]
    return [*cut[:-1], {**part, **cut[-1]}]


def refusal(told: str, status: str = "SOME_STATUS", **error: Any) -> dict[str, Any]:
    """The error of the service."""
    return {"error": {"code": 0, "message": told, "status": status, **error}}


def call_of(
    *history: dict[str, Any],
    model: str = MODEL,
    config: GeminiConfig | None = None,
    stream: bool = True,
    **wishes: Any,
) -> WireCall:
    """The call for a history, put in order as the provider does it."""
    request = ChatRequest(messages=[to_model(each) for each in history or (USER,)], **wishes)
    wire = GeminiWire(config or GeminiConfig(include_thoughts=False))
    return wire.to_call(repair(request, "gemini").request, model, stream=stream)


def sent(*history: dict[str, Any], **named: Any) -> list[dict[str, Any]]:
    """The contents of the call for a history."""
    return call_of(*history, **named).body["contents"]


def generation(**named: Any) -> dict[str, Any]:
    """What a call says about how to answer."""
    return call_of(**named).body.get("generationConfig", {})


def told(call: WireCall) -> list[tuple[str, str]]:
    """The degradations of a call."""
    return [(each.requested, each.actual) for each in call.degradations]


def streamed(frames: list[Frame]) -> tuple[ChatResponse, list[Piece]]:
    """What comes of a stream, and what is told meanwhile."""
    reader = GeminiWire().open_stream()
    pieces = [piece for _, data in frames for piece in reader.feed("message", json.dumps(data))]
    assert reader.is_complete
    return reader.response(), pieces


def sent_back(response: ChatResponse, **named: Any) -> list[dict[str, Any]]:
    """The parts that the next request has for a response."""
    stored: dict[str, Any] = {"role": "assistant", "content": [fields_of(block) for block in response.content]}
    results = [{"role": "tool", "tool_call_id": each.id, "content": "x"} for each in response.tool_calls or ()]
    return sent(USER, stored, *results, USER, **named)[1]["parts"]


VENDOR = VendorUnderTest(
    make=make,
    frames=lambda text: frames_of(answer({"text": text})),
    body=lambda text: answer({"text": text}),
    refusal=refusal,
)
