"""Bad input and faults around a session: nothing is lost, nothing is shared, and errors still tell what happened."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

from amplifier_core import HookResult


class UnspeakableError(Exception):
    """An error that cannot be turned into text."""

    def __str__(self) -> str:
        raise UnicodeDecodeError("charmap", b"\x9d", 0, 1, "undefined")


async def test_an_unspeakable_error_of_the_orchestrator_comes_out_itself(stage: Any) -> None:
    """Writing it down must not replace it."""
    problem = UnspeakableError(1)

    async def turn(coordinator: Any) -> None:
        raise problem

    stage.turn = turn
    session = stage.session()
    with pytest.raises(UnspeakableError) as caught:
        await session.execute("hi")
    assert caught.value is problem
    assert session.status.last_error == {"message": "UnspeakableError(1)"}


async def test_an_unspeakable_error_is_told_when_the_turn_was_cancelled(stage: Any) -> None:
    """The event carries its repr."""

    async def turn(coordinator: Any) -> None:
        await coordinator.request_cancel()
        raise UnspeakableError(1)

    stage.turn = turn
    session = stage.session()
    seen = stage.watch(session)
    with pytest.raises(UnspeakableError):
        await session.execute("hi")
    assert seen[-1][0] == "cancel:completed"
    assert seen[-1][1]["error"] == "UnspeakableError: UnspeakableError(1)"


@pytest.mark.parametrize("place", ["tool-x", "ready", "loader", "capability"])
async def test_an_unspeakable_error_of_a_module_is_reported(stage: Any, place: str) -> None:
    """Wherever it comes from, the session goes on, or fails with its repr."""

    async def unspeakable(*_: Any) -> None:
        raise UnspeakableError(1)

    async def mount(coordinator: Any, config: Any) -> None:
        coordinator.register_capability("x", 1)

    if place == "tool-x":
        stage.module("tool-x", unspeakable)
    else:
        stage.module("tool-x", mount, ready=unspeakable if place == "ready" else None)
    if place == "loader":
        stage.cleanup = unspeakable
    session = stage.session(stage.plan(tools=["tool-x"]))
    if place == "capability":
        del stage.mounts["provider-a"]
        session.coordinator.register_capability("provider.load_failure", unspeakable)
        with pytest.raises(RuntimeError, match=r"^Session not initialized: UnspeakableError\(1\)$"):
            await session.execute("hi")
        return
    await session.execute("hi")
    await session.cleanup()
    assert "UnspeakableError(1)" in str(session.report)


@pytest.mark.parametrize("prompt", ["", "\0", "\ud800", "x" * 10_000_000, None, 5])
async def test_any_prompt_reaches_the_orchestrator_as_it_is(stage: Any, prompt: Any) -> None:
    """The kernel does not look at prompts."""

    class Echo:
        async def execute(self, prompt: Any, **rest: Any) -> Any:
            return prompt

    stage.module("loop-a", lambda coordinator, config: Echo())
    assert await stage.session().execute(prompt) is prompt


async def test_a_plan_with_odd_values_starts_and_tells_itself(stage: Any) -> None:
    """Recursion, live objects and broken text inside a config are no obstacle, neither to mounting nor to events."""
    config: dict[str, Any] = {"lock": threading.Lock(), "nul": "\0", "broken": "\ud800", "number": float("nan")}
    config["itself"] = config
    plan = stage.plan(session={"raw": True}, providers=[{"module": "provider-a", "config": config}])
    session = stage.session(plan)
    seen = stage.watch(session)
    assert await session.execute("hi") == "answer to hi"
    assert [event for event, _ in seen] == ["session:start", "session:config"]
    assert stage.loads[2][1] is config


async def test_hooks_that_misbehave_do_not_break_the_lifecycle(stage: Any) -> None:
    """Handlers that raise, cancel themselves, deny or return rubbish change nothing about start and end."""

    def raising(event: str, data: Any) -> None:
        raise ValueError("broken")

    async def cancelling(event: str, data: Any) -> None:
        raise asyncio.CancelledError

    def denying(event: str, data: Any) -> HookResult:
        return HookResult(action="deny", reason="no")

    def rubbish(event: str, data: Any) -> Any:
        return object()

    session = stage.session()
    seen = stage.watch(session)
    for event in ("session:start", "session:end"):
        for priority, handler in enumerate((raising, cancelling, rubbish, denying)):
            session.coordinator.hooks.register(event, handler, priority)
    async with session:
        assert await session.execute("hi") == "answer to hi"
    assert [event for event, _ in seen] == ["session:start", "session:end"]
    assert session.report.is_clean


async def test_a_session_is_not_held_up_by_ten_thousand_handlers(stage: Any) -> None:
    """Mounting a module beside many handlers and taking it out again touches only its own."""
    session = stage.session()
    for _ in range(10_000):
        session.coordinator.hooks.register("tool:pre", print)
    stage.module("hooks-x", lambda coordinator, config: coordinator.hooks.register("tool:pre", print) and None)
    session.config["hooks"] = ["hooks-x"]
    await session.initialize()
    assert session.coordinator.hooks.registered_so_far == 10_001
    await session.cleanup()
    assert len(session.coordinator.hooks.list_handlers("tool:pre")["tool:pre"]) == 10_000


async def test_two_hundred_sessions_in_one_loop_never_see_each_other(stage: Any) -> None:
    """Invariant 3: there is no state that two sessions share, whatever they do at the same time."""

    async def turn(coordinator: Any) -> Any:
        own = coordinator.session_id
        await coordinator.hooks.emit("step", {"of": own})
        await coordinator.get("context").add_message({"of": own})
        await stage.cycles(3)
        if int(own) % 3 == 0:
            raise ValueError(own)
        return [message["of"] for message in await coordinator.get("context").get_messages()]

    def mount(coordinator: Any, config: Any) -> Any:
        own = coordinator.session_id

        async def handler(event: str, data: dict[str, Any]) -> None:
            heard[own].append((event, data["session_id"], data.get("of", own)))
            await asyncio.sleep(0)

        coordinator.hooks.register("step", handler)
        coordinator.hooks.register("session:end", handler)
        coordinator.register_capability("own", own)
        return lambda: cleaned.append(own)

    async def life(own: str) -> Any:
        session = stage.session(stage.plan(hooks=["hooks-x"]), session_id=own)
        async with session:
            answer = (await asyncio.gather(session.execute(own), return_exceptions=True))[0]
            assert session.coordinator.get_capability("own") == own
        return session.status.status, answer

    heard: dict[str, list[Any]] = {str(number): [] for number in range(200)}
    cleaned: list[str] = []
    stage.turn = turn
    stage.module("hooks-x", mount)
    lives = await asyncio.gather(*map(life, heard))
    for own, (status, answer) in zip(heard, lives, strict=True):
        assert heard[own] == [("step", own, own), ("session:end", own, own)]
        failed = int(own) % 3 == 0
        assert status == ("failed" if failed else "completed")
        assert str(answer) == (own if failed else f"['{own}']")
    assert sorted(cleaned) == sorted(heard)


def test_sessions_in_several_threads_never_see_each_other(stage: Any) -> None:
    """One loop per thread; a barrier makes the turns overlap."""
    barrier = threading.Barrier(4, timeout=30)
    results: dict[str, Any] = {}

    async def turn(coordinator: Any) -> str:
        barrier.wait()
        for _ in range(50):
            await coordinator.hooks.emit("step", {})
            await asyncio.sleep(0)
        return coordinator.session_id

    async def life(own: str) -> None:
        session = stage.session(session_id=own)
        seen = stage.watch(session)
        async with session:
            answer = await session.execute("hi")
        results[own] = (answer, {data["session_id"] for _, data in seen}, len(seen), session.status.status)

    stage.turn = turn
    threads = [threading.Thread(target=lambda own=own: asyncio.run(life(own))) for own in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {own: (own, {own}, 52, "completed") for own in "abcd"}


def test_one_session_may_live_in_one_loop_after_another(stage: Any) -> None:
    """Nothing in a session belongs to the loop it was made in."""
    session = stage.session()
    assert asyncio.run(session.execute("one")) == "answer to one"
    assert asyncio.run(session.execute("two")) == "answer to two"
    asyncio.run(session.cleanup())
    assert session.initialized is False


async def test_a_healthy_life_logs_no_warning(stage: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Warnings and errors are kept for what deserves them."""
    with caplog.at_level(logging.DEBUG):
        async with stage.session() as session:
            await session.execute("hi")
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
