"""``mount`` and ``unmount`` take effect when they are called; awaiting what they return is optional."""

from __future__ import annotations

import asyncio
import gc
import inspect
import warnings
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from amplifier_core._done import Done
from amplifier_core.coordinator import ModuleCoordinator


@pytest.mark.parametrize("how", ["mount", "unmount"])
def test_the_call_takes_effect_at_once_and_needs_no_awaiting(how: str) -> None:
    """Outside any event loop, and without a warning about something never awaited."""
    coordinator = ModuleCoordinator()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        coordinator.mount("module-source-resolver", "resolver")
        assert coordinator.get("module-source-resolver") == "resolver"
        if how == "unmount":
            coordinator.unmount("module-source-resolver")
            assert coordinator.get("module-source-resolver") is None
        gc.collect()
    assert caught == []


async def test_awaiting_gives_none_as_often_as_one_likes() -> None:
    """There is nothing left to do."""
    mounting = ModuleCoordinator().mount("context", object())
    assert [await mounting, await mounting] == [None, None]
    assert await ModuleCoordinator().unmount("context") is None


def test_it_is_a_coroutine_object() -> None:
    """For ``isinstance`` and for asyncio."""
    mounting = ModuleCoordinator().mount("context", object())
    assert isinstance(mounting, Coroutine)
    assert asyncio.iscoroutine(mounting)
    assert inspect.isawaitable(mounting)


@pytest.mark.parametrize(
    "scheduled",
    [
        lambda mounting: asyncio.create_task(mounting),
        lambda mounting: asyncio.ensure_future(mounting),
        lambda mounting: asyncio.wait_for(mounting, 60),
        lambda mounting: asyncio.shield(mounting),
    ],
    ids=["create_task", "ensure_future", "wait_for", "shield"],
)
async def test_asyncio_takes_it_for_a_coroutine(scheduled: Callable[[Any], Any]) -> None:
    """Its result is ``None`` in every way of waiting for it."""
    assert await scheduled(ModuleCoordinator().mount("context", object())) is None


async def test_it_can_be_gathered_and_grouped() -> None:
    """Together with real coroutines."""
    coordinator = ModuleCoordinator()
    results = await asyncio.gather(coordinator.mount("tools", 1, "a"), coordinator.mount("tools", 2, "b"), give(3))
    assert results == [None, None, 3]
    async with asyncio.TaskGroup() as group:
        group.create_task(coordinator.mount("tools", 4, "c"))
    assert coordinator.get("tools") == {"a": 1, "b": 2, "c": 4}


async def give(value: int) -> int:
    """A real coroutine."""
    return value


@pytest.mark.parametrize("debug", [False, True])
def test_a_program_can_be_made_of_it(debug: bool) -> None:
    """``asyncio.run`` takes it, in debug mode as well."""
    coordinator = ModuleCoordinator()
    assert asyncio.run(coordinator.mount("context", "c"), debug=debug) is None
    assert coordinator.get("context") == "c"


async def test_a_task_made_of_it_can_be_shown_and_cancelled() -> None:
    """As a coroutine that has not begun."""
    task = asyncio.create_task(ModuleCoordinator().mount("context", object()))
    assert "Done" in repr(task)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_driven_by_hand_it_ends_at_once_and_raises_what_is_thrown_in() -> None:
    """The protocol of coroutines holds."""
    with pytest.raises(StopIteration) as ended:
        Done().send(None)
    assert ended.value.value is None
    error = ValueError("thrown")
    for arguments in ((error,), (ValueError, error)):
        with pytest.raises(ValueError, match="^thrown$") as caught:
            Done().throw(*arguments)
        assert caught.value is error
    with pytest.raises(KeyError):
        Done().throw(KeyError)
    assert Done().close() is None
