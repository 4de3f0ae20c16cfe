"""The rounds of a turn: how many there may be, and how a turn ends that a limit stops."""

from __future__ import annotations

from typing import Any

import pytest

from amplifier_core.events import ORCHESTRATOR_COMPLETE
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
from amplifier_modkit.turns.structured import StructuredOutputError
from amplifier_modkit.turns.turn import Turn, World


class Scene:
    """A turn among fakes."""

    def __init__(self, replies: list[Any], *tools: Any, **settings: Any) -> None:
        self.coordinator = TestCoordinator(new_id=SequentialIds())
        self.context, self.hooks, self.provider = MockContextManager(), EventRecorder(), MockProvider(replies)
        by_name = {tool.name: tool for tool in tools}
        world = World.of(self.context, {"mock": self.provider}, by_name, self.hooks, self.coordinator)
        self.turn = Turn("loop-test", world, LoopSettings(**settings))

    async def run(self) -> str:
        """The answer."""
        return await self.turn.run("go", run_rounds)

    def ending(self) -> tuple[Any, Any, Any]:
        """Status, reason and number of model calls, as told at the end."""
        ((_, data),) = self.hooks.get_events(ORCHESTRATOR_COMPLETE)
        return data["status"], data.get("reason"), data["turn_count"]

    def reminders(self, number: int) -> list[str]:
        """What the loop itself said in one request."""
        metadata = [message.metadata or {} for message in self.provider.requests[number].messages]
        texts = [str(message.content) for message in self.provider.requests[number].messages]
        return [text for text, known in zip(texts, metadata, strict=True) if known.get("source") == "orchestrator"]


def call(number: int = 0) -> ScriptedReply:
    """An answer that calls the tool."""
    return ScriptedReply(tool_calls=[("t", {"n": number})])


async def test_by_default_a_turn_may_take_as_many_rounds_as_it_needs() -> None:
    """As long as the calls differ."""
    scene = Scene([*map(call, range(60)), "done"], MockTool("t"))
    assert await scene.run() == "done"
    assert scene.ending() == ("success", None, 61)


@pytest.mark.parametrize("limit", [1, 3])
async def test_at_the_limit_there_is_one_last_call_without_tools(limit: int) -> None:
    """The model is told to say where things stand, and the status says what stopped the turn."""
    scene = Scene([*map(call, range(limit)), "so far, so good"], tool := MockTool("t"), max_iterations=limit)
    assert await scene.run() == "so far, so good"
    assert scene.ending() == ("incomplete", "max_iterations", limit + 1)
    assert tool.call_count == limit
    assert [request.tools is None for request in scene.provider.requests] == [False] * limit + [True]
    assert scene.reminders(-1) == [
        "<system-reminder>\nThe limit of model calls for this turn is reached. "
        "No more tools can be used in this turn: answer now with what you know.\n</system-reminder>"
    ]
    assert scene.context.messages[-1] == {"role": "assistant", "content": "so far, so good"}


async def test_an_answer_in_the_last_allowed_round_is_just_an_answer() -> None:
    """No further call is made."""
    scene = Scene([call(), "done"], MockTool("t"), max_iterations=2)
    assert await scene.run() == "done"
    assert scene.ending() == ("success", None, 2)


async def test_a_limit_of_zero_leaves_the_last_call_alone() -> None:
    """The model may answer, without tools."""
    scene = Scene(["done"], MockTool("t"), max_iterations=0)
    assert await scene.run() == "done"
    assert scene.ending() == ("incomplete", "max_iterations", 1)


async def test_calls_that_the_model_makes_in_its_last_answer_are_dropped() -> None:
    """Nothing is run, nothing is left open, and an answer of calls alone is surfaced as empty."""
    scene = Scene(
        [call(), ScriptedReply("I would look.", tool_calls=[("t", {})])], tool := MockTool("t"), max_iterations=1
    )
    assert await scene.run() == "I would look."
    assert (tool.call_count, scene.context.messages[-1]["content"]) == (1, "I would look.")
    silent = Scene([call(), call()], MockTool("t"), max_iterations=1)
    assert await silent.run() == "The model gave an empty answer (finish reason: tool_calls)."
    assert silent.ending() == ("incomplete", "max_iterations", 2)


async def test_the_last_answer_is_structured_where_that_is_asked_for() -> None:
    """A limit does not make other text of it; there is one repair as always."""
    schema = {"type": "object", "required": ["x"]}
    scene = Scene([call(), "hm", '{"x": 1}'], MockTool("t"), max_iterations=1, output_schema=schema)
    assert await scene.run() == '{"x": 1}'
    assert scene.ending() == ("incomplete", "max_iterations", 3)
    with pytest.raises(StructuredOutputError):
        await Scene([call(), "hm", "hm"], MockTool("t"), max_iterations=1, output_schema=schema).run()


async def test_a_model_that_goes_in_circles_is_reminded_and_then_stopped() -> None:
    """The same call with the same result counts; each limit can be set."""
    scene = Scene(
        [*[call()] * 4, "I give up"], tool := MockTool("t", "same"), repeat_reminder_after=2, repeat_stop_after=4
    )
    assert await scene.run() == "I give up"
    assert [len(scene.reminders(number)) for number in range(5)] == [0, 0, 1, 1, 1]
    assert "You have made the same tool call 3 times in a row" in scene.reminders(3)[0]
    assert "The same tool call was repeated again and again without effect." in scene.reminders(4)[0]
    assert (tool.call_count, scene.ending()) == (4, ("incomplete", "repeated_calls", 5))


async def test_a_model_that_waits_for_a_change_is_left_alone() -> None:
    """Asking again is fine as long as the answer changes."""
    tool = MockTool("t")
    tool.execute.side_effect = [f"{number} %" for number in range(20)]
    scene = Scene([*[call()] * 20, "done"], tool, repeat_reminder_after=2, repeat_stop_after=3)
    assert await scene.run() == "done"
    assert [scene.reminders(number) for number in range(21)] == [[]] * 21


async def test_the_watch_can_be_switched_off() -> None:
    """With zeros, only the limit of rounds counts."""
    scene = Scene([*[call()] * 30, "done"], MockTool("t"), repeat_reminder_after=0, repeat_stop_after=0)
    assert await scene.run() == "done"


async def test_a_tool_may_mount_another_one_for_the_next_round() -> None:
    """Tools are looked up when they are called, and offered as they are then."""
    tools: dict[str, Any] = {}

    class Opener(MockTool):
        def __init__(self) -> None:
            super().__init__("open")
            self.execute.side_effect = lambda given: tools.update(t=MockTool("t", "there")) or "opened"

    tools["open"] = Opener()
    provider = MockProvider([ScriptedReply(tool_calls=[("open", {})]), call(), "done"])
    context = MockContextManager()
    world = World.of(context, {"mock": provider}, tools, EventRecorder(), None)
    assert await Turn("loop-test", world, LoopSettings()).run("go", run_rounds) == "done"
    offered = [[spec.name for spec in request.tools or ()] for request in provider.requests]
    assert offered == [["open"], ["open", "t"], ["open", "t"]]
    assert context.messages[4]["content"] == "there"
