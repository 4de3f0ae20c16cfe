"""Answers stream: each piece reaches the hooks before the next one is made, nothing is told twice, nothing is lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any, cast
from unittest.mock import AsyncMock, MagicMock

import pytest

from amplifier_core.content_models import TextContent, ThinkingContent, ToolCallContent
from amplifier_core.correlation import current_request_id
from amplifier_core.events import (
    CONTENT_BLOCK_DELTA,
    CONTENT_BLOCK_END,
    CONTENT_BLOCK_START,
    LLM_REQUEST,
    LLM_RESPONSE,
    ORCHESTRATOR_COMPLETE,
    PROVIDER_REQUEST,
    PROVIDER_RESPONSE,
    PROVIDER_RETRY,
    TOOL_PRE,
)
from amplifier_core.hooks import HookRegistry
from amplifier_core.llm_errors import AuthenticationError, ProviderUnavailableError
from amplifier_core.message_models import ChatResponse, TextBlock, ThinkingBlock, ToolCall, ToolCallBlock, Usage
from amplifier_core.models import HookResult
from amplifier_core.testing import (
    EventRecorder,
    MockContextManager,
    MockCoordinator,
    MockProvider,
    MockTool,
    ScriptedReply,
    SequentialIds,
)
from amplifier_modkit.events import (
    LLM_STREAM_ABORTED,
    LLM_STREAM_BLOCK_DELTA,
    LLM_STREAM_BLOCK_END,
    LLM_STREAM_BLOCK_START,
)
from amplifier_module_loop_streaming.config import StreamingSettings
from amplifier_module_loop_streaming.loop import StreamingLoop

STREAM = ("llm:stream_", "content_block:", "thinking:")
"""How the names of events about pieces begin."""


class Yielding(MockProvider):
    """A provider with ``stream()``: each call plays one of ``scripts``, whose items are pieces, errors or acts."""

    def __init__(self, *scripts: list[Any], log: list[str] | None = None) -> None:
        super().__init__()
        self.scripts = list(scripts)
        self.log: list[str] = [] if log is None else log
        self.latest: list[Any] = []

    async def stream(self, request: Any, **extras: Any) -> AsyncIterator[Any]:
        self.latest = [message.content for message in request.messages]
        script = self.scripts.pop(0)
        try:
            for item in script:
                if isinstance(item, BaseException):
                    raise item
                if callable(item):
                    await cast("Any", item)()
                else:
                    self.log.append(f"yields {item}")
                    yield item
        finally:
            self.log.append("closed")


class World:
    """What a turn needs, with ids that repeat themselves, and everything that happens in it."""

    def __init__(self, *providers: Any, **settings: Any) -> None:
        self.hooks = EventRecorder()
        self.context = MockContextManager()
        self.coordinator = MockCoordinator(new_id=SequentialIds())
        self.coordinator.mount("context", self.context)
        self.providers = {getattr(each, "name", "mock"): each for each in providers}
        self.tool = MockTool("look", output="blue")
        self.loop = StreamingLoop(StreamingSettings(**{"min_retry_delay": 0, **settings}))

    async def execute(self, prompt: str = "go", **options: Any) -> str:
        return await self.loop.execute(
            prompt, self.context, self.providers, {"look": self.tool}, self.hooks, self.coordinator, **options
        )

    def pieces(self) -> list[str]:
        """The events about pieces, each with its block, its kind or its text."""
        return [_short(event, data) for event, data in self.hooks.events if event.startswith(STREAM)]


def _short(event: str, data: dict[str, Any]) -> str:
    told = (data.get("block_index"), data.get("block_type"), data.get("text"))
    return " ".join([event, *(str(each) for each in told if each is not None)])


def hear(hooks: HookRegistry, event: str, log: list[str]) -> None:
    """Writes the texts of an event into ``log``."""

    async def handler(event: str, data: dict[str, Any]) -> None:
        await asyncio.sleep(0)
        log.append(f"hears {data['text']}")

    hooks.register(event, handler)


TOLD_ONCE = [
    "llm:stream_block_start 0 text",
    "content_block:start 0 text",
    "llm:stream_block_delta 0 text Hello",
    "content_block:delta 0 text Hello",
    "llm:stream_block_delta 0 text  there",
    "content_block:delta 0 text  there",
    "llm:stream_block_end 0 text",
    "content_block:end 0 text",
]


@pytest.mark.parametrize("event", [LLM_STREAM_BLOCK_DELTA, CONTENT_BLOCK_DELTA])
async def test_each_piece_of_a_stream_is_heard_before_the_next_one_is_yielded(event: str) -> None:
    """A slow handler holds the provider up, so that it can never be overtaken."""
    log: list[str] = []
    world = World(Yielding(["Hello", " there"], log=log))
    hear(world.hooks, event, log)
    assert await world.execute() == "Hello there"
    assert log == ["yields Hello", "hears Hello", "yields  there", "hears  there", "closed"]
    assert world.pieces() == TOLD_ONCE
    assert world.context.messages == [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "Hello there"},
    ]


@pytest.mark.parametrize("event", [LLM_STREAM_BLOCK_DELTA, CONTENT_BLOCK_DELTA])
async def test_pieces_that_a_provider_emits_are_relayed_before_the_next_one(event: str) -> None:
    """A provider that emits ``llm:stream_*`` while it completes is heard in the same way, and nothing is said twice."""
    log: list[str] = []
    world = World()

    async def complete(request: Any, **extras: Any) -> ChatResponse:
        block = {"request_id": "r", "block_index": 0, "block_type": "text"}
        await world.hooks.emit(LLM_STREAM_BLOCK_START, block)
        for sequence, text in enumerate(["Hello", " there"]):
            log.append(f"emits {text}")
            await world.hooks.emit(LLM_STREAM_BLOCK_DELTA, {**block, "sequence": sequence, "text": text})
        await world.hooks.emit(LLM_STREAM_BLOCK_END, block)
        return ChatResponse(content=[TextBlock(text="Hello there")])

    provider = MockProvider()
    provider.complete.side_effect = complete
    world.providers = {"mock": provider}
    hear(world.hooks, event, log)
    assert await world.execute() == "Hello there"
    assert log == ["emits Hello", "hears Hello", "emits  there", "hears  there"]
    assert world.pieces() == TOLD_ONCE


async def test_thinking_streams_as_blocks_and_as_thinking() -> None:
    """Thinking has events of its own beside those of its block; text after it is another block."""
    world = World()
    world.providers = {"mock": MockProvider([ScriptedReply(["A"], thinking=["hm", "m"])], hooks=world.hooks)}
    assert await world.execute() == "A"
    assert world.pieces() == [
        "llm:stream_block_start 0 thinking",
        "content_block:start 0 thinking",
        "llm:stream_block_delta 0 thinking hm",
        "content_block:delta 0 thinking hm",
        "thinking:delta 0 hm",
        "llm:stream_block_delta 0 thinking m",
        "content_block:delta 0 thinking m",
        "thinking:delta 0 m",
        "llm:stream_block_end 0 thinking",
        "content_block:end 0 thinking",
        "thinking:final 0 hmm",
        "llm:stream_block_start 1 text",
        "content_block:start 1 text",
        "llm:stream_block_delta 1 text A",
        "content_block:delta 1 text A",
        "llm:stream_block_end 1 text",
        "content_block:end 1 text",
    ]
    ends = [data["block"] for _, data in world.hooks.get_events(CONTENT_BLOCK_END)]
    assert ends == [{"type": "thinking", "thinking": "hmm"}, {"type": "text", "text": "A"}]


@pytest.mark.parametrize(
    "call",
    [
        ToolCall(id="c1", name="look", arguments={"at": "sky"}),
        ToolCallBlock(id="c1", name="look", input={"at": "sky"}),
        ToolCallContent(id="c1", name="look", arguments={"at": "sky"}),
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "sky"}},
        {"id": "c1", "name": "look", "arguments": '{"at": "sky"}'},
    ],
    ids=["tool call", "block", "content", "dict", "dict with text"],
)
async def test_tool_calls_of_a_stream_run(call: Any) -> None:
    """A call may come in any form; it is told after the answer, while its text was told as it came."""
    world = World(Yielding(["Let me see", call], ["It is ", "blue"]))
    assert await world.execute() == "It is blue"
    assert world.tool.last_input == {"at": "sky"}
    said, result, answer = world.context.messages[1:]
    assert [block["type"] for block in said["content"]] == ["text", "tool_call"]
    assert result == {"role": "tool", "tool_call_id": "c1", "name": "look", "content": "blue"}
    assert answer == {"role": "assistant", "content": "It is blue"}
    assert world.pieces()[:9] == [
        "llm:stream_block_start 0 text",
        "content_block:start 0 text",
        "llm:stream_block_delta 0 text Let me see",
        "content_block:delta 0 text Let me see",
        "llm:stream_block_end 0 text",
        "content_block:end 0 text",
        "llm:stream_block_start 1 tool_use",
        'llm:stream_block_delta 1 tool_use {"at": "sky"}',
        "llm:stream_block_end 1 tool_use",
    ]
    assert world.pieces()[9:11] == ["content_block:start 1 tool_call", "content_block:end 1 tool_call"]
    assert world.hooks.get_events(LLM_STREAM_BLOCK_START)[1][1]["name"] == "look"


async def test_the_response_at_the_end_of_a_stream_counts_instead_of_the_pieces() -> None:
    """What the provider puts together itself is the answer; blocks are matched by kind, whatever their numbers."""
    whole = ChatResponse(
        content=[ThinkingBlock(thinking="hm", signature="s"), TextBlock(text="Hello!")],
        usage=Usage(input_tokens=1, output_tokens=2, total_tokens=3),
    )
    world = World(Yielding([TextContent(text="Hello"), {"text": "!"}, whole]))
    assert await world.execute() == "Hello!"
    assert [line for line in world.pieces() if line.startswith(("content_block", "thinking"))] == [
        "content_block:start 0 text",
        "content_block:delta 0 text Hello",
        "content_block:delta 0 text !",
        "content_block:end 0 text",
        "content_block:start 0 thinking",
        "content_block:end 0 thinking",
        "thinking:final 0 hm",
    ]
    ((_, told),) = world.hooks.get_events(PROVIDER_RESPONSE)
    assert told["response"] is whole
    assert told["usage"] is whole.usage


async def test_a_stream_without_a_response_gives_its_usage_and_thinking() -> None:
    """Usage may be a piece; the signature of thinking survives into the context."""
    usage = Usage(input_tokens=1, output_tokens=2, total_tokens=3)
    world = World(Yielding([ThinkingContent(text="hm"), {"type": "thinking", "signature": "s"}, "A", usage]))
    assert await world.execute() == "A"
    assert world.context.messages[1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "A"},
    ]
    assert world.hooks.get_events(PROVIDER_RESPONSE)[0][1]["usage"] is usage


async def test_a_stream_that_gives_nothing_is_an_empty_answer() -> None:
    """No piece and no response is told as such."""
    world = World(Yielding([]))
    assert await world.execute() == "The model gave an empty answer (finish reason: stop)."
    assert world.pieces() == []


async def test_events_of_a_stream_carry_the_id_of_the_call() -> None:
    """The call that the provider opens when it begins to stream gives the id, and without one there is a new id."""
    world = World()

    async def opens() -> None:
        await world.hooks.emit(LLM_REQUEST, {"request_id": "r-1"})

    async def closes() -> None:
        await world.hooks.emit(LLM_RESPONSE, {})

    world.providers = {"mock": Yielding([opens, "A", closes], ["B"])}
    await world.execute()
    await world.execute()
    first, second = (data["request_id"] for _, data in world.hooks.get_events(LLM_STREAM_BLOCK_DELTA))
    assert (first, second.startswith("id-")) == ("r-1", True)
    assert current_request_id() is None


async def test_a_stream_may_be_awaited_and_need_not_be_a_generator() -> None:
    """``stream`` may be a coroutine that gives any asynchronous iterable, without a way to close it."""

    class Pieces:
        def __init__(self) -> None:
            self.left = ["Hello", " there"]

        def __aiter__(self) -> Pieces:
            return self

        async def __anext__(self) -> str:
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop(0)

    class Awaited(MockProvider):
        async def stream(self, request: Any, **extras: Any) -> Any:
            return Pieces()

    world = World(Awaited())
    assert await world.execute() == "Hello there"
    assert world.pieces() == TOLD_ONCE


async def test_what_is_no_stream_is_not_asked_for_pieces() -> None:
    """A flag, a method that gives no stream, and the attributes that mocks make up: the whole answer is asked for."""

    class Flagged(MockProvider):
        stream = True

    class Whole(MockProvider):
        def stream(self, request: Any, **extras: Any) -> list[str]:
            return ["not", "asynchronous"]

    answer = ChatResponse(content=[TextBlock(text="A")])
    mocked = MagicMock(priority=1, complete=AsyncMock(return_value=answer))
    mocked.name = "mock"
    mocked.parse_tool_calls.return_value = []
    for provider in (Flagged(["A"]), Whole(["A"]), mocked):
        world = World(provider)
        assert await world.execute() == "A"
        assert world.pieces() == ["content_block:start 0 text", "content_block:end 0 text"]


async def test_a_stream_that_breaks_off_is_told_and_tried_anew() -> None:
    """The second attempt begins with its first block; blocks of both are told as they come and not once more."""
    world = World(Yielding(["Hel", ProviderUnavailableError("gone")], ["Hello", " there"]))
    assert await world.execute() == "Hello there"
    assert world.pieces() == [
        "llm:stream_block_start 0 text",
        "content_block:start 0 text",
        "llm:stream_block_delta 0 text Hel",
        "content_block:delta 0 text Hel",
        "llm:stream_aborted",
        *TOLD_ONCE,
    ]
    ((_, told),) = world.hooks.get_events(LLM_STREAM_ABORTED)
    assert told["error"] == "ProviderUnavailableError: gone"
    assert len(world.hooks.get_events(PROVIDER_RETRY)) == 1
    assert world.context.messages[1:] == [{"role": "assistant", "content": "Hello there"}]


async def test_a_stream_that_fails_before_its_first_piece_has_nothing_to_abort() -> None:
    """An error that is not worth another attempt comes out as it is, with the closing events."""
    world = World(Yielding([AuthenticationError("no key")]))
    with pytest.raises(AuthenticationError, match="no key"):
        await world.execute()
    assert world.pieces() == []
    assert world.hooks.get_events(ORCHESTRATOR_COMPLETE)[0][1]["reason"] == "error"
    assert world.context.messages == [{"role": "user", "content": "go"}]


async def test_a_provider_that_tries_again_by_itself_is_followed() -> None:
    """After ``llm:stream_aborted`` only what comes next counts, also when that has fewer blocks."""
    world = World()

    async def play(*texts: str) -> None:
        for index, text in enumerate(texts):
            block = {"request_id": "r", "block_index": index, "block_type": "text"}
            await world.hooks.emit(LLM_STREAM_BLOCK_START, block)
            await world.hooks.emit(LLM_STREAM_BLOCK_DELTA, {**block, "text": text})
            await world.hooks.emit(LLM_STREAM_BLOCK_END, block)

    provider = MockProvider()

    async def complete(request: Any, **extras: Any) -> ChatResponse:
        await play("one", "two")
        await world.hooks.emit(LLM_STREAM_ABORTED, {"request_id": "r", "error": "gone"})
        await play("One")
        return ChatResponse(content=[TextBlock(text="One"), TextBlock(text="silent")])

    provider.complete.side_effect = complete
    world.providers = {"mock": provider}
    assert await world.execute() == "Onesilent"
    assert world.pieces()[-2:] == ["content_block:start 1 text", "content_block:end 1 text"]
    assert [line for line in world.pieces() if line.startswith(CONTENT_BLOCK_START)] == [
        "content_block:start 0 text",
        "content_block:start 1 text",
        "content_block:start 0 text",
        "content_block:start 1 text",
    ]


async def test_a_provider_that_aborts_and_answers_in_one_piece_is_told_afterwards() -> None:
    """Blocks that were broken off do not pass for told."""
    world = World()
    breaking = MockProvider([ScriptedReply(["Hel"], error=ProviderUnavailableError("gone"))], hooks=world.hooks)
    provider = MockProvider()

    async def complete(request: Any, **extras: Any) -> ChatResponse:
        with pytest.raises(ProviderUnavailableError):
            await breaking.complete(request)
        return ChatResponse(content=[TextBlock(text="Hello")])

    provider.complete.side_effect = complete
    world.providers = {"mock": provider}
    assert await world.execute() == "Hello"
    assert world.pieces() == [
        "llm:stream_block_start 0 text",
        "content_block:start 0 text",
        "llm:stream_block_delta 0 text Hel",
        "content_block:delta 0 text Hel",
        "llm:stream_aborted",
        "content_block:start 0 text",
        "content_block:end 0 text",
    ]


async def test_streams_of_other_model_calls_are_not_relayed() -> None:
    """What a hook's own model call emits at the same time, or between two calls, is no part of the answer."""
    world = World()

    async def stream_of_a_stranger() -> None:
        block = {"request_id": "x", "block_index": 0, "block_type": "text"}
        await world.hooks.emit(LLM_STREAM_BLOCK_START, block)
        await world.hooks.emit(LLM_STREAM_BLOCK_DELTA, {**block, "text": "A title"})
        await world.hooks.emit(LLM_STREAM_BLOCK_END, block)
        await world.hooks.emit(LLM_STREAM_ABORTED, {"request_id": "x"})

    strangers: list[asyncio.Task[None]] = []

    async def begin(event: str, data: dict[str, Any]) -> None:
        strangers.append(asyncio.create_task(stream_of_a_stranger()))

    async def wait_for_the_stranger() -> None:
        await strangers[0]

    world.hooks.register(PROVIDER_REQUEST, begin)
    world.providers = {"mock": Yielding(["Hello", wait_for_the_stranger, " there"])}
    assert await world.execute() == "Hello there"
    assert [line for line in world.pieces() if line.startswith("content_block")] == [
        line for line in TOLD_ONCE if line.startswith("content_block")
    ]


