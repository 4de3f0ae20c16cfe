"""A user says something while the agent works: it is heard before the next model call, and never lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from amplifier_core.events import ORCHESTRATOR_COMPLETE, PROVIDER_RESPONSE
from amplifier_core.testing import (
    EventRecorder,
    MockContextManager,
    MockCoordinator,
    MockProvider,
    MockTool,
    ScriptedReply,
)
from amplifier_modkit.events import ORCHESTRATOR_STEERING_INJECTED
from amplifier_module_loop_streaming.config import StreamingSettings
from amplifier_module_loop_streaming.loop import StreamingLoop
from amplifier_module_loop_streaming.steering import CAPACITY, Steering

LOOK = ScriptedReply("Let me see.", tool_calls=[("look", {})])


class World:
    """A loop with a scripted model and a tool."""

    def __init__(self, *answers: Any, **settings: Any) -> None:
        self.hooks = EventRecorder()
        self.context = MockContextManager()
        self.coordinator = MockCoordinator()
        self.coordinator.mount("context", self.context)
        self.provider = MockProvider(answers)
        self.tool = MockTool("look", output="blue")
        self.loop = StreamingLoop(StreamingSettings(**settings))
        self.steer = self.loop.steering.steer

    async def execute(self, prompt: str = "go", **options: Any) -> str:
        providers: Any = {"mock": self.provider}
        tools: Any = {"look": self.tool}
        return await self.loop.execute(prompt, self.context, providers, tools, self.hooks, self.coordinator, **options)

    def transcript(self) -> list[str]:
        """Who said what, with the source of what is no prompt."""
        return [_line(message) for message in self.context.messages]

    def injected(self) -> list[dict[str, Any]]:
        """What hooks heard of steering."""
        return [data for _, data in self.hooks.get_events(ORCHESTRATOR_STEERING_INJECTED)]


def _line(message: dict[str, Any]) -> str:
    content = message["content"]
    text = content if isinstance(content, str) else content[0]["text"]
    return f"{message.get('metadata', {}).get('source', message['role'])}: {text}"


async def test_what_is_said_while_a_tool_runs_comes_behind_its_result() -> None:
    """The model hears it with its next call, in the order in which it was said."""
    world = World(LOOK, "Yes.")

    async def say_something(input: dict[str, Any]) -> str:
        assert world.steer("look closer") is True
        assert world.steer("and smile") is True
        return "blue"

    world.tool.execute.side_effect = say_something
    assert await world.execute() == "Yes."
    assert world.transcript() == [
        "user: go",
        "assistant: Let me see.",
        "tool: blue",
        "steering: look closer",
        "steering: and smile",
        "assistant: Yes.",
    ]
    assert world.injected() == [
        {"content": "look closer", "iteration": 2, "queued_remaining": 1},
        {"content": "and smile", "iteration": 2, "queued_remaining": 0},
    ]
    assert [message.content for message in world.provider.requests[1].messages[-2:]] == ["look closer", "and smile"]


async def test_what_is_said_during_the_last_answer_makes_the_turn_go_on() -> None:
    """The answer stays in the conversation, and the next one is the answer of the turn."""
    world = World(lambda request: world.steer("shorter") and "A long answer.", "Short.")
    assert await world.execute() == "Short."
    assert world.transcript() == ["user: go", "assistant: A long answer.", "steering: shorter", "assistant: Short."]
    assert len(world.hooks.get_events(ORCHESTRATOR_COMPLETE)) == 1


async def test_what_is_said_before_a_turn_comes_behind_its_prompt() -> None:
    """Nothing has to run for something to be said."""
    world = World("Yes.")
    world.steer("be brief")
    assert await world.execute() == "Yes."
    assert world.transcript() == ["user: go", "steering: be brief", "assistant: Yes."]


async def test_what_is_said_while_an_answer_is_repaired_makes_the_turn_go_on() -> None:
    """Also after the rounds are over, somebody may speak before the turn is."""
    world = World("no JSON", lambda request: world.steer("again") and "1", "2")
    assert await world.execute(output_schema={"type": "integer"}) == "2"
    assert world.transcript()[-2:] == ["steering: again", "assistant: 2"]


async def test_at_the_limit_of_model_calls_the_answer_counts_and_the_rest_waits() -> None:
    """An answer that came in time is not thrown away for one more call; the next turn hears what was said."""
    world = World(lambda request: world.steer("more") and "Done.", "And more.", max_iterations=1)
    assert await world.execute() == "Done."
    assert world.hooks.get_events(ORCHESTRATOR_COMPLETE)[0][1]["status"] == "success"
    assert await world.execute("next") == "And more."
    assert world.transcript()[2:] == ["user: next", "steering: more", "assistant: And more."]


def test_the_queue_is_bounded_and_texts_have_text() -> None:
    """A full queue says so and drops nothing; what says nothing is refused."""
    steering = Steering()
    assert [steering.steer(f"{number}") for number in range(CAPACITY)] == [True] * CAPACITY
    assert steering.steer("one too many") is False
    for empty in ("", " \n"):
        with pytest.raises(ValueError, match="A steering message needs some text"):
            steering.steer(empty)
    assert steering.is_waiting


async def test_a_full_queue_is_told_in_order_and_has_room_again() -> None:
    """Everything that was accepted is said."""
    world = World("Yes.")
    for number in range(CAPACITY):
        world.steer(str(number))
    await world.execute()
    assert [data["content"] for data in world.injected()] == [str(number) for number in range(CAPACITY)]
    assert world.steer("room again") is True


@pytest.mark.parametrize("is_stored", [True, False], ids=["stored slowly", "not stored"])
async def test_a_cut_while_a_message_is_stored_neither_loses_nor_doubles_it(is_stored: bool) -> None:
    """The store is finished first; a message that the context refuses stays in the queue for the next turn."""
    world = World("Yes.")
    reached, go_on = asyncio.Event(), asyncio.Event()
    keep = world.context.messages.append

    async def store(message: dict[str, Any]) -> None:
        if message["content"] == "first" and not go_on.is_set():
            reached.set()
            await go_on.wait()
            if not is_stored:
                raise OSError("disk full")
        keep(message)

    world.context.add_message.side_effect = store
    world.steer("first")
    world.steer("second")
    turn = asyncio.create_task(world.execute())
    await reached.wait()
    turn.cancel()
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.wait([turn])
    assert turn.cancelled()
    await world.execute("next")
    first = (
        ["user: go", "steering: first", "user: next"] if is_stored else ["user: go", "user: next", "steering: first"]
    )
    assert world.transcript() == [*first, "steering: second", "assistant: Yes."]


@pytest.mark.parametrize("immediate", [False, True], ids=["graceful", "immediate"])
async def test_what_was_said_to_a_turn_that_is_stopped_waits_for_the_next(immediate: bool) -> None:
    """A stop goes first; what was said before it is not forgotten."""
    world = World(LOOK, "Yes.")

    async def say_and_stop(input: dict[str, Any]) -> str:
        world.steer("never mind")
        await world.coordinator.request_cancel(immediate)
        await asyncio.sleep(0)
        return "blue"

    world.tool.execute.side_effect = say_and_stop
    assert await world.execute() == "Let me see."
    assert world.hooks.get_events(ORCHESTRATOR_COMPLETE)[0][1]["status"] == "cancelled"
    world.coordinator.cancellation.reset()
    assert await world.execute("next") == "Yes."
    assert world.transcript()[-3:] == ["user: next", "steering: never mind", "assistant: Yes."]


async def test_a_hook_may_steer_by_the_same_way() -> None:
    """A handler that speaks after an answer is heard in the same turn."""
    world = World("One.", "Two.")

    async def speak_once(event: str, data: dict[str, Any]) -> None:
        if data["iteration"] == 1:
            world.steer("and?")

    world.hooks.register(PROVIDER_RESPONSE, speak_once)
    assert await world.execute() == "Two."
    assert world.transcript() == ["user: go", "assistant: One.", "steering: and?", "assistant: Two."]
