"""Every provider over HTTP with one answer that has everything in it: thoughts, secrets, text, two calls, counts.

For tests of what all vendors share: the matrix of features, and sessions that go from one vendor to another.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from tests.modkit.responses_world import answer as openai_answer
from tests.modkit.responses_world import called, said, stream_of, thought
from tests.modules import anthropic_world, gemini_world
from tests.modules.llm_server import Answer, LlmServer, json_answer, serving

from amplifier_core.message_models import ChatResponse
from amplifier_core.testing import TestCoordinator
from amplifier_modkit.llm.provider import HttpProvider

THOUGHT, SAID = "Both are cities.", "I look at both."
SIGNATURE, SECRET = "c2lnbmF0dXJl+/==", "ZW5jcnlwdGVk+/=="
KEY = "test-key-0123456789"

Body = dict[str, Any]
Events = Sequence[tuple[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One provider: how its service answers, and what it says about its models and limits."""

    name: str
    body: Body
    """A whole answer; what a vendor must get back unchanged is ``SIGNATURE`` or ``SECRET``."""
    events: Events
    """The same as a stream."""
    broken: Body
    """An answer with a call whose arguments are ``{"city":``, if the vendor's form allows for that."""
    paths: Mapping[str, Any]
    """What the service answers at which path about its models."""
    live: str
    """The id of a model that only the service knows."""
    limits: Mapping[str, str] = field(default_factory=dict[str, str])
    """Headers about a rate limit, as this service writes them; none if it does not."""
    place: str = "base_url"
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def secrets(self) -> list[str]:
        """What only this vendor can read."""
        return [each for each in (SIGNATURE, SECRET) if each in json.dumps(self.body)]

    @property
    def mount(self) -> Callable[..., Awaitable[Any]]:
        """The mount function of the module."""
        return import_module(f"amplifier_module_provider_{self.name.replace('-', '_')}").mount

    @asynccontextmanager
    async def provider(self, *answers: Answer) -> AsyncGenerator[tuple[HttpProvider, LlmServer]]:
        """The mounted provider, and the service it asks."""
        paths = {path: json_answer(body) for path, body in self.paths.items()}
        async with serving(*answers, paths=paths) as server:
            coordinator = TestCoordinator()
            config = {"api_key": KEY, "max_retries": 0, self.place: server.url, **self.config}
            close = await self.mount(coordinator, config)
            try:
                yield coordinator.get("providers", self.name), server
            finally:
                await close()


def stored(response: ChatResponse) -> Body:
    """An answer as a loop stores it: through JSON."""
    content = [block.model_dump(mode="json", exclude_none=True) for block in response.content]
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in response.tool_calls or ()]
    return {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}


def _anthropic() -> Sample:
    def call(city: str, number: int) -> Body:
        return {"type": "tool_use", "id": f"toolu_{number}", "name": "weather", "input": {"city": city}}

    body = anthropic_world.message(
        {"type": "thinking", "thinking": THOUGHT, "signature": SIGNATURE},
        {"type": "redacted_thinking", "data": SECRET},
        {"type": "text", "text": SAID},
        call("Paris", 1),
        call("Rome", 2),
        stop_reason="tool_use",
        usage={
            "input_tokens": 11,
            "output_tokens": 5,
            "cache_read_input_tokens": 7,
            "cache_creation_input_tokens": 3,
            "output_tokens_details": {"thinking_tokens": 4},
        },
    )
    left = {f"anthropic-ratelimit-requests-{name}": value for name, value in (("limit", "50"), ("remaining", "9"))}
    model = {"type": "model", "id": "claude-sonnet-9-9", "display_name": "Sonnet 9.9", "created_at": "2030-01-01"}
    return Sample(
        name="anthropic",
        body=body,
        events=[(event or "", data) for event, data in anthropic_world.frames_of(body)],
        broken=anthropic_world.message({**call("", 1), "input": '{"city":'}),
        paths={"/v1/models": {"data": [model], "has_more": False}},
        live=model["id"],
        limits={**left, "anthropic-ratelimit-requests-reset": "2030-01-01T00:00:00Z"},
    )


def _responses(name: str, place: str, root: str) -> Sample:
    body = openai_answer(
        thought(THOUGHT, secret=SECRET), said(SAID), called(item_id="fc_1"), called('{"city":"Rome"}', item_id="fc_2")
    )
    listed = {"data": [{"id": "gpt-99", "object": "model", "created": 1}]}
    return Sample(
        name=name,
        body=body,
        events=[(event["type"], event) for event in stream_of(body)],
        broken=openai_answer(called('{"city":')),
        paths={f"{root}/models": listed},
        live="gpt-99",
        limits=_LIMITS,
        place=place,
    )


