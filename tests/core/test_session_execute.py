"""Running a turn: what the orchestrator is given, what comes back, what is told, and what is written down."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from functools import partial, wraps
from itertools import count
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import pytest

from amplifier_core import AmplifierSession, ModuleCoordinator
from amplifier_core._session_exec import emit_raw_field_if_configured, run_orchestrator

LIFECYCLE = ("session:start", "session:resume", "session:config", "session:end")


def mount_orchestrator(stage: Any, orchestrator: Any) -> None:
    """Makes ``orchestrator`` the one of the stage."""
    stage.module("loop-a", lambda coordinator, config: coordinator.mount("orchestrator", orchestrator))


async def test_the_first_turn_initialises(stage: Any) -> None:
    """``initialize()`` need not be called."""
    session = stage.session()
    assert await session.execute("hi") == "answer to hi"
    assert session.initialized is True
    assert await session.execute("again") == "answer to again"
    assert len(stage.loads) == 3


async def test_the_orchestrator_gets_everything_by_keyword(stage: Any) -> None:
    """Prompt, context, providers, tools, hooks and the coordinator: the very objects that are mounted."""
    seen: dict[str, Any] = {}

    class Recorder:
        async def execute(self, **arguments: Any) -> str:
            seen.update(arguments)
            return "done"

    mount_orchestrator(stage, Recorder())
    stage.module("tool-x", lambda coordinator, config: stage.Hammer())
    session = stage.session(stage.plan(tools=["tool-x"]))
    assert await session.execute("hi") == "done"
    coordinator = session.coordinator
    assert list(seen) == ["prompt", "context", "providers", "tools", "hooks", "coordinator"]
    assert seen["prompt"] == "hi"
    assert seen["context"] is coordinator.get("context")
    assert seen["providers"] is coordinator.get("providers")
    assert seen["tools"] is coordinator.get("tools")
    assert seen["hooks"] is coordinator.hooks
    assert seen["coordinator"] is coordinator


async def test_a_tool_mounted_during_the_turn_shows_up(stage: Any) -> None:
    """Providers and tools are the live dicts, also when they begin empty."""

    class Mounting:
        async def execute(self, prompt: str, tools: dict[str, Any], coordinator: Any, **rest: Any) -> list[str]:
            await coordinator.mount("tools", stage.Hammer())
            return list(tools)

    mount_orchestrator(stage, Mounting())
    assert await stage.session().execute("hi") == ["hammer"]


async def test_an_orchestrator_with_five_parameters_works(stage: Any) -> None:
    """The coordinator is passed only to one that takes it; leaving it out is no reason for a warning."""

    class Five:
        async def execute(self, prompt: str, context: Any, providers: Any, tools: Any, hooks: Any) -> str:
            return f"{prompt} {sorted(providers)} {tools}"

    mount_orchestrator(stage, Five())
    assert await stage.session().execute("hi") == "hi ['a'] {}"


@pytest.mark.parametrize("answer", ["text", "", None, 5, {"a": 1}, object()])
async def test_the_answer_comes_back_as_it_is(stage: Any, answer: Any) -> None:
    """The kernel neither converts nor refuses what the orchestrator returns."""

    async def turn(coordinator: Any) -> Any:
        return answer

    stage.turn = turn
    assert await stage.session().execute("hi") is answer


async def test_an_orchestrator_may_be_sync(stage: Any) -> None:
    """What is not awaitable is the answer itself."""

    class Sync:
        def execute(self, prompt: str, **rest: Any) -> str:
            return prompt.upper()

    mount_orchestrator(stage, Sync())
    assert await stage.session().execute("hi") == "HI"


def takes_nothing_more(prompt: Any, context: Any, providers: Any, tools: Any, hooks: Any) -> dict[str, Any]:
    """Five parameters."""
    return {}


def takes_keyword_only(prompt: Any, context: Any, providers: Any, tools: Any, hooks: Any, *, schema: Any = None) -> Any:
    """Five parameters and one option."""
    return {"schema": schema}


def takes_anything(prompt: Any, context: Any, providers: Any, tools: Any, hooks: Any, **rest: Any) -> dict[str, Any]:
    """Five parameters and whatever else there is."""
    return {name: value for name, value in rest.items() if name != "coordinator"}


@wraps(takes_keyword_only)
def wrapped(*args: Any, **kwargs: Any) -> Any:
    """A decorated function shows the parameters of what it decorates."""
    return takes_keyword_only(*args, **kwargs)


class CallableObject:
    def __call__(self, prompt: Any, context: Any, providers: Any, tools: Any, hooks: Any, schema: Any = None) -> Any:
        return {"schema": schema}


class Unreadable:
    """Its signature cannot be found out, so it is given everything."""

    __signature__ = "none"

    def __call__(self, **arguments: Any) -> Any:
        return takes_anything(**arguments)


@pytest.mark.parametrize(
    ("execute", "accepted"),
    [
        (takes_nothing_more, {}),
        (takes_keyword_only, {"schema": 1}),
        (takes_anything, {"schema": 1, "depth": 2}),
        (wrapped, {"schema": 1}),
        (partial(takes_keyword_only), {"schema": 1}),
        (partial(takes_anything), {"schema": 1, "depth": 2}),
        (CallableObject(), {"schema": 1}),
        (Unreadable(), {"schema": 1, "depth": 2}),
        (AsyncMock(side_effect=takes_anything), {"schema": 1, "depth": 2}),
        (MagicMock(side_effect=takes_anything), {"schema": 1, "depth": 2}),
    ],
)
async def test_options_go_to_an_orchestrator_that_takes_them(
    stage: Any, caplog: pytest.LogCaptureFixture, execute: Any, accepted: dict[str, Any]
) -> None:
    """An option that the orchestrator does not take is left out with a warning, however its function is made."""

    class Any_:  # noqa: N801 - stands for any orchestrator
        def __init__(self) -> None:
            self.execute = execute

    mount_orchestrator(stage, Any_())
    session = stage.session()
    assert await session.execute("hi", schema=1, depth=2) == accepted
    warnings = [record.getMessage() for record in caplog.records if record.name == "amplifier_core._session_exec"]
    assert warnings == [
        f"Orchestrator Any_ does not take the option '{name}'; it is ignored"
        for name in ("schema", "depth")
        if name not in accepted
    ]


@pytest.mark.parametrize("empty", [{}, None])
async def test_an_orchestrator_runs_without_a_session(empty: Any) -> None:
    """``run_orchestrator`` needs only a coordinator; empty mount points are empty dicts."""
    coordinator = ModuleCoordinator()
    coordinator.mount_points.update(providers=empty, tools=empty)
    orchestrator = MagicMock()
    orchestrator.execute = AsyncMock(return_value="answer")
    await coordinator.mount("orchestrator", orchestrator)
    assert await run_orchestrator(coordinator, "hi") == "answer"
    orchestrator.execute.assert_awaited_once_with(
        prompt="hi", context=None, providers={}, tools={}, hooks=coordinator.hooks, coordinator=coordinator
    )


async def test_the_start_is_told_once_per_session_object(stage: Any) -> None:
    """Neither a second turn nor a new life after a clean-up tells it again."""
    session = stage.session(session_id="s", parent_id=None)
    seen = stage.watch(session)
    await session.execute("one")
    await session.execute("two")
    await session.cleanup()
    await session.execute("three")
    starts = [data for event, data in seen if event == "session:start"]
    assert len(starts) == 1
    del starts[0]["timestamp"]
    assert starts == [{"session_id": "s", "parent_id": None, "config": session.config}]


async def test_a_resumed_session_tells_that_instead(stage: Any) -> None:
    """``session:resume`` comes in place of ``session:start``."""
    session = stage.session(is_resumed=True)
    seen = stage.watch(session)
    await session.execute("hi")
    assert [event for event, _ in seen if event in LIFECYCLE] == ["session:resume"]


async def test_handlers_of_the_plan_hear_the_start(stage: Any) -> None:
    """It is told after all modules are mounted, and before the orchestrator runs."""
    heard: list[str] = []

    async def note(event: str, data: dict[str, Any]) -> None:
        heard.append(event)

    async def turn(coordinator: Any) -> None:
        heard.append("turn")

    stage.turn = turn
    stage.module("hooks-x", lambda coordinator, config: coordinator.hooks.register("session:start", note) and None)
    await stage.session(stage.plan(hooks=["hooks-x"])).execute("hi")
    assert heard == ["session:start", "turn"]


async def test_the_start_carries_the_metadata_of_the_plan(stage: Any) -> None:
    """``session.metadata`` is passed on when there is some."""
    session = stage.session(stage.plan(session={"metadata": {"agent": "tester"}}))
    seen = stage.watch(session)
    await session.execute("hi")
    assert seen[0][1]["metadata"] == {"agent": "tester"}
    assert "raw" not in seen[0][1]


async def test_raw_mode_tells_the_plan_without_its_secrets(stage: Any) -> None:
    """The start carries it once as ``raw``, and ``session:config`` comes with every turn."""
    entry = {"module": "provider-a", "config": {"api_key": "sk-1", "url": "https://me:pw@host/x"}}
    session = stage.session(stage.plan(session={"raw": True}, providers=[entry]), session_id="s")
    seen = stage.watch(session)
    await session.execute("one")
    await session.execute("two")
    assert [event for event, _ in seen] == ["session:start", "session:config", "session:config"]
    shown = {"module": "provider-a", "config": {"api_key": "[REDACTED]", "url": "https://[REDACTED]@host/x"}}
    start, config, _ = (data for _, data in seen)
    assert start["config"]["providers"] == start["raw"]["providers"] == config["raw"]["providers"] == [shown]
    assert config["session_id"] == "s"
    assert entry["config"]["api_key"] == "sk-1"


async def test_the_raw_event_is_told_only_in_raw_mode() -> None:
    """The function behind it keeps its published signature."""
    coordinator = ModuleCoordinator()
    seen: list[dict[str, Any]] = []

    async def note(event: str, data: dict[str, Any]) -> None:
        seen.append(data)

    coordinator.hooks.register("session:config", note)
    await emit_raw_field_if_configured(coordinator, {}, "s", "session:config")
    assert seen == []
    await emit_raw_field_if_configured(coordinator, {"session": {"raw": True, "token": "t"}}, "s", "session:config")
    assert seen[0]["raw"] == {"session": {"raw": True, "token": "[REDACTED]"}}


async def test_a_turn_that_cannot_start_tells_the_cause(stage: Any) -> None:
    """The error begins with the words callers look for and is chained to the cause."""

    def broken(coordinator: Any, config: Any) -> None:
        raise OSError("no disk")

    stage.module("loop-a", broken)
    session = stage.session()
    with pytest.raises(RuntimeError) as caught:
        await session.execute("hi")
    told = "Session not initialized: Cannot initialize without orchestrator: no disk"
    assert str(caught.value) == told
    assert str(caught.value.__cause__) == "Cannot initialize without orchestrator: no disk"
    assert session.status.status == "failed"
    assert session.status.last_error == {"message": told}


async def test_a_turn_with_a_wrong_plan_tells_the_place(stage: Any) -> None:
    """The ``ValueError`` of the plan is the cause."""
    session = stage.session(stage.plan(tools="tool-x"))
    with pytest.raises(RuntimeError, match=r"^Session not initialized: 'tools' in the mount plan") as caught:
        await session.execute("hi")
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize(
    ("module_id", "kind", "told"),
    [
        ("loop-a", "orchestrator", "No orchestrator module mounted"),
        ("context-a", "context", "No context manager mounted"),
    ],
)
async def test_a_turn_without_a_required_module_says_what_became_of_it(
    stage: Any, module_id: str, kind: str, told: str
) -> None:
    """A module that mounted nothing is named as the reason."""
    stage.module(module_id, lambda coordinator, config: None)
    session = stage.session()
    with pytest.raises(RuntimeError) as caught:
        await session.execute("hi")
    nothing = f"mount() installed nothing: no {kind}, no handler, no capability, no contributor"
    assert str(caught.value) == f"{told} ({kind} {module_id}: {nothing})"
    assert session.status.status == "failed"


async def test_a_turn_without_providers_says_why_there_are_none(stage: Any) -> None:
    """Failed and skipped ones are listed; without any in the plan there is nothing to add."""

    def broken(coordinator: Any, config: Any) -> None:
        raise ValueError("bad key")

    stage.module("provider-b", broken)
    stage.module("tool-x", broken)
    with pytest.raises(RuntimeError) as caught:
        await stage.session(stage.plan(providers=["provider-b"], tools=["tool-x"])).execute("hi")
    assert str(caught.value) == "No providers mounted (provider provider-b: ValueError: bad key)"
    with pytest.raises(RuntimeError, match=r"^No providers mounted$"):
        await stage.session(stage.plan(providers=[])).execute("hi")


async def test_what_the_orchestrator_raises_comes_out_unchanged(stage: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Status and last error are written down first; the next turn may succeed."""
    problem = LookupError("nowhere")

    async def turn(coordinator: Any) -> None:
        assert coordinator.session.status.status == "running"
        raise problem

    stage.turn = turn
    session = stage.session()
    with pytest.raises(LookupError) as caught:
        await session.execute("hi")
    assert caught.value is problem
    assert caught.value.__cause__ is None
    assert session.status.status == "failed"
    assert session.status.last_error == {"message": "nowhere"}
    assert session.status.last_activity is not None
    assert ("amplifier_core.session", logging.ERROR, "Execution failed: nowhere") in caplog.record_tuples

    session.coordinator.get("orchestrator").turn = None
    assert await session.execute("again") == "answer to again"
    assert session.status.status == "completed"
    assert session.status.last_error == {"message": "nowhere"}


