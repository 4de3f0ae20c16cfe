"""Goals: the loop goes on by itself until a judge says that the goal is reached, or there is a reason to stop."""

from __future__ import annotations

import asyncio
import json
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.events import (
    CANCEL_REQUESTED,
    CONTENT_BLOCK_DELTA,
    CONTENT_BLOCK_END,
    EXECUTION_END,
    ORCHESTRATOR_COMPLETE,
    PROMPT_COMPLETE,
    PROMPT_SUBMIT,
    PROVIDER_REQUEST,
    PROVIDER_RESOLVE,
    PROVIDER_RESPONSE,
)
from amplifier_core.llm_errors import AuthenticationError, ProviderUnavailableError
from amplifier_core.message_models import ChatRequest
from amplifier_core.models import HookResult, SessionStatus
from amplifier_core.testing import (
    EventRecorder,
    MockContextManager,
    MockCoordinator,
    MockProvider,
    MockTool,
    ScriptedReply,
)
from amplifier_modkit.events import LLM_STREAM_BLOCK_DELTA, LLM_STREAM_BLOCK_START, ORCHESTRATOR_GOAL_PROGRESS
from amplifier_module_loop_streaming.config import StreamingSettings
from amplifier_module_loop_streaming.goal_verdict import UNREADABLE
from amplifier_module_loop_streaming.loop import StreamingLoop

CLOSING = [EXECUTION_END, PROMPT_COMPLETE, ORCHESTRATOR_COMPLETE]
YES = "ACHIEVED\nIt is there."
NO = "CONTINUE\nIt is missing."
LOOK = ScriptedReply("Let me see.", tool_calls=[("look", {})])


class World:
    """A loop with a scripted model, which is its own judge, and a goal."""

    def __init__(self, *answers: Any, goal: Any = None, **settings: Any) -> None:
        self.hooks = EventRecorder()
        self.context = MockContextManager()
        self.coordinator = MockCoordinator()
        self.coordinator.mount("context", self.context)
        self.goal: Any = {"condition": "the file exists"} if goal is None else goal
        self.coordinator.session_state["goal"] = self.goal
        self.provider = MockProvider(answers, hooks=self.hooks)
        self.providers: dict[str, Any] = {"mock": self.provider}
        self.tool = MockTool("look", output="blue")
        self.loop = StreamingLoop(StreamingSettings(**{"min_retry_delay": 0, **settings}))

    async def execute(self, prompt: str = "go", **options: Any) -> str:
        tools: Any = {"look": self.tool}
        return await self.loop.execute(
            prompt, self.context, self.providers, tools, self.hooks, self.coordinator, **options
        )

    def progress(self) -> list[tuple[str, int, str]]:
        """Status, turn and reason of each event about the goal."""
        told = [data for _, data in self.hooks.get_events(ORCHESTRATOR_GOAL_PROGRESS)]
        return [(data["status"], data["turn"], data["reason"]) for data in told]

    def ending(self) -> dict[str, Any]:
        """What the one closing set of the latest turn tells about it."""
        last = max(place for place, (event, _) in enumerate(self.hooks.events) if event == PROMPT_SUBMIT)
        names = [event for event, _ in self.hooks.events[last:] if event in CLOSING]
        assert names == CLOSING
        told = self.hooks.get_events(ORCHESTRATOR_COMPLETE)[-1][1]
        keys = ("status", "reason", "continuations", "goal_turn", "goal_final")
        return {key: told[key] for key in keys if key in told}

    def said(self) -> list[str]:
        """Who said what in the conversation."""
        return [f"{_source(message)}: {_text(message)}" for message in self.context.messages]


def _source(message: dict[str, Any]) -> str:
    return message.get("metadata", {}).get("source", message["role"])


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else content[0]["text"]


def judged(request: ChatRequest) -> dict[str, Any]:
    """What a judge was asked."""
    assert isinstance(request.messages[-1].content, str)
    return json.loads(request.messages[-1].content)


async def test_without_a_goal_nobody_judges() -> None:
    """One model call, no event about a goal, and the closing event says that there was none."""
    world = World("Done.")
    del world.coordinator.session_state["goal"]
    assert await world.execute() == "Done."
    assert (world.provider.complete.call_count, world.progress()) == (1, [])
    assert world.ending() == {"status": "success", "continuations": 0, "goal_turn": None, "goal_final": False}


