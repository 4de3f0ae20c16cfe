"""Streaming a turn: every event as it happens, the result last, and a turn that ends when nobody listens."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable
from typing import Any

import pytest

from amplifier_core import AmplifierSession, HookRegistry, HookResult
from amplifier_core.stream import DEFAULT_CAPACITY, EventStream, TurnResult


def emitting(count: int, log: list[str] | None = None) -> Callable[[Any], Any]:
    """A turn that emits ``count`` events and answers; ``log`` gets a word for every step."""

    async def turn(coordinator: Any) -> str:
        log_ = [] if log is None else log
        try:
            for number in range(count):
                await coordinator.hooks.emit("step", {"number": number})
                log_.append(f"emitted {number}")
        except asyncio.CancelledError:
            log_.append("cancelled")
            raise
        return "answer"

    return turn


def numbers(items: list[Any]) -> list[int]:
    """The numbers of the steps among the items of a stream."""
    return [item[1]["number"] for item in items if not isinstance(item, TurnResult) and item[0] == "step"]


def bare_stream(turn: Callable[[HookRegistry], Any], capacity: int = DEFAULT_CAPACITY) -> EventStream:
    """A stream without a session, for what only the stream decides."""
    hooks = HookRegistry()
    return EventStream(hooks, "s", lambda: turn(hooks), capacity)


async def test_a_stream_gives_every_event_in_order_and_the_result_last(stage: Any) -> None:
    """Events that nobody handles are given as well, with the fields that handlers see."""
    stage.turn = emitting(3)
    session = stage.session(stage.plan(tools=["tool-missing"]), session_id="s")
    items = [item async for item in session.stream("hi")]
    assert [item[0] for item in items[:-1]] == ["module:load_failed", "session:start", "step", "step", "step"]
    assert numbers(items) == [0, 1, 2]
    _, data = items[2]
    assert {**data, "timestamp": ""} == {"session_id": "s", "parent_id": None, "number": 0, "timestamp": ""}
    assert items[-1] == TurnResult("answer", "s")
    assert session.status.status == "completed"


async def test_an_event_is_given_after_its_handlers_ran(stage: Any) -> None:
    """The data are the final ones, and a dict of the reader's own."""

    async def modify(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="modify", data={**data, "number": data["number"] * 10})

    stage.turn = emitting(2)
    session = stage.session()
    session.coordinator.hooks.register("step", modify)
    items: list[Any] = [item async for item in session.stream("hi")]
    assert numbers(items) == [0, 10]


async def test_options_go_to_the_orchestrator(stage: Any) -> None:
    """``stream()`` takes what ``execute()`` takes."""

    class Schemed:
        async def execute(self, prompt: str, schema: Any = None, **rest: Any) -> Any:
            return (prompt, schema)

    stage.module("loop-a", lambda coordinator, config: Schemed())
    items = [item async for item in stage.session().stream("hi", schema=5)]
    assert items[-1].response == ("hi", 5)


async def test_nothing_happens_before_the_first_item_is_asked_for(stage: Any) -> None:
    """Making a stream, entering it and closing it run no turn."""
    session = stage.session()
    stream = session.stream("hi")
    async with stream as entered:
        assert entered is stream
        await stage.cycles()
    await stream.aclose()
    assert stage.loads == []
    assert [item async for item in stream] == []


async def test_what_the_turn_raises_comes_out_of_the_iteration(stage: Any) -> None:
    """The events before it are given first."""

    async def turn(coordinator: Any) -> None:
        await coordinator.hooks.emit("step", {"number": 0})
        raise LookupError("nowhere")

    stage.turn = turn
    items: list[Any] = []
    with pytest.raises(LookupError, match="nowhere"):
        async for item in stage.session().stream("hi"):
            items.append(item)  # noqa: PERF401 - what came before the error counts
    assert numbers(items) == [0]


