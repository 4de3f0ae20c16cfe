"""Claude's provider against a server that nobody here wrote and that is not Claude: llama.cpp's own."""

from __future__ import annotations

from typing import Any

import pytest
from tests.modules.anthropic_world import make
from tests.modules.llama_server import LlamaServer, llama_server

from amplifier_core.hooks import HookRegistry
from amplifier_core.llm_errors import AuthenticationError, ContextLengthError
from amplifier_core.message_models import ChatRequest, ChatResponse, Message, TextBlock, ToolSpec
from amplifier_modkit.events import LLM_STREAM_BLOCK_DELTA
from amplifier_module_provider_anthropic.provider import AnthropicProvider

__all__ = ["llama_server"]

pytestmark = pytest.mark.slow

READ = ToolSpec(
    name="read",
    description="Read a file",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


def provider_for(server: LlamaServer, hooks: HookRegistry | None = None, **settings: Any) -> AnthropicProvider:
    """A provider that asks the server for short answers."""
    given = {"key": server.api_key, "default_model": server.model, "max_tokens": 12, **settings}
    return make(server.base_url, hooks, given.pop("key"), **given)


def question(text: str = "Hello!", **wishes: Any) -> ChatRequest:
    """A request with one message."""
    return ChatRequest(messages=[Message(role="user", content=text)], **wishes)


def text_of(response: ChatResponse) -> str:
    """The text of a response."""
    return "".join(block.text for block in response.content if isinstance(block, TextBlock))


@pytest.mark.parametrize("streams", [True, False])
async def test_it_answers_and_counts(llama_server: LlamaServer, streams: bool) -> None:
    """Text, usage and the end of the answer are there; the pieces of a stream are its text."""
    hooks, pieces = HookRegistry(), list[str]()

    async def note(event: str, data: dict[str, Any]) -> None:
        pieces.append(data["text"])

    hooks.register(LLM_STREAM_BLOCK_DELTA, note)
    provider = provider_for(llama_server, hooks, use_streaming=streams)
    request = question(temperature=0.0)
    response = await provider.complete(request)
    counted = await provider.count_tokens(request)
    await provider.close()
    assert text_of(response).strip() != ""
    assert "".join(pieces) == (text_of(response) if streams else "")
    assert response.finish_reason in ("stop", "length")
    assert response.usage is not None
    assert 0 < response.usage.output_tokens <= 12
    assert counted > 0


async def test_a_tool_is_called_and_its_result_taken(llama_server: LlamaServer) -> None:
    """A required call comes with arguments that are an object; the conversation goes on with its result."""
    provider = provider_for(llama_server, max_tokens=40)
    asked = Message(role="user", content="Read the file notes.txt")
    wishes: dict[str, Any] = {"tools": [READ], "tool_choice": "required", "temperature": 0.0}
    first = await provider.complete(ChatRequest(messages=[asked], **wishes))
    (call,) = provider.parse_tool_calls(first)
    assert (call.name, list(call.arguments)) == ("read", ["path"])
    answered = Message(role="assistant", content=first.content)
    result = Message(role="tool", tool_call_id=call.id, name="read", content="Buy milk.")
    second = await provider.complete(ChatRequest(messages=[asked, answered, result]))
    await provider.close()
    assert first.finish_reason == "tool_calls"
    assert second.content != []


async def test_its_refusals_are_understood(llama_server: LlamaServer) -> None:
    """A wrong key and a prompt that is too long are told apart, and neither is tried again."""
    stranger = provider_for(llama_server, key="wrong-key-0123")
    with pytest.raises(AuthenticationError) as refused:
        await stranger.complete(question())
    await stranger.close()
    provider = provider_for(llama_server)
    with pytest.raises(ContextLengthError) as too_long:
        await provider.complete(question("word " * llama_server.context_window * 2))
    await provider.close()
    assert (refused.value.attempts, too_long.value.attempts) == (1, 1)
    assert "wrong-key-0123" not in str(refused.value)
