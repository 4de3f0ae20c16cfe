"""Foreign code is stopped when its time is up, however it spends it."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from typing import Any

import pytest

from amplifier_core._awaiting import TimeLimitError
from amplifier_core.validation import _time_limit
from amplifier_core.validation._time_limit import (
    Driven,
    Interrupter,
    Interruption,
    grace_of,
    interrupted_after,
    settle_foreign,
)

SHORT_S = 0.1
LONG_S = 60.0


def spin() -> None:
    """Blocks for ever, in Python code."""
    while True:
        pass


def in_thread(function: Any) -> Any:
    """What ``function`` gives, or the error it raises, when it runs in another thread."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(function())
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(LONG_S)
    return outcome[0]


@pytest.mark.parametrize("block", [spin, lambda: time.sleep(LONG_S)])
def test_a_block_in_the_main_thread_is_interrupted(block: Any) -> None:
    """Both Python code and a call that waits in the operating system are."""
    with pytest.raises(Interruption), interrupted_after(SHORT_S):
        block()


def test_a_block_that_ends_in_time_is_left_alone() -> None:
    """Nothing is raised later on, and the alarm is as it was."""
    handler, timer = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    with interrupted_after(LONG_S):
        pass
    assert signal.getsignal(signal.SIGALRM) is handler
    assert (signal.getitimer(signal.ITIMER_REAL)[0] > 0) is (timer[0] > 0)


def test_the_alarm_of_somebody_else_goes_on() -> None:
    """An alarm that was set before rings when the block is over, on its own handler."""
    rung: list[int] = []
    handler_before = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    timer_before = signal.setitimer(signal.ITIMER_REAL, SHORT_S)
    try:
        with interrupted_after(LONG_S):
            time.sleep(2 * SHORT_S)
            assert rung == []
        deadline = time.monotonic() + LONG_S
        while not rung and time.monotonic() < deadline:
            signal.sigtimedwait([], 0.01)
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer_before)
        signal.signal(signal.SIGALRM, handler_before)
    assert rung == [1]


def test_a_handler_that_python_did_not_install_becomes_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot be put back."""
    real, installed = signal.signal, []

    def install(number: int, handler: Any) -> Any:
        installed.append(handler)
        return None if len(installed) == 1 else signal.SIG_DFL

    monkeypatch.setattr(signal, "signal", install)
    with interrupted_after(LONG_S):
        pass
    monkeypatch.setattr(signal, "signal", real)
    assert installed[1:] == [signal.SIG_DFL]


def test_an_alarm_that_rings_when_the_block_is_over_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of the block and the ringing may coincide."""
    handlers: list[Any] = []
    monkeypatch.setattr(signal, "signal", lambda number, handler: handlers.append(handler) or signal.SIG_DFL)
    with interrupted_after(LONG_S):
        pass
    assert handlers[0](signal.SIGALRM, None) is None


def test_a_block_in_another_thread_is_interrupted() -> None:
    """There, Python code is."""

    def block() -> None:
        with interrupted_after(SHORT_S):
            spin()

    assert isinstance(in_thread(block), Interruption)


def test_a_block_in_another_thread_that_ends_in_time_is_left_alone() -> None:
    """Nothing is raised later on."""

    def block() -> str:
        with interrupted_after(LONG_S):
            pass
        return "done"

    assert in_thread(block) == "done"


def test_an_interruption_of_another_thread_that_comes_too_late_is_dropped() -> None:
    """The end of the block and the end of the time may coincide."""

    def block() -> str:
        interrupter = Interrupter(LONG_S)
        interrupter.finish()
        interrupter.interrupt()
        return "done"

    assert in_thread(block) == "done"