def _chat(name: str) -> Sample:
    def call(arguments: str, number: int) -> Body:
        return {
            "id": f"call_{number}",
            "type": "function",
            "index": number,
            "function": {"name": "weather", "arguments": arguments},
        }

    details = [
        {"type": "reasoning.text", "text": THOUGHT, "signature": SIGNATURE, "index": 0},
        {"type": "reasoning.encrypted", "data": SECRET, "index": 1},
    ]
    calls = [call('{"city":"Paris"}', 0), call('{"city":"Rome"}', 1)]
    message = {"role": "assistant", "content": SAID, "reasoning": THOUGHT, "reasoning_details": details}
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 3,
        "total_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }

    def chunk(delta: Body, reason: str | None = None) -> tuple[str, Any]:
        return "message", {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    pieces = [chunk({"content": piece}) for piece in (SAID[:5], SAID[5:])]
    last = [chunk({}, "tool_calls"), ("message", {"choices": [], "usage": usage}), ("message", "[DONE]")]
    return Sample(
        name=name,
        body={**_choice({**message, "tool_calls": calls}, "tool_calls"), "usage": usage},
        events=[chunk({"reasoning": THOUGHT}), *pieces, *(chunk({"tool_calls": [each]}) for each in calls), *last],
        broken=_choice({"role": "assistant", "tool_calls": [call('{"city":', 0)]}, "tool_calls"),
        paths={"/v1/models": {"data": [{"id": "m-live", "max_model_len": 9_000}]}},
        live="m-live",
        limits=_LIMITS,
    )


def _ollama() -> Sample:
    def call(arguments: Any) -> Body:
        return {"function": {"name": "weather", "arguments": arguments}}

    message = {"role": "assistant", "content": SAID, "thinking": THOUGHT}
    calls = [call({"city": "Paris"}), call({"city": "Rome"})]
    end = {"done": True, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 3}

    def line(**said: Any) -> tuple[str, Any]:
        return "message", {"model": "m", "message": {"role": "assistant", "content": "", **said}, "done": False}

    shown = {"capabilities": ["completion", "tools", "thinking", "vision"], "model_info": {"x.context_length": 32_768}}
    return Sample(
        name="ollama",
        body={"model": "m", "message": {**message, "tool_calls": calls}, **end},
        events=[
            line(thinking=THOUGHT),
            *(line(content=piece) for piece in (SAID[:5], SAID[5:])),
            *(line(tool_calls=[each]) for each in calls),
            ("message", {"model": "m", "message": {"role": "assistant", "content": ""}, **end}),
        ],
        broken={"model": "m", "message": {"role": "assistant", "tool_calls": [call('{"city":')]}, **end},
        paths={"/api/tags": {"models": [{"model": "m-live", "name": "m-live"}]}, "/api/show": shown, "/api/ps": {}},
        live="m-live",
        limits=_LIMITS,
        place="host",
        config={"default_model": "m-live"},
    )


def _gemini() -> Sample:
    def call(city: str, number: int, **more: Any) -> Body:
        return {"functionCall": {"id": f"g{number}", "name": "weather", "args": {"city": city}}, **more}

    body = gemini_world.answer(
        {"text": THOUGHT, "thought": True},
        {"text": SAID},
        call("Paris", 1, thoughtSignature=SIGNATURE),
        call("Rome", 2),
        usageMetadata={
            "promptTokenCount": 11,
            "candidatesTokenCount": 5,
            "thoughtsTokenCount": 4,
            "cachedContentTokenCount": 3,
            "totalTokenCount": 20,
        },
    )
    model = {"name": "models/gemini-9.9-flash", "supportedGenerationMethods": ["generateContent"]}
    return Sample(
        name="gemini",
        body=body,
        events=[("message", data) for _, data in gemini_world.frames_of(body)],
        broken=gemini_world.answer({"functionCall": {"id": "g1", "name": "weather", "args": '{"city":'}}),
        paths={"/v1beta/models": {"models": [model]}},
        live="gemini-9.9-flash",
    )


def _choice(message: Body, reason: str) -> Body:
    return {"choices": [{"index": 0, "message": message, "finish_reason": reason}]}


_LIMITS = {
    "x-ratelimit-limit-requests": "50",
    "x-ratelimit-remaining-requests": "9",
    "x-ratelimit-reset-requests": "6m0s",
}

SAMPLES: Sequence[Sample] = (
    _anthropic(),
    _responses("openai", "base_url", ""),
    _responses("azure-openai", "endpoint", "/openai/v1"),
    _gemini(),
    _chat("chat-completions"),
    _chat("vllm"),
    _ollama(),
)
