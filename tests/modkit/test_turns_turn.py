"""A turn from the prompt to the answer: what is told, what is stored, and one ending whatever happens."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.events import (
    CANCEL_REQUESTED,
    CONTENT_BLOCK_END,
    CONTENT_BLOCK_START,
    EXECUTION_END,
    EXECUTION_START,
    ORCHESTRATOR_COMPLETE,
    PROMPT_COMPLETE,
    PROMPT_SUBMIT,
    PROVIDER_ERROR,
    PROVIDER_REQUEST,
    PROVIDER_RESOLVE,
    PROVIDER_RESPONSE,
    TOOL_ERROR,
    TOOL_POST,
    TOOL_PRE,
)
from amplifier_core.hooks import HookRegistry
from amplifier_core.llm_errors import AuthenticationError
from amplifier_core.message_models import ChatRequest, ChatResponse, ImageBlock, TextBlock, ToolCall
from amplifier_core.models import HookResult
from amplifier_core.testing import (
    EventRecorder,
    MockContextManager,
    MockProvider,
    MockTool,
    ScriptedReply,
    SequentialIds,
    TestCoordinator,
)
from amplifier_modkit.messages import plain
from amplifier_modkit.turns import stopping
from amplifier_modkit.turns.rounds import run_rounds
from amplifier_modkit.turns.settings import LoopSettings
from amplifier_modkit.turns.structured import StructuredOutputError
from amplifier_modkit.turns.turn import Turn, World

CALL = ScriptedReply(tool_calls=[("t", {})])
MODEL_CALL = [PROVIDER_REQUEST, PROVIDER_RESPONSE, CONTENT_BLOCK_START, CONTENT_BLOCK_END]
OPENING = [PROMPT_SUBMIT, EXECUTION_START]
CLOSING = [EXECUTION_END, PROMPT_COMPLETE, ORCHESTRATOR_COMPLETE]


class Scene:
    """A turn among fakes, with everything it tells, stores and asks on record."""

    def __init__(self, replies: list[Any], *tools: Any, hooks: EventRecorder | None = None, **settings: Any) -> None:
        self.coordinator = TestCoordinator(new_id=SequentialIds())
        self.token = self.coordinator.cancellation
        self.context = MockContextManager()
        self.coordinator.mount("context", self.context)
        self.hooks = hooks or EventRecorder()
        self.provider = MockProvider(replies)
        tools_by_name = {tool.name: tool for tool in tools}
        world = World(self.context, {"mock": self.provider}, tools_by_name, self.hooks, self.coordinator)
        self.turn = Turn("loop-test", world, LoopSettings(**settings))

    async def run(self, prompt: str = "go") -> str:
        """The answer."""
        return await self.turn.run(prompt, run_rounds)

    def on(self, event: str, answer: Any) -> None:
        """Has ``answer``, or what it gives for the data, said to ``event``."""
        self.hooks.register(event, lambda name, data: answer(data) if callable(answer) else answer, name="hook")

    @property
    def events(self) -> list[str]:
        """The names of the events, in order."""
        return [event for event, _ in self.hooks.events]

    @property
    def messages(self) -> list[tuple[str, Any]]:
        """The stored messages, as role and content."""
        return [(message["role"], message["content"]) for message in self.context.messages]

    @property
    def ending(self) -> list[dict[str, Any]]:
        """The data of the three closing events, once each and last of all, without durations."""
        assert self.events[-3:] == CLOSING
        assert not set(self.events[:-3]) & set(CLOSING)
        closing = [dict(data) for _, data in self.hooks.events[-3:]]
        assert [data.pop("duration_ms", None) is not None for data in closing] == [True, False, True]
        return closing


def closing_of(answer: str, status: str, ended: str, count: int, **reason: Any) -> list[dict[str, Any]]:
    """What the closing events say about a turn that ended so."""
    return [
        {"response": answer, "status": ended, **reason},
        {"response": answer, "response_preview": answer[:200], "length": len(answer)},
        {"orchestrator": "loop-test", "turn_count": count, "status": status, **reason},
    ]


async def test_a_turn_with_a_tool_tells_and_stores_everything() -> None:
    """The complete list of events, and the complete conversation."""
    scene = Scene([ScriptedReply("I look.", tool_calls=[("t", {"n": 1})]), "It is six."], MockTool("t", "6"))
    assert await scene.run("What is it?") == "It is six."
    assert scene.events == [
        *OPENING,
        PROVIDER_RESOLVE,
        *MODEL_CALL,
        *MODEL_CALL[2:],
        TOOL_PRE,
        TOOL_POST,
        *MODEL_CALL,
        *CLOSING,
    ]
    assert scene.context.messages == [
        {"role": "user", "content": "What is it?"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_call", "id": "call-1", "name": "t", "input": {"n": 1}},
            ],
            "tool_calls": [{"id": "call-1", "name": "t", "tool": "t", "arguments": {"n": 1}}],
        },
        {"role": "tool", "tool_call_id": "call-1", "name": "t", "content": "6"},
        {"role": "assistant", "content": "It is six."},
    ]
    assert scene.ending == closing_of("It is six.", "success", "completed", 2)


async def test_a_loop_may_add_facts_to_the_last_event() -> None:
    """Such as how far it came with a goal."""
    scene = Scene(["done"])
    scene.turn.facts["continuations"] = 3
    await scene.run()
    assert scene.ending[2]["continuations"] == 3


async def test_a_long_answer_is_previewed() -> None:
    """The first 200 characters, beside the whole."""
    scene = Scene(["x" * 500])
    await scene.run()
    assert (len(scene.ending[1]["response"]), scene.ending[1]["response_preview"]) == (500, "x" * 200)


async def test_the_injection_budget_begins_anew_with_each_turn() -> None:
    """As the kernel's contract wants it."""
    scene = Scene(["done"])
    scene.coordinator._current_turn_injections = 500
    await scene.run()
    assert scene.coordinator._current_turn_injections == 0


