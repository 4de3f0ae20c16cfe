"""Turns among adversaries: what a review of the loops found, each case once."""

from __future__ import annotations

import asyncio
import base64
from contextlib import suppress
from typing import Any

import pytest

from amplifier_core.events import PROVIDER_ERROR, PROVIDER_REQUEST, PROVIDER_RESPONSE, TOOL_ERROR, TOOL_POST, TOOL_PRE
from amplifier_core.llm_errors import ContextLengthError, InvalidToolCallError
from amplifier_core.message_models import ChatResponse, TextBlock, ToolCall, ToolCallBlock
from amplifier_core.models import HookResult, SessionStatus, ToolResult
from amplifier_core.testing import (
    EventRecorder,
    MockContextManager,
    MockProvider,
    MockTool,
    ScriptedReply,
    SequentialIds,
    TestCoordinator,
)
from amplifier_modkit.turns.rounds import run_rounds
from amplifier_modkit.turns.settings import LoopSettings
from amplifier_modkit.turns.turn import Turn, World

CALL = ScriptedReply(tool_calls=[("t", {})])


class Scene:
    def __init__(self, replies: list[Any], *tools: Any, **settings: Any) -> None:
        self.coordinator = TestCoordinator(new_id=SequentialIds())
        self.token = self.coordinator.cancellation
        self.context = MockContextManager()
        self.coordinator.mount("context", self.context)
        self.hooks = EventRecorder()
        self.provider = MockProvider(replies)
        self.world = World(
            self.context, {"mock": self.provider}, {t.name: t for t in tools}, self.hooks, self.coordinator
        )
        self.settings = LoopSettings(**{"min_retry_delay": 0, "max_retry_delay": 0, **settings})

    async def run(self) -> str:
        return await Turn("loop-test", self.world, self.settings).run("go", run_rounds)

    def on(self, event: str, answer: Any) -> None:
        self.hooks.register(event, lambda name, data: answer(data) if callable(answer) else answer)

    @property
    def results(self) -> list[Any]:
        return [m["content"] for m in self.context.messages if m["role"] == "tool"]


def raw(arguments: Any, content: Any = ()) -> ChatResponse:
    call = ToolCall.model_construct(id="a", name="t", arguments=arguments)
    return ChatResponse.model_construct(content=list(content), tool_calls=[call], usage=None, finish_reason=None)


@pytest.mark.parametrize("depth", [300, 600, 900])
@pytest.mark.parametrize("as_text", [False, True])
async def test_deep_arguments_do_not_end_the_turn(depth: int, as_text: bool) -> None:
    """Arguments nested beyond any sense become a result that says so."""
    deep: Any = 1
    for _ in range(depth):
        deep = {"a": deep}
    text = '{"a":' * depth + "1" + "}" * depth
    block = [] if as_text else [ToolCallBlock.model_construct(type="tool_call", id="a", name="t", input=deep)]
    scene = Scene([raw(text if as_text else deep, block), "done"], MockTool("t"))
    assert await scene.run() == "done"


async def test_a_graceful_stop_in_the_last_round_asks_no_model() -> None:
    """The last call without tools is left out when somebody wants the turn to stop."""

    class Stop(MockTool):
        def __init__(self) -> None:
            super().__init__("t")
            self.execute.side_effect = lambda given: scene.token.request_graceful() and "x"

    scene = Scene([CALL, "not asked"], Stop(), max_iterations=1)
    await scene.run()
    assert len(scene.provider.requests) == 1


async def test_a_graceful_stop_in_a_circle_asks_no_model() -> None:
    """A turn that goes in circles and is stopped ends at once."""
    tool = MockTool("t")
    tool.execute.side_effect = lambda given: (tool.call_count == 2 and scene.token.request_graceful() and "x") or "x"
    scene = Scene([CALL, CALL, "not asked"], tool, repeat_stop_after=2)
    await scene.run()
    assert len(scene.provider.requests) == 2


async def test_a_graceful_stop_before_a_repair_asks_no_model() -> None:
    """A structured answer is not repaired when somebody wants the turn to stop."""
    scene = Scene(["no json", "{}"], output_schema={"type": "object"})
    scene.on(PROVIDER_RESPONSE, lambda data: scene.token.request_graceful() and None)
    await scene.run()
    assert len(scene.provider.requests) == 1


async def test_new_images_are_no_repetition() -> None:
    """Results that differ in their images are different results."""
    tool = MockTool("t")

    def shot(given: Any) -> ToolResult:
        data = base64.b64encode(str(tool.call_count).encode()).decode()
        return ToolResult(
            content=[{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}]
        )

    tool.execute.side_effect = shot
    scene = Scene([*[CALL] * 5, "done"], tool, repeat_stop_after=3)
    assert await scene.run() == "done"
    assert len(scene.results) == 5


async def test_an_output_that_grows_in_place_is_no_repetition() -> None:
    """A tool that gives the same object with other contents makes progress."""
    log: list[int] = []
    tool = MockTool("t")
    tool.execute.side_effect = lambda given: log.append(len(log)) or ToolResult(output=log)
    scene = Scene([*[CALL] * 5, "done"], tool, repeat_stop_after=3)
    assert await scene.run() == "done"
    assert len(scene.results) == 5