async def test_a_turn_that_cannot_start_tells_it_in_the_iteration(stage: Any) -> None:
    """The error is the one of ``execute()``."""
    del stage.mounts["loop-a"]
    with pytest.raises(RuntimeError, match="Session not initialized"):
        await anext(stage.session().stream("hi"))


async def test_leaving_the_loop_early_cancels_the_turn(stage: Any) -> None:
    """A ``break`` is enough: the turn is cancelled, and the session is free again."""
    log: list[str] = []
    stage.turn = emitting(10_000, log)
    session = stage.session()
    async for item in session.stream("hi"):
        if numbers([item]):
            break
    gc.collect()
    await stage.cycles()
    assert log[-1] == "cancelled"
    assert session.status.status == "cancelled"
    session.coordinator.get("orchestrator").turn = None
    assert await session.execute("again") == "answer to again"


async def test_an_error_in_the_loop_cancels_the_turn(stage: Any) -> None:
    """Whatever leaves the loop ends the turn."""
    log: list[str] = []
    stage.turn = emitting(10_000, log)
    session = stage.session()

    async def read() -> None:
        async for item in session.stream("hi"):
            if numbers([item]):
                raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        await read()
    gc.collect()
    await stage.cycles()
    assert log[-1] == "cancelled"
    assert session.status.status == "cancelled"


async def test_the_end_of_the_block_cancels_the_turn_and_waits_for_it(stage: Any) -> None:
    """After ``async with`` the turn is over, whether or not everything was read."""
    log: list[str] = []
    stage.turn = emitting(10_000, log)
    session = stage.session()
    async with session.stream("hi") as stream:
        async for item in stream:
            if numbers([item]):
                break
    assert log[-1] == "cancelled"
    assert session.status.status == "cancelled"
    async with session.stream("again") as stream:
        assert (await anext(stream))[0] == "step"
    assert session.status.status == "cancelled"


async def test_closing_a_stream_ends_it(stage: Any) -> None:
    """There is nothing more to read, and closing again changes nothing."""
    stage.turn = emitting(10_000)
    session = stage.session()
    stream = session.stream("hi")
    await anext(stream)
    await stream.aclose()
    await stream.aclose()
    assert session.status.status == "cancelled"
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_closing_a_stream_that_was_read_to_the_end_changes_nothing(stage: Any) -> None:
    """A completed turn stays completed."""
    session = stage.session()
    async with session.stream("hi") as stream:
        items = [item async for item in stream]
    assert items[-1].response == "answer to hi"
    assert session.status.status == "completed"


async def test_closing_a_stream_lets_its_reader_go(stage: Any) -> None:
    """A reader in another task does not wait for ever."""

    async def turn(coordinator: Any) -> None:
        await asyncio.Event().wait()

    async def read() -> list[Any]:
        return [item async for item in stream]

    stage.turn = turn
    session = stage.session()
    stream = session.stream("hi")
    reader = asyncio.create_task(read())
    await stage.cycles()
    await stream.aclose()
    assert [event for event, _ in await reader] == ["session:start"]
    assert session.status.status == "cancelled"


async def test_two_readers_share_the_items_and_both_come_to_an_end(stage: Any) -> None:
    """Every item is given once."""

    async def read() -> list[Any]:
        items: list[Any] = []
        while True:
            try:
                items.append(await anext(stream))
            except StopAsyncIteration:
                return items
            await stage.cycles(1)

    stage.turn = emitting(10)
    stream = stage.session().stream("hi")
    first, second = await asyncio.gather(read(), read())
    assert sorted(numbers(first) + numbers(second)) == list(range(10))
    assert [item for item in first + second if isinstance(item, TurnResult)] == [TurnResult("answer", ANY_ID)]


async def test_readers_that_wait_for_the_end_all_hear_of_it(stage: Any) -> None:
    """One gets the result, the others the end of the iteration."""
    release = asyncio.Event()

    async def turn(hooks: HookRegistry) -> str:
        await release.wait()
        return "answer"

    async def read() -> Any:
        return await anext(stream, "the end")

    stream = bare_stream(turn)
    readers = [asyncio.create_task(read()) for _ in range(3)]
    await stage.cycles()
    release.set()
    assert await asyncio.gather(*readers) == [TurnResult("answer", "s"), "the end", "the end"]