@pytest.mark.parametrize("event", OPENING)
async def test_a_refused_prompt_ends_the_turn_before_anything_is_stored(event: str) -> None:
    """The answer says why; every event that begins something has its end."""
    for reason, told in (("not now", "not now"), (None, None)):
        scene = Scene(["not asked"])
        scene.on(event, HookResult(action="deny", reason=reason))
        answer = await scene.run()
        assert answer.startswith("Denied: ")
        assert told is None or answer == f"Denied: {told}"
        assert (scene.events, scene.messages, scene.provider.requests) == ([*OPENING, *CLOSING], [], [])
        assert scene.ending == closing_of(answer, "incomplete", "completed", 0, reason="denied")


@pytest.mark.parametrize("event", OPENING)
async def test_a_hook_may_change_the_prompt(event: str) -> None:
    """What it gives is stored and told from there on; writing into the event alone changes nothing."""
    scene = Scene(["done"])
    scene.on(event, lambda data: HookResult(action="modify", data={**data, "prompt": "better"}))
    await scene.run()
    assert scene.messages[0] == ("user", "better")
    other = Scene(["done"])
    other.on(event, lambda data: data.update(prompt="scribbled"))
    await other.run()
    assert other.messages[0] == ("user", "go")


IMAGE: dict[str, Any] = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
SHOWN: list[dict[str, Any]] = [{"type": "text", "text": "see "}, IMAGE, {"type": "text", "text": "there"}]


async def test_a_prompt_may_have_images() -> None:
    """They are stored and sent in their place; hooks hear the text, and the caller's blocks stay the caller's."""
    scene = Scene(["done"])
    scene.turn.show([SHOWN[0], ImageBlock.model_validate(IMAGE), SHOWN[2]])
    assert await scene.run("see there") == "done"
    assert scene.messages[0] == ("user", SHOWN)
    assert scene.context.messages[0]["content"][0] is not SHOWN[0]
    assert plain(scene.provider.requests[0].messages[0].content) == SHOWN
    assert scene.hooks.events[0][1]["prompt"] == "see there"
    for nothing in (None, []):
        scene = Scene(["done"])
        scene.turn.show(nothing)
        await scene.run()
        assert scene.messages[0] == ("user", "go")


