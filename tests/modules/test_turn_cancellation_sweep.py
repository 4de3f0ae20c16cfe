"""A turn that is cut at each of its steps, one after another: it ends soundly wherever that is, and the next works."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.modules.turn_world import LOOPS, TurnWorld, let_others_run, look

from amplifier_core import events
from amplifier_core.models import HookResult
from amplifier_core.testing import ScriptedReply
from amplifier_modkit import events as module_events

EVENTS = [*events.ALL_EVENTS, *(name for key, name in vars(module_events).items() if key.isupper())]
THOUGHT = ScriptedReply(["It ", "is ", "blue."], thinking=["Hm", "."])
MOST_STEPS = 400


class Pieces:
    """A provider that yields its answers in pieces, and waits for each."""

    name = "mock"

    def __init__(self) -> None:
        self.answers = [["Let ", "me look.", _call(1, "sky"), _call(2, "sea")], ["It is ", "blue."]]

    async def stream(self, request: Any) -> AsyncIterator[Any]:
        for piece in self.answers.pop(0):
            await asyncio.sleep(0)
            yield piece

    def parse_tool_calls(self, response: Any) -> list[Any]:
        return list(response.tool_calls or ())


def _call(number: int, place: str) -> dict[str, Any]:
    return {"type": "tool_call", "id": f"call-{number}", "name": "look", "arguments": {"at": place}}


def restless(loop: str) -> TurnWorld:
    """A world in which everybody waits a moment at every occasion: hooks, tools, the context, the model."""
    world = TurnWorld(loop, [look("sky", "sea"), THOUGHT])

    async def pause(event: str, data: dict[str, Any]) -> HookResult:
        await asyncio.sleep(0)
        return HookResult()

    async def execute(input: dict[str, Any]) -> str:
        for _ in range(3 if input["at"] == "sky" else 1):
            await asyncio.sleep(0)
        return "blue"

    async def add_message(message: dict[str, Any]) -> None:
        await asyncio.sleep(0)
        world.context.messages.append(message)
        await asyncio.sleep(0)

    for event in EVENTS:
        world.hooks.register(event, pause, name="hook")
    world.look.execute.side_effect = execute
    world.context.add_message.side_effect = add_message
    return world


async def cut(world: TurnWorld, step: int, how: str) -> bool:
    """Runs a turn and stops it after so many steps; whether it came that far."""
    running = asyncio.create_task(world.run())
    for _ in range(step):
        await asyncio.sleep(0)
    came_that_far = not running.done()
    if came_that_far:
        await _stop(world, how)
    ending = await running
    is_cancelled = isinstance(ending.error, asyncio.CancelledError)
    assert isinstance(ending.answer, str) or (is_cancelled and "cancel" in how), f"{how} at step {step}: {ending}"
    return came_that_far


async def _stop(world: TurnWorld, how: str) -> None:
    assert world.turn is not None
    for request in how.split(" then "):
        if request == "cancel":
            world.turn.cancel()
        else:
            await world.coordinator.request_cancel(immediate=request == "immediate")
        await asyncio.sleep(0)


def twice_said(world: TurnWorld) -> list[str]:
    """Texts of the model that stand in the transcript more than once."""
    texts = [line for line in world.transcript if "Let me look." in line or "It is " in line]
    return texts if len(texts) > 2 or len(set(texts)) < len(texts) else []


async def sweep(loop: str, how: str, *, in_pieces: bool = False) -> int:
    """Cuts turn after turn, each one step later; how many steps a turn has."""
    for step in range(2, MOST_STEPS):  # a task that is cancelled before its first step has not begun a turn
        world = restless(loop)
        if in_pieces:
            world.providers["mock"] = Pieces()
        came_that_far = await cut(world, step, how)
        assert (step, await world.flaws(), twice_said(world)) == (step, [], [])
        world.token.reset()
        world.hooks.clear()
        world.providers["mock"] = world.new_provider(["Fine."])
        assert (step, str(await world.run("again")), await world.flaws()) == (step, "answers Fine.", [])
        if not came_that_far:
            return step
    raise AssertionError(f"a turn has more than {MOST_STEPS} steps")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["graceful then immediate", "cancel", "cancel then cancel"])
@pytest.mark.parametrize("loop", LOOPS)
async def test_a_turn_is_sound_wherever_it_is_cut(loop: str, how: str) -> None:
    """With parallel tools, hooks, streams and storing that all wait: no step exists at which a stop leaves a mess."""
    assert await sweep(loop, how) > 40


@pytest.mark.slow
@pytest.mark.parametrize("how", ["immediate", "cancel"])
async def test_a_stream_of_pieces_is_sound_wherever_it_is_cut(how: str) -> None:
    """The same for a provider that yields its pieces: what was heard is kept once, and its stream is closed."""
    assert await sweep("streaming", how, in_pieces=True) > 40


async def test_the_sweep_notices_what_is_left_behind() -> None:
    """The measure itself: a task that a turn leaves running is a flaw."""
    world = TurnWorld("basic", ["It is blue."])
    never = asyncio.Event()
    left: list[asyncio.Task[Any]] = []
    world.on(events.PROMPT_SUBMIT, lambda data: left.append(asyncio.create_task(never.wait())))
    await world.run()
    flaws = await world.flaws()
    never.set()
    await let_others_run()
    assert len(flaws) == 1
    assert flaws[0].startswith("tasks still run")
