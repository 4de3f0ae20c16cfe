"""A turn with streams, a tool, steering and a goal is cut at each of its waits: nothing is lost, doubled or open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from amplifier_core.events import CONTENT_BLOCK_DELTA, EXECUTION_END, ORCHESTRATOR_COMPLETE, PROMPT_COMPLETE
from amplifier_core.message_models import ToolCall
from amplifier_core.testing import EventRecorder, MockContextManager, MockCoordinator, MockProvider, MockTool
from amplifier_modkit.events import LLM_STREAM_BLOCK_DELTA, ORCHESTRATOR_GOAL_PROGRESS
from amplifier_modkit.messages import calls_in, results_in
from amplifier_module_loop_streaming.loop import StreamingLoop

SAID = ["be brief", "be kind"]


class Slow(MockProvider):
    """A provider that waits before every piece, and counts the streams that are open."""

    def __init__(self) -> None:
        super().__init__(["CONTINUE\nMore.", "ACHIEVED\nAll."])
        call = ToolCall(id="c1", name="look", arguments={})
        self.scripts: list[list[Any]] = [["Let me", " see", call], ["First", " answer"], ["Second", " answer"]]
        self.open = 0

    async def stream(self, request: Any, **extras: Any) -> AsyncIterator[Any]:
        self.open += 1
        try:
            for piece in self.scripts.pop(0):
                await asyncio.sleep(0)
                yield piece
        finally:
            self.open -= 1


class World:
    """One turn, and the next."""

    def __init__(self) -> None:
        self.hooks = EventRecorder()
        self.context = MockContextManager()
        self.coordinator = MockCoordinator()
        self.coordinator.mount("context", self.context)
        self.goal: dict[str, Any] = {"condition": "x"}
        self.coordinator.session_state["goal"] = self.goal
        self.provider = Slow()
        self.loop = StreamingLoop()
        for text in SAID:
            self.loop.steering.steer(text)

        async def wait_a_little(*given: Any) -> None:
            await asyncio.sleep(0)

        for event in (LLM_STREAM_BLOCK_DELTA, ORCHESTRATOR_GOAL_PROGRESS, EXECUTION_END):
            self.hooks.register(event, wait_a_little)
        keep = self.context.messages.append

        async def store(message: dict[str, Any]) -> None:
            await asyncio.sleep(0)
            keep(message)

        self.context.add_message.side_effect = store

    async def execute(self, prompt: str) -> str:
        providers: Any = {"mock": self.provider}
        tools: Any = {"look": MockTool("look")}
        return await self.loop.execute(prompt, self.context, providers, tools, self.hooks, self.coordinator)


async def cut_at(wait: int, *, immediate: bool) -> World | None:
    """A world whose turn was cut at its n-th wait; ``None`` when it did not come that far."""
    world = World()
    turn = asyncio.create_task(world.execute("go"))
    for _ in range(wait):
        await asyncio.sleep(0)
    if turn.done():
        assert turn.result() == "Second answer"
        return None
    if immediate:
        await world.coordinator.request_cancel(immediate=True)
    else:
        turn.cancel()
    await asyncio.wait([turn])
    return world


def texts(world: World, source: str) -> list[str]:
    """What was put into the conversation from one source."""
    return [each["content"] for each in world.context.messages if each.get("metadata", {}).get("source") == source]


@pytest.mark.slow
@pytest.mark.parametrize("immediate", [False, True], ids=["task", "token"])
async def test_wherever_a_turn_is_cut_it_ends_once_and_keeps_its_conversation(immediate: bool) -> None:
    """Streams are closed, calls have results, what was read and said is there once, and the goal can go on."""
    wait = 1
    while (world := await cut_at(wait, immediate=immediate)) is not None:
        closing = [
            event for event, _ in world.hooks.events if event in (EXECUTION_END, PROMPT_COMPLETE, ORCHESTRATOR_COMPLETE)
        ]
        assert closing == [EXECUTION_END, PROMPT_COMPLETE, ORCHESTRATOR_COMPLETE], f"cut at wait {wait}"
        assert world.provider.open == 0
        messages = world.context.messages
        made = [call.id for message in messages for call in calls_in(message)]
        assert made == [call_id for message in messages for call_id in results_in(message)]
        heard = "".join(data["text"] for _, data in world.hooks.get_events(CONTENT_BLOCK_DELTA))
        read = "".join(_text(message) for message in messages if message["role"] == "assistant")
        assert read == heard
        assert world.goal.get("status") in (None, "continuing", "cancelled", "achieved")
        await next_turn(world)
        assert texts(world, "steering") == SAID
        wait += 1
    assert wait > 30


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


async def next_turn(world: World) -> None:
    """Takes one more turn, without a goal."""
    world.coordinator.cancellation.reset()
    world.coordinator.session_state.clear()
    world.provider.scripts = [["Next"]]
    assert await world.execute("next") == "Next"
