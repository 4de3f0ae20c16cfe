"""Fakes that answer from a script: texts, responses, exceptions and functions, in order."""

from __future__ import annotations

from typing import Any

import pytest

from amplifier_core.llm_errors import RateLimitError
from amplifier_core.message_models import (
    ChatRequest,
    ChatResponse,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolCallBlock,
    Usage,
)
from amplifier_core.models import ModelInfo, ProviderInfo
from amplifier_core.testing import (
    EventRecorder,
    FakeClock,
    MockContextManager,
    MockProvider,
    MockTool,
    ScriptedOrchestrator,
    ScriptedReply,
    ask_provider,
)


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


async def test_a_reply_in_full_thinks_speaks_and_calls_tools() -> None:
    """Blocks come in that order, pairs become calls with ids of their own, and the reply's usage is the answer's."""
    own = Usage(input_tokens=1, output_tokens=2, total_tokens=3)
    given = ToolCall(id="given", name="write", arguments={})
    reply = ScriptedReply(
        ["Let me ", "look."], thinking="hm", tool_calls=[("read", {"path": "a"}), given, ("read", {})], usage=own
    )
    provider = MockProvider([reply, ScriptedReply(tool_calls=[("read", {})])])
    response = await provider.complete(request_for("a"))
    assert response.content == [
        ThinkingBlock(thinking="hm"),
        TextBlock(text="Let me look."),
        ToolCallBlock(id="call-1", name="read", input={"path": "a"}),
        ToolCallBlock(id="given", name="write", input={}),
        ToolCallBlock(id="call-2", name="read", input={}),
    ]
    assert [call.id for call in provider.parse_tool_calls(response)] == ["call-1", "given", "call-2"]
    assert (response.usage, response.finish_reason) == (own, "tool_calls")
    bare = await provider.complete(request_for("b"))
    assert bare.content == [ToolCallBlock(id="call-3", name="read", input={})]
    assert bare.usage == provider.usage


async def test_an_empty_reply_is_an_empty_text() -> None:
    """An answer always has content."""
    response = await MockProvider([ScriptedReply()]).complete(request_for("a"))
    assert (response.content, response.tool_calls, response.finish_reason) == ([TextBlock(text="")], None, "stop")


async def test_delays_pass_on_the_given_clock() -> None:
    """The clock moves as far as the script says, also before an error, and nothing waits in real time."""
    clock = FakeClock()
    start = clock()
    script = [ScriptedReply("late", delay_s=3600), ScriptedReply(error=TimeoutError("never"), delay_s=60), "at once"]
    provider = MockProvider(script, clock=clock)
    assert text_of(await provider.complete(request_for("a"))) == "late"
    assert (clock() - start).total_seconds() == 3600
    with pytest.raises(TimeoutError, match="never"):
        await provider.complete(request_for("b"))
    await provider.complete(request_for("c"))
    assert (clock() - start).total_seconds() == 3660


async def test_without_a_clock_delays_are_real() -> None:
    """The shortest delay there is gives other tasks their turn."""
    provider = MockProvider([ScriptedReply("late", delay_s=1e-9)])
    assert text_of(await provider.complete(request_for("a"))) == "late"


async def test_a_provider_with_hooks_streams_its_pieces() -> None:
    """Every block is told from start to end with its pieces in order; the answer holds the whole."""
    recorder = EventRecorder()
    provider = MockProvider([ScriptedReply(["He", "llo"], thinking="hm", tool_calls=[("t", {})])], hooks=recorder)
    response = await provider.complete(request_for("a"))
    thinking = {"request_id": "mock-1", "block_index": 0, "block_type": "thinking"}
    text = {"request_id": "mock-1", "block_index": 1, "block_type": "text"}
    assert recorder.events == [
        ("llm:stream_block_start", thinking),
        ("llm:stream_block_delta", {**thinking, "sequence": 0, "text": "hm"}),
        ("llm:stream_block_end", thinking),
        ("llm:stream_block_start", text),
        ("llm:stream_block_delta", {**text, "sequence": 0, "text": "He"}),
        ("llm:stream_block_delta", {**text, "sequence": 1, "text": "llo"}),
        ("llm:stream_block_end", text),
    ]
    assert response.content[1] == TextBlock(text="Hello")


