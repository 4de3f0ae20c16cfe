"""Whatever a tool does, alone or beside another, in any loop: the complete list of events, the complete transcript."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from tests.modules.turn_world import OPENS, Lines, Row, TurnWorld, closes, look, says, selects

from amplifier_core import events
from amplifier_core.models import HookResult, ToolResult

BLUE = "assistant | It is blue."


@dataclass(frozen=True)
class Point:
    """A place as a tool may give it."""

    x: int
    y: int


@dataclass(frozen=True)
class Fault:
    """What the tool does instead of giving its output, and what the events of the call and its result say then.

    ``CALL`` stands for the call with its arguments, ``NAME`` for its id and tool.
    """

    act: Callable[[], Any]
    told: Lines
    result: str


def gives(value: Any, output: str, text: str) -> Fault:
    """The tool gives ``value``, which is no fault: ``tool:post`` tells its output, and the model reads ``text``."""
    return Fault(lambda: value, [f"tool:post CALL -> {output}"], f"tool NAME | {text}")


def fails(value: Any, output: str, text: str, error: str) -> Fault:
    """The tool gives a result that says itself that it failed."""
    told = [f"tool:post CALL -> {output}", f"E| error:tool NAME {error}"]
    return Fault(lambda: value, told, f"tool NAME (error) | {text}")


def raises(error: BaseException, text: str) -> Fault:
    """The tool raises, and the model reads ``text``."""
    name = type(error).__name__
    told = [f"tool:error NAME {name}: {error}", f"E| error:tool NAME {name}: {text}"]
    return Fault(lambda: _raise(error), told, f"tool NAME (error) | {text}")


def _raise(error: BaseException) -> Any:
    raise error


async def _never() -> None:
    await asyncio.Event().wait()


FAULTS = {
    "raises": raises(OSError("clouds"), "OSError: clouds"),
    "raises without a word": raises(OSError(), "OSError: "),
    "raises what hooks raise": raises(PermissionError("not for you"), "PermissionError: not for you"),
    "cancels itself": raises(asyncio.CancelledError(), "The tool cancelled itself; it may have had effects already."),
    "gives nothing": gives(None, "null", "Success"),
    "gives data": gives({"sky": ["blue", 1]}, 'sky=["blue", 1]', '{"sky": ["blue", 1]}'),
    "gives what is nearly data": gives(
        {"price": Decimal("1.50"), "at": Point(1, 2)},
        'price=1.50 at={"x": 1, "y": 2}',
        '{"price": "1.50", "at": {"x": 1, "y": 2}}',
    ),
    "gives bytes": gives(b"blue", "blue", "blue"),
    "gives what cannot be printed": gives("bl\x00ue\ud800", "bl\x00ue\ud800", "blue"),
    "gives the fields of a result": gives({"success": True, "output": "grey"}, "grey", "grey"),
    "gives a result without output": gives(ToolResult(), "null", "Success"),
    "gives blocks": gives(ToolResult(content=[{"type": "text", "text": "blue"}]), "null", "blue"),
    "gives a failure without a word": fails(
        ToolResult(success=False), "null", "Error: the tool failed without saying why", "ToolFailure: "
    ),
    "gives a failure": fails(
        ToolResult(success=False, error={"message": "clouds"}), "clouds", "clouds", "ToolFailure: clouds"
    ),
    "gives a failure with output": fails(
        ToolResult(success=False, output="half", error={"message": "clouds"}),
        "half",
        "Error: clouds\n\nhalf",
        "ToolFailure: clouds",
    ),
    "takes too long": Fault(
        _never,
        [
            "tool:error NAME TimeoutError: the tool did not end within 0.001 s and was stopped",
            "E| error:tool NAME TimeoutError: TimeoutError: the tool did not end within 0.001 s and was stopped",
        ],
        "tool NAME (error) | TimeoutError: the tool did not end within 0.001 s and was stopped",
    ),
}


def ran(place: str, number: int, fault: Fault | None) -> tuple[Lines, str]:
    """Events and result of the n-th call, which goes as the fault says, or well."""
    name = f"call-{number} look"
    call = f"{name} at={place}"
    fault = fault or gives("blue", "blue", "blue")
    told = [line.replace("CALL", call).replace("NAME", name) for line in fault.told]
    return [*selects(call), f"tool:pre {call}", *told], fault.result.replace("NAME", name)


def asked(places: list[str]) -> str:
    """The message with the calls."""
    return " | ".join(["assistant | Let me look.", *(f"call-{n} look at={at}" for n, at in enumerate(places, 1))])


def turn(places: list[str], failing: str, fault: Fault) -> Row:
    """A turn that looks at ``places``, at one of which the tool fails."""
    calls = [ran(place, number, fault if place == failing else None) for number, place in enumerate(places, 1)]
    told = [line for told, _ in calls for line in told]
    if fault.act is _never and len(places) > 1:
        # Where calls run side by side, one with a time limit lets the next begin; the one that is too late ends last.
        (first, _), (second, _) = calls
        ends = [second[3], first[3]] if failing == places[0] else [first[3], second[3]]
        told = [f"BS| {line}" for line in [first[2], second[2], *ends]] + [
            line if line.startswith("E| ") else f"E| {line}" for line in told
        ]
    return Row(
        [
            *OPENS,
            *says(1, "Let me look.", calls=len(places)),
            *told,
            *says(2, "It is blue."),
            *closes("success", "It is blue.", 2),
        ],
        ["user | go", asked(places), *(result for _, result in calls), BLUE],
        "answers It is blue.",
        [look(*places), "It is blue."],
        lambda world: failing_at(world, failing, fault.act),
        {"tool_timeout": 0.001} if fault.act is _never else {},
    )


def failing_at(world: TurnWorld, failing: str, act: Callable[[], Any]) -> None:
    """Has the tool do ``act()`` at one place; everywhere else it sees blue."""

    async def execute(input: dict[str, Any]) -> Any:
        done = act() if input["at"] == failing else "blue"
        return await done if asyncio.iscoroutine(done) else done

    world.look.execute.side_effect = execute


BESIDE = {"alone": (["sky"], "sky"), "first of two": (["sky", "sea"], "sky"), "second of two": (["sky", "sea"], "sea")}


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_call_has_its_result_whatever_the_tool_does(fault: str, beside: str) -> None:
    """A tool that fails, or gives something odd, is told as it is, and the calls beside it are none the worse."""
    row = turn(*BESIDE[beside], FAULTS[fault])
    assert await row.outcomes() == row.expected()


class Interrupt(BaseException):
    """Like a ``KeyboardInterrupt``, which nobody but the caller may deal with."""


NOT_STARTED = "Not run: a stop was requested before this call began."
STOPPED = "Stopped before it finished; it may have had effects already."


@pytest.mark.parametrize(
    ("places", "failing", "told", "results", "loops"),
    [
        pytest.param(
            ["sky"],
            "sky",
            [*selects("call-1 look at=sky"), "tool:pre call-1 look at=sky"],
            [f"tool call-1 look (error) | {STOPPED}"],
            "BSE",
            id="alone",
        ),
        pytest.param(
            ["sky", "sea"],
            "sky",
            [*selects("call-1 look at=sky"), "tool:pre call-1 look at=sky"],
            [f"tool call-1 look (error) | {STOPPED}", f"tool call-2 look (error) | {NOT_STARTED}"],
            "BSE",
            id="first of two",
        ),
        pytest.param(
            ["sky", "sea"],
            "sea",
            [*ran("sky", 1, None)[0], *selects("call-2 look at=sea"), "tool:pre call-2 look at=sea"],
            ["tool call-1 look | blue", f"tool call-2 look (error) | {STOPPED}"],
            "BSE",
            id="second of two",
        ),
    ],
)
async def test_what_belongs_to_the_caller_ends_the_turn(
    places: list[str], failing: str, told: Lines, results: Lines, loops: str
) -> None:
    """An interruption out of a tool comes out as it is, after every call got its result and the turn was closed."""
    interruption = Interrupt("^C")
    row = Row(
        [*OPENS, *says(1, "Let me look.", calls=len(places)), *told, *closes("error", "", 1)],
        ["user | go", asked(places), *results],
        "raises Interrupt: ^C",
        [look(*places)],
        lambda world: failing_at(world, failing, lambda: _raise(interruption)),
        loops=loops,
    )
    assert await row.outcomes() == row.expected()


@pytest.mark.parametrize("beside", BESIDE)
async def test_a_denied_call_is_none_of_the_others_business(beside: str) -> None:
    """A hook that refuses one call leaves those beside it alone."""
    places, failing = BESIDE[beside]
    denial = Fault(bool, ["E| error:tool NAME denied: Denied: not there"], "tool NAME (error) | Denied: not there")
    row = turn(places, failing, denial)

    def arrange(world: TurnWorld) -> None:
        deny = HookResult(action="deny", reason="not there")
        world.on(events.TOOL_PRE, lambda data: deny, nth=places.index(failing) + 1)

    row = Row(row.events, row.transcript, row.ends, row.script, arrange)
    assert await row.outcomes() == row.expected()


async def test_a_tool_that_is_no_coroutine_is_run_all_the_same() -> None:
    """A tool whose ``execute`` gives its result at once works like any other."""

    class Plain:
        name = "look"
        description = "Looks."
        input_schema = {"type": "object", "properties": {"at": {"type": "string"}}}

        def execute(self, input: dict[str, Any]) -> ToolResult:
            return ToolResult(output="blue")

    row = turn(["sky"], "none", FAULTS["raises"])
    row = Row(row.events, row.transcript, row.ends, row.script, lambda world: world.tools.update(look=Plain()))
    assert await row.outcomes() == row.expected()


async def test_what_a_tool_does_to_its_arguments_is_told_nowhere() -> None:
    """A tool may write into what it was given: hooks and the model see the arguments as they were."""

    def arrange(world: TurnWorld) -> None:
        async def execute(input: dict[str, Any]) -> str:
            input.clear()
            return "blue"

        world.look.execute.side_effect = execute

    row = turn(["sky"], "none", FAULTS["raises"])
    row = Row(row.events, row.transcript, row.ends, row.script, arrange)
    assert await row.outcomes() == row.expected()
