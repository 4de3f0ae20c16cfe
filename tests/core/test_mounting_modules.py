"""Mounting modules of any kind: what ``mount()`` may return, wrong objects, failures, and ``on_session_ready``."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from amplifier_core import ModuleLoader
from amplifier_core.report import ModuleProblem, MountedModule


def payloads(seen: list[tuple[str, dict[str, Any]]], wanted: str) -> list[dict[str, Any]]:
    """The payloads of one event, without what every event carries."""
    always = ("session_id", "parent_id", "timestamp")
    return [{key: value for key, value in data.items() if key not in always} for event, data in seen if event == wanted]


def nothing_installed(kind: str) -> str:
    """What is told of a module that did nothing."""
    return f"mount() installed nothing: no {kind}, no handler, no capability, no contributor"


async def test_a_returned_instance_is_registered_under_its_name(stage: Any) -> None:
    """Each kind may return what it has not mounted itself."""
    loop, memory, model, hammer = stage.Loop(), stage.Memory(), stage.Model("m"), stage.Hammer("h")
    stage.module("loop-a", lambda coordinator, config: loop)
    stage.module("context-a", lambda coordinator, config: memory)
    stage.module("provider-a", lambda coordinator, config: model)
    stage.module("tool-x", lambda coordinator, config: hammer)
    session = stage.session(stage.plan(tools=["tool-x"]))
    await session.initialize()
    get = session.coordinator.get
    assert get("orchestrator") is loop
    assert get("context") is memory
    assert get("providers") == {"m": model}
    assert get("tools") == {"h": hammer}
    assert session.report.mounted[-1] == MountedModule("tool", "tool-x", ("h",))


async def test_a_returned_instance_that_is_mounted_already_stays_where_it_is(stage: Any) -> None:
    """Mounting under a name of one's own and returning the instance is one mount, not two."""

    def mount(coordinator: Any, config: Any) -> Any:
        tool = stage.Hammer("real")
        coordinator.mount("tools", tool, name="alias")
        return tool

    stage.module("tool-x", mount)
    session = stage.session(stage.plan(tools=["tool-x"]))
    await session.initialize()
    assert list(session.coordinator.get("tools")) == ["alias"]


