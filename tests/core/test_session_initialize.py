"""Initialising a session: what is loaded how and in which order, and how a failure leaves no trace."""

from __future__ import annotations

import asyncio
import logging
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import pytest

from amplifier_core import AmplifierSession, HookResult, ModuleCoordinator, ModuleLoader
from amplifier_core._session_init import initialize_session
from amplifier_core.report import ModuleProblem, MountedModule


def state_of(coordinator: ModuleCoordinator) -> dict[str, Any]:
    """Everything that modules can put into a coordinator."""
    return {
        "points": {name: dict(at) if isinstance(at, dict) else at for name, at in coordinator.mount_points.items()},
        "handlers": {event: names for event, names in coordinator.hooks.list_handlers().items() if names},
        "capabilities": dict(coordinator.capabilities),
        "channels": {name: list(contributors) for name, contributors in coordinator.channels.items() if contributors},
        "cleanups": list(coordinator._cleanup_fns),
    }


def install_everything(name: str, log: list[str]) -> Any:
    """A mount function that puts something into every part of the coordinator, and then may be told to fail."""

    async def mount(coordinator: Any, config: dict[str, Any]) -> Any:
        coordinator.hooks.register("tool:pre", lambda event, data: HookResult(), name=name)
        coordinator.register_capability("shared", name)
        coordinator.register_contributor("channel", name, lambda: name)
        coordinator.register_cleanup(lambda: log.append(f"clean {name}"))
        if config.get("fail"):
            raise config["fail"]

    return mount


async def test_modules_mount_in_the_order_of_their_kinds(stage: Any) -> None:
    """Orchestrator, context, providers, tools, hooks; within a kind the order of the plan."""
    mounted: list[str] = []
    for module_id in ("provider-b", "tool-x", "tool-y", "hooks-x"):
        stage.module(module_id, lambda coordinator, config, module_id=module_id: mounted.append(module_id))
    for module_id in ("loop-a", "context-a", "provider-a"):
        own = stage.mounts[module_id]
        stage.module(module_id, lambda c, config, own=own, id=module_id: [mounted.append(id), own(c, config)][1])
    plan = stage.plan(hooks=["hooks-x"], tools=["tool-x", "tool-y"], providers=["provider-a", "provider-b"])
    session = stage.session(plan)
    await session.initialize()
    assert mounted == ["loop-a", "context-a", "provider-a", "provider-b", "tool-x", "tool-y", "hooks-x"]
    assert session.initialized is True


async def test_the_loader_gets_id_config_and_source_of_every_module(stage: Any) -> None:
    """Both ways of writing an entry end in the same call."""
    stage.module("tool-x", lambda coordinator, config: stage.Hammer())
    entry = {"module": "context-a", "source": "git+context", "config": {"size": 1}}
    plan = stage.plan(
        session={"orchestrator_source": "git+loop", "context": entry},
        orchestrator={"config": {"steps": 5}},
        providers=[{"module": "provider-a", "source": {"path": "/x"}, "config": {"key": "k"}}],
        tools=["tool-x"],
    )
    await stage.session(plan).initialize()
    assert stage.loads == [
        ("loop-a", {"steps": 5}, "git+loop"),
        ("context-a", {"size": 1}, "git+context"),
        ("provider-a", {"key": "k"}, {"path": "/x"}),
        ("tool-x", {}, None),
    ]


async def test_the_loader_is_called_with_the_published_keywords() -> None:
    """A mock made from the loader's class serves as loader; every method that is called exists on the class."""
    loader = MagicMock(spec=ModuleLoader)
    loader.load = AsyncMock(return_value=AsyncMock(return_value=None))
    loader.get_on_session_ready_queue.return_value = []
    coordinator = ModuleCoordinator()
    coordinator.loader = loader
    plan = {"session": {"orchestrator": "loop-a", "context": {"module": "context-a", "source": "s", "config": {}}}}
    await initialize_session(plan, coordinator, "s", None)
    assert [(call.args, call.kwargs) for call in loader.load.await_args_list] == [
        (("loop-a", {}), {"source_hint": None, "coordinator": coordinator}),
        (("context-a", {}), {"source_hint": "s", "coordinator": coordinator}),
    ]
    loader.get_on_session_ready_queue.assert_called_once_with()
    loader.clear_on_session_ready_queue.assert_called_once_with()