async def test_a_turn_is_completed_when_it_returns(stage: Any) -> None:
    """The time of the last activity is the clock's."""
    now = datetime(2030, 1, 1, tzinfo=UTC)
    session = stage.session(clock=lambda: now)
    await session.execute("hi")
    assert (session.status.status, session.status.last_activity) == ("completed", datetime(2030, 1, 1))
    assert session.status.last_error is None


async def test_every_turn_is_running_until_it_ends(stage: Any) -> None:
    """The status of the turn before does not stay."""
    during: list[str] = []

    async def turn(coordinator: Any) -> None:
        during.append(coordinator.session.status.status)

    stage.turn = turn
    session = stage.session()
    for _ in range(2):
        await session.execute("hi")
    assert during == ["running", "running"]
    assert session.status.status == "completed"


async def test_a_second_turn_meanwhile_finds_the_session_busy(stage: Any) -> None:
    """One turn at a time; afterwards the session is free again, also after a failure."""
    release = asyncio.Event()

    async def turn(coordinator: Any) -> str:
        await release.wait()
        raise ValueError("over")

    stage.turn = turn
    session = stage.session(session_id="s")
    first = asyncio.create_task(session.execute("one"))
    await stage.cycles()
    told = "Session s is busy: a turn is still running; await it or cancel it first"
    with pytest.raises(RuntimeError, match=f"^{told}$"):
        await session.execute("two")
    assert session.status.status == "running"
    release.set()
    with pytest.raises(ValueError, match="over"):
        await first
    session.coordinator.get("orchestrator").turn = None
    assert await session.execute("three") == "answer to three"