async def test_orchestrator_and_context_may_be_mounted_under_session(
    stage: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The contracts' way of mounting, which returns the instance as well."""

    async def mount_loop(coordinator: Any, config: Any) -> Any:
        orchestrator = stage.Loop()
        await coordinator.mount("session", orchestrator, name="orchestrator")
        return orchestrator

    async def mount_memory(coordinator: Any, config: Any) -> Any:
        context = stage.Memory()
        await coordinator.mount("session", context, name="context")
        return context

    stage.module("loop-a", mount_loop)
    stage.module("context-a", mount_memory)
    assert await stage.session().execute("hi") == "answer to hi"
    assert "Replacing" not in caplog.text


async def test_an_instance_that_is_callable_is_no_clean_up(stage: Any) -> None:
    """What fits the kind of the plan's section is a module, whatever else it can do."""
    called: list[str] = []

    class CallableTool(stage.Hammer):
        def __call__(self) -> None:
            called.append("called")

    stage.module("tool-x", lambda coordinator, config: CallableTool())
    session = stage.session(stage.plan(tools=["tool-x"]))
    async with session:
        assert list(session.coordinator.get("tools")) == ["hammer"]
    assert called == []


async def test_what_another_kind_of_module_would_be_is_a_clean_up_if_callable(stage: Any) -> None:
    """A tool in the section of hooks is not mounted; called at the end it is."""
    called: list[str] = []

    class CallableTool(stage.Hammer):
        def __call__(self) -> None:
            called.append("called")

    stage.module("hooks-x", lambda coordinator, config: CallableTool())
    session = stage.session(stage.plan(hooks=["hooks-x"]))
    async with session:
        assert session.coordinator.get("tools") == {}
    assert called == ["called"]


async def test_a_module_without_a_text_for_a_name_is_not_registered(stage: Any) -> None:
    """A mock has every attribute, but a name that is no text names nothing; it is called at the end."""
    from unittest.mock import MagicMock

    mock = MagicMock()
    stage.module("tool-x", lambda coordinator, config: mock)
    async with stage.session(stage.plan(tools=["tool-x"])) as session:
        assert session.coordinator.get("tools") == {}
    mock.assert_called_once_with()


async def test_a_returned_instance_with_an_empty_name_is_an_error(stage: Any) -> None:
    """The message tells how to name it."""
    stage.module("tool-x", lambda coordinator, config: stage.Hammer(""))
    session = stage.session(stage.plan(tools=["tool-x"]))
    await session.initialize()
    assert session.report.failed == [
        ModuleProblem("tool", "tool-x", "ValueError: Name required for tools: pass name=… or give the module a 'name'")
    ]


@pytest.mark.parametrize("kind", ["sync", "async", "object", "bound method"])
@pytest.mark.parametrize("how", ["returned", "registered", "both"])
async def test_a_clean_up_runs_once_however_it_is_given(stage: Any, kind: str, how: str) -> None:
    """Returned, registered or both: it is one clean-up."""
    ran: list[str] = []

    class Resource:
        def close(self) -> None:
            ran.append("cleanup")

        async def __call__(self) -> None:
            ran.append("cleanup")

    async def asynchronous() -> None:
        ran.append("cleanup")

    def synchronous() -> None:
        ran.append("cleanup")

    resource = Resource()
    cleanups: dict[str, Callable[[], Any]] = {
        "sync": lambda: synchronous,
        "async": lambda: asynchronous,
        "object": lambda: resource,
        # A new object at each access; they are equal all the same.
        "bound method": lambda: resource.close,
    }

    def mount(coordinator: Any, config: Any) -> Any:
        if how != "returned":
            coordinator.register_cleanup(cleanups[kind]())
        return cleanups[kind]() if how != "registered" else None

    stage.module("tool-x", mount)
    session = stage.session(stage.plan(tools=["tool-x"]))
    await session.initialize()
    await session.cleanup()
    await session.cleanup()
    assert ran == ["cleanup"]


@pytest.mark.parametrize("returned", [None, False, 0, "text", {"a": 1}, ["list"], object()])
async def test_anything_else_that_is_returned_is_ignored(stage: Any, returned: Any) -> None:
    """What is neither an instance nor callable means nothing."""

    def mount(coordinator: Any, config: Any) -> Any:
        coordinator.mount("tools", stage.Hammer())
        return returned

    stage.module("tool-x", mount)
    session = stage.session(stage.plan(tools=["tool-x"]))
    async with session:
        assert session.report.is_clean
        assert session.coordinator._cleanup_fns == []


@pytest.mark.parametrize("kind", ["tool", "hook"])
async def test_a_module_that_installs_nothing_is_noted(stage: Any, caplog: pytest.LogCaptureFixture, kind: str) -> None:
    """It is logged and reported as skipped, and the session goes on."""
    stage.module("x", lambda coordinator, config: None)
    session = stage.session(stage.plan(**{f"{kind}s": ["x"]}))
    assert await session.execute("hi") == "answer to hi"
    assert session.report.skipped == [ModuleProblem(kind, "x", nothing_installed(kind))]
    assert f"Failed to load {kind} 'x': {nothing_installed(kind)}" in caplog.messages


@pytest.mark.parametrize("what", ["handler", "capability", "contributor", "tool"])
async def test_a_module_may_install_anything(stage: Any, what: str) -> None:
    """A hook module that only offers a capability, or a tool, has mounted."""

    def mount(coordinator: Any, config: Any) -> None:
        if what == "handler":
            coordinator.hooks.register("tool:pre", print)
        elif what == "capability":
            coordinator.register_capability("x", 1)
        elif what == "contributor":
            coordinator.register_contributor("channel", "x", list)
        else:
            coordinator.mount("tools", stage.Hammer())

    stage.module("hooks-x", mount)
    session = stage.session(stage.plan(hooks=["hooks-x"]))
    await session.initialize()
    assert session.report.is_clean
    assert session.report.mounted[-1] == MountedModule("hook", "hooks-x")


@pytest.mark.parametrize(
    ("section", "module_id", "point", "told"),
    [
        ("tools", "tool-x", "tools", "tool: it lacks description, execute. See the tool contract."),
        (
            "hooks",
            "hooks-x",
            "module-source-resolver",
            "resolver: it lacks resolve. See the resolver contract.",
        ),
        (
            "hooks",
            "hooks-x",
            "context",
            "context: it lacks add_message, get_messages_for_request, get_messages, set_messages, clear. "
            "See the context contract.",
        ),
    ],
)
async def test_a_wrong_object_is_rolled_back(stage: Any, section: str, module_id: str, point: str, told: str) -> None:
    """Wherever a module mounts something that does not fit, all it did is undone and the message says what it lacks."""
    cleaned: list[str] = []

    class Wrong:
        name = "wrong"

    def mount(coordinator: Any, config: Any) -> Any:
        coordinator.hooks.register("tool:pre", print)
        coordinator.register_capability("x", 1)
        coordinator.mount(point, Wrong())
        return lambda: cleaned.append("cleaned")

    stage.module(module_id, mount)
    session = stage.session(stage.plan(**{section: [module_id]}))
    seen = stage.watch(session)
    assert await session.execute("hi") == "answer to hi"
    key = "wrong" if point == "tools" else point
    text = f"Module '{module_id}' mounted Wrong at '{point}' as '{key}', which is no {told}"
    kind = section.removesuffix("s")
    assert session.report.failed == [ModuleProblem(kind, module_id, text, "validation_failed")]
    assert payloads(seen, "module:load_failed") == [
        {"module_type": kind, "module_id": module_id, "error": text, "reason_code": "validation_failed"}
    ]
    assert cleaned == ["cleaned"]
    assert session.coordinator.hooks.list_handlers("tool:pre") == {"tool:pre": []}
    assert session.coordinator.capabilities == {}
    assert session.coordinator.get("tools") == {}
    assert session.coordinator.get("module-source-resolver") is None


async def test_a_wrong_orchestrator_ends_the_initialisation(stage: Any) -> None:
    """A required module must fit as well."""
    stage.module("loop-a", lambda coordinator, config: coordinator.mount("orchestrator", object()))
    with pytest.raises(RuntimeError, match="mounted object at 'orchestrator' as 'orchestrator', which is no orchestr"):
        await stage.session().initialize()


async def test_a_module_may_empty_a_mount_point(stage: Any) -> None:
    """Taking the orchestrator out is allowed; it is missed at the first turn."""
    stage.module("hooks-x", lambda coordinator, config: coordinator.unmount("orchestrator"))
    session = stage.session(stage.plan(hooks=["hooks-x"]))
    await session.initialize()
    assert session.report.failed == []
    with pytest.raises(RuntimeError, match=r"^No orchestrator module mounted$"):
        await session.execute("hi")


async def test_a_failure_is_told_with_its_reason_code(stage: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Kind, id, text and code are in the event; the log has the traceback."""

    def broken(coordinator: Any, config: Any) -> None:
        raise KeyError("url")

    stage.module("tool-x", broken)
    session = stage.session(stage.plan(tools=["tool-x"], hooks=["hooks-none"]))
    seen = stage.watch(session)
    await session.initialize()
    assert payloads(seen, "module:load_failed") == [
        {"module_type": "tool", "module_id": "tool-x", "error": "'url'", "reason_code": "unknown"},
        {
            "module_type": "hook",
            "module_id": "hooks-none",
            "error": "no module hooks-none on stage",
            "reason_code": "missing_source",
        },
    ]
    logged = [record for record in caplog.records if record.getMessage() == "Failed to load tool 'tool-x': 'url'"]
    assert [(record.levelno, record.name) for record in logged] == [(logging.WARNING, "amplifier_core._session_init")]
    assert "KeyError" in caplog.text


async def test_entries_that_name_no_module_are_noted(stage: Any, caplog: pytest.LogCaptureFixture) -> None:
    """They are left out with a warning and a line in the report."""
    session = stage.session(stage.plan(tools=["", {"config": {}}], hooks=[{"module": None}]))
    await session.initialize()
    assert [problem.module_id for problem in session.report.skipped] == ["tools[0]", "tools[1]", "hooks[0]"]
    assert "tools[1] names no module and is left out" in caplog.messages


async def test_ready_callbacks_run_in_the_order_of_mounting(stage: Any) -> None:
    """After all modules have mounted, and before the fork is told."""
    order: list[str] = []

    def module(module_id: str) -> None:
        own = stage.mounts.get(module_id, lambda coordinator, config: coordinator.register_capability(module_id, 1))

        def mount(coordinator: Any, config: Any) -> Any:
            order.append(f"mount {module_id}")
            return own(coordinator, config)

        async def ready(coordinator: Any) -> str:
            order.append(f"ready {module_id} with {len(coordinator.capabilities)}")
            return "ignored"

        stage.module(module_id, mount, ready=ready)

    ids = ["loop-a", "context-a", "provider-a", "tool-x", "hooks-x", "hooks-y"]
    for module_id in ids:
        module(module_id)
    session = stage.session(stage.plan(tools=["tool-x"], hooks=["hooks-x", "hooks-y"]), parent_id="p")

    async def on_fork(event: str, data: dict[str, Any]) -> None:
        order.append(event)

    session.coordinator.hooks.register("session:fork", on_fork)
    await session.initialize()
    assert order == [*(f"mount {each}" for each in ids), *(f"ready {each} with 3" for each in ids), "session:fork"]


async def test_a_module_may_leave_everything_to_its_ready_callback(stage: Any) -> None:
    """A hook that registers its handlers when all events are known has mounted, and is cleaned up like any other."""
    heard: list[str] = []

    async def on_event(event: str, data: dict[str, Any]) -> None:
        heard.append(event)

    async def ready(coordinator: Any) -> None:
        for events in await coordinator.collect_contributions("observability.events"):
            for event in events:
                coordinator.hooks.register(event, on_event, name="hooks-x")

    stage.module("hooks-x", lambda coordinator, config: None, ready=ready)
    session = stage.session(stage.plan(session={"raw": True}, hooks=["hooks-x"]))
    await session.execute("hi")
    assert heard == ["session:config"]
    assert session.report.is_clean
    assert session.report.mounted[-1] == MountedModule("hook", "hooks-x")
    await session.cleanup()
    assert not any(session.coordinator.hooks.list_handlers().values())


async def test_a_ready_callback_that_raises_stops_no_other(stage: Any, caplog: pytest.LogCaptureFixture) -> None:
    """It is logged with its traceback, told as an event, and reported; the module stays mounted."""
    called: list[str] = []

    async def broken(coordinator: Any) -> None:
        raise LookupError("no search")

    async def fine(coordinator: Any) -> None:
        called.append("fine")

    stage.module("tool-x", lambda coordinator, config: stage.Hammer("x"), ready=broken)
    stage.module("tool-y", lambda coordinator, config: stage.Hammer("y"), ready=fine)
    session = stage.session(stage.plan(tools=["tool-x", "tool-y"]))
    seen = stage.watch(session)
    await session.initialize()
    assert called == ["fine"]
    assert payloads(seen, "module:on_session_ready_failed") == [{"module_id": "tool-x", "error": "no search"}]
    assert session.report.failed == [ModuleProblem("on_session_ready", "tool-x", "no search")]
    assert "on_session_ready for 'tool-x' raised: no search" in caplog.messages
    assert "LookupError" in caplog.text
    assert list(session.coordinator.get("tools")) == ["x", "y"]


@pytest.mark.parametrize("queueing", [False, True])
async def test_a_sync_ready_callback_is_skipped_with_a_warning(
    stage: Any, caplog: pytest.LogCaptureFixture, queueing: bool
) -> None:
    """The module mounts all the same, whichever loader brought it."""
    called: list[str] = []
    stage.module("tool-x", lambda coordinator, config: stage.Hammer(), ready=lambda coordinator: called.append("ready"))
    loader: Any = stage
    if queueing:
        loader = ModuleLoader()
        loader.load = stage.load
    session = stage.session(stage.plan(tools=["tool-x"]), loader=loader)
    await session.initialize()
    assert called == []
    assert list(session.coordinator.get("tools")) == ["hammer"]
    assert session.report.is_clean
    told = "on_session_ready of module 'tool-x' must be async (async def on_session_ready(coordinator)). Skipping it."
    assert told in caplog.messages


async def test_callbacks_that_the_application_queued_are_called(stage: Any) -> None:
    """The loader's queue is asked once, run, and emptied."""
    called: list[Any] = []

    async def ready(coordinator: Any) -> None:
        called.append(coordinator)

    loader = ModuleLoader()
    loader.load = stage.load
    loader.enqueue_on_session_ready("app", ready)
    session = stage.session(loader=loader)
    await session.initialize()
    assert called == [session.coordinator]
    assert loader.get_on_session_ready_queue() == []