async def test_a_goal_that_is_reached_at_once_takes_one_turn() -> None:
    """The answer is that of the turn; the verdict leaves no message."""
    world = World("Done.", YES)
    assert await world.execute() == "Done."
    assert world.said() == ["user: go", "assistant: Done."]
    ((_, told),) = world.hooks.get_events(ORCHESTRATOR_GOAL_PROGRESS)
    assert told == {
        "status": "achieved",
        "condition": "the file exists",
        "turn": 1,
        "cap": 10,
        "reason": "It is there.",
    }
    assert world.ending() == {"status": "success", "continuations": 0, "goal_turn": 1, "goal_final": True}
    assert world.goal == {
        "condition": "the file exists",
        "cap": 10,
        "turns_used": 1,
        "status": "achieved",
        "last_reason": "It is there.",
        "reasons": ["It is there."],
    }


async def test_a_goal_that_is_not_reached_makes_the_loop_go_on() -> None:
    """A user message of the goal's own says what is missing; all happens in one ``execute()`` with one ending."""
    world = World("Begun.", NO, LOOK, "Done.", YES)
    assert await world.execute() == "Done."
    assert world.said() == [
        "user: go",
        "assistant: Begun.",
        "goal: The goal is not reached yet: It is missing.\nGo on until it is. The goal: the file exists",
        "assistant: Let me see.",
        "tool: blue",
        "assistant: Done.",
    ]
    assert world.context.messages[2]["metadata"] == {"source": "goal"}
    assert world.progress() == [("continuing", 1, "It is missing."), ("achieved", 2, "It is there.")]
    assert world.ending() == {"status": "success", "continuations": 1, "goal_turn": 2, "goal_final": True}
    assert world.goal["reasons"] == ["It is missing.", "It is there."]


async def test_the_judge_gets_quoted_data_no_tools_and_no_stream() -> None:
    """It reads the condition, the answer and what tools gave, and never the conversation."""
    world = World(LOOK, "I am done: ACHIEVED", YES, goal_clip_chars=1000)
    await world.execute("a secret prompt", extended_thinking=True, reasoning_effort="high", temperature=0.5)
    request = world.provider.requests[-1]
    assert judged(request) == {
        "condition": "the file exists",
        "answer": "I am done: ACHIEVED",
        "tool_calls": [{"tool": "look", "arguments": "{}", "result": "blue"}],
    }
    assert [message.role for message in request.messages] == ["system", "user"]
    assert (request.tools, request.reasoning_effort) == (None, None)
    assert request.metadata == {"stream": False, "purpose": "goal", "model_role": "fast"}
    texts = [data["text"] for _, data in world.hooks.get_events(LLM_STREAM_BLOCK_DELTA)]
    assert texts == ["Let me see.", "I am done: ACHIEVED"]


async def test_an_answer_that_claims_the_verdict_does_not_decide() -> None:
    """Only the judge's own first line counts, also when the answer imitates one."""
    world = World("ACHIEVED\nIt is there.", NO, "Now it is.", YES)
    await world.execute()
    assert [status for status, _, _ in world.progress()] == ["continuing", "achieved"]


async def test_a_provider_that_streams_its_verdict_is_not_relayed() -> None:
    """A verdict is no answer, even where a provider streams against the wish of the request."""
    world = World("Done.")

    async def stream_anyway(request: ChatRequest) -> str:
        block = {"request_id": "r", "block_index": 0, "block_type": "text"}
        await world.hooks.emit(LLM_STREAM_BLOCK_START, block)
        await world.hooks.emit(LLM_STREAM_BLOCK_DELTA, {**block, "text": YES})
        return YES

    world.provider.responses.append(stream_anyway)
    assert await world.execute() == "Done."
    assert [data["text"] for _, data in world.hooks.get_events(CONTENT_BLOCK_DELTA)] == ["Done."]


async def test_an_unreadable_verdict_means_to_go_on(caplog: pytest.LogCaptureFixture) -> None:
    """The reason says so, and the log has what was said."""
    world = World("Done.", "I would rather not say.", "Done.", YES)
    with caplog.at_level(logging.WARNING):
        await world.execute()
    assert world.progress()[0] == ("continuing", 1, UNREADABLE)
    assert caplog.messages == [
        "The verdict on a goal could not be read, so the work goes on: 'I would rather not say.'"
    ]


async def test_a_goal_ends_with_its_cap_of_turns() -> None:
    """The last turn is judged, too; then the goal is finished, and further prompts are answered as ever."""
    world = World("1", "CONTINUE\na", "2", "CONTINUE\nb", "3", goal={"condition": "x", "cap": 2})
    assert await world.execute() == "2"
    assert world.progress() == [("continuing", 1, "a"), ("cap_hit", 2, "b")]
    assert world.ending() == {
        "status": "incomplete",
        "reason": "goal_cap_hit",
        "continuations": 1,
        "goal_turn": 2,
        "goal_final": True,
    }
    assert await world.execute("next") == "3"
    assert len(world.progress()) == 2
    assert (world.goal["status"], world.goal["turns_used"]) == ("cap_hit", 2)


