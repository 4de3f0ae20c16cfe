"""How work ends: at once when the token says so, never half-way when it must be finished."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

from amplifier_core.cancellation import CancellationToken
from amplifier_modkit.turns import stopping
from amplifier_modkit.turns.stopping import StoppedError, ended, finish, is_being_cancelled, stop_scope


async def test_a_stop_cancels_what_runs_inside() -> None:
    """The work sees a cancellation, whoever awaits the scope a ``StoppedError``, and the task goes on unharmed."""
    token, seen = CancellationToken(), []
    with pytest.raises(StoppedError):
        async with stop_scope(token):
            asyncio.get_running_loop().call_soon(token.request_immediate)
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise
    assert seen == ["cancelled"]
    assert not is_being_cancelled()
    await asyncio.sleep(0)


async def test_a_stop_that_was_asked_for_before_lets_nothing_begin() -> None:
    """The work inside is not entered."""
    token = CancellationToken()
    token.request_immediate()
    with pytest.raises(StoppedError):
        async with stop_scope(token):
            pytest.fail("it began")


async def test_a_graceful_stop_interrupts_nothing_but_may_become_an_immediate_one() -> None:
    """Only the second request ends the work."""
    token, reached = CancellationToken(), False
    with pytest.raises(StoppedError):
        async with stop_scope(token):
            token.request_graceful()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            reached = True
            token.request_immediate()
            await asyncio.Event().wait()
    assert reached


async def test_a_stop_may_come_from_another_thread() -> None:
    """Such as a signal handler's or a window's."""
    token = CancellationToken()
    thread = threading.Thread(target=token.request_immediate)
    with pytest.raises(StoppedError):
        async with stop_scope(token):
            thread.start()
            await asyncio.Event().wait()
    thread.join()


async def test_errors_of_the_work_come_out_as_they_are() -> None:
    """A time-out of the work's own is no stop."""
    for error in (TimeoutError("own"), ValueError("own")):
        with pytest.raises(type(error), match="own"):
            async with stop_scope(CancellationToken()):
                raise error


async def test_a_cancellation_from_outside_stays_one() -> None:
    """Also when a stop is asked for at the same time: whoever cancelled the task must see it cancelled."""
    for also_stops in (False, True):
        token, inside = CancellationToken(), asyncio.Event()

        async def work(token: CancellationToken, inside: asyncio.Event) -> None:
            async with stop_scope(token):
                inside.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(work(token, inside))
        await inside.wait()
        if also_stops:
            token.request_immediate()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()


async def test_a_stop_in_the_moment_in_which_the_work_ends_leaves_no_trace() -> None:
    """Nothing is reported to the loop as a lost error, and later requests reach nobody."""
    token, reports = CancellationToken(), []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reports.append(context))
    async with stop_scope(token):
        token.request_immediate()
    await asyncio.sleep(0)
    token.reset()
    token.request_immediate()
    await asyncio.sleep(0)
    assert reports == []


async def test_two_requests_in_a_row_are_one_stop() -> None:
    """The second finds the scope expired already."""
    token, reports = CancellationToken(), []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reports.append(context))
    with pytest.raises(StoppedError):
        async with stop_scope(token):
            token.request_immediate()
            token.reset()
            token.request_immediate()
            await asyncio.Event().wait()
    await asyncio.sleep(0)
    assert reports == []


async def test_work_that_is_finished_gives_its_result_or_its_error() -> None:
    """Without a cancellation it is a plain await."""

    async def work(outcome: Any) -> Any:
        await asyncio.sleep(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    assert await finish(work(5)) == 5
    with pytest.raises(OSError, match="full"):
        await finish(work(OSError("full")))
    with pytest.raises(asyncio.CancelledError):
        await finish(work(asyncio.CancelledError()))

    async def at_once() -> str:
        return "at once"

    assert await finish(at_once()) == "at once"


class Finishing:
    """A task that finishes work, with the work's beginning and end in the hand of the test."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.begun, self.may_end, self.is_done, self.was_cancelled = asyncio.Event(), asyncio.Event(), False, False
        self._error = error
        self.task = asyncio.create_task(finish(self._work()))

    async def _work(self) -> None:
        self.begun.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        if self._error is not None:
            raise self._error
        self.is_done = True


async def test_cancelling_waits_for_the_work() -> None:
    """However often it is cancelled, the work ends first, then the task is cancelled."""
    finishing = Finishing()
    await finishing.begun.wait()
    for _ in range(3):
        finishing.task.cancel()
        for _ in range(3):
            await asyncio.sleep(0)
        assert not finishing.task.done()
    finishing.may_end.set()
    await asyncio.wait([finishing.task])
    assert (finishing.is_done, finishing.was_cancelled, finishing.task.cancelled()) == (True, False, True)


async def test_an_error_of_work_that_is_finished_during_a_cancellation_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The cancellation goes on, and the error is not lost."""
    finishing = Finishing(OSError("disk full"))
    await finishing.begun.wait()
    finishing.task.cancel()
    finishing.may_end.set()
    await asyncio.wait([finishing.task])
    assert finishing.task.cancelled()
    assert caplog.messages == ["What a cancelled turn was finishing failed: OSError('disk full')"]


async def test_work_that_cancels_itself_while_it_is_finished_is_just_over(caplog: pytest.LogCaptureFixture) -> None:
    """There is nothing to report."""
    finishing = Finishing(asyncio.CancelledError())
    await finishing.begun.wait()
    finishing.task.cancel()
    finishing.may_end.set()
    await asyncio.wait([finishing.task])
    assert (finishing.task.cancelled(), caplog.messages) == (True, [])


async def test_work_that_hangs_is_given_up_after_a_while(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A hook that never returns cannot make a session immortal."""
    monkeypatch.setattr(stopping, "GRACE_S", 0.0)
    finishing = Finishing()
    await finishing.begun.wait()
    with caplog.at_level(logging.ERROR):
        finishing.task.cancel()
        await asyncio.wait([finishing.task])
    await asyncio.sleep(0)
    assert (finishing.task.cancelled(), finishing.is_done, finishing.was_cancelled) == (True, False, True)
    assert caplog.messages[0].startswith("A cancelled turn does not wait any longer for what it was finishing: ")


async def test_waiting_for_the_end_of_a_task_does_not_cancel_it() -> None:
    """A cancelled wait leaves the task alone, and a wait for a task that has ended ends at once."""
    may_end = asyncio.Event()
    task = asyncio.create_task(may_end.wait())
    waiting = asyncio.create_task(ended(task))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert (waiting.cancelled(), task.done()) == (True, False)
    may_end.set()
    await ended(task)
    assert task.result() is True
    await ended(task)


async def test_the_end_and_the_cancellation_in_one_moment_do_not_collide() -> None:
    """A wait that is cancelled after it was told of the end reports nothing to the loop."""
    reports: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reports.append(context))
    may_end = asyncio.Event()
    task = asyncio.create_task(may_end.wait())
    waiting = asyncio.create_task(ended(task))
    await asyncio.sleep(0)
    may_end.set()
    waiting.cancel()
    await asyncio.wait([task, waiting])
    await asyncio.sleep(0)
    assert reports == []


async def test_only_a_task_that_somebody_cancels_is_being_cancelled() -> None:
    """A ``CancelledError`` by itself says nothing."""

    async def inside() -> bool:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return is_being_cancelled()
        return False

    task = asyncio.create_task(inside())
    await asyncio.sleep(0)
    task.cancel()
    assert await task
    assert not is_being_cancelled()