async def test_content_of_plain_texts_is_read() -> None:
    """A provider that gives texts instead of blocks is understood."""
    scene = Scene([ChatResponse.model_construct(content=["hello"], tool_calls=None, usage=None, finish_reason="stop")])
    assert await scene.run() == "hello"


async def test_text_blocks_of_a_result_are_clean() -> None:
    """Control characters in text blocks do not reach the model."""
    tool = MockTool("t", return_value=ToolResult(content=[{"type": "text", "text": "a\x00\ud800b"}]))
    scene = Scene([CALL, "done"], tool)
    await scene.run()
    assert scene.results == [[{"type": "text", "text": "ab"}]]


async def test_a_hook_may_write_into_the_response_and_hand_it_back() -> None:
    """A modification in place counts like one by a copy."""
    scene = Scene([ScriptedReply("x", tool_calls=[("t", {})])], tool := MockTool("t"))

    def strip(data: dict[str, Any]) -> HookResult:
        data["response"].tool_calls, data["response"].content = None, [TextBlock(text="clean")]
        return HookResult(action="modify", data=data)

    scene.on(PROVIDER_RESPONSE, strip)
    assert await scene.run() == "clean"
    assert tool.call_count == 0


async def test_an_answer_replaced_by_nothing_is_a_refusal() -> None:
    """A hook that puts nothing in the place of an answer has refused it."""
    scene = Scene(["x"])
    scene.on(PROVIDER_RESPONSE, lambda data: HookResult(action="modify", data={**data, "response": None}))
    assert await scene.run() == "Denied: a hook replaced the model's answer by something that is none"
    assert scene.hooks.get_events(PROVIDER_ERROR) == []


async def test_a_refused_answer_is_paid_for() -> None:
    """Tokens of an answer that a hook refuses are counted."""
    scene = Scene(["x"])
    status = SessionStatus(session_id="s")
    object.__setattr__(scene.coordinator, "_session", type("S", (), {"status": status})())
    scene.on(PROVIDER_RESPONSE, HookResult(action="deny", reason="over budget"))
    await scene.run()
    assert status.total_input_tokens == 10


async def test_an_unreadable_answer_is_paid_for() -> None:
    """Tokens of an answer whose calls cannot be read are counted."""
    scene = Scene(["x", "y"])
    status = SessionStatus(session_id="s")
    object.__setattr__(scene.coordinator, "_session", type("S", (), {"status": status})())
    answers = iter([InvalidToolCallError("bad"), None])

    def parse(response: Any) -> Any:
        if (error := next(answers)) is not None:
            raise error
        return []

    scene.provider.parse_tool_calls = parse
    await scene.run()
    assert status.total_input_tokens == 20


async def test_the_user_is_asked_one_question_at_a_time() -> None:
    """Calls that run side by side wait for each other with their questions."""
    open_questions, most = 0, 0

    async def ask(*args: Any) -> str:
        nonlocal open_questions, most
        open_questions += 1
        most = max(most, open_questions)
        for _ in range(5):
            await asyncio.sleep(0)
        open_questions -= 1
        return "Allow"

    scene = Scene([ScriptedReply(tool_calls=[("t", {}), ("t", {})]), "done"], MockTool("t"))
    scene.coordinator.approval_system.request_approval.side_effect = ask
    scene.on(TOOL_PRE, HookResult(action="ask_user", approval_prompt="?"))
    await scene.run()
    assert most == 1


@pytest.mark.parametrize("names", [["t"], ["t", "t"]])
async def test_a_stopped_tool_call_ends_with_an_event(names: list[str]) -> None:
    """Whoever saw a call begin sees it end."""
    began = asyncio.Event()

    async def hang(given: Any) -> None:
        began.set()
        await asyncio.Event().wait()

    tool = MockTool("t")
    tool.execute.side_effect = hang
    scene = Scene([ScriptedReply(tool_calls=[(name, {}) for name in names]), "done"], tool)
    turn = asyncio.create_task(scene.run())
    await began.wait()
    turn.cancel()
    await asyncio.wait([turn])
    ended = len(scene.hooks.get_events(TOOL_POST)) + len(scene.hooks.get_events(TOOL_ERROR))
    assert ended == len(scene.hooks.get_events(TOOL_PRE))


async def test_a_reminder_does_not_keep_an_injection_from_the_tool_result() -> None:
    """What is to be glued to the last tool result is, whatever else is said in the request."""
    scene = Scene([CALL, CALL, "done"], MockTool("t", "out"), repeat_reminder_after=2)
    said = HookResult(
        action="inject_context", context_injection="note", ephemeral=True, append_to_last_tool_result=True
    )
    scene.on(PROVIDER_REQUEST, said)
    await scene.run()
    texts = [str(m.content) for m in scene.provider.requests[2].messages]
    assert "out\n\nnote" in texts


async def test_a_harder_compaction_has_a_budget_above_zero() -> None:
    """A budget of zero might mean none."""
    scene = Scene([ContextLengthError("long"), "done"])
    await scene.run()
    budget = scene.context.get_messages_for_request.call_args_list[1].kwargs["token_budget"]
    assert budget > 0