def test_an_interruption_of_another_thread_that_arrives_at_the_end_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was on its way when the block ended."""
    on_their_way = [Interruption]

    def arrive() -> None:
        if on_their_way:
            raise on_their_way.pop()

    monkeypatch.setattr(_time_limit, "_arrive", arrive)
    assert Interrupter(LONG_S).finish() is None
    assert on_their_way == []


def test_an_interruption_of_another_thread_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that catches everything does not get away with it."""
    monkeypatch.setattr(_time_limit, "_REPEAT_S", SHORT_S)

    def block() -> int:
        caught = 0
        try:
            with interrupted_after(SHORT_S):
                while caught < 2:
                    try:
                        spin()
                    except Interruption:
                        caught += 1
        except Interruption:
            return caught + 1
        return caught

    assert in_thread(block) >= 2


async def test_work_that_answers_in_time_gives_its_answer() -> None:
    """Sync or async, with whatever it awaits in between."""

    async def answer() -> str:
        await asyncio.sleep(0)
        return "async"

    assert await settle_foreign(answer, LONG_S) == "async"
    assert await settle_foreign(lambda: "sync", LONG_S) == "sync"


async def test_work_that_raises_raises_here() -> None:
    """Also what would otherwise stop the event loop."""

    async def leave() -> None:
        await asyncio.sleep(0)
        raise SystemExit(3)

    with pytest.raises(SystemExit) as caught:
        await settle_foreign(leave, LONG_S)
    assert caught.value.code == 3


async def test_work_that_waits_for_ever_is_cancelled() -> None:
    """It may tidy up, awaiting, before it ends."""
    steps: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            steps.append("tidied up")

    with pytest.raises(TimeLimitError):
        await settle_foreign(wait, SHORT_S)
    assert steps == ["tidied up"]


async def test_work_that_blocks_is_interrupted() -> None:
    """The error is the same as for work that waits."""
    with pytest.raises(TimeLimitError, match=r"^blocked for 0\.1 s$"):
        await settle_foreign(spin, SHORT_S)


async def test_work_that_ignores_its_cancellation_is_closed() -> None:
    """It is asked once, and ended the second time."""
    endings: list[str] = []

    async def stay() -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                endings.append("asked")
            except GeneratorExit:
                endings.append("closed")
                raise

    with pytest.raises(TimeLimitError):
        await settle_foreign(stay, SHORT_S)
    assert endings == ["asked", "closed"]


async def test_an_error_that_is_no_cancellation_reaches_the_work() -> None:
    """What is awaited may fail, and the work may deal with it."""

    async def rely_on(future: asyncio.Future[str]) -> str:
        try:
            return await future
        except LookupError as error:
            return f"dealt with {error}"

    future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_exception, LookupError("x"))
    assert await settle_foreign(lambda: rely_on(future), LONG_S) == "dealt with x"


async def test_cancelling_the_caller_cancels_the_work() -> None:
    """The cancellation goes through to the caller."""
    seen: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    task = asyncio.create_task(settle_foreign(wait, LONG_S))
    for _ in range(3):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["cancelled"]


def test_a_coroutine_that_goes_on_when_closed_is_forgotten() -> None:
    """Closing it does not raise."""
    refusals: list[str] = []

    class Once:
        def __await__(self) -> Any:
            yield None

    async def stay() -> None:
        try:
            await Once()
        except GeneratorExit:
            refusals.append("no")
            await Once()

    driven = Driven(stay(), LONG_S)
    driven.send(None)
    driven.close()
    assert refusals == ["no"]


@pytest.mark.parametrize("leave", [lambda: exec("raise SystemExit(1)"), spin])
def test_an_exit_can_be_taken_note_of_and_ends_the_coroutine_quietly(leave: Any) -> None:
    """The one who drives a task must not see it."""
    told: list[BaseException] = []

    async def work() -> None:
        leave()

    with pytest.raises(StopIteration):
        Driven(work(), SHORT_S, told.append).send(None)
    assert [type(error) for error in told] in ([SystemExit], [Interruption])


@pytest.mark.parametrize(("limit_s", "grace_s"), [(0.1, 0.1), (10.0, 1.0)])
def test_the_grace_is_short(limit_s: float, grace_s: float) -> None:
    """Never longer than the limit itself."""
    assert grace_of(limit_s) == grace_s
