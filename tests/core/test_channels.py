"""Contribution channels: who offers, in which order, and what becomes of failures."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Any

import pytest

from amplifier_core.coordinator import ModuleCoordinator

LOGGER = "amplifier_core._channels"


def raises(error: BaseException) -> Any:
    """A contributor that fails."""

    def contribute() -> None:
        raise error

    return contribute


async def test_contributions_come_in_the_order_of_registration() -> None:
    """Sync, async, and sync functions that return awaitables; the kernel does not look into them."""
    coordinator, thing = ModuleCoordinator(), object()

    async def coroutine() -> list[str]:
        return ["b"]

    def future() -> Awaitable[str]:
        made: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        made.set_result("future")
        return made

    coordinator.register_contributor(channel="c", name="sync", callback=lambda: ["a"])
    coordinator.register_contributor("c", "async", coroutine)
    coordinator.register_contributor("c", "returns a coroutine", lambda: coroutine())
    coordinator.register_contributor("c", "future", future)
    coordinator.register_contributor("c", "thing", lambda: thing)
    assert await coordinator.collect_contributions("c") == [["a"], ["b"], ["b"], "future", thing]


async def test_none_is_left_out_and_other_empty_things_are_not() -> None:
    """``None`` means: nothing right now."""
    coordinator = ModuleCoordinator()
    for value in (None, [], 0, "", False, {}):
        coordinator.register_contributor("c", "x", lambda value=value: value)
    assert await coordinator.collect_contributions("c") == [[], 0, "", False, {}]


async def test_a_channel_without_contributors_is_an_empty_list() -> None:
    """Asking does not make it known."""
    coordinator = ModuleCoordinator()
    assert await coordinator.collect_contributions("nobody") == []
    assert coordinator.channels == {}


async def test_contributors_of_one_name_are_all_asked_each_time() -> None:
    """They are pulled anew by every collection; channels do not mix."""
    coordinator, numbers = ModuleCoordinator(), iter(range(10))
    coordinator.register_contributor("a", "same", lambda: next(numbers))
    coordinator.register_contributor("a", "same", lambda: next(numbers))
    coordinator.register_contributor("b", "same", lambda: "b")
    assert await coordinator.collect_contributions("a") == [0, 1]
    assert await coordinator.collect_contributions("a") == [2, 3]
    assert await coordinator.collect_contributions("b") == ["b"]


async def test_channels_show_who_is_registered() -> None:
    """``channels`` is the live table; what is put there by hand is asked as well."""
    coordinator = ModuleCoordinator()

    def contribute() -> int:
        return 1

    coordinator.register_contributor("c", "n", contribute)
    assert coordinator.channels == {"c": [{"name": "n", "callback": contribute}]}
    coordinator.channels["d"] = [{"name": "by hand", "callback": contribute}]
    assert await coordinator.collect_contributions("d") == [1]


async def test_a_contributor_that_fails_is_logged_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    """The others are asked all the same; what is not callable fails the same way."""
    coordinator = ModuleCoordinator()

    async def late_failure() -> None:
        raise KeyError("async")

    coordinator.register_contributor("c", "one", raises(ValueError("sync")))
    coordinator.register_contributor("c", "two", late_failure)
    coordinator.register_contributor("c", "three", 5)  # pyright: ignore[reportArgumentType]
    coordinator.register_contributor("c", "good", lambda: "good")
    assert await coordinator.collect_contributions("c") == ["good"]
    assert caplog.record_tuples == [
        (LOGGER, logging.WARNING, "Contributor 'one' on channel 'c' failed: sync"),
        (LOGGER, logging.WARNING, "Contributor 'two' on channel 'c' failed: 'async'"),
        (LOGGER, logging.WARNING, "Contributor 'three' on channel 'c' failed: 'int' object is not callable"),
    ]


async def test_a_contributor_that_cancels_itself_stops_the_collection(caplog: pytest.LogCaptureFixture) -> None:
    """What was collected so far is the answer."""
    coordinator, asked = ModuleCoordinator(), list[str]()
    coordinator.register_contributor("c", "first", lambda: 1)
    coordinator.register_contributor("c", "stops", raises(asyncio.CancelledError()))
    coordinator.register_contributor("c", "never", lambda: asked.append("never"))
    assert await coordinator.collect_contributions("c") == [1]
    assert asked == []
    assert caplog.record_tuples == [
        (LOGGER, logging.WARNING, "Contributor 'stops' on channel 'c' was cancelled; collection stops here")
    ]


async def test_cancelling_the_collecting_task_comes_out() -> None:
    """It reaches the contributor that is being awaited; later ones are not asked."""
    coordinator, steps, begun = ModuleCoordinator(), list[str](), asyncio.Event()

    async def hang() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            steps.append("cancelled")
            raise

    coordinator.register_contributor("c", "hangs", hang)
    coordinator.register_contributor("c", "never", lambda: steps.append("never"))
    task = asyncio.create_task(coordinator.collect_contributions("c"))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert steps == ["cancelled"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
async def test_what_is_meant_for_the_program_comes_out(error: type[BaseException]) -> None:
    """At once: no later contributor is asked."""
    coordinator, asked = ModuleCoordinator(), list[str]()
    coordinator.register_contributor("c", "interrupts", raises(error()))
    coordinator.register_contributor("c", "never", lambda: asked.append("never"))
    collecting = coordinator.collect_contributions("c")
    with pytest.raises(error):
        collecting.send(None)
    assert asked == []


async def test_contributors_registered_meanwhile_are_asked_the_next_time() -> None:
    """A collection works on the contributors it began with."""
    coordinator = ModuleCoordinator()

    def grow() -> str:
        coordinator.register_contributor("c", "new", lambda: "new")
        return "old"

    coordinator.register_contributor("c", "grows", grow)
    assert await coordinator.collect_contributions("c") == ["old"]
    assert await coordinator.collect_contributions("c") == ["old", "new"]
