"""Calls into foreign code: every wait is seen, cancellation hits an exact one, and nothing is waited for in vain."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from amplifier_kit.chaos._calls import Call, Outcome, cancel_at, describe


async def waits(count: int) -> str:
    """Gives way ``count`` times."""
    for _ in range(count):
        await asyncio.sleep(0)
    return "done"


async def test_an_answer_is_an_outcome() -> None:
    """What async and plain functions return comes back, with the number of waits."""
    call = Call(lambda: waits(3))
    assert (await call.outcome(5), call.suspensions) == (Outcome("done"), 3)
    assert await Call(lambda: "at once").outcome(5) == Outcome("at once")


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()])
async def test_whatever_is_raised_is_an_outcome(error: BaseException) -> None:
    """No exception escapes, not even one that would end the loop."""

    async def fail() -> None:
        raise error

    outcome = await Call(fail).outcome(5)
    assert (outcome.error, outcome.is_cancelled) == (error, isinstance(error, asyncio.CancelledError))


@pytest.mark.parametrize("wait", [1, 2, 3])
async def test_a_call_is_cancelled_at_one_exact_wait(wait: int) -> None:
    """Cancellation arrives where it is meant to, whatever is waited for."""
    reached: list[int] = []

    async def work() -> None:
        for wait_for in (lambda: asyncio.sleep(0), lambda: asyncio.sleep(0.001), asyncio.Event().wait):
            reached.append(len(reached) + 1)
            await wait_for()

    call = Call(work, cancel_at(wait))
    outcome = await call.outcome(5)
    assert (outcome.is_cancelled, reached, call.suspensions) == (True, [1, 2, 3][:wait], wait)


async def test_a_call_that_ends_earlier_is_not_cancelled() -> None:
    """A wait that is never reached changes nothing."""
    call = Call(lambda: waits(2), cancel_at(3))
    assert (await call.outcome(5), call.suspensions) == (Outcome("done"), 2)


async def test_a_call_that_takes_too_long_is_closed() -> None:
    """Even a call that ignores its cancellation ends, its ``finally`` included."""
    steps: list[str] = []

    async def stubborn() -> None:
        try:
            while True:
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    steps.append("ignored")
        finally:
            steps.append("closed")

    before = asyncio.all_tasks()
    assert (await Call(stubborn).outcome(0.01)).is_late
    assert (steps, asyncio.all_tasks()) == (["closed"], before)


async def test_a_call_that_catches_everything_is_left_alone() -> None:
    """Code that cannot be closed does not disturb: no warning when it is forgotten, no task."""

    async def immortal() -> None:
        while True:
            try:
                await asyncio.sleep(60)
            except BaseException:
                continue

    async def outer() -> None:
        await immortal()

    before = asyncio.all_tasks()
    assert (await Call(outer).outcome(0.01)).is_late
    gc.collect()
    assert asyncio.all_tasks() == before


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (Outcome("text"), "returned str"),
        (Outcome(error=ValueError("bad")), "raised ValueError: bad"),
        (Outcome(error=ValueError()), "raised ValueError"),
        (Outcome(is_late=True), "did not end"),
    ],
)
def test_an_outcome_tells_itself(outcome: Outcome, told: str) -> None:
    """Messages say what happened."""
    assert str(outcome) == told


def test_an_error_is_described_on_one_short_line() -> None:
    """Long and broken messages of foreign errors do no harm."""

    class Unreadable(Exception):
        def __str__(self) -> Any:
            raise RuntimeError

    assert describe(ValueError("a\n b" + "c" * 900)) == f"ValueError: a b{'c' * 597}…"
    assert describe(Unreadable()) == "Unreadable: (its message cannot be read)"
