"""File operations run off the loop, end in time for whoever waits, and have no effect after that."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from amplifier_core.testing import wait_for
from amplifier_modkit.paths.io_threads import MOST_HANGING, AbandonedError, IoThreads, IoTimeoutError, Leave


class Share:
    """A network share that does not answer until it is told to; what was written to it is remembered."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.reached = threading.Event()
        self.written: list[str] = []
        self.refused = 0

    def write(self, leave: Leave) -> str:
        self.reached.set()
        assert self.answers.wait(10)
        try:
            leave.take()
        except AbandonedError:
            self.refused += 1
            raise
        self.written.append("text")
        return "written"

    def begin_and_hang(self, leave: Leave) -> None:
        leave.take()
        self.reached.set()
        assert self.answers.wait(10)


async def test_answers_and_errors_come_back() -> None:
    """What the work returns or raises is what the caller gets; a time-out of the system is no time-out of ours."""
    threads = IoThreads(5)
    here = threading.get_ident()
    assert await threads.run(lambda leave: threading.get_ident()) != here
    for error in (ValueError("wrong"), TimeoutError("the server did not answer")):

        def fail(leave: Leave, error: Exception = error) -> None:
            raise error

        with pytest.raises(type(error), match=str(error)) as caught:
            await threads.run(fail)
        assert caught.value is error


async def test_a_share_that_does_not_answer_costs_one_call() -> None:
    """The caller is told in time, the loop turns meanwhile, and nothing is written when the share comes back."""
    share, threads = Share(), IoThreads(0.01)
    with pytest.raises(IoTimeoutError) as caught:
        await threads.run(share.write)
    assert str(caught.value) == (
        "The file operation did not end within 0.01 s: the disk or network share may not answer. Nothing was written, "
        "and nothing will be."
    )
    share.answers.set()
    await wait_for(lambda: share.refused == 1)
    assert share.written == []
    assert await IoThreads(5).run(share.write) == "written"


async def test_who_had_begun_to_write_is_told_so() -> None:
    """After a time-out in the middle of a write nobody can say what is there."""
    share = Share()
    with pytest.raises(IoTimeoutError, match="It had begun to write: look at the file before you go on."):
        await IoThreads(0.05).run(share.begin_and_hang)
    share.answers.set()


async def test_a_cancelled_call_has_no_effect() -> None:
    """Cancelling the caller goes through at once, and the operation finds that it must not go on."""
    share, threads = Share(), IoThreads(10)
    call = asyncio.create_task(threads.run(share.write))
    await asyncio.to_thread(share.reached.wait, 10)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    share.answers.set()
    await wait_for(lambda: share.refused == 1)
    assert share.written == []


async def test_hanging_operations_are_counted() -> None:
    """When many hang no further one is begun, and when they end everything works again."""
    share, threads = Share(), IoThreads(0.01)
    for _ in range(MOST_HANGING):
        with pytest.raises(IoTimeoutError):
            await threads.run(share.write)
    with pytest.raises(IoTimeoutError, match="16 file operations of this session hang already"):
        await threads.run(lambda leave: "not begun")
    share.answers.set()

    for thread in threading.enumerate():
        if thread.name == "amplifier-io":
            await asyncio.to_thread(thread.join, 10)
    await asyncio.sleep(0)  # what the threads have left for the loop
    assert await threads.run(lambda leave: "begun") == "begun"


async def test_many_operations_at_once_are_no_hanging_ones() -> None:
    """However many calls run at the same time, only those that were given up on count."""
    share, threads = Share(), IoThreads(10)
    calls = [asyncio.create_task(threads.run(share.write)) for _ in range(MOST_HANGING + 4)]
    await asyncio.sleep(0)
    share.answers.set()
    assert await asyncio.gather(*calls) == ["written"] * (MOST_HANGING + 4)


def test_a_thread_that_outlives_its_loop_ends_quietly() -> None:
    """An answer that nobody can hear any more is dropped."""
    share = Share()
    before = set(threading.enumerate())

    async def give_up() -> None:
        with pytest.raises(IoTimeoutError):
            await IoThreads(0.01).run(share.write)

    asyncio.run(give_up())
    (left,) = set(threading.enumerate()) - before
    assert left.daemon
    share.answers.set()
    left.join(10)
    assert not left.is_alive()


async def test_leave_can_be_taken_as_often_as_needed() -> None:
    """An operation of several steps takes leave before each; from the first on its effect has begun."""
    leave: Any = Leave()
    assert not leave.is_used
    leave.take()
    leave.take()
    leave.abandon()
    assert leave.is_used
    with pytest.raises(AbandonedError):
        leave.take()
