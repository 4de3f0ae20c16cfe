"""Cleaning up: what is told, what runs in which order, what is left, and that a session can live again."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest


async def test_the_end_is_told_before_anything_is_taken_down(stage: Any) -> None:
    """Handlers of the plan still hear it; then clean-ups run last in first out, then the loader's."""
    order: list[str] = []

    async def on_end(event: str, data: dict[str, Any]) -> None:
        order.append(f"{event} with {sorted(session.coordinator.get('tools'))}")

    async def mount_tool(coordinator: Any, config: Any) -> Any:
        coordinator.mount("tools", stage.Hammer())
        coordinator.register_cleanup(lambda: order.append("first in"))

        async def cleanup() -> None:
            order.append("last in")

        return cleanup

    stage.module("tool-x", mount_tool)
    stage.module("hooks-x", lambda coordinator, config: coordinator.hooks.register("session:end", on_end) and None)
    stage.cleanup = lambda: order.append("loader")
    session = stage.session(stage.plan(tools=["tool-x"], hooks=["hooks-x"]))
    await session.initialize()
    assert await session.cleanup() is None
    assert order == ["session:end with ['hammer']", "last in", "first in", "loader"]


async def test_the_end_tells_how_the_session_fared(stage: Any) -> None:
    """Id, status and the status as JSON data, with the time of the end."""
    session = stage.session(session_id="s", clock=lambda: datetime(2030, 1, 1, tzinfo=UTC))
    seen = stage.watch(session)
    await session.execute("hi")
    await session.cleanup()
    event, data = seen[-1]
    assert event == "session:end"
    assert (data["session_id"], data["status"], data["stats"]) == ("s", "completed", session.status.to_dict())
    assert data["stats"]["ended_at"] == "2030-01-01T00:00:00"


@pytest.mark.parametrize("times", [1, 2])
async def test_a_session_that_never_began_has_no_end(stage: Any, times: int) -> None:
    """Only the loader is cleaned up, each time."""
    loader_cleanups: list[str] = []
    stage.cleanup = lambda: loader_cleanups.append("loader")
    session = stage.session()
    seen = stage.watch(session)
    for _ in range(times):
        await session.cleanup()
    assert seen == []
    assert loader_cleanups == ["loader"] * times
    assert session.status.ended_at is None
    assert session.report.is_clean


async def test_a_failed_initialisation_has_no_end(stage: Any) -> None:
    """What never lived is not told to have died."""
    del stage.mounts["loop-a"]
    session = stage.session()
    seen = stage.watch(session)
    with pytest.raises(RuntimeError):
        await session.initialize()
    await session.cleanup()
    assert seen == []


async def test_cleaning_up_twice_does_everything_once(stage: Any) -> None:
    """The second call finds nothing to do but the loader."""
    calls: list[str] = []
    stage.module("tool-x", lambda coordinator, config: lambda: calls.append("cleanup"))
    session = stage.session(stage.plan(tools=["tool-x"]))
    seen = stage.watch(session)
    await session.initialize()
    await session.cleanup()
    await session.cleanup()
    assert calls == ["cleanup"]
    assert [event for event, _ in seen] == ["session:end"]


async def test_what_the_plan_put_in_is_taken_out(stage: Any) -> None:
    """Modules, handlers, capabilities and contributors of the plan are gone, those of the application stay."""

    def mount(coordinator: Any, config: Any) -> Any:
        coordinator.hooks.register("tool:pre", print, name="plan")
        coordinator.register_capability("both", "plan")
        coordinator.register_capability("only", "plan")
        coordinator.register_contributor("channel", "plan", list)
        coordinator.mount("module-source-resolver", Resolver())
        return stage.Hammer()

    class Resolver:
        def resolve(self, module_id: str) -> None: ...

    async def ready(coordinator: Any) -> None:
        coordinator.hooks.register("tool:pre", print, name="ready")

    stage.module("tool-x", mount, ready=ready)
    session = stage.session(stage.plan(tools=["tool-x"]))
    coordinator = session.coordinator
    coordinator.hooks.register("tool:pre", print, name="app")
    coordinator.register_capability("both", "app")
    coordinator.register_contributor("channel", "app", list)
    nail = stage.Hammer("nail")
    coordinator.mount("tools", nail)
    await session.initialize()
    late = coordinator.hooks.register("tool:post", print, name="late")
    assert coordinator.hooks.list_handlers("tool:pre") == {"tool:pre": ["app", "plan", "ready"]}
    await session.cleanup()
    assert coordinator.mount_points == {
        "orchestrator": None,
        "context": None,
        "providers": {},
        "tools": {"nail": nail},
        "hooks": coordinator.hooks,
        "module-source-resolver": None,
    }
    assert coordinator.hooks.list_handlers() == {"tool:pre": ["app"], "tool:post": [late.name]}
    assert coordinator.capabilities == {"both": "app"}
    assert [each["name"] for each in coordinator.channels["channel"]] == ["app"]


