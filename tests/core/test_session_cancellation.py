"""Cancelling a turn: by the token that modules look at, and by cancelling the task that waits for it."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest


def cancellations(seen: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """What was told about cancellations, without what every event carries."""
    always = ("session_id", "parent_id", "timestamp")
    return [
        {key: value for key, value in data.items() if key not in always}
        for event, data in seen
        if event == "cancel:completed"
    ]


@pytest.mark.parametrize("immediate", [False, True])
async def test_a_turn_that_stops_when_asked_gives_its_answer(stage: Any, immediate: bool) -> None:
    """The answer is returned, the status is cancelled, and the end of the cancellation is told."""

    async def turn(coordinator: Any) -> str:
        await coordinator.request_cancel(immediate)
        return "so far"

    stage.turn = turn
    session = stage.session()
    seen = stage.watch(session)
    assert await session.execute("hi") == "so far"
    assert session.status.status == "cancelled"
    assert session.status.last_activity is not None
    assert session.status.last_error is None
    assert cancellations(seen) == [{"was_immediate": immediate}]


async def test_a_turn_that_fails_after_it_was_asked_to_stop_is_cancelled(
    stage: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The error comes out, and is part of what is told; it is no error of the log."""

    async def turn(coordinator: Any) -> None:
        await coordinator.request_cancel()
        raise ValueError("stopped")

    stage.turn = turn
    session = stage.session()
    seen = stage.watch(session)
    with caplog.at_level(logging.INFO, logger="amplifier_core.session"), pytest.raises(ValueError, match="stopped"):
        await session.execute("hi")
    assert session.status.status == "cancelled"
    assert session.status.last_error == {"message": "stopped"}
    assert cancellations(seen) == [{"was_immediate": False, "error": "ValueError: stopped"}]
    assert ("amplifier_core.session", logging.INFO, "Execution cancelled: stopped") in caplog.record_tuples


async def test_the_session_does_not_reset_the_token(stage: Any) -> None:
    """Whoever asked for the cancellation decides when it is over."""
    session = stage.session()
    await session.coordinator.request_cancel()
    assert await session.execute("one") == "answer to one"
    assert session.status.status == "cancelled"
    session.coordinator.cancellation.reset()
    await session.execute("two")
    assert session.status.status == "completed"