async def test_handlers_may_change_and_answer_what_streams() -> None:
    """A modified piece is relayed as modified; what a handler shows and injects is carried out."""
    call = ToolCall(id="c1", name="look", arguments={})
    provider = Yielding(["secret", call], ["B"])
    world = World(provider)

    async def redact(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="modify", data={**data, "text": "***"})

    async def note(event: str, data: dict[str, Any]) -> HookResult | None:
        if data["block_type"] != "text":
            return None
        return HookResult(action="inject_context", context_injection="noted", ephemeral=True, user_message="seen")

    world.hooks.register(LLM_STREAM_BLOCK_DELTA, redact)
    world.hooks.register(CONTENT_BLOCK_END, note)
    assert await world.execute() == "B"
    assert [data["text"] for _, data in world.hooks.get_events(CONTENT_BLOCK_DELTA)] == ["***", "***"]
    assert [message for message, _, _ in world.coordinator.display_system.messages] == ["seen", "seen"]
    assert provider.latest[-2:] == ["blue", "noted"]


async def test_events_of_a_stream_may_lack_what_is_not_needed() -> None:
    """A provider that leaves out index and type streams the first block, a text; a piece without a start is ignored."""
    world = World()
    provider = MockProvider()

    async def complete(request: Any, **extras: Any) -> ChatResponse:
        await world.hooks.emit(LLM_STREAM_BLOCK_DELTA, {"block_index": 7, "text": "lost"})
        await world.hooks.emit(LLM_STREAM_BLOCK_END, {"block_index": 7})
        await world.hooks.emit(LLM_STREAM_BLOCK_START, {})
        await world.hooks.emit(LLM_STREAM_BLOCK_DELTA, {"text": "A"})
        await world.hooks.emit(LLM_STREAM_BLOCK_DELTA, {})
        await world.hooks.emit(LLM_STREAM_BLOCK_END, {})
        return ChatResponse(content=[TextBlock(text="A")])

    provider.complete.side_effect = complete
    world.providers = {"mock": provider}
    assert await world.execute() == "A"
    assert [line for line in world.pieces() if line.startswith("content_block")] == [
        "content_block:start 0 text",
        "content_block:delta 0 text A",
        "content_block:delta 0 text ",
        "content_block:end 0 text",
    ]