async def test_what_was_put_in_its_place_meanwhile_stays(stage: Any) -> None:
    """A module that the application mounted over one of the plan is not taken out with it."""
    session = stage.session()
    await session.initialize()
    mine = stage.Model("a")
    session.coordinator.mount("providers", mine)
    await session.cleanup()
    assert session.coordinator.get("providers") == {"a": mine}


async def test_a_session_can_live_again(stage: Any) -> None:
    """After a clean-up the next turn initialises anew, with new modules, and ends anew."""
    lives: list[str] = []

    def mount(coordinator: Any, config: Any) -> Any:
        lives.append("born")
        coordinator.mount("tools", stage.Hammer())
        return lambda: lives.append("gone")

    stage.module("tool-x", mount)
    session = stage.session(stage.plan(tools=["tool-x"]))
    seen = stage.watch(session)
    for _ in range(3):
        assert await session.execute("hi") == "answer to hi"
        await session.cleanup()
        assert session.initialized is False
    assert lives == ["born", "gone"] * 3
    assert [event for event, _ in seen] == ["session:start", *["session:end"] * 3]


async def test_a_session_can_be_entered_again(stage: Any) -> None:
    """Each ``async with`` is a life of its own."""
    session = stage.session()
    for prompt in ("one", "two"):
        async with session:
            assert await session.execute(prompt) == f"answer to {prompt}"
    assert len(stage.loads) == 6


async def test_leaving_the_session_does_not_swallow_errors(stage: Any) -> None:
    """``async with`` cleans up and lets the error through."""
    session = stage.session()
    with pytest.raises(ValueError, match="mine"):
        async with session:
            raise ValueError("mine")
    assert session.initialized is False


async def test_a_clean_up_that_raises_stops_no_other(stage: Any) -> None:
    """It is logged, told as an event, and listed in the report."""
    ran: list[str] = []

    def mount(coordinator: Any, config: Any) -> None:
        def broken() -> None:
            raise OSError("stuck")

        coordinator.register_cleanup(lambda: ran.append("first in"))
        coordinator.register_cleanup(broken)
        coordinator.register_cleanup(lambda: ran.append("last in"))

    stage.module("hooks-x", mount)
    session = stage.session(stage.plan(hooks=["hooks-x"]))
    seen = stage.watch(session)
    await session.initialize()
    await session.cleanup()
    assert ran == ["last in", "first in"]
    [told] = session.report.cleanup_errors
    assert told.endswith("broken raised OSError: stuck")
    assert [event for event, _ in seen] == ["session:end", "module:cleanup_failed"]
    assert f"clean-up errors: {told}" in str(session.report)


async def test_a_loader_that_fails_to_clean_up_is_reported(stage: Any, caplog: pytest.LogCaptureFixture) -> None:
    """The session is cleaned up all the same."""

    async def cleanup() -> None:
        raise OSError("stuck")

    stage.cleanup = cleanup
    session = stage.session(session_id="s")
    await session.initialize()
    await session.cleanup()
    assert session.report.cleanup_errors == ["OSError: stuck"]
    assert "Error during cleanup of session s: OSError: stuck" in caplog.messages
    assert session.coordinator.get("orchestrator") is None


async def test_the_loader_of_the_coordinator_is_the_one_cleaned_up(stage: Any) -> None:
    """An application that set ``coordinator.loader`` has that one cleaned up."""
    cleaned: list[str] = []

    class Other:
        load = stage.load

        async def cleanup(self) -> None:
            cleaned.append("other")

    session = stage.session()
    session.coordinator.loader = Other()
    await session.initialize()
    await session.cleanup()
    assert cleaned == ["other"]


async def test_cleaning_up_concurrently_waits_and_runs_once(stage: Any) -> None:
    """Everybody returns when it is done."""
    release = asyncio.Event()
    calls: list[str] = []

    async def slow() -> None:
        calls.append("cleanup")
        await release.wait()

    stage.module("tool-x", lambda coordinator, config: slow)
    session = stage.session(stage.plan(tools=["tool-x"]))
    await session.initialize()
    tasks = [asyncio.create_task(session.cleanup()) for _ in range(3)]
    await stage.cycles()
    assert not any(task.done() for task in tasks)
    release.set()
    await asyncio.gather(*tasks)
    assert calls == ["cleanup"]


async def test_a_clean_up_function_may_call_for_clean_up(stage: Any) -> None:
    """What is going on already is not begun again, and there is no deadlock."""
    calls: list[str] = []

    def mount(coordinator: Any, config: Any) -> Any:
        async def cleanup() -> None:
            calls.append("cleanup")
            await coordinator.session.cleanup()

        return cleanup

    stage.module("tool-x", mount)
    session = stage.session(stage.plan(tools=["tool-x"]))
    await session.initialize()
    await session.cleanup()
    assert calls == ["cleanup"]
    assert session.report.cleanup_errors == []


