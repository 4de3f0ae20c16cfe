"""The provider against a server that nobody here wrote: llama.cpp's own, with the embedded model."""

from __future__ import annotations

from typing import Any

import pytest
from tests.modkit.responses_world import asked
from tests.modules.llama_server import LlamaServer, llama_server
from tests.modules.openai_world import text_in

from amplifier_core.hooks import HookRegistry
from amplifier_core.message_models import ChatRequest, Message, ToolCallBlock, ToolSpec
from amplifier_core.testing import EventRecorder, TestCoordinator
from amplifier_modkit.events import LLM_STREAM_BLOCK_DELTA
from amplifier_module_provider_openai import mount

__all__ = ["llama_server"]

WEATHER = ToolSpec(
    name="get_weather",
    description="Tells the weather in a city.",
    parameters={"type": "object", "properties": {"city": {"type": "string", "maxLength": 12}}, "required": ["city"]},
)


async def answered_by(server: LlamaServer, request: ChatRequest, seen: EventRecorder) -> Any:
    """What the model says."""
    coordinator = TestCoordinator()
    hooks: HookRegistry = coordinator.hooks
    hooks.register(LLM_STREAM_BLOCK_DELTA, seen)
    place = {"base_url": f"{server.base_url}/v1", "api_key": server.api_key, "default_model": server.model}
    close = await mount(coordinator, {**place, "max_retries": 0, "timeout": 90})
    assert close is not None
    try:
        return await coordinator.get("providers", "openai").complete(request)
    finally:
        await close()


@pytest.mark.slow
async def test_a_real_server_streams_text(llama_server: LlamaServer) -> None:
    """The deltas are the text of the answer, and its tokens are counted."""
    seen = EventRecorder()
    request = asked(Message(role="system", content="Be brief."), "Say hello.", max_output_tokens=12, temperature=0.0)
    response = await answered_by(llama_server, request, seen)
    assert text_in(response)
    assert "".join(data["text"] for _, data in seen.events) == text_in(response)
    assert response.usage.input_tokens > 0
    assert 0 < response.usage.output_tokens <= 13


@pytest.mark.slow
async def test_a_real_server_calls_a_tool_and_takes_its_result(llama_server: LlamaServer) -> None:
    """The call comes as a block with readable arguments; call and result go back, and an answer comes."""
    seen = EventRecorder()
    shown = Message(role="assistant", content=[ToolCallBlock(id="c1", name="get_weather", input={"city": "Rome"})])
    history = ["What is the weather in Rome?", shown, Message(role="tool", tool_call_id="c1", content="sun")]
    request = asked(
        *history,
        "And in Paris?",
        tools=[WEATHER],
        tool_choice="required",
        max_output_tokens=60,
        temperature=0.0,
    )
    response = await answered_by(llama_server, request, seen)
    (call,) = response.tool_calls
    assert (call.name, list(call.arguments)) == ("get_weather", ["city"])
    assert response.finish_reason == "tool_calls"
    result = Message(role="tool", tool_call_id=call.id, content="rain")
    said_so = Message(role="assistant", content=response.content)
    further = asked(*history, "And in Paris?", said_so, result, max_output_tokens=8, temperature=0.0)
    assert text_in(await answered_by(llama_server, further, seen))