async def test_the_relay_is_gone_after_the_turn() -> None:
    """Handlers are registered for the turn only, also when it fails."""
    world = World(Yielding(["A"], [AuthenticationError("no")]))
    await world.execute()
    with pytest.raises(AuthenticationError):
        await world.execute()
    assert all(handlers == [] for handlers in world.hooks.list_handlers().values())


async def test_stream_delay_waits_after_each_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """The delay of the settings, or of the turn, comes after a piece was told."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    world = World(Yielding(["Hello", " there"], ["A"]), stream_delay=0.25)
    monkeypatch.setattr("amplifier_module_loop_streaming.relay.asyncio.sleep", sleep)
    await world.execute()
    await world.execute(stream_delay=0.5)
    assert waits == [0.25, 0.25, 0.5]


async def cut(world: World, reached: asyncio.Event, *, immediate: bool) -> Any:
    """Runs a turn and stops it once ``reached``: by the session's token, or by cancelling its task."""
    turn = asyncio.create_task(world.execute())
    await reached.wait()
    if immediate:
        await world.coordinator.request_cancel(immediate=True)
    else:
        turn.cancel()
    await asyncio.wait([turn])
    return turn


@pytest.mark.parametrize("immediate", [True, False], ids=["token", "task"])
async def test_a_stop_closes_the_stream_at_once_and_keeps_what_was_said(immediate: bool) -> None:
    """The generator is closed where it waits; text that was told is in the context, and is the answer of a stop."""
    reached = asyncio.Event()

    async def wait_for_ever() -> None:
        reached.set()
        await asyncio.Event().wait()

    provider = Yielding([ThinkingContent(text="hm"), "Hello", " the", wait_for_ever])
    world = World(provider)
    turn = await cut(world, reached, immediate=immediate)
    assert provider.log[-1] == "closed"
    assert world.context.messages == [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "Hello the", "metadata": {"interrupted": True}},
    ]
    assert [event for event, _ in world.hooks.get_events(LLM_STREAM_ABORTED)] == [LLM_STREAM_ABORTED]
    assert turn.cancelled() is not immediate
    if immediate:
        assert turn.result() == "Hello the"
    ((_, told),) = world.hooks.get_events(ORCHESTRATOR_COMPLETE)
    assert told["status"] == "cancelled"