@pytest.mark.parametrize("event", OPENING)
async def test_images_stand_behind_a_prompt_that_a_hook_has_changed(event: str) -> None:
    """Nobody knows where in the other text they belong."""
    scene = Scene(["done"])
    scene.on(event, lambda data: HookResult(action="modify", data={**data, "prompt": "better"}))
    scene.turn.show(SHOWN)
    await scene.run("see there")
    assert scene.messages[0] == ("user", [{"type": "text", "text": "better"}, IMAGE])


@pytest.mark.parametrize("event", OPENING)
async def test_a_prompt_that_a_hook_replaces_by_no_text_is_refused(event: str) -> None:
    """Nothing is stored."""
    scene = Scene(["not asked"])
    scene.on(event, lambda data: HookResult(action="modify", data={**data, "prompt": None}))
    assert await scene.run() == "Denied: a hook replaced the prompt by something that is no text"
    assert scene.messages == []


@pytest.mark.parametrize(("answer", "stored"), [("Allow", 2), ("Deny", 0)])
async def test_the_user_may_be_asked_about_a_prompt(answer: str, stored: int) -> None:
    """A refusal ends the turn like any other."""
    scene = Scene(["done"])
    scene.coordinator.approval_system.answer = answer
    scene.on(PROMPT_SUBMIT, HookResult(action="ask_user", approval_prompt="Send it?"))
    assert await scene.run() == ("done" if stored else "Denied: User denied: Send it?")
    assert len(scene.messages) == stored


@pytest.mark.parametrize(("event", "calls"), [(PROVIDER_RESOLVE, 0), (PROVIDER_REQUEST, 0), (PROVIDER_RESPONSE, 1)])
async def test_a_refusal_at_a_model_call_ends_the_turn_with_its_reason(event: str, calls: int) -> None:
    """The prompt is stored by then, an answer is not; only a call that was really made is counted."""
    scene = Scene(["secret"])
    scene.on(event, HookResult(action="deny", reason="too dear"))
    assert await scene.run() == "Denied: too dear"
    assert scene.messages == [("user", "go")]
    assert scene.ending == closing_of("Denied: too dear", "incomplete", "completed", calls, reason="denied")
    assert len(scene.provider.requests) == calls