async def test_the_same_verdict_again_and_again_escalates_once_and_then_stops() -> None:
    """The escalation asks for another approach; only the second stall ends the work."""
    answers = [each for number in range(4) for each in (f"answer {number}", NO)]
    world = World(*answers, goal_stall_threshold=2)
    assert await world.execute() == "answer 3"
    assert [status for status, _, _ in world.progress()] == ["continuing", "continuing", "continuing", "stalled"]
    told = [line for line in world.said() if line.startswith("goal:")]
    assert [line.startswith("goal: Progress has stalled.") for line in told] == [False, True, False]
    assert told[1] == (
        "goal: Progress has stalled. The goal is still not reached: It is missing.\n"
        "What you have done in the last turns does not lead there: take another approach, "
        "or say what stands in the way.\nThe goal: the file exists"
    )
    assert (world.ending()["reason"], world.goal["status"]) == ("goal_stalled", "stalled")


async def test_the_same_tool_calls_again_and_again_are_a_stall_as_well() -> None:
    """Other reasons of the judge do not hide that nothing else is tried."""
    answers = [each for number in range(4) for each in (LOOK, "Looked.", f"CONTINUE\n{number}")]
    world = World(*answers, goal_busy_stall_window=2, repeat_reminder_after=0, repeat_stop_after=0)
    assert await world.execute() == "Looked."
    assert world.progress() == [
        ("continuing", 1, "0"),
        ("continuing", 2, "1"),
        ("continuing", 3, "2"),
        ("stalled", 4, "3"),
    ]


async def test_an_unfinished_goal_goes_on_counting_with_the_next_prompt() -> None:
    """A judge that fails ends the work for now: the answer is given, the goal waits."""
    world = World("1", AuthenticationError("no key"), "2", YES)
    assert await world.execute() == "1"
    assert world.progress() == [("error", 1, "No verdict: AuthenticationError: no key")]
    assert world.ending() == {
        "status": "incomplete",
        "reason": "goal_error",
        "continuations": 0,
        "goal_turn": 1,
        "goal_final": False,
    }
    assert (world.goal["status"], world.goal["turns_used"]) == ("error", 1)
    assert await world.execute("next") == "2"
    assert world.progress()[1:] == [("achieved", 2, "It is there.")]


async def test_a_passing_error_of_the_judge_is_tried_again() -> None:
    """The judge is asked with the same patience as the model."""
    world = World("1", ProviderUnavailableError("busy"), YES)
    assert await world.execute() == "1"
    assert [status for status, _, _ in world.progress()] == ["achieved"]


async def test_an_error_of_a_turn_ends_the_work_on_its_goal() -> None:
    """The error comes out of ``execute()`` as it is, hooks hear of it, and the goal stays."""
    world = World("1", NO, AuthenticationError("no key"), "2", YES)
    with pytest.raises(AuthenticationError, match="no key"):
        await world.execute()
    assert world.progress() == [("continuing", 1, "It is missing."), ("error", 1, "AuthenticationError: no key")]
    assert world.ending() == {
        "status": "incomplete",
        "reason": "error",
        "continuations": 1,
        "goal_turn": 1,
        "goal_final": False,
    }
    assert await world.execute("next") == "2"
    assert world.goal["turns_used"] == 2


async def test_a_guard_may_refuse_the_judge() -> None:
    """A hook sees the judge's request as any other; what it refuses is not sent."""
    world = World("1", YES)

    async def refuse_the_judge(event: str, data: dict[str, Any]) -> HookResult | None:
        if data["messages"][0]["role"] != "system":
            return None
        return HookResult(action="deny", reason="no judging here")

    world.hooks.register(PROVIDER_REQUEST, refuse_the_judge)
    assert await world.execute() == "1"
    assert world.progress() == [("error", 1, "No verdict: DeniedError: no judging here")]
    assert world.provider.complete.call_count == 1


async def test_a_guard_may_refuse_to_go_on() -> None:
    """A denied ``continuing`` ends the work, and the goal waits."""
    world = World("1", NO)

    async def enough(event: str, data: dict[str, Any]) -> HookResult | None:
        return HookResult(action="deny", reason="enough") if data["status"] == "continuing" else None

    world.hooks.register(ORCHESTRATOR_GOAL_PROGRESS, enough)
    assert await world.execute() == "1"
    assert world.progress() == [("continuing", 1, "It is missing."), ("cancelled", 1, "Denied: enough")]
    assert world.ending()["reason"] == "goal_cancelled"
    assert (world.said(), world.goal["status"]) == (["user: go", "assistant: 1"], "cancelled")


