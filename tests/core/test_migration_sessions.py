"""What is different for users of the existing package: the coordinator, and sessions from start to clean-up."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.models import HookResult
from amplifier_core.session import AmplifierSession
from amplifier_core.stream import TurnResult

Data = dict[str, Any]
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
PLAN: Data = {"session": {"orchestrator": "loop", "context": "context"}, "providers": [{"module": "provider-p"}]}


class Loop:
    """Answers with its prompt, or does what it is made with."""

    def __init__(self, act: Callable[..., Any] | None = None) -> None:
        self.act = act

    async def execute(self, prompt: str, context: Any, providers: Any, tools: Any, hooks: Any, **kwargs: Any) -> Any:
        return prompt if self.act is None else await self.act(kwargs)


class Context:
    """Fits the contract and remembers nothing."""

    async def add_message(self, message: Data) -> None: ...
    async def get_messages_for_request(self, token_budget: int | None = None, provider: Any = None) -> list[Data]: ...
    async def get_messages(self) -> list[Data]: ...
    async def set_messages(self, messages: list[Data]) -> None: ...
    async def clear(self) -> None: ...


class Provider:
    """Fits the contract; no test here asks it anything."""

    name = "p"

    def get_info(self) -> Any: ...
    async def list_models(self) -> Any: ...
    async def complete(self, request: Any, **kwargs: Any) -> Any: ...
    def parse_tool_calls(self, response: Any) -> Any: ...


class Shelf:
    """A loader that holds mount functions; modules that are only installed may be given as instances."""

    def __init__(self, **modules: Any) -> None:
        self.modules = {"loop": Loop(), "context": Context(), "provider-p": Provider(), **modules}
        self.cleaned = 0

    async def load(self, module_id: str, config: Any = None, source_hint: Any = None, coordinator: Any = None) -> Any:
        module = self.modules[module_id]
        return partial(module, config=config) if inspect.isfunction(module) else lambda coordinator: module

    def cleanup(self) -> None:
        self.cleaned += 1


def heard(session: AmplifierSession, *events: str) -> list[tuple[str, Data]]:
    """Notes the named events of a session in a list."""
    told: list[tuple[str, Data]] = []
    for event in events:
        session.coordinator.hooks.register(event, lambda event, data: told.append((event, data)))
    return told


def test_mounting_takes_effect_when_called() -> None:
    """``mount`` and ``unmount`` need not be awaited; awaiting gives ``None``."""
    coordinator = ModuleCoordinator()
    mounted = coordinator.mount("tools", SimpleNamespace(name="t"))
    assert list(coordinator.get("tools")) == ["t"]
    assert (inspect.isawaitable(mounted), asyncio.run(mounted)) == (True, None)
    coordinator.unmount("tools", "t")
    assert coordinator.get("tools") == {}


def test_session_is_a_name_for_two_mount_points() -> None:
    """``mount("session", …)`` reaches the orchestrator and the context, and nothing else."""
    coordinator = ModuleCoordinator()
    loop, context = Loop(), Context()
    coordinator.mount("session", loop, name="orchestrator")
    coordinator.mount("session", context, name="context")
    assert (coordinator.get("orchestrator"), coordinator.get("session", "context")) == (loop, context)
    assert coordinator.get("session") == {"orchestrator": loop, "context": context}
    with pytest.raises(ValueError, match="Under 'session' only 'orchestrator' and 'context' can be mounted"):
        coordinator.mount("session", loop, name="else")


def test_replacing_the_orchestrator_warns(caplog: pytest.LogCaptureFixture) -> None:
    """The second orchestrator wins, and the log says so."""
    coordinator = ModuleCoordinator()
    coordinator.mount("orchestrator", Loop())
    coordinator.mount("orchestrator", Loop())
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "Replacing the orchestrator mounted before"
    ]


def test_messages_begin_as_before_and_go_on() -> None:
    """Texts that callers match are the beginning of longer ones, which say what is known or what to do."""
    coordinator = ModuleCoordinator()
    with pytest.raises(ValueError, match=r"^Unknown mount point: tool; known are orchestrator, providers, tools, "):
        coordinator.get("tool")
    with pytest.raises(ValueError, match=r"^Name required for tools: pass name=… or give the module a 'name'$"):
        coordinator.mount("tools", object())


async def test_a_cleanup_function_runs_once() -> None:
    """Cleaning up twice does not run anything twice; what a mount both registers and returns runs once as well."""
    ran: list[str] = []

    async def mount(coordinator: ModuleCoordinator, config: Data) -> Callable[[], None]:
        def tidy() -> None:
            ran.append("tidy")

        coordinator.mount("tools", SimpleNamespace(name="t", description="", execute=print))
        coordinator.register_cleanup(tidy)
        return tidy

    session = AmplifierSession({**PLAN, "tools": ["tool-t"]}, loader=Shelf(**{"tool-t": mount}))
    await session.initialize()
    await session.cleanup()
    await session.cleanup()
    assert ran == ["tidy"]


async def test_a_failed_cleanup_is_an_event_and_in_the_report() -> None:
    """Beside the log line there are ``module:cleanup_failed`` and an entry in the report."""

    def tidy() -> None:
        raise OSError("disk full")

    session = AmplifierSession(PLAN, loader=Shelf())
    told = heard(session, "module:cleanup_failed")
    session.coordinator.register_cleanup(tidy)
    await session.cleanup()
    assert [data["error"] for _, data in told] == ["OSError: disk full"]
    assert session.report.cleanup_errors == [f"{tidy.__qualname__} raised OSError: disk full"]


def test_the_coordinator_knows_its_session_from_the_start() -> None:
    """``coordinator.session`` is the session itself before anything is initialised."""
    session = AmplifierSession(PLAN)
    assert session.coordinator.session is session


async def test_the_loader_argument_is_honoured() -> None:
    """What is given as ``loader=`` loads the modules and is cleaned up."""
    shelf = Shelf()
    async with AmplifierSession(PLAN, loader=shelf) as session:
        assert (session.loader, session.coordinator.loader) == (shelf, shelf)
        assert await session.execute("hello") == "hello"
    assert shelf.cleaned == 1


def test_an_empty_session_id_makes_a_new_one() -> None:
    """``session_id=""`` counts as none."""
    assert len(AmplifierSession(PLAN, session_id="").session_id) == 36


@pytest.mark.parametrize(
    "plan",
    [
        None,
        [],
        "plan",
        {"session": []},
        {"session": {"orchestrator": "", "context": "c"}},
        {"session": {"orchestrator": "l", "context": None}},
    ],
)
def test_a_wrong_plan_is_a_value_error(plan: Any) -> None:
    """A plan is refused at construction; where the type is wrong the error is a ``TypeError`` as well."""
    with pytest.raises(
        ValueError, match=r"Configuration (is required|must specify)|in the mount plan must be"
    ) as caught:
        AmplifierSession(plan)
    is_of_right_type = isinstance(plan, dict) and isinstance(plan["session"], dict)
    assert isinstance(caught.value, TypeError) is not is_of_right_type


async def test_an_entry_without_a_module_is_reported() -> None:
    """It is left out as before, but not in silence."""
    session = AmplifierSession({**PLAN, "tools": [{"config": {}}]}, loader=Shelf())
    await session.initialize()
    assert [str(problem) for problem in session.report.skipped] == [
        "tool tools[0]: the entry names no module (key 'module')"
    ]


async def test_a_failed_start_says_which_required_module_failed() -> None:
    """``initialize()`` and ``execute()`` raise a ``RuntimeError`` for the two required modules, with its cause."""
    session = AmplifierSession({"session": {"orchestrator": "absent", "context": "context"}}, loader=Shelf())
    cause = "Cannot initialize without orchestrator: 'absent'"
    with pytest.raises(RuntimeError, match=rf"^Session initialization failed: {cause}$") as caught:
        await session.initialize()
    assert str(caught.value.__cause__) == cause
    with pytest.raises(RuntimeError, match=rf"^Session not initialized: {cause}$"):
        await session.execute("hello")


async def test_a_failed_start_leaves_nothing_behind() -> None:
    """What was mounted before the failure is taken down again, its clean-ups run."""
    ran: list[str] = []

    async def mount(coordinator: ModuleCoordinator, config: Data) -> Callable[[], None]:
        coordinator.mount("orchestrator", Loop())
        return lambda: ran.append("cleaned")

    session = AmplifierSession({"session": {"orchestrator": "mine", "context": "absent"}}, loader=Shelf(mine=mount))
    with pytest.raises(RuntimeError, match="Cannot initialize without context manager"):
        await session.initialize()
    assert (ran, session.coordinator.get("orchestrator"), session.initialized) == (["cleaned"], None, False)


async def test_what_the_orchestrator_raises_comes_out_unchanged() -> None:
    """No wrapping; status and last error are recorded."""

    async def fail(options: Data) -> None:
        raise LookupError("no such model")

    session = AmplifierSession(PLAN, loader=Shelf(loop=Loop(fail)))
    with pytest.raises(LookupError, match=r"^no such model$"):
        await session.execute("hello")
    assert (session.status.status, session.status.last_error) == ("failed", {"message": "no such model"})


async def test_a_turn_needs_a_provider() -> None:
    """Missing mounts are told by name, with the reason if the report has one."""
    session = AmplifierSession({**PLAN, "providers": ["provider-absent"]}, loader=Shelf())
    with pytest.raises(RuntimeError, match=r"^No providers mounted \(provider provider-absent: KeyError: "):
        await session.execute("hello")


async def test_an_answer_that_is_no_text_is_returned_as_it_is() -> None:
    """The kernel does not judge what an orchestrator answers."""

    async def answer(options: Data) -> Data:
        return {"parts": 2}

    assert await AmplifierSession(PLAN, loader=Shelf(loop=Loop(answer))).execute("hello") == {"parts": 2}


async def test_an_orchestrator_gets_only_what_it_takes(caplog: pytest.LogCaptureFixture) -> None:
    """``coordinator`` and the options of ``execute`` are keyword arguments for those that have them."""

    class Strict:
        async def execute(self, prompt: str, context: Any, providers: Any, tools: Any, hooks: Any) -> str:
            return prompt

    async def answer(options: Data) -> list[str]:
        return sorted(options)

    assert await AmplifierSession(PLAN, loader=Shelf(loop=Strict())).execute("hello", schema={}) == "hello"
    assert "does not take the option 'schema'" in caplog.text
    session = AmplifierSession(PLAN, loader=Shelf(loop=Loop(answer)))
    assert await session.execute("hello", schema={}) == ["coordinator", "schema"]


async def test_a_session_runs_one_turn_at_a_time() -> None:
    """A second ``execute()`` meanwhile is refused."""

    async def again(options: Data) -> str:
        with pytest.raises(RuntimeError, match="is busy: a turn is still running"):
            await session.execute("second")
        return "first"

    session = AmplifierSession(PLAN, loader=Shelf(loop=Loop(again)))
    assert await session.execute("first") == "first"


async def test_cancelling_the_task_cancels_the_turn() -> None:
    """The orchestrator is cancelled with the task that awaits it, and ``cancel:completed`` is emitted."""
    started, ended = asyncio.Event(), asyncio.Event()

    async def hang(options: Data) -> None:
        try:
            started.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    session = AmplifierSession(PLAN, loader=Shelf(loop=Loop(hang)))
    told = heard(session, "cancel:completed")
    task = asyncio.create_task(session.execute("hello"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (ended.is_set(), session.status.status) == (True, "cancelled")
    assert [(data["was_immediate"], data["error"]) for _, data in told] == [(True, "CancelledError: ")]


async def test_lifecycle_events_carry_config_and_stats() -> None:
    """``session:start`` tells the redacted plan, ``session:end`` the status; raw mode adds ``session:config``."""
    plan = {**PLAN, "session": {**PLAN["session"], "raw": True, "api_key": "s"}}
    session = AmplifierSession(plan, loader=Shelf())
    told = heard(session, "session:start", "session:config", "session:end")
    await session.execute("one")
    await session.execute("two")
    await session.cleanup()
    assert [event for event, _ in told] == ["session:start", "session:config", "session:config", "session:end"]
    start, end = told[0][1], told[-1][1]
    assert start["config"]["session"]["api_key"] == start["raw"]["session"]["api_key"] == "[REDACTED]"
    assert (end["status"], end["stats"]) == ("completed", session.status.to_dict())


async def test_cleanup_ends_the_session_and_a_new_turn_begins_anew() -> None:
    """``session:end`` comes first and once; what the plan mounted is gone; ``execute()`` mounts it again."""
    session = AmplifierSession(PLAN, loader=Shelf())
    order = heard(session, "session:end")
    await session.execute("one")
    session.coordinator.register_cleanup(lambda: order.append(("clean-up", {})))
    await session.cleanup()
    await session.cleanup()
    assert [event for event, _ in order] == ["session:end", "clean-up"]
    assert (session.initialized, session.coordinator.get("providers")) == (False, {})
    assert await session.execute("two") == "two"


def test_a_child_is_cancelled_with_its_parent() -> None:
    """Naming a live session as parent is enough; nobody has to link the tokens."""
    parent = AmplifierSession(PLAN)
    child = AmplifierSession(PLAN, parent_id=parent.session_id)
    parent.coordinator.cancellation.request_immediate()
    assert child.coordinator.cancellation.is_immediate


async def test_a_fork_inherits_guards() -> None:
    """``session.fork()`` makes a child that its parent's guards guard as well."""

    async def refuse(event: str, data: Data) -> HookResult:
        return HookResult(action="deny", reason="not here")

    parent = AmplifierSession(PLAN, loader=Shelf())
    child = parent.fork({"session": {"metadata": {"role": "child"}}})
    parent.coordinator.hooks.register("tool:pre", refuse, on_error="deny")
    assert (await child.coordinator.hooks.emit("tool:pre", {})).reason == "not here"
    assert (child.parent_id, child.config["session"]["orchestrator"]) == (parent.session_id, "loop")