async def test_cancelling_the_waiting_task_cancels_the_orchestrator(stage: Any) -> None:
    """The orchestrator does not run on; what became of the turn is recorded and told."""
    started = asyncio.Event()
    ended: list[str] = []

    async def turn(coordinator: Any) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("orchestrator")

    stage.turn = turn
    session = stage.session()
    seen = stage.watch(session)
    task = asyncio.create_task(session.execute("hi"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == ["orchestrator"]
    assert session.status.status == "cancelled"
    assert session.status.last_error == {"message": "CancelledError()"}
    assert cancellations(seen) == [{"was_immediate": True, "error": "CancelledError: "}]


async def test_a_session_goes_on_after_a_cancelled_turn(stage: Any) -> None:
    """It is not busy, and stays initialised."""
    started = asyncio.Event()

    async def turn(coordinator: Any) -> None:
        started.set()
        await asyncio.Event().wait()

    stage.turn = turn
    session = stage.session()
    task = asyncio.create_task(session.execute("hi"))
    await started.wait()
    task.cancel()
    await asyncio.wait({task})
    session.coordinator.get("orchestrator").turn = None
    assert await session.execute("again") == "answer to again"
    assert session.status.status == "completed"


async def test_handlers_hear_of_a_cancelled_task_and_may_take_their_time(stage: Any) -> None:
    """Handlers of ``cancel:completed`` run to their end although the task is being cancelled."""
    started = asyncio.Event()
    heard: list[str] = []

    async def turn(coordinator: Any) -> None:
        started.set()
        await asyncio.Event().wait()

    async def handler(event: str, data: dict[str, Any]) -> None:
        await stage.cycles(3)
        heard.append(event)

    stage.turn = turn
    session = stage.session()
    session.coordinator.hooks.register("cancel:completed", handler, timeout=5)
    task = asyncio.create_task(session.execute("hi"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert heard == ["cancel:completed"]


async def test_a_time_limit_around_a_turn_works(stage: Any) -> None:
    """``asyncio.timeout`` ends the turn and is itself told apart from a foreign cancellation."""

    async def turn(coordinator: Any) -> None:
        await asyncio.Event().wait()

    stage.turn = turn
    session = stage.session()
    await session.initialize()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await session.execute("hi")
    assert session.status.status == "cancelled"


@pytest.mark.parametrize("event", ["session:start", "session:config"])
async def test_cancelling_while_the_start_is_told_cancels_the_turn(stage: Any, event: str) -> None:
    """A handler that hangs before the orchestrator runs is cancelled, and the turn counts as cancelled."""
    started = asyncio.Event()

    async def hang(event: str, data: dict[str, Any]) -> None:
        started.set()
        await asyncio.Event().wait()

    session = stage.session(stage.plan(session={"raw": True}))
    session.coordinator.hooks.register(event, hang)
    seen = stage.watch(session)
    task = asyncio.create_task(session.execute("hi"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert session.status.status == "cancelled"
    assert cancellations(seen) == [{"was_immediate": True, "error": "CancelledError: "}]


async def test_cancelling_while_the_turn_initialises_cancels_the_turn(stage: Any) -> None:
    """What was mounted is taken down, the turn counts as cancelled, and the next one begins anew."""
    started = asyncio.Event()
    cleaned: list[str] = []

    async def hang(coordinator: Any, config: Any) -> None:
        coordinator.register_cleanup(lambda: cleaned.append("tool-x"))
        started.set()
        await asyncio.Event().wait()

    stage.module("tool-x", hang)
    session = stage.session(stage.plan(tools=["tool-x"]))
    seen = stage.watch(session)
    task = asyncio.create_task(session.execute("hi"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned == ["tool-x"]
    assert session.initialized is False
    assert session.status.status == "cancelled"
    assert cancellations(seen) == [{"was_immediate": True, "error": "CancelledError: "}]
    stage.module("tool-x", lambda coordinator, config: stage.Hammer())
    assert await session.execute("again") == "answer to again"


async def test_a_waiting_initialisation_can_be_cancelled_alone(stage: Any) -> None:
    """Cancelling one of two callers leaves the other one's work alone."""
    release = asyncio.Event()

    async def slow(coordinator: Any, config: Any) -> None:
        await release.wait()
        coordinator.mount("context", stage.Memory())

    stage.module("context-a", slow)
    session = stage.session()
    first = asyncio.create_task(session.initialize())
    second = asyncio.create_task(session.initialize())
    await stage.cycles()
    second.cancel()
    await asyncio.wait({second})
    release.set()
    await first
    assert second.cancelled()
    assert session.initialized is True


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
async def test_an_interruption_of_the_orchestrator_comes_out(stage: Any, interruption: type[BaseException]) -> None:
    """It is recorded as a failure; nobody asked for a cancellation."""

    async def turn(coordinator: Any) -> None:
        raise interruption("now")

    stage.turn = turn
    session = stage.session()
    seen = stage.watch(session)
    with pytest.raises(interruption):
        await session.execute("hi")
    assert session.status.status == "failed"
    assert session.status.last_error == {"message": "now"}
    assert cancellations(seen) == []
    session.coordinator.get("orchestrator").turn = None
    assert await session.execute("again") == "answer to again"


@pytest.mark.parametrize("place", ["loop-a", "session:start"])
async def test_an_interruption_before_the_orchestrator_runs_comes_out(stage: Any, place: str) -> None:
    """A module or a handler that is interrupted ends the turn, and the session is not busy afterwards."""

    async def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt("now")

    session = stage.session()
    if place == "loop-a":
        own = stage.mounts["loop-a"]
        stage.module("loop-a", interrupt)
    else:
        own = None
        session.coordinator.hooks.register(place, interrupt)
    with pytest.raises(KeyboardInterrupt):
        await session.execute("hi")
    assert (session.status.status, session.status.last_error) == ("failed", {"message": "now"})
    if own:
        stage.module("loop-a", own)
    assert await session.execute("again") == "answer to again"