async def test_a_stop_while_a_handler_hears_a_piece_closes_the_stream() -> None:
    """Wherever the cut falls, the generator ends before the turn does."""
    reached = asyncio.Event()

    async def slow(event: str, data: dict[str, Any]) -> None:
        reached.set()
        await asyncio.Event().wait()

    provider = Yielding(["Hello", " there"])
    world = World(provider)
    world.hooks.register(CONTENT_BLOCK_DELTA, slow)
    turn = await cut(world, reached, immediate=False)
    assert turn.cancelled()
    assert provider.log == ["yields Hello", "closed"]
    assert world.context.messages[1]["content"] == "Hello"


async def test_a_stop_before_the_next_answer_begins_does_not_repeat_the_one_before() -> None:
    """What was said in an earlier round is in the context once."""
    reached = asyncio.Event()
    call = ToolCall(id="c1", name="look", arguments={})
    world = World(Yielding(["Let me see", call]))

    async def slow(event: str, data: dict[str, Any]) -> None:
        if data["iteration"] == 2:
            reached.set()
            await asyncio.Event().wait()

    world.hooks.register(PROVIDER_REQUEST, slow)
    turn = await cut(world, reached, immediate=False)
    assert turn.cancelled()
    assert [message["role"] for message in world.context.messages] == ["user", "assistant", "tool"]


