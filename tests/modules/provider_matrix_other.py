"""The columns of the matrix of providers for those that ask nobody over HTTP: the embedded model and the script."""

from __future__ import annotations

import threading
from typing import Any

from tests.modules.local_world import FakeEngine, asking, chunks_of, provider_on

from amplifier_core.hooks import HookRegistry
from amplifier_core.llm_errors import LLMTimeoutError
from amplifier_core.message_models import ChatRequest, ChatResponse, Message, ThinkingBlock, ToolSpec
from amplifier_modkit.events import LLM_STREAM_BLOCK_DELTA
from amplifier_module_provider_mock.provider import MockProvider

YES, NO, TOLD, NOT_ITS_OWN, LOST = "✓", "–", "told", "n/a", "LOST"
_WEATHER = ToolSpec(
    name="weather",
    description="Tells the weather.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
_QUESTION = "the weather in Paris"
_IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
_NEVER_OVER_HTTP = ("count_tokens", "live_models", "rate_limits", "caching")


async def local_column() -> dict[str, str]:
    """The cells of ``provider-local``, on an engine that writes what it is told."""
    calls = {str(choice): await _local_calls(choice) for choice in ("required", "none", {"name": "weather"})}
    response, _ = await _local(asking(_QUESTION))
    schema = {"type": "json_schema", "json_schema": {"type": "object", "title": "sentinel"}}
    wishes: dict[str, tuple[dict[str, Any], str, Any]] = {
        "json": ({"response_format": {"type": "json"}}, "grammar", '{"type": "object"}'),
        "json_schema": ({"response_format": schema}, "grammar", '{"type": "object", "title": "sentinel"}'),
        "max_output_tokens": ({"max_output_tokens": 77}, "max_tokens", 77),
        "temperature": ({"temperature": 0.0}, "temperature", 0.0),
        "top_p": ({"top_p": 0.75}, "top_p", 0.75),
        "stop": ({"stop": ["HALT"]}, "stop", ["HALT"]),
        "reasoning_effort": ({"reasoning_effort": "high"}, "reasoning_effort", None),
    }
    usage = response.usage
    return {
        **dict.fromkeys((*_NEVER_OVER_HTTP, "parallel", "thinking", "thinking_back", "secrets_back"), NO),
        **{name: await _local_wish(*wish) for name, wish in wishes.items()},
        "streaming": _mark(await _local_pieces() > 1),
        "tools": _mark(calls["required"] == [{"city": "Paris"}]),
        "tool_choice": _mark([bool(each) for each in calls.values()] == [True, False, True]),
        "broken": NOT_ITS_OWN,
        "images": await _local_image("user"),
        "image_results": await _local_image("tool"),
        "timeout": await _local_timeout(),
        "cached_tokens": _mark(usage is not None and usage.cache_read_tokens is not None),
        "reasoning_tokens": _mark(usage is not None and usage.reasoning_tokens is not None),
        "price": "free" if usage is not None and usage.cost_usd == 0 else NO,
    }


async def mock_column() -> dict[str, str]:
    """The cells of ``provider-mock``: what a script can play; wishes are recorded for the test, and that is all."""
    pieces: list[str] = []
    hooks = HookRegistry()

    async def note(event: str, data: dict[str, Any]) -> None:
        pieces.append(data["text"])

    hooks.register(LLM_STREAM_BLOCK_DELTA, note)
    calls = [{"name": "weather", "arguments": {"city": "Paris"}}, {"name": "weather", "arguments": '{"city":'}]
    usage = {"cache_read_tokens": 4, "reasoning_tokens": 2, "cost_usd": "0.5"}
    entry = {"thinking": "Hm.", "signature": "s", "text": "One, two, three.", "tool_calls": calls, "usage": usage}
    response = await MockProvider([entry], hooks=hooks, chunk_chars=4).complete(asking("hi"))
    played = {
        "streaming": len(pieces) > 1,
        "tools": (response.tool_calls or [])[0].arguments == {"city": "Paris"},
        "parallel": len(response.tool_calls or ()) == 2,
        "broken": (response.tool_calls or [])[1].arguments == '{"city":',
        "thinking": any(isinstance(block, ThinkingBlock) for block in response.content),
        "cached_tokens": response.usage is not None and response.usage.cache_read_tokens == 4,
        "reasoning_tokens": response.usage is not None and response.usage.reasoning_tokens == 2,
        "price": response.usage is not None and response.usage.cost_usd is not None,
    }
    wishes = ("tool_choice", "images", "image_results", "json", "json_schema", "max_output_tokens", "temperature")
    others = ("top_p", "stop", "reasoning_effort", "timeout", "thinking_back", "secrets_back")
    return {
        **dict.fromkeys((*wishes, *others), NOT_ITS_OWN),
        **dict.fromkeys(_NEVER_OVER_HTTP, NO),
        **{name: _mark(can) for name, can in played.items()},
    }


async def _local(request: ChatRequest, **config: Any) -> tuple[ChatResponse, FakeEngine]:
    engine = FakeEngine(lambda body: '{"city": "Paris"}' if "grammar" in body else "Hello there, you")
    provider = provider_on(engine, **config)
    try:
        return await provider.complete(request), engine
    finally:
        await provider.close()


async def _local_calls(choice: Any) -> list[Any]:
    response, _ = await _local(asking(_QUESTION, tools=[_WEATHER], tool_choice=choice))
    return [call.arguments for call in response.tool_calls or ()]


async def _local_wish(wish: dict[str, Any], key: str, value: Any) -> str:
    response, engine = await _local(asking(_QUESTION, **wish), temperature=0.5)
    if response.degradation is not None:
        return TOLD
    return YES if engine.asked[-1].get(key) == value else LOST


async def _local_pieces() -> int:
    hooks = HookRegistry()
    heard: list[str] = []

    async def note(event: str, data: dict[str, Any]) -> None:
        heard.append(event)

    hooks.register(LLM_STREAM_BLOCK_DELTA, note)
    provider = provider_on(FakeEngine("One two three"), hooks)
    await provider.complete(asking("hi"))
    await provider.close()
    return len(heard)


async def _local_image(role: str) -> str:
    called = {"type": "tool_call", "id": "c1", "name": "weather", "input": {}}
    shown: dict[str, Any] = {"role": role, "content": [{"type": "text", "text": "see"}, _IMAGE]}
    history = [
        Message(role="user", content=_QUESTION),
        *([Message.model_validate({"role": "assistant", "content": [called]})] if role == "tool" else []),
        Message.model_validate({**shown, **({"tool_call_id": "c1"} if role == "tool" else {})}),
    ]
    response, _ = await _local(ChatRequest(messages=history))
    return LOST if response.degradation is None else TOLD


async def _local_timeout() -> str:
    released = threading.Event()

    def wait(body: Any) -> Any:
        released.wait(5)
        return chunks_of("late")

    provider = provider_on(FakeEngine(wait))
    try:
        await provider.complete(asking("hi", timeout=0.02))
    except LLMTimeoutError:
        return YES
    finally:
        released.set()
        await provider.close()
    return LOST


def _mark(can: bool) -> str:
    return YES if can else NO
