"""A turn that is stopped at any moment, in any way and any loop: all events, the whole transcript, and the next turn.

*Graceful* lets finish what runs and begins nothing more; *immediate* and *cancel* (of the turn's task) cut at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.modules.turn_world import (
    LOOPS,
    OPENS,
    Lines,
    Row,
    TurnWorld,
    closes,
    for_loop,
    let_others_run,
    look,
    says,
    selects,
    streams,
)

from amplifier_core import events
from amplifier_modkit import events as module_events
from amplifier_modkit.turns.tool_batch import NOT_STARTED
from amplifier_modkit.turns.tool_step import STOPPED

NOTHING = "Stopped before there was an answer."
CALLS = "assistant | Let me look. | call-1 look at=sky"
TWO_CALLS = "assistant | Let me look. | call-1 look at=sky | call-2 look at=sea"
SKY = "tool call-1 look | blue"
BLUE = "assistant | It is blue."
HALF = 'S| assistant ({"interrupted": true}) | Let me look.'
"""What was streamed before the cut; the other loops had told nobody."""

LOOKS = [*OPENS, *says(1, "Let me look.", calls=1)]
SELECTS = selects("call-1 look at=sky")
RUNS = [*SELECTS, "tool:pre call-1 look at=sky"]
CUT = [*RUNS, f"tool:error call-1 look CancelledError: {STOPPED}"]
RAN = [*RUNS, "tool:post call-1 look at=sky -> blue"]


@dataclass(frozen=True)
class End:
    """Where a turn stands when it ends: the events before the ending, the transcript, what was said, the model calls.

    What was said may differ between loops: ``("BE", "")`` beside ``("S", "Let me look.")``.
    """

    told: Lines
    transcript: Lines
    said: tuple[tuple[str, str], ...]
    model_calls: int


def said(text: str) -> tuple[tuple[str, str], ...]:
    """The same in every loop."""
    return (("BSE", text),)


STREAMED = (("BE", ""), ("S", "Let me look."))

# How a graceful stop ends, by what it lets finish.
BEFORE_ANYTHING = End(OPENS[:2], ["user | go"], said(""), 0)
AFTER_THE_MODEL = End(LOOKS, ["user | go", CALLS, f"tool call-1 look (error) | {NOT_STARTED}"], said("Let me look."), 1)
AFTER_THE_TOOL = End([*LOOKS, *RAN], ["user | go", CALLS, SKY], said("Let me look."), 1)
WHOLE = End([*LOOKS, *RAN, *says(2, "It is blue.")], ["user | go", CALLS, SKY, BLUE], said("It is blue."), 2)


@dataclass(frozen=True)
class Moment:
    """A place in the turn, where a stop can come, and where the turn then stands: ``cut``, or stopped gracefully.

    ``None`` for a cut that comes too late to change anything.
    """

    arrange: Callable[[TurnWorld, str], object]
    cut: End | None
    graceful: End
    loops: str = "BSE"


def at(event: str, nth: int = 1) -> Callable[[TurnWorld, str], object]:
    """While the handlers of the n-th ``event`` run."""
    return lambda world, how: world.on(event, lambda data: world.stop(how), nth=nth)


def in_model_call(world: TurnWorld, how: str) -> None:
    """While the model thinks about its first answer."""
    answer = world.provider.responses[0]

    async def think(request: object) -> Any:
        await world.stop(how)
        return answer

    world.provider.responses[0] = think


def in_tool(world: TurnWorld, how: str) -> None:
    """While the tool runs."""

    async def execute(input: dict[str, Any]) -> str:
        await world.stop(how)
        return "blue"

    world.look.execute.side_effect = execute


def storing(number: int) -> Callable[[TurnWorld, str], None]:
    """While the context stores the n-th message."""

    def arrange(world: TurnWorld, how: str) -> None:
        given = 0

        async def add_message(message: dict[str, Any]) -> None:
            nonlocal given
            given += 1
            if given == number:
                await world.stop(how)
            world.context.messages.append(message)

        world.context.add_message.side_effect = add_message

    return arrange


def reading(number: int) -> Callable[[TurnWorld, str], None]:
    """While the context makes the n-th request."""

    def arrange(world: TurnWorld, how: str) -> None:
        asked = 0

        async def get_messages_for_request(**_: Any) -> list[dict[str, Any]]:
            nonlocal asked
            asked += 1
            if asked == number:
                await world.stop(how)
            return list(world.context.messages)

        world.context.get_messages_for_request.side_effect = get_messages_for_request

    return arrange


CUT_CALL = ["user | go", CALLS, f"tool call-1 look (error) | {STOPPED}"]
FIRST_BLOCK_BEGINS = [*streams("Let me look.")[:2], "BE| provider:response 1 calls", "BE| content_block:start 0 text"]
FIRST_BLOCK_ENDS = [*streams("Let me look."), *FIRST_BLOCK_BEGINS[2:], "BE| content_block:end 0 text"]

MOMENTS = {
    "prompt:submit": Moment(at(events.PROMPT_SUBMIT), End(OPENS[:1], [], said(""), 0), BEFORE_ANYTHING),
    "execution:start": Moment(at(events.EXECUTION_START), End(OPENS[:2], [], said(""), 0), BEFORE_ANYTHING),
    "storing the prompt": Moment(storing(1), End(OPENS[:2], [], said(""), 0), BEFORE_ANYTHING),
    "provider:resolve": Moment(at(events.PROVIDER_RESOLVE), End(OPENS, ["user | go"], said(""), 1), AFTER_THE_MODEL),
    "reading the context": Moment(reading(1), End(OPENS, ["user | go"], said(""), 1), AFTER_THE_MODEL),
    "provider:request": Moment(
        at(events.PROVIDER_REQUEST),
        End([*OPENS, "provider:request 1"], ["user | go"], said(""), 1),
        AFTER_THE_MODEL,
    ),
    "model call": Moment(
        in_model_call, End([*OPENS, "provider:request 1"], ["user | go"], said(""), 1), AFTER_THE_MODEL
    ),
    "content_block:start": Moment(
        at(events.CONTENT_BLOCK_START),
        End([*OPENS, "provider:request 1", *FIRST_BLOCK_BEGINS], ["user | go"], said(""), 1),
        AFTER_THE_MODEL,
    ),
    "content_block:delta": Moment(
        at(events.CONTENT_BLOCK_DELTA),
        End([*OPENS, "provider:request 1", *streams("Let me look.")[:4]], ["user | go", HALF], STREAMED, 1),
        AFTER_THE_MODEL,
        loops="S",
    ),
    "content_block:end": Moment(
        at(events.CONTENT_BLOCK_END),
        End([*OPENS, "provider:request 1", *FIRST_BLOCK_ENDS], ["user | go", HALF], STREAMED, 1),
        AFTER_THE_MODEL,
    ),
    "provider:response": Moment(
        at(events.PROVIDER_RESPONSE),
        End(
            [*OPENS, "provider:request 1", *streams("Let me look."), "provider:response 1 calls"],
            ["user | go", HALF],
            STREAMED,
            1,
        ),
        AFTER_THE_MODEL,
    ),
    "last content_block:end": Moment(
        at(events.CONTENT_BLOCK_END, nth=2), End(LOOKS, ["user | go", HALF], STREAMED, 1), AFTER_THE_MODEL
    ),
    "storing the calls": Moment(
        storing(2),
        End(LOOKS, ["user | go", CALLS, f"tool call-1 look (error) | {NOT_STARTED}"], said("Let me look."), 1),
        AFTER_THE_MODEL,
    ),
    "tool:selecting": Moment(
        at(module_events.TOOL_SELECTING),
        End([*LOOKS, SELECTS[0]], CUT_CALL, said("Let me look."), 1),
        AFTER_THE_TOOL,
        loops="E",
    ),
    "tool:selected": Moment(
        at(module_events.TOOL_SELECTED),
        End([*LOOKS, *SELECTS], CUT_CALL, said("Let me look."), 1),
        AFTER_THE_TOOL,
        loops="E",
    ),
    "tool:pre": Moment(at(events.TOOL_PRE), End([*LOOKS, *RUNS], CUT_CALL, said("Let me look."), 1), AFTER_THE_TOOL),
    "tool running": Moment(in_tool, End([*LOOKS, *CUT], CUT_CALL, said("Let me look."), 1), AFTER_THE_TOOL),
    "tool:post": Moment(at(events.TOOL_POST), End([*LOOKS, *RAN], CUT_CALL, said("Let me look."), 1), AFTER_THE_TOOL),
    "storing the result": Moment(storing(3), AFTER_THE_TOOL, AFTER_THE_TOOL),
    "reading the context again": Moment(
        reading(2), End([*LOOKS, *RAN], ["user | go", CALLS, SKY], said("Let me look."), 2), WHOLE
    ),
    "second provider:request": Moment(
        at(events.PROVIDER_REQUEST, nth=2),
        End([*LOOKS, *RAN, "provider:request 2"], ["user | go", CALLS, SKY], said("Let me look."), 2),
        WHOLE,
    ),
    "storing the answer": Moment(storing(4), WHOLE, WHOLE),
    "execution:end": Moment(at(events.EXECUTION_END), None, WHOLE),
    "prompt:complete": Moment(at(events.PROMPT_COMPLETE), None, WHOLE),
    "orchestrator:complete": Moment(at(events.ORCHESTRATOR_COMPLETE), None, WHOLE),
}


def ending(end: End, how: str) -> tuple[Lines, str]:
    """The last lines of a turn that ``how`` ends there, and what comes out of it."""
    if how == "cancel":
        return [line for line in _closed(end, "") if line], "cancelled"
    stop = [f"cancel:requested {how}"]
    return [*stop, *_closed(end, NOTHING)], ""


def _closed(end: End, nothing: str) -> Iterator[str]:
    for loops, text in end.said:
        for line in closes("cancelled", text or nothing, end.model_calls):
            yield f"{loops}| {line}"


def expectation(moment: Moment, how: str, loop: str) -> tuple[Lines, Lines, str]:
    """Events, transcript and ending of one loop."""
    end = moment.graceful if how == "graceful" else moment.cut
    if end is None or (end is WHOLE and how == "graceful"):
        told = [*WHOLE.told, *closes("success", "It is blue.", 2)]
        ends = "cancelled" if how == "cancel" else "answers It is blue."
        return for_loop(loop, told), WHOLE.transcript, ends
    closed, ends = ending(end, how)
    answer = next(text for loops, text in end.said if loop[0].upper() in loops)
    return (
        for_loop(loop, [*end.told, *closed]),
        for_loop(loop, end.transcript),
        ends or f"answers {answer or NOTHING}",
    )


async def next_turn(world: TurnWorld) -> tuple[str, Lines]:
    """The ending of another turn of the same session, and what is wrong with it."""
    world.token.reset()
    world.hooks.clear()
    world.providers["mock"] = world.new_provider(["Fine."])
    return str(await world.run("again")), await world.flaws()


@pytest.mark.parametrize("how", ["graceful", "immediate", "cancel"])
@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_stop_leaves_a_sound_turn_wherever_it_comes(moment: str, how: str) -> None:
    """What was said and done is kept, every call has its result, the turn is closed, and the next one works."""
    row = MOMENTS[moment]
    names = Row([], [], "", loops=row.loops).names
    for loop in names:
        world = TurnWorld(loop, [look("sky"), "It is blue."])
        row.arrange(world, how)
        ended = str(await world.run())
        assert await world.flaws() == []
        assert (world.told, world.transcript, ended) == expectation(row, how, loop)
        assert await next_turn(world) == ("answers Fine.", [])


def result(number: int, text: str | None = None) -> str:
    """The result of a call: one that says why there is none, or the output."""
    return f"tool call-{number} look | blue" if text is None else f"tool call-{number} look (error) | {text}"


# Which of two calls is running when the stop comes, and the results for each kind of stop.
TWO: dict[str, dict[str, Lines]] = {
    "first runs": {
        "graceful": [result(1), f"BS| {result(2)}", f"E| {result(2, NOT_STARTED)}"],
        "immediate": [result(1, STOPPED), f"BS| {result(2)}", f"E| {result(2, NOT_STARTED)}"],
        "cancel": [result(1, STOPPED), f"BS| {result(2)}", f"E| {result(2, NOT_STARTED)}"],
    },
    "second runs": {
        "graceful": [result(1), result(2)],
        "immediate": [result(1), result(2, STOPPED)],
        "cancel": [result(1), result(2, STOPPED)],
    },
    "both run": {
        "graceful": [result(1), f"BS| {result(2)}", f"E| {result(2, NOT_STARTED)}"],
        "immediate": [result(1, STOPPED), f"BS| {result(2, STOPPED)}", f"E| {result(2, NOT_STARTED)}"],
        "cancel": [result(1, STOPPED), f"BS| {result(2, STOPPED)}", f"E| {result(2, NOT_STARTED)}"],
    },
}


@pytest.mark.parametrize("how", ["graceful", "immediate", "cancel"])
@pytest.mark.parametrize("which", TWO)
@pytest.mark.parametrize("loop", ["basic", "streaming", "events"])
async def test_of_two_calls_each_has_the_result_that_is_true_of_it(loop: str, which: str, how: str) -> None:
    """A call that has finished keeps its result when the stop comes, one that runs is told from one not begun."""
    world = TurnWorld(loop, [look("sky", "sea"), "It is blue."])

    async def execute(input: dict[str, Any]) -> str:
        if which == "both run" or input["at"] == ("sea" if which == "second runs" else "sky"):
            await let_others_run()
            await world.stop(how)
        return "blue"

    world.look.execute.side_effect = execute
    ended = str(await world.run())
    assert await world.flaws() == []
    assert ended == ("cancelled" if how == "cancel" else "answers Let me look.")
    assert world.transcript == for_loop(loop, ["user | go", TWO_CALLS, *TWO[which][how]])
    assert await next_turn(world) == ("answers Fine.", [])


@pytest.mark.parametrize("loop", ["basic", "streaming", "events"])
@pytest.mark.parametrize(
    ("how", "told", "transcript"),
    [
        pytest.param("graceful", [*OPENS[:2], "cancel:requested graceful"], ["user | go"], id="graceful"),
        pytest.param("immediate", ["cancel:requested immediate"], [], id="immediate"),
    ],
)
async def test_a_stop_before_the_turn_lets_nothing_begin(loop: str, how: str, told: Lines, transcript: Lines) -> None:
    """A session that is asked to stop between two turns asks no model, and says why."""
    world = TurnWorld(loop, ["It is blue."])
    await world.coordinator.request_cancel(immediate=how == "immediate")
    ended = str(await world.run())
    assert await world.flaws() == []
    assert (world.told, world.transcript) == ([*told, *closes("cancelled", NOTHING, 0)], transcript)
    assert (ended, world.provider.requests) == (f"answers {NOTHING}", [])
    assert await next_turn(world) == ("answers Fine.", [])


@pytest.mark.parametrize("loop", LOOPS)
async def test_a_tool_that_ignores_its_cancellation_is_left_behind(loop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a moment of grace the turn ends without it, and the call has a result all the same."""
    monkeypatch.setattr("amplifier_modkit.turns.tool_batch.GRACE_S", 0.001)
    world = TurnWorld(loop, [look("sky"), "It is blue."])
    let_go = asyncio.Event()

    async def execute(input: dict[str, Any]) -> str:
        try:
            await world.stop("cancel")
        except asyncio.CancelledError:
            await let_go.wait()
        return "blue"

    world.look.execute.side_effect = execute
    ended = str(await world.run())
    assert (world.told, world.transcript, ended) == (
        for_loop(loop, [*LOOKS, *RUNS, *closes("cancelled", "Let me look.", 1)]),
        CUT_CALL,
        "cancelled",
    )
    let_go.set()
    await let_others_run()
    assert (list(world.left_behind()), world.lost, world.transcript) == ([], [], CUT_CALL)
    assert await next_turn(world) == ("answers Fine.", [])


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("event", [events.EXECUTION_END, events.PROMPT_COMPLETE, events.ORCHESTRATOR_COMPLETE])
async def test_a_hook_that_never_ends_does_not_hold_up_a_cancellation(
    loop: str, event: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the turn still wants to finish has a moment for it once its task is cancelled, and no more."""
    monkeypatch.setattr("amplifier_modkit.turns.stopping.GRACE_S", 0.001)
    world = TurnWorld(loop, ["It is blue."])

    async def hang(data: dict[str, Any]) -> None:
        assert world.turn is not None
        world.turn.cancel()
        await asyncio.Event().wait()

    world.on(event, hang)
    ended = str(await world.run())
    assert (ended, world.transcript, await world.flaws()) == ("cancelled", ["user | go", BLUE], [])
    assert await next_turn(world) == ("answers Fine.", [])


@pytest.mark.parametrize("how", ["immediate", "cancel"])
async def test_what_the_user_said_meanwhile_is_never_lost(how: str) -> None:
    """A message that waits for the next round is in the conversation or still waits, wherever a stop comes."""
    for number in (1, 2, 3):
        world = TurnWorld("streaming", ["It is blue."])
        assert world.loop.steering.steer("and the sea?")
        storing(number)(world, how)
        await world.run()
        assert await next_turn(world) == ("answers Fine.", [])
        assert world.transcript.count('user ({"source": "steering"}) | and the sea?') == 1
