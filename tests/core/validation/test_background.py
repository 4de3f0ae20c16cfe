"""Tasks that a probed module starts end with the probe, and only these."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from amplifier_core.validation._background import BackgroundTasks

LIMIT_S = 0.1


async def wait_for_ever() -> None:
    """Ends by cancellation only."""
    await asyncio.Event().wait()


async def told_by(background: BackgroundTasks) -> list[tuple[str, str]]:
    """Severity and message of every complaint."""
    checks = await background.end()
    assert all(check.name == "background_task" and not check.passed for check in checks)
    return [(check.severity, check.message) for check in checks]


async def test_a_task_that_still_runs_is_ended_and_told() -> None:
    """The warning says what to change."""
    background = BackgroundTasks(LIMIT_S)
    with background.watched():
        task = asyncio.create_task(wait_for_ever())
    assert await told_by(background) == [
        (
            "warning",
            "Started by mount(), the task 'wait_for_ever' was still running after the clean-up; cancel it there",
        )
    ]
    assert task.cancelled()


async def test_a_task_that_ends_or_is_cancelled_in_time_is_no_complaint() -> None:
    """A clean-up need not wait until its tasks have ended."""
    background, ended = BackgroundTasks(LIMIT_S), asyncio.Event()
    with background.watched():
        tasks = [asyncio.create_task(wait_for_ever()), asyncio.create_task(ended.wait())]
    tasks[0].cancel()
    ended.set()
    assert await told_by(background) == []
    assert [task.done() for task in tasks] == [True, True]


async def test_a_task_that_is_slow_to_stop_is_waited_for_without_complaint() -> None:
    """It was told to stop, so it is not forgotten."""
    background = BackgroundTasks(10.0)
    may_end = asyncio.Event()

    async def stop_slowly() -> None:
        try:
            await wait_for_ever()
        finally:
            await may_end.wait()

    with background.watched():
        task = asyncio.create_task(stop_slowly())
    await asyncio.sleep(0)
    task.cancel()
    asyncio.get_running_loop().call_later(0.15, may_end.set)
    assert await told_by(background) == []
    assert task.done()


async def test_tasks_of_tasks_belong_to_the_same_owner() -> None:
    """They inherit the context."""
    background, tasks = BackgroundTasks(LIMIT_S), []

    async def start_another() -> None:
        tasks.append(asyncio.create_task(wait_for_ever()))

    with background.watched():
        asyncio.create_task(start_another())  # noqa: RUF006
        await asyncio.sleep(0)
    assert len(await told_by(background)) == 1
    assert tasks[0].cancelled()


async def test_tasks_of_others_are_left_alone() -> None:
    """Also those that are started meanwhile by somebody else in the same loop."""
    background, tasks = BackgroundTasks(LIMIT_S), []

    async def somebody_else() -> None:
        tasks.append(asyncio.create_task(wait_for_ever()))

    other = asyncio.create_task(somebody_else())
    with background.watched():
        await other
    assert await told_by(background) == []
    assert not tasks[0].done()
    tasks[0].cancel()


async def test_a_task_that_ignores_its_cancellation_ends_nevertheless() -> None:
    """It is closed."""
    background = BackgroundTasks(LIMIT_S)

    async def stay() -> None:
        while True:
            with suppress(asyncio.CancelledError):
                await wait_for_ever()

    with background.watched():
        task = asyncio.create_task(stay())
    assert [severity for severity, _ in await told_by(background)] == ["warning"]
    assert task.done()


async def test_a_task_that_exits_is_an_error_and_does_not_stop_the_loop() -> None:
    """``sys.exit`` in a task would end the whole application."""
    background = BackgroundTasks(LIMIT_S)

    async def leave() -> None:
        raise SystemExit(1)

    with background.watched():
        task = asyncio.create_task(leave())
        await task
    name = leave.__qualname__
    assert await told_by(background) == [
        (
            "error",
            f"Started by mount(), the task '{name}' calls sys.exit(1), which ends the whole application; "
            "raise an error",
        )
    ]


async def test_a_task_that_fails_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """As an information, since the module may know; asyncio has nothing to print any more."""
    background = BackgroundTasks(LIMIT_S)

    async def fail() -> None:
        raise LookupError("nobody")

    with background.watched():
        asyncio.create_task(fail())  # noqa: RUF006
        await asyncio.sleep(0)
    told = f"Started by mount(), the task '{fail.__qualname__}' failed: LookupError: nobody"
    assert await told_by(background) == [("info", told)]
    del background
    assert caplog.records == []


async def test_a_task_that_is_cancelled_before_it_begins_makes_no_noise() -> None:
    """Its coroutine counts as awaited (warnings are errors here)."""
    background = BackgroundTasks(LIMIT_S)
    with background.watched():
        task = asyncio.create_task(wait_for_ever())
    task.cancel()
    assert await told_by(background) == []


async def test_what_is_no_coroutine_is_refused_as_ever() -> None:
    """The mistake is the module's."""
    mistake: Any = "no coroutine"
    with BackgroundTasks(LIMIT_S).watched(), pytest.raises(TypeError, match="a coroutine was expected"):
        asyncio.create_task(mistake)  # noqa: RUF006


async def test_the_task_factory_of_the_application_is_used_and_put_back() -> None:
    """Two probes at once share the loop; the last one puts back what was there."""
    loop, made = asyncio.get_running_loop(), []

    def factory(loop: Any, coroutine: Any, **options: Any) -> Any:
        made.append(coroutine)
        return asyncio.Task(coroutine, loop=loop, **options)

    before: Any = loop.get_task_factory()
    loop.set_task_factory(factory)
    try:
        first, second = BackgroundTasks(LIMIT_S), BackgroundTasks(LIMIT_S)
        with first.watched():
            with second.watched():
                pass
            assert loop.get_task_factory() is not factory
            await asyncio.create_task(asyncio.sleep(0))
        assert loop.get_task_factory() is factory
    finally:
        loop.set_task_factory(before)
    assert len(made) == 1


async def test_a_task_factory_that_is_set_meanwhile_stays() -> None:
    """Whoever set it last wins."""
    loop = asyncio.get_running_loop()
    before: Any = loop.get_task_factory()

    def factory(loop: Any, coroutine: Any, **options: Any) -> Any:
        return asyncio.Task(coroutine, loop=loop, **options)

    try:
        with BackgroundTasks(LIMIT_S).watched():
            loop.set_task_factory(factory)
        assert loop.get_task_factory() is factory
    finally:
        loop.set_task_factory(before)
