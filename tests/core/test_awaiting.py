"""Questions every caller of foreign code asks: await it, for how long, who cancelled, what went wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

import pytest

from amplifier_core._awaiting import TimeLimitError, belongs_to_caller, settle, settle_within


async def give(value: Any) -> Any:
    """A coroutine."""
    return value


async def test_settle_gives_values_and_awaits_awaitables() -> None:
    """Once: what an awaitable resolves to is given as it is."""

    class Custom:
        def __await__(self) -> Generator[Any, Any, str]:
            yield from asyncio.sleep(0).__await__()
            return "custom"

    thing = object()
    assert await settle(thing) is thing
    assert await settle(give(thing)) is thing
    assert await settle(asyncio.ensure_future(give(1))) == 1
    assert await settle(Custom()) == "custom"


async def test_settle_within_gives_what_comes_in_time() -> None:
    """Errors of the work come out as they are, its own ``TimeoutError`` included."""

    async def fail(error: BaseException) -> None:
        raise error

    assert await settle_within(60, give(5)) == 5
    for error in (ValueError("bad"), TimeoutError("own")):
        with pytest.raises(type(error)) as caught:
            await settle_within(60, fail(error))
        assert caught.value is error


@pytest.mark.parametrize("ending", ["is cancelled", "answers after all", "raises TimeoutError"])
async def test_settle_within_ends_work_that_takes_too_long(ending: str) -> None:
    """The work is cancelled, and late whatever it makes of that."""
    ended: list[str] = []

    async def hang() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append(ending)
            if ending == "raises TimeoutError":
                raise TimeoutError("own") from None
            if ending == "is cancelled":
                raise
        return "late"

    with pytest.raises(TimeLimitError, match=r"^no answer within 0\.001 s$"):
        await settle_within(0.001, hang())
    assert ended == [ending]
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_only_what_is_meant_for_the_caller_belongs_to_it() -> None:
    """A cancellation does while the task is being cancelled, and only then."""
    assert [belongs_to_caller(error) for error in (ValueError(), TimeoutError(), asyncio.CancelledError())] == [
        False
    ] * 3
    assert [belongs_to_caller(error) for error in (KeyboardInterrupt(), SystemExit(), GeneratorExit())] == [True] * 3

    async def find_out() -> bool:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            return belongs_to_caller(error)
        return False

    task = asyncio.create_task(find_out())
    await asyncio.sleep(0)
    task.cancel()
    assert await task is True


async def test_outside_a_task_nobody_is_being_cancelled() -> None:
    """A callback of the event loop has no task that could be."""
    found: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(lambda: found.set_result(belongs_to_caller(asyncio.CancelledError())))
    assert await found is False
