"""A context that fails at any message or request of a turn, in any loop: all events, the whole transcript."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.modules.turn_world import OPENS, Lines, Row, TurnWorld, closes, look, says, selects

from amplifier_core import events
from amplifier_core.models import HookResult

CALLS = "assistant | Let me look. | call-1 look at=sky"
TWO_CALLS = "assistant | Let me look. | call-1 look at=sky | call-2 look at=sea"
BLUE = "assistant | It is blue."
UNSTORED = "The result could not be stored: OSError: disk full"
LOOKS = [*OPENS, *says(1, "Let me look.", calls=1)]
LOOKS_TWICE = [*OPENS, *says(1, "Let me look.", calls=2)]
ENDS = "raises OSError: disk full"


def ran(number: int, place: str) -> Lines:
    """The events of a call that goes well."""
    call = f"call-{number} look at={place}"
    return [*selects(call), f"tool:pre {call}", f"tool:post {call} -> blue"]


def fails_at(number: int) -> Callable[[TurnWorld], None]:
    """Has the context refuse the n-th message that it is given, and take it when it is given again."""

    def arrange(world: TurnWorld) -> None:
        given = 0

        async def add_message(message: dict[str, Any]) -> None:
            nonlocal given
            given += 1
            if given == number:
                raise OSError("disk full")
            world.context.messages.append(message)

        world.context.add_message.side_effect = add_message

    return arrange


def cannot_give(number: int) -> Callable[[TurnWorld], None]:
    """Has the context fail when it is asked for the messages of the n-th request."""

    def arrange(world: TurnWorld) -> None:
        asked = 0

        async def get_messages_for_request(**_: Any) -> list[dict[str, Any]]:
            nonlocal asked
            asked += 1
            if asked == number:
                raise OSError("disk full")
            return list(world.context.messages)

        world.context.get_messages_for_request.side_effect = get_messages_for_request

    return arrange


ROWS = {
    "the prompt": Row([*OPENS[:2], *closes("error", "", 0)], [], ENDS, [], fails_at(1)),
    "an answer": Row(
        [*OPENS, *says(1, "It is blue."), *closes("error", "", 1)], ["user | go"], ENDS, ["It is blue."], fails_at(2)
    ),
    "an answer with calls": Row([*LOOKS, *closes("error", "", 1)], ["user | go"], ENDS, [look("sky")], fails_at(2)),
    "a result": Row(
        [*LOOKS, *ran(1, "sky"), *closes("error", "", 1)],
        ["user | go", CALLS, f"tool call-1 look (error) | {UNSTORED}"],
        ENDS,
        [look("sky")],
        fails_at(3),
    ),
    "the first of two results": Row(
        [*LOOKS_TWICE, *ran(1, "sky"), *ran(2, "sea"), *closes("error", "", 1)],
        ["user | go", TWO_CALLS, f"tool call-1 look (error) | {UNSTORED}", "tool call-2 look | blue"],
        ENDS,
        [look("sky", "sea")],
        fails_at(3),
    ),
    "the second of two results": Row(
        [*LOOKS_TWICE, *ran(1, "sky"), *ran(2, "sea"), *closes("error", "", 1)],
        ["user | go", TWO_CALLS, "tool call-1 look | blue", f"tool call-2 look (error) | {UNSTORED}"],
        ENDS,
        [look("sky", "sea")],
        fails_at(4),
    ),
    "the last answer": Row(
        [*LOOKS, *ran(1, "sky"), *says(2, "It is blue."), *closes("error", "", 2)],
        ["user | go", CALLS, "tool call-1 look | blue"],
        ENDS,
        [look("sky"), "It is blue."],
        fails_at(4),
    ),
    "the first request": Row([*OPENS, *closes("error", "", 1)], ["user | go"], ENDS, [], cannot_give(1)),
    "the second request": Row(
        [*LOOKS, *ran(1, "sky"), *closes("error", "", 2)],
        ["user | go", CALLS, "tool call-1 look | blue"],
        ENDS,
        [look("sky")],
        cannot_give(2),
    ),
}


@pytest.mark.parametrize("place", ROWS)
async def test_a_context_that_fails_ends_the_turn_and_parts_nothing(place: str) -> None:
    """The context's error comes out; a call whose result it refuses has one that says so, and the turn is closed."""
    row = ROWS[place]
    assert await row.outcomes() == row.expected()


@pytest.mark.parametrize(
    ("event", "number"),
    [
        pytest.param(events.PROMPT_SUBMIT, 1, id="before the prompt"),
        pytest.param(events.PROVIDER_RESPONSE, 2, id="before the answer"),
        pytest.param(events.TOOL_POST, 4, id="behind the result"),
        pytest.param(events.ORCHESTRATOR_COMPLETE, 5, id="at the end"),
    ],
)
async def test_an_injection_that_cannot_be_stored_is_left_out(event: str, number: int) -> None:
    """A hook that wants to put something into a context that fails does not break the turn."""

    def arrange(world: TurnWorld) -> None:
        fails_at(number)(world)
        world.on(event, lambda data: HookResult(action="inject_context", context_injection="note"))

    row = Row(
        [*LOOKS, *ran(1, "sky"), *says(2, "It is blue."), *closes("success", "It is blue.", 2)],
        ["user | go", CALLS, "tool call-1 look | blue", BLUE],
        "answers It is blue.",
        [look("sky"), "It is blue."],
        arrange,
    )
    assert await row.outcomes() == row.expected()


async def test_a_modification_beside_an_injection_that_cannot_be_stored_counts() -> None:
    """What one hook took out of a request stays out, even if what another wants to put in cannot be stored."""

    def arrange(world: TurnWorld) -> None:
        fails_at(2)(world)
        hidden = {"messages": [{"role": "user", "content": "***"}]}
        world.on(events.PROVIDER_REQUEST, lambda data: HookResult(action="modify", data={**data, **hidden}))
        world.on(events.PROVIDER_REQUEST, lambda data: HookResult(action="inject_context", context_injection="note"))

    for loop in ("basic", "streaming", "events"):
        world = TurnWorld(loop, ["It is blue."])
        arrange(world)
        assert str(await world.run()) == "answers It is blue."
        assert (world.requests, world.transcript, await world.flaws()) == ([["user | ***"]], ["user | go", BLUE], [])