async def test_closing_a_stream_whose_turn_was_about_to_begin(stage: Any) -> None:
    """The turn never begins."""
    stream = stage.session().stream("hi")
    reader = asyncio.create_task(anext(stream, "the end"))
    await stage.cycles(1)
    await stream.aclose()
    assert await reader == "the end"
    assert stage.loads == []


async def test_a_turn_that_somebody_else_cancels_ends_the_iteration(stage: Any) -> None:
    """The reader does not wait for a turn that is no more."""

    async def turn(hooks: HookRegistry) -> None:
        await hooks.emit("step", {"number": 0})
        await asyncio.Event().wait()

    stream = bare_stream(turn)
    await anext(stream)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await anext(stream)


class _Anything:
    def __eq__(self, other: object) -> bool:
        return True


ANY_ID: Any = _Anything()


async def test_cancelling_the_reader_cancels_the_turn(stage: Any) -> None:
    """The turn does not go on behind the back of a reader that was stopped."""

    async def turn(coordinator: Any) -> None:
        await asyncio.Event().wait()

    async def read() -> None:
        async for _ in session.stream("hi"):
            pass

    stage.turn = turn
    session = stage.session()
    reader = asyncio.create_task(read())
    await stage.cycles()
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    gc.collect()
    await stage.cycles()
    assert session.status.status == "cancelled"


async def test_a_slow_reader_holds_the_turn_back(stage: Any) -> None:
    """No more events wait than the stream has room for."""
    log: list[str] = []
    stage.turn = emitting(10 * DEFAULT_CAPACITY, log)
    stream = stage.session().stream("hi")
    await anext(stream)
    await stage.cycles(20 * DEFAULT_CAPACITY)
    assert len(log) == DEFAULT_CAPACITY
    await anext(stream)
    await stage.cycles()
    assert len(log) == DEFAULT_CAPACITY + 1
    await stream.aclose()
    assert log[-1] == "cancelled"


async def test_a_small_stream_loses_nothing(stage: Any) -> None:
    """With room for one event the reader still gets all of them."""

    async def turn(hooks: HookRegistry) -> str:
        for number in range(5):
            await hooks.emit("step", {"number": number})
        return "answer"

    items = [item async for item in bare_stream(turn, capacity=1)]
    assert numbers(items) == [0, 1, 2, 3, 4]
    assert items[-1] == TurnResult("answer", "s")


async def test_a_second_stream_meanwhile_finds_the_session_busy(stage: Any) -> None:
    """One turn at a time; the first stream goes on undisturbed."""
    release = asyncio.Event()

    async def turn(coordinator: Any) -> str:
        await release.wait()
        await coordinator.hooks.emit("step", {"number": 0})
        return "answer"

    stage.turn = turn
    session = stage.session()
    first, second = session.stream("one"), session.stream("two")
    await anext(first)
    with pytest.raises(RuntimeError, match="is busy"):
        await anext(second)
    release.set()
    items = [item async for item in first]
    assert numbers(items) == [0]
    assert items[-1].response == "answer"


async def test_two_sessions_stream_side_by_side(stage: Any) -> None:
    """Each stream gives the events of its own session."""

    async def read(session: AmplifierSession) -> set[str]:
        return {item[1]["session_id"] async for item in session.stream("hi") if not isinstance(item, TurnResult)}

    stage.turn = emitting(5)
    sessions = [stage.session(session_id=f"s{number}") for number in range(2)]
    assert await asyncio.gather(*map(read, sessions)) == [{"s0"}, {"s1"}]