async def test_a_session_runs_on_a_mocked_loader() -> None:
    """People's tests give a mocked loader whose modules are mocks, too, and mount by hand."""
    loader = MagicMock(spec=ModuleLoader)
    loader.load = AsyncMock(return_value=AsyncMock(return_value=None))
    session = AmplifierSession({"session": {"orchestrator": "o", "context": "c"}}, loader=loader)
    await session.initialize()
    orchestrator = MagicMock()
    orchestrator.execute = AsyncMock(return_value="mocked")
    await session.coordinator.mount("orchestrator", orchestrator)
    await session.coordinator.mount("context", AsyncMock())
    await session.coordinator.mount("providers", MagicMock(), name="p")
    assert await session.execute("hi") == "mocked"
    assert orchestrator.execute.await_args.kwargs["coordinator"] is session.coordinator
    await session.cleanup()
    loader.cleanup.assert_called_once_with()


async def test_a_direct_call_makes_a_loader_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a session the coordinator gets a loader of its own, and the standard ids are the default."""

    async def find_nothing(self: ModuleLoader, module_id: str, *args: Any, **kwargs: Any) -> Any:
        raise LookupError(f"Module '{module_id}' not found")

    monkeypatch.setattr(ModuleLoader, "load", find_nothing)
    coordinator = ModuleCoordinator()
    with pytest.raises(RuntimeError, match=r"^Cannot initialize without orchestrator: Module 'loop-basic' not found"):
        await initialize_session({}, coordinator, "s", None)
    assert isinstance(coordinator.loader, ModuleLoader)
    assert coordinator.loader.coordinator is coordinator


async def test_the_session_lends_its_loader_to_the_coordinator(stage: Any) -> None:
    """Modules load others through ``coordinator.loader``."""
    session = stage.session()
    assert session.coordinator.loader is None
    await session.initialize()
    assert session.coordinator.loader is stage


async def test_a_loader_set_on_the_coordinator_beforehand_is_used(stage: Any) -> None:
    """An application that prepared the coordinator has the last word."""
    session = stage.session(loader=object())
    session.coordinator.loader = stage
    await session.initialize()
    assert session.coordinator.loader is stage


async def test_initialising_twice_mounts_once(stage: Any) -> None:
    """The second call does nothing."""
    session = stage.session()
    await session.initialize()
    await session.initialize()
    assert len(stage.loads) == 3


async def test_initialising_concurrently_mounts_once(stage: Any) -> None:
    """Whoever comes second waits, and then has nothing left to do."""
    release = asyncio.Event()

    async def slow(coordinator: Any, config: Any) -> None:
        await release.wait()
        coordinator.mount("context", stage.Memory())

    stage.module("context-a", slow)
    session = stage.session()
    tasks = [asyncio.create_task(session.initialize()) for _ in range(5)]
    await stage.cycles()
    assert not any(task.done() for task in tasks)
    release.set()
    await asyncio.gather(*tasks)
    assert [module_id for module_id, _, _ in stage.loads] == ["loop-a", "context-a", "provider-a"]


async def test_entering_the_session_initialises_it(stage: Any) -> None:
    """``async with`` gives the session itself, and cleans up at the end."""
    session = stage.session()
    async with session as entered:
        assert entered is session
        assert session.initialized is True
    assert session.initialized is False


@pytest.mark.parametrize("name", ["amplifier_core.session", "amplifier_core._session_init"])
async def test_the_initialisation_function_can_be_replaced(
    stage: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Replacing it under either name works, also after the session was made."""
    session = stage.session(parent_id="p")
    replaced = AsyncMock()
    monkeypatch.setattr(f"{name}.initialize_session", replaced)
    await session.initialize()
    replaced.assert_awaited_once_with(session.config, session.coordinator, session.session_id, "p")
    assert session.initialized is True
    assert stage.loads == []