async def test_a_tool_may_not_run_a_turn_inside_a_turn(stage: Any) -> None:
    """The inner call fails at once instead of waiting for itself."""

    async def turn(coordinator: Any) -> str:
        with pytest.raises(RuntimeError, match="is busy"):
            await coordinator.session.execute("inner")
        return "outer"

    stage.turn = turn
    assert await stage.session().execute("hi") == "outer"


async def test_a_session_whose_modules_were_mounted_by_hand_runs(stage: Any) -> None:
    """Code that marks the session as initialised itself is believed."""
    session = stage.session()
    session._initialized = True
    session.coordinator.mount("orchestrator", stage.Loop())
    session.coordinator.mount("context", stage.Memory())
    session.coordinator.mount("providers", stage.Model())
    assert await session.execute("hi") == "answer to hi"
    assert stage.loads == []
    await session.cleanup()
    assert session.coordinator.get("orchestrator") is not None


async def test_two_runs_with_the_same_clock_and_ids_are_the_same(stage: Any) -> None:
    """Every event of a whole life, children included, is equal."""

    async def turn(coordinator: Any) -> str:
        coordinator.hooks.register("custom:event", lambda event, data: None)
        await coordinator.hooks.emit("custom:event", {"id": coordinator.new_id(), "at": coordinator.timestamp()})
        child = coordinator.session.fork({"session": {"metadata": {"agent": "child"}}})
        seen_by_child = stage.watch(child)
        if coordinator.parent_id is None:
            async with child:
                await child.execute("inner")
        log.extend(seen_by_child)
        return "done"

    async def life() -> list[Any]:
        log.clear()
        numbers, seconds = count(), count()
        session = stage.session(
            stage.plan(session={"raw": True}, tools=["tool-missing"]),
            clock=lambda: datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=next(seconds)),
            new_id=lambda: f"id-{next(numbers)}",
        )
        seen = stage.watch(session)
        async with session:
            await session.execute("hi")
            handlers = session.coordinator.hooks.list_handlers()
        return [*seen, *log, handlers]

    log: list[Any] = []
    stage.turn = turn
    first, second = await life(), await life()
    assert first == second
    assert len(first) > 10
    assert first[-1] == {"custom:event": ["_auto_custom:event_id-5"]}


async def test_a_session_is_one_class_under_both_names() -> None:
    """Invariant 1: there is one session class."""
    import amplifier_core.session

    assert AmplifierSession is amplifier_core.session.AmplifierSession