async def test_blocks_instead_of_calls_keep_their_arguments() -> None:
    """A provider may give its blocks for calls."""
    block = ToolCallBlock(id="a", name="t", input={"n": 1})
    scene = Scene(
        [ChatResponse(content=[block]), ChatResponse(content=[TextBlock(text="done")])], tool := MockTool("t")
    )
    calls: Any = lambda response: [b for b in response.content if isinstance(b, ToolCallBlock)]  # noqa: E731
    scene.provider.parse_tool_calls = calls
    await scene.run()
    assert tool.last_input == {"n": 1}


async def test_a_tool_that_ignores_its_time_limit_is_left_behind() -> None:
    """The turn goes on without it."""
    may_end = asyncio.Event()

    async def ignore(given: Any) -> str:
        while not may_end.is_set():
            try:
                await may_end.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    tool = MockTool("t")
    tool.execute.side_effect = ignore
    scene = Scene([CALL, "done"], tool, tool_timeout=0.01)
    turn = asyncio.create_task(scene.run())
    await asyncio.wait([turn], timeout=6.5)
    was_done = turn.done()
    may_end.set()
    await asyncio.wait([turn])
    assert was_done


async def test_a_name_of_a_megabyte_is_not_repeated() -> None:
    """The model reads the beginning of the name it made up."""
    scene = Scene(
        [ScriptedReply(tool_calls=[ToolCall(id="a", name="x" * 1_000_000, arguments={})]), "done"], MockTool("t")
    )
    await scene.run()
    assert len(scene.results[0]) < 10_000


async def test_what_a_tool_left_behind_says_later_reaches_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events of a turn end with the turn."""
    from amplifier_modkit.turns import stopping, tool_batch

    for module in (stopping, tool_batch):
        monkeypatch.setattr(module, "GRACE_S", 0.01)
    may_end, began = asyncio.Event(), asyncio.Event()

    async def ignore(given: Any) -> str:
        began.set()
        while not may_end.is_set():
            try:
                await may_end.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    tool = MockTool("t")
    tool.execute.side_effect = ignore
    scene = Scene([CALL, "done"], tool)
    scene.on(TOOL_POST, HookResult(action="inject_context", context_injection="note"))
    turn = asyncio.create_task(scene.run())
    await began.wait()
    turn.cancel()
    await asyncio.wait([turn])
    before = len(scene.hooks.events), len(scene.context.messages)
    may_end.set()
    for _ in range(20):
        await asyncio.sleep(0)
    assert (len(scene.hooks.events), len(scene.context.messages)) == before


async def test_a_closed_gate_lets_nothing_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is asked any more, so nothing is allowed."""
    from amplifier_modkit.events import TOOL_SELECTING
    from amplifier_modkit.turns import stopping, tool_batch
    from amplifier_module_loop_events.scheduling import ScheduledTurn

    for module in (stopping, tool_batch):
        monkeypatch.setattr(module, "GRACE_S", 0.01)
    may_end, began = asyncio.Event(), asyncio.Event()

    async def ignore(event: str, data: dict[str, Any]) -> None:
        began.set()
        while not may_end.is_set():
            try:
                await may_end.wait()
            except asyncio.CancelledError:
                continue

    scene = Scene([CALL, "done"], tool := MockTool("t"))
    scene.hooks.register(TOOL_SELECTING, ignore)
    scene.hooks.register(TOOL_PRE, lambda event, data: HookResult(action="deny", reason="never"), on_error="deny")
    turn = asyncio.create_task(ScheduledTurn("x", scene.world, scene.settings).run("go", run_rounds))
    await began.wait()
    turn.cancel()
    await asyncio.wait([turn])
    may_end.set()
    for _ in range(20):
        await asyncio.sleep(0)
    assert tool.call_count == 0


async def test_a_hook_that_swallows_a_cancellation_lets_no_tool_begin() -> None:
    """A stop holds whatever a hook does with it."""
    began = asyncio.Event()

    async def swallow(event: str, data: dict[str, Any]) -> None:
        began.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    scene = Scene([CALL, "done"], tool := MockTool("t"))
    scene.hooks.register(TOOL_PRE, swallow)
    turn = asyncio.create_task(scene.run())
    await began.wait()
    turn.cancel()
    await asyncio.wait([turn])
    assert tool.call_count == 0


async def test_a_text_property_of_a_providers_own_response_class_counts() -> None:
    """A provider may bring a response class of its own."""

    class Own(ChatResponse):
        @property
        def text(self) -> str:
            return "beside"

    assert await Scene([Own(content=[], finish_reason="stop")]).run() == "beside"


async def test_a_response_without_a_dict_is_read() -> None:
    """Even one with slots."""

    class Slim:
        __slots__ = ("content", "finish_reason", "tool_calls", "usage")

        def __init__(self) -> None:
            self.content, self.usage, self.finish_reason, self.tool_calls = [TextBlock(text="hi")], None, "stop", None

    scene = Scene([])
    scene.provider.complete.side_effect = [Slim()]
    assert await scene.run() == "hi"