async def test_a_stop_during_the_last_call_at_a_limit_keeps_what_was_said() -> None:
    """The call that wraps a turn up streams like any other."""
    reached = asyncio.Event()

    async def wait_for_ever() -> None:
        reached.set()
        await asyncio.Event().wait()

    call = ToolCall(id="c1", name="look", arguments={})
    world = World(Yielding([call], ["So far: ", wait_for_ever]), max_iterations=1)
    await cut(world, reached, immediate=True)
    assert world.context.messages[-1] == {
        "role": "assistant",
        "content": "So far: ",
        "metadata": {"interrupted": True},
    }


async def test_a_context_that_fails_does_not_hold_up_a_stop(caplog: pytest.LogCaptureFixture) -> None:
    """The cancellation goes on, and the log tells what is missing."""
    reached = asyncio.Event()

    async def wait_for_ever() -> None:
        world.context.add_message.side_effect = OSError("disk full")
        reached.set()
        await asyncio.Event().wait()

    world = World(Yielding(["Hello", wait_for_ever]))
    with caplog.at_level(logging.ERROR, logger="amplifier_module_loop_streaming"):
        turn = await cut(world, reached, immediate=False)
    assert turn.cancelled()
    assert caplog.messages == ["What was said before a stop is not stored: OSError: disk full"]