async def test_a_guard_without_words_may_refuse_to_go_on() -> None:
    """A reason is not required."""
    world = World("1", NO)

    async def enough(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="deny")

    world.hooks.register(ORCHESTRATOR_GOAL_PROGRESS, enough)
    await world.execute()
    assert world.progress()[-1] == ("cancelled", 1, "Denied: no reason given")


async def test_hooks_hear_of_the_judges_call_and_keep_their_words_for_the_agent() -> None:
    """Its request and response are told; what a hook has for the conversation does not go to the judge."""
    world = World("1", NO, "2", YES)

    async def remind(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="inject_context", context_injection="for the agent", ephemeral=True)

    world.hooks.register(CONTENT_BLOCK_END, remind)
    await world.execute()
    is_told = ["for the agent" in str(request.messages) for request in world.provider.requests]
    assert is_told == [False, False, True, False]
    for event in (PROVIDER_REQUEST, PROVIDER_RESPONSE):
        assert [data["iteration"] for _, data in world.hooks.get_events(event)] == [1, 1, 2, 2]


@pytest.mark.parametrize("immediate", [False, True], ids=["graceful", "immediate"])
async def test_a_stop_while_the_agent_works_ends_the_goal_as_cancelled(immediate: bool) -> None:
    """The goal is not judged any more, and stays for the next prompt."""
    world = World("1", NO, LOOK, "2", YES)

    async def stop(input: dict[str, Any]) -> str:
        await world.coordinator.request_cancel(immediate)
        await asyncio.sleep(0)
        return "blue"

    world.tool.execute.side_effect = stop
    assert await world.execute() == "Let me see."
    assert [status for status, _, _ in world.progress()] == ["continuing", "cancelled"]
    assert world.ending() == {
        "status": "cancelled",
        "reason": "cancelled",
        "continuations": 1,
        "goal_turn": 1,
        "goal_final": False,
    }
    assert len(world.hooks.get_events(CANCEL_REQUESTED)) == 1
    world.coordinator.cancellation.reset()
    assert await world.execute("next") == "2"
    assert (world.goal["status"], world.goal["turns_used"]) == ("achieved", 2)


async def test_a_stop_during_the_answer_keeps_the_judge_from_being_asked() -> None:
    """A graceful stop begins nothing, not even a verdict."""
    world = World(lambda request: world.coordinator.cancellation.request_graceful() and "1")
    assert await world.execute() == "1"
    assert world.progress() == [("cancelled", 0, "A stop was requested.")]
    assert world.provider.complete.call_count == 1


async def test_a_stop_during_the_verdict_keeps_the_loop_from_going_on() -> None:
    """Nothing is put into the conversation any more."""
    world = World("1", lambda request: world.coordinator.cancellation.request_graceful() and NO)
    assert await world.execute() == "1"
    assert world.progress() == [("cancelled", 1, "A stop was requested.")]
    assert world.said() == ["user: go", "assistant: 1"]


async def test_a_task_that_is_cancelled_during_the_verdict_tells_it() -> None:
    """The cancellation comes out, with one closing set and the goal marked."""
    reached = asyncio.Event()

    async def judge_for_ever(request: ChatRequest) -> str:
        reached.set()
        await asyncio.Event().wait()
        return YES

    world = World("1", judge_for_ever)
    turn = asyncio.create_task(world.execute())
    await reached.wait()
    turn.cancel()
    await asyncio.wait([turn])
    assert turn.cancelled()
    assert world.progress() == [("cancelled", 1, "CancelledError")]
    assert (world.ending()["status"], world.goal["status"]) == ("cancelled", "cancelled")


@pytest.mark.parametrize(
    ("preferences", "judge"),
    [
        ([], "big"),
        (["nobody*"], "big"),
        (["small"], "small"),
        (["tiny-*", "small"], "other"),
        (["TINY-MODEL"], "other"),
    ],
    ids=["none", "no match", "name", "model", "case"],
)
async def test_the_judge_is_the_first_provider_that_is_preferred_else_that_of_the_turn(
    preferences: list[str], judge: str
) -> None:
    """Patterns are tried in order, on names and models; the model of the turn is asked for by its own provider only."""
    world = World(goal_provider_preferences=preferences, goal_model_role="judge")
    world.providers = {
        "small": MockProvider([YES], "small", model="small-model"),
        "other": MockProvider([YES], "other", model="tiny-model"),
        "big": MockProvider(["Done.", YES], "big", model="big-model"),
    }
    assert await world.execute(provider="big", model="big-model-2") == "Done."
    request = world.providers[judge].requests[-1]
    assert request.metadata["model_role"] == "judge"
    assert request.model == ("big-model-2" if judge == "big" else None)
    told = world.hooks.get_events(PROVIDER_RESOLVE)[-1][1]
    assert told["provider"] == judge
    assert told["reason"].startswith("judges the goal")


