"""The provider against servers nobody here wrote: llama.cpp's own, and a mock that judges its clients."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.modules.llama_server import LlamaServer, llama_server
from tests.modules.provider_faults import text_of

from amplifier_core.llm_errors import AuthenticationError, ContextLengthError, StreamError
from amplifier_core.message_models import ChatRequest, Message, ToolCallBlock, ToolSpec
from amplifier_core.models import ToolResult
from amplifier_core.session import AmplifierSession
from amplifier_core.testing import EventRecorder, TestCoordinator
from amplifier_modkit.events import LLM_STREAM_BLOCK_DELTA
from amplifier_modkit.llm.errors import BrokenStreamError
from amplifier_module_provider_chat_completions import mount

__all__ = ["llama_server"]

pytestmark = pytest.mark.slow  # a model thinks, or a server starts

WEATHER = ToolSpec(
    name="get_weather",
    description="Tells the weather of a city",
    parameters={"type": "object", "properties": {"city": {"type": "string", "maxLength": 20}}, "required": ["city"]},
)
QUICK = {"max_retries": 2, "min_retry_delay": 0.01, "retry_jitter": False}


@asynccontextmanager
async def mounted(**config: Any) -> AsyncGenerator[tuple[Any, EventRecorder]]:
    """The provider with that config, and what it streams."""
    coordinator, recorder = TestCoordinator(), EventRecorder()
    coordinator.hooks.register(LLM_STREAM_BLOCK_DELTA, recorder)
    close = await mount(coordinator, {**QUICK, **config})
    assert close is not None
    yield coordinator.get("providers", "chat-completions"), recorder
    await close()


def streamed(recorder: EventRecorder) -> str:
    """The text of all pieces."""
    return "".join(data["text"] for _, data in recorder.events)


def called_before(city: str, call_id: str) -> list[Message]:
    """A turn with a call, as an example for a small model."""
    return [
        Message(role="user", content=f"What is the weather in {city}?"),
        Message(role="assistant", content=[ToolCallBlock(id=call_id, name="get_weather", input={"city": city})]),
        Message(role="tool", tool_call_id=call_id, content="Rain."),
        Message(role="assistant", content="Rain."),
    ]


async def test_llama_cpp_streams_an_answer_and_tells_its_window(llama_server: LlamaServer) -> None:
    """What is streamed is what is answered; the model and its window are found out; the tokens are counted."""
    async with mounted(base_url=llama_server.base_url, api_key=llama_server.api_key) as (provider, recorder):
        hello = ChatRequest(messages=[Message(role="user", content="Say hello.")], max_output_tokens=8)
        response = await provider.complete(hello)
        info = provider.get_info()
    assert text_of(response) == streamed(recorder) != ""
    assert (info.defaults["model"], info.defaults["context_window"]) == (
        llama_server.model,
        llama_server.context_window,
    )
    assert response.usage is not None
    assert (response.usage.output_tokens <= 8, response.usage.model_extra) == (True, {})
    assert response.finish_reason in ("stop", "length")


async def test_llama_cpp_calls_a_tool(llama_server: LlamaServer) -> None:
    """The call has an id and arguments that fit the schema."""
    messages = [*called_before("Rome", "c1"), *called_before("Oslo", "c2")]
    asked = Message(role="user", content="What is the weather in Paris?")
    request = ChatRequest(
        messages=[*messages, asked], tools=[WEATHER], tool_choice="required", temperature=0, max_output_tokens=48
    )
    async with mounted(base_url=f"{llama_server.base_url}/v1", api_key=llama_server.api_key) as (provider, recorder):
        response = await provider.complete(request)
    (call,) = provider.parse_tool_calls(response)
    assert (call.name, list(call.arguments), bool(call.id)) == ("get_weather", ["city"], True)
    assert response.finish_reason == "tool_calls"
    assert streamed(recorder).endswith("}")


async def test_llama_cpp_refuses_in_words_that_are_understood(llama_server: LlamaServer) -> None:
    """A wrong key, and a request that is longer than its window."""
    hello = ChatRequest(messages=[Message(role="user", content="hi")], max_output_tokens=1)
    async with mounted(base_url=llama_server.base_url, api_key="wrong", default_model="m") as (provider, _):
        with pytest.raises(AuthenticationError):
            await provider.complete(hello)
    long = ChatRequest(messages=[Message(role="user", content="word " * 6000)], max_output_tokens=1)
    async with mounted(base_url=llama_server.base_url, api_key=llama_server.api_key) as (provider, _):
        with pytest.raises(ContextLengthError):
            await provider.complete(long)


@pytest.mark.parametrize("vendor", ["openai", "mistral", "groq", "together", "perplexity", "xai", "ai21"])
async def test_the_mock_speaks_for_many_services(llmock: Any, vendor: str) -> None:
    """Streamed and whole, with text and with a call of the tool that is offered."""
    place = {"base_url": llmock.base_url(vendor), "api_key": "k", "default_model": "some-model", "context_window": 9000}
    async with mounted(**place) as (provider, recorder):
        hello = ChatRequest(messages=[Message(role="user", content="Say hello.")])
        response = await provider.complete(hello)
        whole = await provider.complete(ChatRequest(messages=hello.messages, metadata={"stream": False}))
        tools = [WEATHER]
        called = await provider.complete(ChatRequest(messages=hello.messages, tools=tools))
    assert text_of(response) != ""
    assert streamed(recorder).startswith(text_of(response))
    assert text_of(whole) == text_of(response)
    assert response.usage is not None
    assert response.usage.input_tokens > 0
    assert [(call.name, list(call.arguments)) for call in called.tool_calls or ()] == [("get_weather", ["city"])]
    llmock.assert_resilient(strict=True)


async def test_the_mock_finds_nothing_wrong_with_how_faults_are_met(llmock: Any) -> None:
    """It is waited as long as asked, cut streams are not taken for answers, and what is broken is tried again."""
    place = {"base_url": llmock.base_url("openai"), "default_model": "gpt-6-luna", "context_window": 9000}
    hello = ChatRequest(messages=[Message(role="user", content="Say hello.")])
    async with mounted(**place) as (provider, _):
        llmock.rate_limit(times=2, retry_after=0.05)
        assert text_of(await provider.complete(hello)) != ""
        for fault in (llmock.truncate, llmock.disconnect, llmock.corrupt):
            fault(after_chunks=2)
            assert text_of(await provider.complete(hello)) != ""
        llmock.break_tool_call("malformed_arguments")
        broken = await provider.complete(ChatRequest(messages=hello.messages, tools=[WEATHER]))
        assert isinstance(broken.tool_calls and broken.tool_calls[0].arguments, str)
        llmock.context_overflow()
        with pytest.raises(ContextLengthError):
            await provider.complete(hello)
    llmock.assert_resilient()
    async with mounted(**place, max_retries=0) as (provider, _):
        llmock.truncate(after_chunks=2)
        with pytest.raises(StreamError) as cut:
            await provider.complete(hello)
    assert isinstance(cut.value, BrokenStreamError)
    assert text_of(cut.value.partial) != ""


class WeatherTool:
    """A tool that notes what it is asked."""

    name, description, input_schema = WEATHER.name, WEATHER.description, WEATHER.parameters

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def execute(self, input: Any) -> ToolResult:
        """The weather."""
        self.asked.append(input)
        return ToolResult(output="Rain.")


@pytest.mark.parametrize("loop", ["loop-basic", "loop-streaming", "loop-events"])
async def test_a_whole_turn_runs_in_every_loop(llmock: Any, loop: str) -> None:
    """The model calls the tool, gets its result, and answers."""
    coordinator_config = {"base_url": llmock.base_url("openai"), "default_model": "m", "context_window": 9000}
    plan = {"session": {"orchestrator": loop, "context": "context-simple"}}
    tool = WeatherTool()
    async with AmplifierSession(plan) as session:
        close = await mount(session.coordinator, coordinator_config)
        session.coordinator.mount("tools", tool)
        answer = await session.execute("What is the weather?")
        transcript = await session.coordinator.get("context").get_messages()
        assert close is not None
        await close()
    assert answer
    assert len(tool.asked) == 1
    assert [message["role"] for message in transcript] == ["user", "assistant", "tool", "assistant"]
