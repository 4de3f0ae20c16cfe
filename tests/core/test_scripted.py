"""Fakes that answer from a script: texts, responses, exceptions and functions, in order."""

from __future__ import annotations

from typing import Any

import pytest

from amplifier_core.llm_errors import RateLimitError
from amplifier_core.message_models import ChatRequest, ChatResponse, Message, TextBlock, ToolCall, ToolCallBlock, Usage
from amplifier_core.models import ModelInfo, ProviderInfo
from amplifier_core.testing import EventRecorder, MockContextManager, MockProvider, ScriptedOrchestrator


def asking_for(name: str, **arguments: Any) -> ChatResponse:
    """A response that calls one tool."""
    return ChatResponse(
        content=[ToolCallBlock(id="call-1", name=name, input=arguments)],
        tool_calls=[ToolCall(id="call-1", name=name, arguments=arguments)],
    )


def request_for(text: str) -> ChatRequest:
    """A request with one message."""
    return ChatRequest(messages=[Message(role="user", content=text)])


def text_of(response: ChatResponse) -> str:
    """The text of a response with one block."""
    (block,) = response.content
    assert isinstance(block, TextBlock)
    return block.text


async def test_a_provider_plays_its_script_and_then_says_done() -> None:
    """Texts, responses, exceptions and functions of the request come in order, and requests are kept."""

    async def later(request: ChatRequest) -> str:
        return f"{len(request.messages)} later"

    ready = ChatResponse(content=[TextBlock(text="ready-made")])
    limit = RateLimitError("slow down")
    provider = MockProvider(["text", ready, limit, ValueError, lambda _: "computed", later, lambda _: limit])
    requests = [request_for(str(number)) for number in range(9)]
    answers: list[Any] = []
    for request in requests:
        try:
            answers.append(await provider.complete(request))
        except (RateLimitError, ValueError) as error:
            answers.append(error)
    assert [text_of(answer) for answer in answers if isinstance(answer, ChatResponse)] == [
        "text",
        "ready-made",
        "computed",
        "1 later",
        "DONE",
        "DONE",
    ]
    assert answers[1] is ready
    assert (answers[2], answers[6]) == (limit, limit)
    assert isinstance(answers[3], ValueError)
    assert all(kept is given for kept, given in zip(provider.requests, requests, strict=True))


async def test_answers_carry_usage() -> None:
    """Texts get the provider's usage; a response made by the test stays without."""
    assert (await MockProvider().complete(request_for("a"))).usage == Usage(
        input_tokens=10, output_tokens=20, total_tokens=30
    )
    own = Usage(input_tokens=1, output_tokens=2, total_tokens=3)
    response = await MockProvider(["a"], usage=own).complete(request=request_for("a"))
    assert (response.usage, response.finish_reason) == (own, "stop")
    assert (await MockProvider([asking_for("t")]).complete(request_for("a"))).usage is None


async def test_a_provider_describes_itself() -> None:
    """Its info carries the limits that contexts read, and its one model the same ones."""
    provider = MockProvider(name="other", model="m", context_window=1000, max_output_tokens=100)
    limits = {"context_window": 1000, "max_output_tokens": 100}
    assert provider.get_info() == ProviderInfo(
        id="other", display_name="Mock provider: other", defaults={"model": "m", **limits}
    )
    assert await provider.list_models() == [
        ModelInfo(id="m", display_name="m", context_window=1000, max_output_tokens=100)
    ]
    assert (MockProvider().name, MockProvider().get_info().defaults["model"]) == ("mock", "mock-model")


def test_a_provider_reads_tool_calls() -> None:
    """Calls come as a list, also when there are none."""
    assert MockProvider().parse_tool_calls(asking_for("t", a=1)) == [
        ToolCall(id="call-1", name="t", arguments={"a": 1})
    ]
    assert MockProvider().parse_tool_calls(ChatResponse(content=[])) == []


async def test_requests_are_kept_whatever_answers_them() -> None:
    """A side effect set by the test leaves the script and the record of requests alone."""
    provider = MockProvider(["first"])
    provider.complete.side_effect = TimeoutError("too slow")
    with pytest.raises(TimeoutError, match="too slow"):
        await provider.complete(request_for("a"))
    provider.complete.side_effect = None
    assert text_of(await provider.complete(request_for("b"))) == "first"
    assert [request.messages[0].content for request in provider.requests] == ["a", "b"]


async def test_a_script_that_cannot_be_played_says_where() -> None:
    """A wrong item is named by its place, a text given for a list at once."""
    wrong: Any = ["fine", 5]
    provider = MockProvider(wrong)
    await provider.complete(request_for("a"))
    with pytest.raises(TypeError, match="The script of provider 'mock' has int for answer 2, expected a text"):
        await provider.complete(request_for("a"))
    with pytest.raises(TypeError, match=r"Responses must be a list, got the text 'hi'; write \['hi'\]"):
        MockProvider("hi")
    with pytest.raises(TypeError, match="Responses must be a list"):
        ScriptedOrchestrator("hi")


async def test_an_orchestrator_by_itself_answers_from_the_script() -> None:
    """Responses come in order, then DONE; prompt and answer go into the context and the events of a session."""
    loop, context, recorder = ScriptedOrchestrator(["one"]), MockContextManager(), EventRecorder()
    first = await loop.execute("a", context, {}, {}, recorder)
    second = await loop.execute(prompt="b", context=context, providers={}, tools={}, hooks=recorder)
    assert (first, second, loop.call_count) == ("one", "DONE", 2)
    assert context.messages == [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "one"},
        {"role": "user", "content": "b"},
        {"role": "assistant", "content": "DONE"},
    ]
    assert recorder.events == [
        ("session:start", {"prompt": "a"}),
        ("session:end", {"response": "one"}),
        ("session:start", {"prompt": "b"}),
        ("session:end", {"response": "DONE"}),
    ]


async def test_an_exception_in_an_orchestrators_script_is_raised() -> None:
    """The turn counts, the prompt is in the context, and the next turn goes on with the script."""
    loop, context = ScriptedOrchestrator([RuntimeError("lost"), "found"]), MockContextManager()
    with pytest.raises(RuntimeError, match="lost"):
        await loop.execute("a", context, {}, {}, EventRecorder())
    assert await loop.execute("b", context, {}, {}, EventRecorder()) == "found"
    assert [message["content"] for message in context.messages] == ["a", "b", "found"]