@pytest.mark.parametrize("call", ["initialize", "execute"])
async def test_a_session_that_is_taken_down_cannot_be_started_from_within(stage: Any, call: str) -> None:
    """A handler of ``session:end`` that starts the session anew gets an error; the clean-up is whole."""
    caught: list[str] = []

    async def start_anew(event: str, data: dict[str, Any]) -> None:
        try:
            await getattr(session, call)(*(["prompt"] if call == "execute" else []))
        except RuntimeError as error:
            caught.append(str(error))

    session = stage.session(session_id="s")
    await session.initialize()
    session.coordinator.hooks.register("session:end", start_anew)
    await session.cleanup()
    assert len(caught) == 1
    assert "session s is being set up or taken down by this very task" in caught[0]
    assert session.initialized is False
    assert session.coordinator.get("orchestrator") is None


async def test_starting_a_session_that_is_taken_down_waits(stage: Any) -> None:
    """The new life begins after the old one has ended, so neither takes the other's modules."""
    release = asyncio.Event()
    log: list[str] = []

    def mount(coordinator: Any, config: Any) -> Any:
        async def cleanup() -> None:
            await release.wait()
            log.append("gone")

        log.append("born")
        coordinator.mount("tools", stage.Hammer())
        return cleanup

    stage.module("tool-x", mount)
    session = stage.session(stage.plan(tools=["tool-x"]))
    await session.initialize()
    ending = asyncio.create_task(session.cleanup())
    await stage.cycles()
    again = asyncio.create_task(session.execute("hi"))
    await stage.cycles()
    assert log == ["born"]
    release.set()
    await ending
    assert await again == "answer to hi"
    assert log == ["born", "gone", "born"]
    assert session.initialized is True
    assert list(session.coordinator.get("tools")) == ["hammer"]


async def test_taking_down_a_session_that_is_set_up_waits(stage: Any) -> None:
    """Nothing is cleaned up while modules are still mounting; then everything is."""
    release = asyncio.Event()
    log: list[str] = []

    async def slow(coordinator: Any, config: Any) -> Any:
        coordinator.register_cleanup(lambda: log.append("gone"))
        await release.wait()
        log.append("born")

    stage.module("tool-x", slow)
    session = stage.session(stage.plan(tools=["tool-x"]))
    starting = asyncio.create_task(session.initialize())
    await stage.cycles()
    ending = asyncio.create_task(session.cleanup())
    await stage.cycles()
    assert log == []
    release.set()
    await starting
    await ending
    assert log == ["born", "gone"]
    assert session.initialized is False
    assert session.coordinator.get("orchestrator") is None


# A handler of ``session:end`` that cancels itself has merely failed.
@pytest.mark.parametrize(
    ("place", "interruption"),
    [
        ("clean-up", KeyboardInterrupt),
        ("clean-up", SystemExit),
        ("clean-up", asyncio.CancelledError),
        ("session:end", KeyboardInterrupt),
        ("session:end", SystemExit),
        ("loader", KeyboardInterrupt),
        ("loader", SystemExit),
        ("loader", asyncio.CancelledError),
    ],
)
async def test_an_interruption_comes_out_after_all_has_run(
    stage: Any, interruption: type[BaseException], place: str
) -> None:
    """Whatever interrupts, the remaining steps run, and the first interruption is raised at the end."""
    ran: list[str] = []

    def step(name: str) -> Any:
        async def run(*_: Any) -> None:
            ran.append(name)
            if name == place:
                raise interruption(name)

        return run

    def mount(coordinator: Any, config: Any) -> None:
        coordinator.hooks.register("session:end", step("session:end"))
        coordinator.register_cleanup(step("first in"))
        coordinator.register_cleanup(step("clean-up"))

    stage.module("hooks-x", mount)
    stage.cleanup = step("loader")
    session = stage.session(stage.plan(hooks=["hooks-x"]))
    await session.initialize()
    with pytest.raises(interruption, match=place):
        await session.cleanup()
    assert ran == ["session:end", "clean-up", "first in", "loader"]
    assert session.initialized is False
    assert session.coordinator.get("orchestrator") is None


async def test_the_first_of_several_interruptions_comes_out(stage: Any) -> None:
    """Later ones change nothing."""

    def raising(error: BaseException) -> Any:
        def cleanup() -> None:
            raise error

        return cleanup

    stage.cleanup = raising(SystemExit("loader"))
    session = stage.session()
    await session.initialize()
    session.coordinator.register_cleanup(raising(SystemExit("second")))
    session.coordinator.register_cleanup(raising(KeyboardInterrupt("first")))
    with pytest.raises(KeyboardInterrupt, match="first"):
        await session.cleanup()


async def test_a_hanging_clean_up_can_be_cancelled_and_the_rest_still_runs(stage: Any) -> None:
    """Cancelling the task that cleans up ends the one step that hangs."""
    ran: list[str] = []
    started = asyncio.Event()

    async def hang() -> None:
        started.set()
        await asyncio.Event().wait()

    def mount(coordinator: Any, config: Any) -> None:
        coordinator.register_cleanup(lambda: ran.append("first in"))
        coordinator.register_cleanup(hang)

    stage.module("hooks-x", mount)
    stage.cleanup = lambda: ran.append("loader")
    session = stage.session(stage.plan(hooks=["hooks-x"]))
    await session.initialize()
    task = asyncio.create_task(session.cleanup())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ran == ["first in", "loader"]
    assert session.coordinator.get("orchestrator") is None