async def test_a_stream_leaves_no_trace_in_the_session(stage: Any) -> None:
    """When it is over, the registry has no listener left, whatever the end."""
    stage.turn = emitting(3)
    session = stage.session()
    assert len([item async for item in session.stream("hi")]) == 5
    assert session.coordinator.hooks.has_listeners("step") is False
    async with session.stream("hi") as stream:
        await anext(stream)
    assert session.coordinator.hooks.has_listeners("step") is False


async def test_a_turn_that_failed_unheard_is_logged(stage: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A reader that left before the error came out does not make it vanish."""

    async def turn(coordinator: Any) -> None:
        raise LookupError("unheard")

    stage.turn = turn
    session = stage.session(session_id="s")
    stream = session.stream("hi")
    await anext(stream)
    await stage.cycles()
    await stream.aclose()
    told = "The turn of session s failed when nobody listened any more: LookupError('unheard')"
    assert told in caplog.messages
    del stream
    gc.collect()


async def test_a_turn_that_fails_while_it_is_cancelled_is_logged(stage: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Closing does not raise what the orchestrator's own clean-up raises."""

    async def turn(coordinator: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise LookupError("on the way out")

    stage.turn = turn
    session = stage.session(session_id="s")
    stream = session.stream("hi")
    await anext(stream)
    await stream.aclose()
    told = "The turn of session s failed when nobody listened any more: LookupError('on the way out')"
    assert told in caplog.messages


async def test_a_turn_that_finishes_although_it_is_cancelled_is_waited_for(stage: Any) -> None:
    """An orchestrator may shield its last step; nobody hears of what it emits then."""
    finished: list[str] = []

    async def turn(coordinator: Any) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await stage.cycles(5)
            await coordinator.hooks.emit("step", {"number": 0})
            finished.append("turn")
        return "late"

    stage.turn = turn
    async with stage.session().stream("hi") as stream:
        await anext(stream)
    assert finished == ["turn"]


@pytest.mark.parametrize("steps", [0, DEFAULT_CAPACITY, 10 * DEFAULT_CAPACITY])
def test_a_forgotten_stream_does_not_keep_the_loop_alive(stage: Any, steps: int) -> None:
    """A turn that nobody reads ends with the loop, also when the stream is full or the turn waits for room."""

    async def turn(coordinator: Any) -> None:
        for number in range(steps):
            await coordinator.hooks.emit("step", {"number": number})
        await asyncio.Event().wait()

    async def main() -> None:
        stream = session.stream("hi")
        await anext(stream)
        await stage.cycles(3 * DEFAULT_CAPACITY)

    stage.turn = turn
    session = stage.session()
    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    thread.start()
    thread.join(timeout=30)
    assert not thread.is_alive()
    assert session.status.status == "cancelled"


async def test_what_a_cancelled_tool_emits_is_not_lost(stage: Any) -> None:
    """Only the cancellation of the whole turn ends the stream, not that of a task inside it."""

    async def turn(hooks: HookRegistry) -> str:
        async def tool() -> None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                for number in range(5):
                    await hooks.emit("step", {"number": number})
                raise

        task = asyncio.create_task(tool())
        await stage.cycles()
        task.cancel()
        await asyncio.wait({task})
        return "answer"

    items = [item async for item in bare_stream(turn, capacity=2)]
    assert numbers(items) == [0, 1, 2, 3, 4]
    assert items[-1] == TurnResult("answer", "s")


async def test_a_tool_that_emits_while_the_stream_closes_is_not_held_back(stage: Any) -> None:
    """Work in another task that waits for room in the stream is let go, so that the turn can wait for it."""
    done: list[int] = []

    async def turn(hooks: HookRegistry) -> None:
        async def tool() -> None:
            for number in range(4):
                await hooks.emit("step", {"number": number})
                done.append(number)

        task = asyncio.create_task(tool())
        try:
            await asyncio.Event().wait()
        finally:
            await task

    stream = bare_stream(turn, capacity=2)
    await anext(stream)
    await stage.cycles()
    assert done == [0, 1, 2]
    await stream.aclose()
    assert done == [0, 1, 2, 3]