async def test_a_graceful_stop_lets_the_stream_finish() -> None:
    """The tools of the answer are not begun, each call has its result, and no further call is made."""
    world = World()

    async def stop() -> None:
        await world.coordinator.request_cancel()

    call = ToolCall(id="c1", name="look", arguments={})
    world.providers = {"mock": Yielding(["Let me", stop, " see", call])}
    assert await world.execute() == "Let me see"
    assert world.tool.call_count == 0
    assert world.hooks.get_events(TOOL_PRE) == []
    assert world.context.messages[-1]["content"] == "Not run: a stop was requested before this call began."


async def test_a_provider_that_streams_and_gives_no_response_is_named() -> None:
    """What is wrong is told, not what came of it."""
    world = World()
    provider = MockProvider()

    async def complete(request: Any, **extras: Any) -> str:
        block = {"request_id": "r", "block_index": 0, "block_type": "text"}
        await world.hooks.emit(LLM_STREAM_BLOCK_START, block)
        await world.hooks.emit(LLM_STREAM_BLOCK_END, block)
        return "just a text"

    provider.complete.side_effect = complete
    world.providers = {"mock": provider}
    with pytest.raises(TypeError, match="Provider 'mock' answered with str, expected a ChatResponse"):
        await world.execute()


async def test_a_model_that_goes_in_circles_is_stopped_with_a_streamed_answer() -> None:
    """The last answer, for which no tools are offered, streams as well."""
    calls = [[ToolCall(id=f"c{number}", name="look", arguments={})] for number in range(2)]
    world = World(Yielding(*calls, ["So ", "far."]), repeat_stop_after=2)
    assert await world.execute() == "So far."
    assert world.hooks.get_events(ORCHESTRATOR_COMPLETE)[0][1]["reason"] == "repeated_calls"
    assert [data["text"] for _, data in world.hooks.get_events(CONTENT_BLOCK_DELTA)] == ["So ", "far."]