async def test_a_stream_belongs_to_the_model_call_in_flight() -> None:
    """Where somebody has opened a call with ``llm:request``, the pieces carry its id."""
    recorder = EventRecorder()
    await recorder.emit("llm:request", {"request_id": "r-7"})
    await MockProvider(["hi"], hooks=recorder).complete(request_for("a"))
    assert {data["request_id"] for _, data in recorder.events} == {"r-7"}


async def test_a_request_can_switch_streaming_off() -> None:
    """Metadata with ``stream`` as False keep the provider quiet."""
    recorder = EventRecorder()
    request = ChatRequest(messages=[], metadata={"stream": False})
    assert text_of(await MockProvider(["hi"], hooks=recorder).complete(request)) == "hi"
    assert recorder.events == []


@pytest.mark.parametrize(("error", "told"), [(OSError("gone"), "OSError: gone"), (TimeoutError, "TimeoutError")])
async def test_a_stream_that_breaks_off_is_told_as_such(error: Any, told: str) -> None:
    """The pieces before the error are streamed, the block does not end, and the error is raised."""
    recorder = EventRecorder()
    provider = MockProvider([ScriptedReply(["He", "ll"], error=error)], hooks=recorder)
    with pytest.raises((OSError, TimeoutError)):
        await provider.complete(request_for("a"))
    assert [event for event, _ in recorder.events] == [
        "llm:stream_block_start",
        "llm:stream_block_delta",
        "llm:stream_block_delta",
        "llm:stream_aborted",
    ]
    assert recorder.events[-1][1] == {"request_id": "mock-1", "error": told}


async def test_an_error_before_the_first_piece_aborts_no_stream() -> None:
    """Nothing came in, so there is nothing to tell."""
    recorder = EventRecorder()
    with pytest.raises(RateLimitError):
        await MockProvider([RateLimitError("slow down")], hooks=recorder).complete(request_for("a"))
    assert recorder.events == []


async def test_an_orchestrator_can_ask_the_provider() -> None:
    """A turn in the script may be a function; ``ask_provider`` gives the provider's answer to the conversation."""
    loop, context, recorder = ScriptedOrchestrator([ask_provider]), MockContextManager(), EventRecorder()
    provider = MockProvider(["It is me."], name="a")
    tools = {"mock_tool": MockTool()}
    arguments: Any = {"context": context, "providers": {"a": provider}, "tools": tools, "hooks": recorder}
    assert await loop.execute("Who is there?", **arguments) == "It is me."
    (request,) = provider.requests
    assert [message.content for message in request.messages] == ["Who is there?"]
    assert [spec.name for spec in request.tools or ()] == ["mock_tool"]
    assert [event for event, _ in recorder.events] == [
        "session:start",
        "provider:request",
        "provider:response",
        "session:end",
    ]
    assert context.messages[-1] == {"role": "assistant", "content": "It is me."}


async def test_a_turn_may_be_any_function_of_what_execute_gets() -> None:
    """It need not be async, and it gets the five arguments in order."""
    loop, context = ScriptedOrchestrator([lambda *arguments: f"{arguments[0]} {len(arguments)}"]), MockContextManager()
    assert await loop.execute("a", context, {}, {}, EventRecorder()) == "a 5"


async def test_asking_without_a_provider_says_what_is_missing() -> None:
    """The error tells what to mount."""
    with pytest.raises(RuntimeError, match="ask_provider has no provider to ask; mount one, such as a MockProvider"):
        await ask_provider("a", MockContextManager(), {}, {}, EventRecorder())


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