@pytest.mark.parametrize("event", [CONTENT_BLOCK_START, CONTENT_BLOCK_END, *CLOSING])
async def test_a_refusal_of_what_only_tells_is_logged_and_changes_nothing(
    event: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What has happened cannot be undone."""
    scene = Scene(["done"])
    scene.on(event, HookResult(action="deny", reason="too late"))
    assert await scene.run() == "done"
    assert caplog.messages == [f"A hook denies '{event}', which only tells what has happened: too late"]
    assert scene.ending == closing_of("done", "success", "completed", 1)


EVERYWHERE = [*OPENING, PROVIDER_RESOLVE, *MODEL_CALL, TOOL_PRE, TOOL_POST, TOOL_ERROR, *CLOSING]


@pytest.mark.parametrize("event", EVERYWHERE)
@pytest.mark.parametrize("kind", ["stored", "ephemeral", "appended"])
async def test_an_injection_at_any_event_is_carried_out_and_parts_no_call_from_a_result(event: str, kind: str) -> None:
    """Stored ones are in the conversation, ephemeral ones in one request each; after the last request they are void."""
    scene = Scene([ScriptedReply(tool_calls=[("t", {}), ("gone", {}), ("t", {})]), "done"], MockTool("t", "out"))
    said = HookResult(
        action="inject_context",
        context_injection="note",
        context_injection_role="user",
        ephemeral=kind != "stored",
        append_to_last_tool_result=kind == "appended",
    )
    scene.on(event, said)
    assert await scene.run() == "done"
    places = [place for place, message in enumerate(scene.context.messages) if message.get("tool_calls")]
    results = scene.context.messages[places[0] + 1 : places[0] + 4]
    assert [message.get("tool_call_id") for message in results] == ["call-1", "call-2", "call-3"]
    stored = scene.messages.count(("user", "note"))
    sent = [[str(message.content) for message in request.messages] for request in scene.provider.requests]
    asked = [sum(text.count("note") for text in texts) for texts in sent]
    happened = scene.events.count(event)
    if kind == "stored":
        assert stored == happened
    else:
        assert stored == 0
        early = {PROMPT_SUBMIT: 1, EXECUTION_START: 1, PROVIDER_RESOLVE: 1, PROVIDER_REQUEST: 1}.get(event, 0)
        assert asked[0] == early
        in_second = {PROVIDER_REQUEST: 1, PROVIDER_RESPONSE: 1, TOOL_PRE: 2, TOOL_POST: 2, TOOL_ERROR: 1}.get(event, 0)
        if event in (CONTENT_BLOCK_START, CONTENT_BLOCK_END):
            in_second = 3
        assert asked[1] == in_second
        is_appended = kind == "appended" and in_second
        assert sent[1][-1].startswith("out\n\nnote") is bool(is_appended)
    assert len(scene.ending) == 3


@pytest.mark.parametrize("event", EVERYWHERE)
async def test_a_hook_that_fails_at_any_event_breaks_no_turn(event: str) -> None:
    """Its own failure is logged by the kernel; everything else goes on."""

    def fail(data: dict[str, Any]) -> None:
        raise RuntimeError("bug")

    scene = Scene([ScriptedReply(tool_calls=[("t", {}), ("gone", {})]), "done"], MockTool("t"))
    scene.on(event, fail)
    assert await scene.run() == "done"
    assert scene.ending == closing_of("done", "success", "completed", 2)


async def test_a_refusal_of_the_model_is_surfaced() -> None:
    """With its own words, or with words that say what happened; it is in the conversation."""
    refused = ChatResponse(content=[TextBlock(text="I will not.")], finish_reason="refusal")
    scene = Scene([refused])
    assert await scene.run() == "I will not."
    assert scene.ending == closing_of("I will not.", "incomplete", "completed", 1, reason="refused")
    silent = Scene([ChatResponse(content=[], finish_reason="content_filter")])
    assert await silent.run() == "The model refused to answer (finish reason: content_filter)."
    assert scene.messages == [("user", "go"), ("assistant", "I will not.")]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (ChatResponse(content=[]), "none given"),
        (ChatResponse(content=[TextBlock(text=" \n")], finish_reason="length"), "length"),
        ("", "stop"),
    ],
)
async def test_an_empty_answer_is_surfaced(reply: Any, reason: str) -> None:
    """Nobody is left with silence; the model is not asked again and again."""
    scene = Scene([reply])
    told = f"The model gave an empty answer (finish reason: {reason})."
    assert await scene.run() == told
    assert scene.ending == closing_of(told, "incomplete", "completed", 1, reason="empty")


async def test_a_failing_provider_ends_the_turn_with_its_error_and_all_its_events() -> None:
    """The closing events say what went wrong."""
    scene = Scene([AuthenticationError("no key")])
    with pytest.raises(AuthenticationError, match="no key"):
        await scene.run()
    assert scene.events == [*OPENING, PROVIDER_RESOLVE, PROVIDER_REQUEST, PROVIDER_ERROR, *CLOSING]
    told = {"reason": "error", "error": "AuthenticationError: no key"}
    assert scene.ending == closing_of("", "incomplete", "error", 1, **told)


async def test_a_turn_that_cannot_be_is_refused_before_anything_is_done() -> None:
    """Without a provider, or with an output schema that is none, nothing is stored; the ending is told."""
    scene = Scene(["x"], output_schema={"type": "nonsense"})
    with pytest.raises(ValueError, match="^output_schema is no JSON Schema"):
        await scene.run()
    assert (scene.events, scene.messages) == (CLOSING, [])
    hooks, context = EventRecorder(), MockContextManager()
    world = World.of(context, {}, {}, hooks, None)
    with pytest.raises(RuntimeError, match="^No provider is mounted"):
        await Turn("loop-test", world, LoopSettings()).run("go", run_rounds)
    assert ([event for event, _ in hooks.events], context.messages) == (CLOSING, [])


async def test_a_context_that_fails_ends_the_turn_with_its_error() -> None:
    """Whatever it was about to store."""
    for role in ("user", "assistant"):
        scene = Scene(["done"])

        async def broken(message: dict[str, Any], role: str = role) -> None:
            if message["role"] == role:
                raise OSError("disk full")

        scene.context.add_message.side_effect = broken
        with pytest.raises(OSError, match="disk full"):
            await scene.run()
        assert scene.ending[0]["error"] == "OSError: disk full"


async def test_closing_events_are_all_told_even_if_one_cannot_be() -> None:
    """A registry that fails on one of them does not keep the others from being told."""

    class Fragile(EventRecorder):
        async def emit(self, event: str, data: Any = None) -> HookResult:
            result = await super().emit(event, data)
            if event == EXECUTION_END:
                raise RuntimeError("registry broken")
            return result

    scene = Scene(["done"], hooks=Fragile())
    with pytest.raises(RuntimeError, match="registry broken"):
        await scene.run()
    assert scene.events[-3:] == CLOSING


@pytest.mark.parametrize("event", CLOSING)
async def test_a_cancellation_during_the_closing_events_waits_for_them(event: str) -> None:
    """However often it comes, each of them is told once, and the answer is in the conversation."""
    scene = Scene(["done"])

    async def cancel(name: str, data: dict[str, Any]) -> None:
        for _ in range(3):
            turn.cancel()
            await asyncio.sleep(0)

    scene.hooks.register(event, cancel)
    turn = asyncio.create_task(scene.run())
    await asyncio.wait([turn])
    assert turn.cancelled()
    assert scene.ending == closing_of("done", "success", "completed", 1)
    assert scene.messages == [("user", "go"), ("assistant", "done")]


async def test_a_hook_that_hangs_at_the_end_cannot_keep_a_cancelled_turn(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """After a while it is cancelled as well, and the events behind it are told."""
    monkeypatch.setattr(stopping, "GRACE_S", 0.0)
    scene, hanging = Scene(["done"]), asyncio.Event()

    async def hang(name: str, data: dict[str, Any]) -> None:
        hanging.set()
        await asyncio.Event().wait()

    scene.hooks.register(EXECUTION_END, hang)
    turn = asyncio.create_task(scene.run())
    await hanging.wait()
    turn.cancel()
    await asyncio.wait([turn])
    for _ in range(5):
        await asyncio.sleep(0)
    assert turn.cancelled()
    assert scene.events[-3:] == CLOSING
    assert caplog.messages[0].startswith("A cancelled turn does not wait any longer")


def waiting(asked: asyncio.Event) -> Any:
    """A script item that lets the model think for ever."""

    async def think(request: ChatRequest) -> str:
        asked.set()
        await asyncio.Event().wait()
        return ""

    return think


async def test_a_stop_at_once_ends_a_model_call() -> None:
    """The answer is what was said last; the request to stop is told once, and the turn is no error."""
    asked = asyncio.Event()
    scene = Scene([ScriptedReply("I look.", tool_calls=[("t", {})]), waiting(asked)], MockTool("t"))
    turn = asyncio.create_task(scene.run())
    await asked.wait()
    scene.token.request_immediate()
    assert await turn == "I look."
    assert scene.hooks.get_events(CANCEL_REQUESTED) == [(CANCEL_REQUESTED, {"was_immediate": True})]
    assert scene.ending == closing_of("I look.", "cancelled", "cancelled", 2, reason="cancelled")
    assert [role for role, _ in scene.messages] == ["user", "assistant", "tool"]


async def test_a_cancelled_task_ends_with_its_events_and_stays_cancelled() -> None:
    """What was said so far is told."""
    asked = asyncio.Event()
    scene = Scene([ScriptedReply("I look.", tool_calls=[("t", {})]), waiting(asked)], MockTool("t"))
    turn = asyncio.create_task(scene.run())
    await asked.wait()
    turn.cancel()
    await asyncio.wait([turn])
    assert turn.cancelled()
    told = {"reason": "cancelled", "error": "CancelledError: "}
    assert scene.ending == closing_of("I look.", "cancelled", "cancelled", 2, **told)


async def test_a_stop_that_was_asked_for_before_lets_nothing_happen() -> None:
    """At once: no model is asked. Gracefully: the prompt is kept, since it was said."""
    for ask, stored in (("request_immediate", []), ("request_graceful", [("user", "go")])):
        scene = Scene(["not asked"])
        getattr(scene.token, ask)()
        assert await scene.run() == "Stopped before there was an answer."
        assert (scene.messages, scene.provider.requests) == (stored, [])
        assert scene.events.count(CANCEL_REQUESTED) == 1
        assert scene.ending[2]["status"] == "cancelled"


async def test_a_graceful_stop_during_a_model_call_lets_its_answer_come() -> None:
    """An answer without calls is the answer; calls are not run any more."""
    for reply, answer in (("done", "done"), (CALL, "Stopped before there was an answer.")):
        scene = Scene([reply], tool := MockTool("t"))
        scene.on(PROVIDER_REQUEST, lambda data, token=scene.token: token.request_graceful() and None)
        assert await scene.run() == answer
        assert tool.call_count == 0


async def test_a_stop_that_becomes_more_urgent_is_told_once() -> None:
    """The second request comes while hooks hear of the first."""
    scene = Scene(["x"])
    scene.token.request_graceful()

    async def hurry(event: str, data: dict[str, Any]) -> None:
        scene.token.request_immediate()
        await asyncio.Event().wait()

    scene.hooks.register(CANCEL_REQUESTED, hurry)
    assert await scene.run() == "Stopped before there was an answer."
    assert scene.events.count(CANCEL_REQUESTED) == 1
    assert scene.ending[2]["status"] == "cancelled"


async def test_the_hook_that_is_told_of_a_stop_may_refuse_in_vain(caplog: pytest.LogCaptureFixture) -> None:
    """A stop is not a question."""
    scene = Scene(["x"])
    scene.token.request_graceful()
    scene.on(CANCEL_REQUESTED, HookResult(action="deny", reason="go on"))
    assert await scene.run() == "Stopped before there was an answer."
    assert caplog.messages == ["A hook denies 'cancel:requested', which only tells what has happened: go on"]


POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}


async def test_a_structured_answer_is_validated_json() -> None:
    """In one form, whatever the model wrapped it in."""
    scene = Scene(['Here:\n```json\n{"x": 1}\n```'], output_schema=POINT)
    assert await scene.run() == '{"x": 1}'
    assert scene.ending == closing_of('{"x": 1}', "success", "completed", 1)


async def test_a_structured_answer_is_repaired_once() -> None:
    """The model is told what was wrong, gets no tools, and calls that it makes are dropped."""
    repaired = ScriptedReply('{"x": 2}', tool_calls=[("t", {})])
    scene = Scene(["two", repaired], tool := MockTool("t"), output_schema=POINT)
    assert json.loads(await scene.run()) == {"x": 2}
    first, second = scene.provider.requests
    assert (first.tools is None, second.tools is None, tool.call_count) == (False, True, 0)
    told = second.messages[-1].content
    assert isinstance(told, str)
    assert "Your answer cannot be used: it is not JSON (Expecting value: line 1 column 1 (char 0))." in told
    assert scene.messages == [("user", "go"), ("assistant", "two"), ("user", told), ("assistant", '{"x": 2}')]
    assert scene.ending == closing_of('{"x": 2}', "success", "completed", 2)


async def test_a_structured_answer_that_never_comes_is_a_typed_error() -> None:
    """After one repair; the error has the last answer, and the turn its ending."""
    scene = Scene(["one", '{"x": "two"}', '{"x": 3}'], output_schema=POINT)
    with pytest.raises(StructuredOutputError) as raised:
        await scene.run()
    assert (raised.value.answer, raised.value.complaint) == ('{"x": "two"}', 'x: "two" is not of type "integer"')
    assert (len(scene.provider.requests), scene.ending[0]["status"]) == (2, "error")


async def test_a_refusal_is_no_structured_answer() -> None:
    """It is surfaced as what it is, without a repair."""
    scene = Scene([ChatResponse(content=[TextBlock(text="No.")], finish_reason="refusal")], output_schema=POINT)
    assert (await scene.run(), len(scene.provider.requests)) == ("No.", 1)


async def test_two_calls_of_one_id_each_have_a_result_of_their_own() -> None:
    """The second gets an id that nothing else has, in the call and in the result."""
    twins = [ToolCall(id="twin", name="t", arguments={}), ToolCall(id="twin", name="t", arguments={"n": 2})]
    scene = Scene([ScriptedReply(tool_calls=twins), "done"], MockTool("t"))
    await scene.run()
    made = [call["id"] for call in scene.context.messages[1]["tool_calls"]]
    answered = [message["tool_call_id"] for message in scene.context.messages[2:4]]
    assert (len(set(made)), answered) == (2, made)
    pre = [data["tool_call_id"] for _, data in scene.hooks.get_events(TOOL_PRE)]
    assert pre == made


async def test_a_call_of_nothing_is_answered() -> None:
    """A call without a name is told which tools exist."""
    scene = Scene([ScriptedReply(tool_calls=[ToolCall(id="a", name="", arguments={})]), "done"], MockTool("t"))
    assert await scene.run() == "done"
    assert scene.context.messages[2]["content"] == "There is no tool ''. Available tools: t."


async def test_without_a_coordinator_hooks_are_obeyed_as_far_as_possible() -> None:
    """Refusals, changes and injections work; a question is a refusal, as there is nobody to ask."""
    context, hooks, tool = MockContextManager(), HookRegistry(), MockTool("t")
    world = World.of(context, {"mock": MockProvider([CALL, "done"])}, {"t": tool}, hooks, None)
    assert isinstance(world.coordinator, ModuleCoordinator)
    hooks.register(TOOL_PRE, lambda event, data: HookResult(action="ask_user", approval_prompt="?"))
    hooks.register(PROMPT_SUBMIT, lambda event, data: HookResult(action="inject_context", context_injection="note"))
    assert await Turn("loop-test", world, LoopSettings()).run("go", run_rounds) == "done"
    assert tool.call_count == 0
    assert [message["content"] for message in context.messages if message["role"] in ("system", "tool")] == [
        "note",
        "Denied: No approval system available",
    ]


async def test_calls_of_one_answer_share_a_group_and_other_answers_have_others() -> None:
    """Observers can tell what ran together."""
    pair = ScriptedReply(tool_calls=[("t", {"n": 1}), ("t", {"n": 2})])
    scene = Scene([pair, CALL, "done"], MockTool("t"))
    await scene.run()
    groups = [data["parallel_group_id"] for _, data in scene.hooks.get_events(TOOL_POST)]
    assert (groups[0] == groups[1], groups[1] == groups[2]) == (True, False)