async def test_a_judge_is_found_even_when_the_provider_of_the_turn_is_gone() -> None:
    """Whoever is mounted may judge."""
    world = World()
    second = MockProvider([YES], "second")

    def leave(request: ChatRequest) -> str:
        world.providers.pop("first")
        return "Done."

    world.providers = {"first": MockProvider([leave], "first"), "second": second}
    assert await world.execute() == "Done."
    assert len(second.requests) == 1


async def test_a_limit_of_model_calls_counts_anew_for_every_turn_of_a_goal() -> None:
    """A stretch that is wrapped up is judged, and the next one may call tools again."""
    world = World(LOOK, "Wrapped up.", NO, LOOK, "Wrapped up again.", YES, max_iterations=1)
    assert await world.execute() == "Wrapped up again."
    assert world.tool.call_count == 2
    assert [status for status, _, _ in world.progress()] == ["continuing", "achieved"]
    assert world.ending()["reason"] == "max_iterations"


async def test_the_judge_sees_results_of_all_stretches() -> None:
    """What was shown before need not be shown again."""
    world = World(LOOK, "1", NO, "2", YES)
    await world.execute()
    assert [call["result"] for call in judged(world.provider.requests[-1])["tool_calls"]] == ["blue"]


async def test_what_a_user_says_during_the_verdict_is_answered_in_the_same_turn() -> None:
    """A goal that is reached does not cut a user short."""
    world = World("Done.", lambda request: world.loop.steering.steer("thanks") and YES, "You are welcome.")
    assert await world.execute() == "You are welcome."
    assert world.said() == ["user: go", "assistant: Done.", "steering: thanks", "assistant: You are welcome."]


async def test_tools_may_set_and_drop_the_goal() -> None:
    """The goal is looked up after every stretch."""
    world = World(LOOK, "1", NO, LOOK, "2")
    del world.coordinator.session_state["goal"]

    async def toggle(input: dict[str, Any]) -> str:
        state = world.coordinator.session_state
        if state.pop("goal", None) is None:
            state["goal"] = {"condition": "set by a tool"}
        return "toggled"

    world.tool.execute.side_effect = toggle
    assert await world.execute() == "2"
    assert world.progress() == [("continuing", 1, "It is missing.")]
    assert world.ending()["continuations"] == 1


async def test_what_is_no_goal_is_told_and_the_turn_is_answered(caplog: pytest.LogCaptureFixture) -> None:
    """A mistake in the goal costs no answer."""
    world = World("Done.", goal={"condition": "x", "cap": "many"})
    with caplog.at_level(logging.WARNING):
        assert await world.execute() == "Done."
    complaint = "'cap' of a goal must be a whole number of turns, at least 1, got 'many'"
    assert world.progress() == [("error", 0, complaint)]
    assert caplog.messages == [f"The goal is not worked on: {complaint}"]
    assert world.ending() == {"status": "success", "continuations": 0, "goal_turn": None, "goal_final": False}


async def test_a_prompt_that_is_denied_leaves_the_goal_alone() -> None:
    """No turn was spent on it."""
    world = World("Done.")

    async def refuse(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="deny", reason="not now")

    world.hooks.register(PROMPT_SUBMIT, refuse)
    assert await world.execute() == "Denied: not now"
    assert (world.goal, world.progress()) == ({"condition": "the file exists"}, [])


async def test_the_judges_tokens_are_counted() -> None:
    """The session's status knows what a goal costs; a model call of the judge is none of the turn's."""
    world = World("Done.", YES)
    status = SessionStatus(session_id="s")
    facts = SimpleNamespace(session_id="s", parent_id=None, config={}, status=status)
    coordinator = ModuleCoordinator(session=facts)
    coordinator.session_state["goal"] = world.goal
    providers, tools = world.providers, {}
    await world.loop.execute("go", world.context, providers, tools, world.hooks, coordinator)
    assert (status.total_input_tokens, status.total_output_tokens, status.total_messages) == (20, 40, 2)
    assert world.hooks.get_events(ORCHESTRATOR_COMPLETE)[0][1]["turn_count"] == 1