async def test_a_turn_can_be_watched_as_a_stream() -> None:
    """``session.stream()`` gives events, the result last."""
    session = AmplifierSession(PLAN, loader=Shelf())
    items = [item async for item in session.stream("hello")]
    assert [item[0] for item in items[:-1] if isinstance(item, tuple)] == ["session:start"]
    assert items[-1] == TurnResult("hello", session.session_id)


async def test_the_report_tells_what_mounted_and_what_did_not(caplog: pytest.LogCaptureFixture) -> None:
    """What was only in the log is also data, made to be printed."""
    caplog.set_level(logging.CRITICAL)
    session = AmplifierSession({**PLAN, "tools": ["tool-absent"]}, loader=Shelf())
    await session.initialize()
    assert str(session.report).splitlines() == [
        "mounted: orchestrator loop",
        "mounted: context context",
        "mounted: provider provider-p as p",
        "failed: tool tool-absent: KeyError: 'tool-absent'",
    ]


async def test_time_and_ids_can_be_given() -> None:
    """``clock=`` and ``new_id=`` decide every timestamp and id of a session and its children."""
    numbers = iter(range(1, 9))
    session = AmplifierSession(PLAN, clock=lambda: NOON, new_id=lambda: f"id-{next(numbers)}", loader=Shelf())
    told = heard(session, "session:start")
    await session.execute("hello")
    assert [(data["session_id"], data["timestamp"]) for _, data in told] == [
        ("id-1", "2026-01-01T12:00:00.000000+00:00")
    ]
    assert (session.status.started_at, session.status.last_activity) == (NOON.replace(tzinfo=None),) * 2
    assert session.fork().coordinator.clock() is NOON