async def test_what_happens_is_logged(stage: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Every module has a line before it is loaded, and the session one at the end."""
    stage.module("tool-x", lambda coordinator, config: stage.Hammer())
    stage.module("hooks-x", lambda coordinator, config: coordinator.hooks.register("e", print) and None)
    entry = {"module": "provider-a", "instance_id": "second"}
    plan = stage.plan(providers=["provider-a", entry], tools=["tool-x"], hooks=["hooks-x"])
    with caplog.at_level(logging.INFO, logger="amplifier_core._session_init"):
        await stage.session(plan, session_id="s").initialize()
    assert [record.getMessage() for record in caplog.records if record.name == "amplifier_core._session_init"] == [
        "Loading orchestrator: loop-a",
        "Loading context manager: context-a",
        "Loading provider: provider-a",
        "Loading provider: provider-a (instance: second)",
        "Remapped provider 'a' -> 'second'",
        "Loading tool: tool-x",
        "Loading hook: hooks-x",
        "Dispatching 0 on_session_ready callbacks",
        "Session s initialized successfully",
    ]


async def test_the_report_tells_what_mounted_and_what_did_not(stage: Any) -> None:
    """It is a list of entries for programs and a text for people."""

    def broken(coordinator: Any, config: Any) -> None:
        raise KeyError("url")

    stage.module("tool-x", lambda coordinator, config: coordinator.mount("tools", stage.Hammer(), name="nail"))
    stage.module("tool-broken", broken)
    stage.module("provider-keyless", lambda coordinator, config: None)
    plan = stage.plan(providers=["provider-a", "provider-keyless", {}], tools=["tool-x", "tool-broken", "tool-none"])
    session = stage.session(plan)
    await session.initialize()
    report = session.report
    assert report.mounted == [
        MountedModule("orchestrator", "loop-a"),
        MountedModule("context", "context-a"),
        MountedModule("provider", "provider-a", ("a",)),
        MountedModule("tool", "tool-x", ("nail",)),
    ]
    nothing = "Provider mount did not install a new provider instance; is a key or a setting missing?"
    assert report.skipped == [
        ModuleProblem("provider", "provider-keyless", nothing),
        ModuleProblem("provider", "providers[2]", "the entry names no module (key 'module')"),
    ]
    assert report.failed == [
        ModuleProblem("tool", "tool-broken", "KeyError: 'url'"),
        ModuleProblem("tool", "tool-none", "no module tool-none on stage", "missing_source"),
    ]
    assert report.is_clean is False
    assert str(report).splitlines() == [
        "mounted: orchestrator loop-a",
        "mounted: context context-a",
        "mounted: provider provider-a as a",
        "mounted: tool tool-x as nail",
        f"skipped: provider provider-keyless: {nothing}",
        "skipped: provider providers[2]: the entry names no module (key 'module')",
        "failed: tool tool-broken: KeyError: 'url'",
        "failed: tool tool-none: no module tool-none on stage",
    ]


@pytest.mark.parametrize(
    ("module_id", "role"), [("loop-a", "orchestrator"), ("context-a", "context manager")], ids=["loop", "context"]
)
async def test_a_required_module_that_does_not_mount_ends_it(stage: Any, module_id: str, role: str) -> None:
    """The error tells the role and the cause, and is chained to what the module raised."""
    problem = OSError("no disk")

    def broken(coordinator: Any, config: Any) -> None:
        raise problem

    stage.module(module_id, broken)
    session = stage.session()
    with pytest.raises(RuntimeError) as caught:
        await session.initialize()
    assert str(caught.value) == f"Session initialization failed: Cannot initialize without {role}: no disk"
    assert caught.value.__cause__ is not None
    assert caught.value.__cause__.__cause__ is problem
    assert session.initialized is False
    assert [str(problem) for problem in session.report.failed] == [f"{role.split()[0]} {module_id}: OSError: no disk"]


async def test_an_undecodable_message_is_told_by_its_repr(stage: Any) -> None:
    """Some errors cannot be turned into text; that must not hide them."""
    problem = UnicodeDecodeError("charmap", b"\x9d", 0, 1, "undefined")

    class UndecodableError(Exception):
        def __str__(self) -> str:
            raise problem

    def broken(coordinator: Any, config: Any) -> None:
        raise UndecodableError(b"\x9d")

    stage.module("loop-a", broken)
    with pytest.raises(RuntimeError, match=r"Cannot initialize without orchestrator: UndecodableError\(b'\\x9d'\)"):
        await stage.session().initialize()


async def test_an_error_without_text_is_told_by_its_repr(stage: Any) -> None:
    """``raise ValueError`` still says what it was."""

    def broken(coordinator: Any, config: Any) -> None:
        raise ValueError

    stage.module("loop-a", broken)
    with pytest.raises(RuntimeError, match=r"Cannot initialize without orchestrator: ValueError\(\)$"):
        await stage.session().initialize()


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        ({"providers": {"module": "a"}}, "'providers' in the mount plan must be a list of modules, got dict"),
        ({"tools": [5]}, "'tools[0]' in the mount plan must be a dict, got int"),
        ({"hooks": [{"module": "h", "config": []}]}, "'hooks[0].config' in the mount plan must be a dict, got list"),
        ({"session": {"context": 5}}, "'session.context' in the mount plan must be a dict, got int"),
        (
            {"providers": ["provider-a", "provider-a"]},
            "Provider module 'provider-a' is listed 2 times without an instance_id; "
            "give each entry but one an instance_id of its own",
        ),
    ],
)
async def test_a_wrong_plan_stays_a_value_error_and_mounts_nothing(
    stage: Any, sections: dict[str, Any], told: str
) -> None:
    """The whole plan is read before the first module is loaded."""
    session = stage.session(stage.plan(**sections))
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is compared below
        await session.initialize()
    assert str(caught.value) == told
    assert stage.loads == []
    assert session.initialized is False


async def test_a_failed_initialisation_takes_everything_down_again(stage: Any) -> None:
    """Mount points, handlers, capabilities, contributors and clean-ups are as they were; clean-ups ran, last first."""
    log: list[str] = []
    for module_id in ("loop-a", "context-a"):
        own, also = stage.mounts[module_id], install_everything(module_id, log)

        async def mount(coordinator: Any, config: Any, own: Any = own, also: Any = also) -> None:
            own(coordinator, config)
            await also(coordinator, config)

        stage.module(module_id, mount)
    session = stage.session(stage.plan(context={"config": {"fail": ValueError("late")}}))
    coordinator = session.coordinator
    coordinator.mount("orchestrator", "of the application")
    coordinator.register_capability("shared", "of the application")
    coordinator.register_cleanup(print)
    before = state_of(coordinator)
    with pytest.raises(RuntimeError, match="Cannot initialize without context manager: late"):
        await session.initialize()
    assert state_of(coordinator) == before
    assert log == ["clean context-a", "clean loop-a"]


async def test_an_initialisation_can_be_retried(stage: Any) -> None:
    """The second attempt starts from scratch, with a new report."""
    own = stage.mounts["context-a"]

    def broken(coordinator: Any, config: Any) -> None:
        raise ValueError("not yet")

    stage.module("context-a", broken)
    session = stage.session()
    with pytest.raises(RuntimeError):
        await session.initialize()
    assert session.report.failed != []
    stage.module("context-a", own)
    await session.initialize()
    assert session.initialized is True
    assert session.report.is_clean is True
    assert await session.execute("hi") == "answer to hi"


@pytest.mark.parametrize("queueing", [False, True])
async def test_ready_callbacks_of_a_failed_attempt_are_forgotten(stage: Any, queueing: bool) -> None:
    """A retry calls every callback once, whoever keeps the queue."""
    ready: list[str] = []

    async def on_session_ready(coordinator: Any) -> None:
        ready.append("loop-a")

    def broken(coordinator: Any, config: Any) -> None:
        raise ValueError("not yet")

    stage.module("loop-a", stage.mounts["loop-a"], ready=on_session_ready)
    own = stage.mounts["context-a"]
    stage.module("context-a", broken)
    loader: Any = stage
    if queueing:
        loader = ModuleLoader()
        loader.load = stage.load
    session = stage.session(loader=loader)
    with pytest.raises(RuntimeError):
        await session.initialize()
    stage.module("context-a", own)
    await session.initialize()
    assert ready == ["loop-a"]


@pytest.mark.parametrize("call", ["initialize", "execute", "cleanup"])
@pytest.mark.parametrize("where", ["mount", "on_session_ready"])
async def test_a_module_cannot_wait_for_the_session_it_is_a_part_of(stage: Any, call: str, where: str) -> None:
    """Calling back into the session that is being set up is an error of the module, and no deadlock."""
    arguments = ["prompt"] if call == "execute" else []

    async def call_back(coordinator: Any, config: Any = None) -> None:
        await getattr(coordinator.session, call)(*arguments)

    async def mount(coordinator: Any, config: Any) -> None:
        coordinator.register_capability("x", 1)

    if where == "mount":
        stage.module("hooks-x", call_back)
    else:
        stage.module("hooks-x", mount, ready=call_back)
    session = stage.session(stage.plan(hooks=["hooks-x"]), session_id="s")
    await session.initialize()
    assert session.initialized is True
    [problem] = session.report.failed
    assert problem.module_id == "hooks-x"
    assert (
        "Cannot wait here: session s is being set up or taken down by this very task; do it after that has finished"
        in problem.reason
    )


async def test_a_module_called_back_into_during_a_turn_finds_the_session_busy(stage: Any) -> None:
    """When ``execute()`` does the initialising, a mount that executes is told so."""

    async def mount(coordinator: Any, config: Any) -> None:
        await coordinator.session.execute("inner")

    stage.module("hooks-x", mount)
    session = stage.session(stage.plan(hooks=["hooks-x"]), session_id="s")
    assert await session.execute("outer") == "answer to outer"
    [problem] = session.report.failed
    assert "Session s is busy" in problem.reason


async def test_a_hanging_mount_can_be_cancelled(stage: Any) -> None:
    """Cancelling the task that initialises takes down what was mounted, and a retry is possible."""
    log: list[str] = []
    started = asyncio.Event()

    async def hanging(coordinator: Any, config: Any) -> None:
        await install_everything("tool-x", log)(coordinator, {})
        started.set()
        await asyncio.Event().wait()

    stage.module("tool-x", hanging)
    session = stage.session(stage.plan(tools=["tool-x"]))
    before = state_of(session.coordinator)
    task = asyncio.create_task(session.initialize())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert state_of(session.coordinator) == before
    assert log == ["clean tool-x"]
    assert session.initialized is False
    stage.module("tool-x", lambda coordinator, config: stage.Hammer())
    await session.initialize()
    assert session.initialized is True


async def test_a_mount_that_cancels_itself_has_failed(stage: Any) -> None:
    """A ``CancelledError`` that nobody asked for is the module's own failure."""

    async def mount(coordinator: Any, config: Any) -> None:
        raise asyncio.CancelledError

    stage.module("tool-x", mount)
    session = stage.session(stage.plan(tools=["tool-x"]))
    await session.initialize()
    assert [str(problem) for problem in session.report.failed] == ["tool tool-x: CancelledError: "]
    stage.module("loop-a", mount)
    with pytest.raises(RuntimeError, match=r"Cannot initialize without orchestrator: CancelledError\(\)"):
        await stage.session().initialize()


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("place", ["loop-a", "tool-x", "ready"])
async def test_an_interruption_ends_the_initialisation_and_takes_it_down(
    stage: Any, interruption: type[BaseException], place: str
) -> None:
    """``KeyboardInterrupt`` and ``SystemExit`` are for the caller, not for the report."""
    log: list[str] = []

    async def interrupt(coordinator: Any, config: Any = None) -> None:
        raise interruption

    stage.module("tool-x", install_everything("tool-x", log), ready=interrupt if place == "ready" else None)
    if place != "ready":
        stage.module(place, interrupt)
    session = stage.session(stage.plan(tools=["tool-x"]))
    before = state_of(session.coordinator)
    with pytest.raises(interruption):
        await session.initialize()
    assert state_of(session.coordinator) == before
    assert session.report.failed == []
    assert log == (["clean tool-x"] if place == "ready" else [])
