"""The coordinator: properties, mount points, capabilities, limits and how it may be extended."""

from __future__ import annotations

import logging
import re
from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from amplifier_core.cancellation import CancellationToken
from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.hooks import HookRegistry, HookResult
from amplifier_core.report import LoadReport

NOW = datetime(2024, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
STAMP = "2024-01-02T03:04:05.678901+00:00"
KNOWN = "orchestrator, providers, tools, context, hooks, module-source-resolver"


def session_like(config: Any = None, **fields: Any) -> Any:
    """What a coordinator needs of a session."""
    return SimpleNamespace(**{"session_id": "s1", "parent_id": "p1", "config": config, **fields})


def test_a_coordinator_knows_its_session() -> None:
    """Id, parent, plan and session are those given; the plan is the very object."""
    config: dict[str, Any] = {"session": {}}
    session = session_like(config)
    coordinator = ModuleCoordinator(session)
    assert (coordinator.session_id, coordinator.parent_id) == ("s1", "p1")
    assert coordinator.session is session
    assert coordinator.config is config


def test_without_a_session_it_is_empty() -> None:
    """Usable in tests: no id, no parent, an empty plan."""
    coordinator = ModuleCoordinator()
    assert (coordinator.session, coordinator.session_id, coordinator.parent_id) == (None, "", None)
    assert coordinator.config == {}
    assert isinstance(coordinator.hooks, HookRegistry)
    assert isinstance(coordinator.cancellation, CancellationToken)
    assert isinstance(coordinator.report, LoadReport)
    assert (coordinator.loader, coordinator.session_state, coordinator.channels) == (None, {}, {})
    assert (coordinator.approval_system, coordinator.display_system) == (None, None)
    assert (coordinator._current_turn_injections, coordinator._cleanup_fns, coordinator.capabilities) == (0, [], {})


@pytest.mark.parametrize("missing", ["session_id", "parent_id", "config"])
def test_a_session_must_have_id_parent_and_plan(missing: str) -> None:
    """What is missing is an ``AttributeError`` that names it."""
    session = session_like({})
    delattr(session, missing)
    with pytest.raises(AttributeError, match=missing):
        ModuleCoordinator(session)


@pytest.mark.parametrize(
    "name",
    [
        "session",
        "session_id",
        "parent_id",
        "config",
        "hooks",
        "cancellation",
        "channels",
        "capabilities",
        "injection_budget_per_turn",
        "injection_size_limit",
        "pending_cleanups",
    ],
)
def test_what_belongs_to_the_coordinator_cannot_be_replaced(name: str) -> None:
    """These properties are read-only."""
    with pytest.raises(AttributeError):
        setattr(ModuleCoordinator(), name, None)


@pytest.mark.parametrize(
    "name", ["mount_points", "loader", "approval_system", "display_system", "session_state", "_current_turn_injections"]
)
def test_what_belongs_to_the_application_can_be_set(name: str) -> None:
    """And is then what was set."""
    coordinator, value = ModuleCoordinator(), object()
    setattr(coordinator, name, value)
    assert getattr(coordinator, name) is value


async def test_every_event_carries_session_and_parent_id() -> None:
    """They are the registry's default fields from the start; time and ids are the coordinator's."""
    coordinator = ModuleCoordinator(session_like(), clock=lambda: NOW, new_id=lambda: "id")
    seen: list[dict[str, Any]] = []
    registration = coordinator.hooks.register("e", lambda event, data: seen.append(data))
    await coordinator.hooks.emit("e", {"a": 1})
    assert seen == [{"session_id": "s1", "parent_id": "p1", "a": 1, "timestamp": STAMP}]
    assert repr(registration) == "<unregister '_auto_e_id'>"


def test_clock_and_ids_are_offered_to_modules() -> None:
    """Injected ones as they are; otherwise UTC now and random ids."""
    zone = timezone(timedelta(hours=2))
    fixed = ModuleCoordinator(clock=lambda: NOW.astimezone(zone), new_id=lambda: "id")
    assert (fixed.clock(), fixed.new_id(), fixed.timestamp()) == (NOW, "id", STAMP)
    free = ModuleCoordinator()
    before = datetime.now(UTC)
    assert before <= datetime.fromisoformat(free.timestamp()) <= datetime.now(UTC)
    assert free.clock().tzinfo is UTC
    assert free.timestamp().endswith("+00:00")
    assert free.new_id() != free.new_id()


def test_mount_points_begin_empty_around_the_registry() -> None:
    """The table is the live one that all methods read."""
    coordinator = ModuleCoordinator()
    assert coordinator.mount_points == {
        "orchestrator": None,
        "providers": {},
        "tools": {},
        "context": None,
        "hooks": coordinator.hooks,
        "module-source-resolver": None,
    }
    coordinator.mount_points["tools"]["by hand"] = tool = object()
    coordinator.mount_points["context"] = context = object()
    assert coordinator.get("tools", "by hand") is tool
    assert coordinator.get("context") is context
    assert coordinator.to_dict()["tools"] == ["by hand"]
    coordinator.mount_points = {**coordinator.mount_points, "tools": {}}
    assert coordinator.get("tools") == {}


@pytest.mark.parametrize("point", ["orchestrator", "context", "module-source-resolver"])
async def test_a_single_point_holds_one_module(point: str) -> None:
    """Mounting replaces, names do not matter, unmounting empties."""
    coordinator, one, two = ModuleCoordinator(), object(), object()
    assert coordinator.get(point) is None
    await coordinator.mount(point, one, name="ignored")
    assert coordinator.get(point) is one
    assert coordinator.get(point, "whatever") is one
    await coordinator.mount(point, two)
    assert coordinator.get(point) is two
    await coordinator.unmount(point)
    assert coordinator.get(point) is None


@pytest.mark.parametrize("point", ["providers", "tools"])
async def test_a_named_point_holds_modules_by_name(point: str) -> None:
    """The name given, else the module's own; an existing one is replaced; ``get`` gives the live dict."""
    coordinator = ModuleCoordinator()
    bash, web, other = SimpleNamespace(name="bash"), SimpleNamespace(name="web"), object()
    await coordinator.mount(point, bash)
    await coordinator.mount(point, web, name="browser")
    await coordinator.mount(point, None, name="none")
    assert coordinator.get(point) == {"bash": bash, "browser": web, "none": None}
    assert coordinator.get(point) is coordinator.mount_points[point]
    await coordinator.mount(point, other, name="bash")
    assert coordinator.get(point, "bash") is other
    assert coordinator.get(point, "unknown") is None
    await coordinator.unmount(point, name="bash")
    await coordinator.unmount(point, name="unknown")
    assert list(coordinator.get(point)) == ["browser", "none"]


@pytest.mark.parametrize("point", ["providers", "tools"])
@pytest.mark.parametrize("module", [object(), SimpleNamespace(name=""), SimpleNamespace(name=None), None])
def test_a_module_without_a_name_cannot_be_mounted_by_name(point: str, module: Any) -> None:
    """The error says what to do; it is raised by the call, not by awaiting."""
    message = f"Name required for {point}: pass name=… or give the module a 'name'"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        ModuleCoordinator().mount(point, module)


@pytest.mark.parametrize("name", [None, ""])
@pytest.mark.parametrize("point", ["providers", "tools"])
def test_unmounting_from_a_named_point_needs_a_name(point: str, name: str | None) -> None:
    """Nothing is taken away by accident."""
    with pytest.raises(ValueError, match=f"^Name required to unmount from {point}$"):
        ModuleCoordinator().unmount(point, name)


@pytest.mark.parametrize("call", ["mount", "unmount", "get"])
def test_an_unknown_point_is_an_error_that_lists_the_known_ones(call: str) -> None:
    """It is raised when the method is called."""
    coordinator = ModuleCoordinator()
    arguments = ("agents", object()) if call == "mount" else ("agents",)
    with pytest.raises(ValueError, match=f"^Unknown mount point: agents; known are {KNOWN}$"):
        getattr(coordinator, call)(*arguments)


async def test_the_registry_cannot_be_mounted_over_or_unmounted() -> None:
    """Handlers are registered with it; unmounting does nothing."""
    coordinator = ModuleCoordinator()
    with pytest.raises(ValueError, match="^Hooks should be registered directly with the HookRegistry"):
        coordinator.mount("hooks", object())
    await coordinator.unmount("hooks")
    assert coordinator.get("hooks") is coordinator.hooks
    assert coordinator.get("hooks", "whatever") is coordinator.hooks


async def test_a_point_added_by_hand_is_accepted_and_left_alone() -> None:
    """Applications keep things of their own there."""
    coordinator, mine = ModuleCoordinator(), object()
    coordinator.mount_points["mine"] = mine
    await coordinator.mount("mine", object(), name="x")
    await coordinator.unmount("mine")
    assert coordinator.get("mine") is mine


async def test_orchestrator_and_context_can_be_mounted_under_session() -> None:
    """``mount("session", module, name=…)`` goes to the point of that name."""
    coordinator, loop, context = ModuleCoordinator(), object(), object()
    await coordinator.mount("session", loop, name="orchestrator")
    await coordinator.mount("session", context, name="context")
    assert coordinator.get("orchestrator") is coordinator.get("session", "orchestrator") is loop
    assert coordinator.get("context") is coordinator.get("session", "context") is context
    assert coordinator.get("session") == {"orchestrator": loop, "context": context}
    await coordinator.unmount("session", "context")
    assert coordinator.get("session") == {"orchestrator": loop, "context": None}


@pytest.mark.parametrize("name", ["tools", "session", "", "hooks"])
def test_other_names_under_session_are_errors(name: str) -> None:
    """For mounting, getting and unmounting; mounting and unmounting need a name."""
    coordinator = ModuleCoordinator()
    message = f"^Under 'session' only 'orchestrator' and 'context' can be mounted, not {name!r}$"
    for call in (
        lambda: coordinator.mount("session", object(), name=name),
        lambda: coordinator.get("session", name),
        lambda: coordinator.unmount("session", name),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(ValueError, match="not None$"):
        coordinator.mount("session", object())
    with pytest.raises(ValueError, match="not None$"):
        coordinator.unmount("session")


async def test_mounting_a_second_orchestrator_warns(caplog: pytest.LogCaptureFixture) -> None:
    """By either way; replacing another module, or one that was unmounted, does not."""
    coordinator = ModuleCoordinator()
    await coordinator.mount("orchestrator", "first")
    await coordinator.mount("context", "a")
    await coordinator.mount("context", "b")
    assert caplog.records == []
    await coordinator.mount("session", "second", name="orchestrator")
    assert caplog.record_tuples == [
        ("amplifier_core.coordinator", logging.WARNING, "Replacing the orchestrator mounted before: 'first'")
    ]
    await coordinator.unmount("orchestrator")
    await coordinator.mount("orchestrator", "third")
    assert len(caplog.records) == 1


def test_capabilities_are_found_by_name_and_the_latest_wins() -> None:
    """Any object; an unknown one is ``None``."""
    coordinator = ModuleCoordinator()
    assert coordinator.get_capability("workspace.path") is None
    coordinator.register_capability("workspace.path", "/a")
    coordinator.register_capability("workspace.path", "/b")
    coordinator.register_capability("nothing", None)
    assert coordinator.get_capability("workspace.path") == "/b"
    assert coordinator.capabilities == {"workspace.path": "/b", "nothing": None}


def test_limits_of_injections_are_read_from_the_plan_each_time() -> None:
    """No limit by default; a changed plan counts at once."""
    config: dict[str, Any] = {}
    coordinator = ModuleCoordinator(session_like(config))
    assert (coordinator.injection_budget_per_turn, coordinator.injection_size_limit) == (None, None)
    config["session"] = {"injection_budget_per_turn": 5, "injection_size_limit": 7}
    assert (coordinator.injection_budget_per_turn, coordinator.injection_size_limit) == (5, 7)
    config["session"] = "loop"
    assert (coordinator.injection_budget_per_turn, coordinator.injection_size_limit) == (None, None)


def test_the_plan_may_be_a_model_or_missing() -> None:
    """Limits are read from what a model dumps; without a plan there are none."""

    class Session(BaseModel):
        injection_size_limit: int = 9

    class Plan(BaseModel):
        session: Session = Session()

    plan = Plan()
    coordinator = ModuleCoordinator(session_like(plan))
    assert coordinator.config is plan
    assert (coordinator.injection_size_limit, coordinator.injection_budget_per_turn) == (9, None)
    plan.session.injection_size_limit = 3
    assert coordinator.injection_size_limit == 3
    assert ModuleCoordinator(session_like(None)).injection_size_limit is None


def test_a_new_turn_resets_the_budget_and_leaves_cancellation_alone() -> None:
    """Only what was injected is forgotten."""
    coordinator = ModuleCoordinator()
    coordinator._current_turn_injections = 5
    coordinator.cancellation.request_graceful()
    coordinator.reset_turn()
    assert (coordinator._current_turn_injections, coordinator.cancellation.state) == (0, "graceful")


async def test_request_cancel_asks_the_token() -> None:
    """Gracefully by default."""
    coordinator = ModuleCoordinator()
    await coordinator.request_cancel()
    assert coordinator.cancellation.state == "graceful"
    await coordinator.request_cancel(immediate=True)
    assert coordinator.cancellation.state == "immediate"


async def test_to_dict_tells_what_is_there_by_name() -> None:
    """Lists of names and four flags."""
    coordinator = ModuleCoordinator(approval_system=object(), display_system=object())
    await coordinator.mount("tools", object(), name="bash")
    await coordinator.mount("providers", object(), name="local")
    await coordinator.mount("orchestrator", object())
    coordinator.register_capability("a.b", 1)
    assert coordinator.to_dict() == {
        "tools": ["bash"],
        "providers": ["local"],
        "capabilities": ["a.b"],
        "has_orchestrator": True,
        "has_context": False,
        "has_approval_provider": False,
        "has_display_service": False,
    }


def test_the_flags_of_approval_and_display_follow_the_setters() -> None:
    """Setting shows; ``None`` clears the one for approval only."""
    coordinator = ModuleCoordinator()

    def flags() -> tuple[Any, Any]:
        told = coordinator.to_dict()
        return told["has_approval_provider"], told["has_display_service"]

    assert flags() == (False, False)
    coordinator.display_system = None
    assert flags() == (False, False)
    coordinator.approval_system = coordinator.display_system = object()
    assert flags() == (True, True)
    coordinator.approval_system = coordinator.display_system = None
    assert flags() == (False, True)
    assert (coordinator.approval_system, coordinator.display_system) == (None, None)


async def test_a_coordinator_can_be_subclassed_extended_and_patched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Overridden methods call the original; instances take attributes; methods are patched on the class."""
    mounted: list[str] = []

    class Recording(ModuleCoordinator):
        async def mount(self, mount_point: str, module: Any, name: str | None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
            mounted.append(mount_point)
            await super().mount(mount_point, module, name)

    recording: Any = Recording(session_like({}))
    await recording.mount("tools", object(), "x")
    recording.anything = 5
    assert (mounted, list(recording.get("tools")), recording.anything) == (["tools"], ["x"], 5)

    async def patched(self: ModuleCoordinator, result: HookResult, event: str, hook_name: str = "unknown") -> str:
        return f"patched {event}"

    monkeypatch.setattr(ModuleCoordinator, "process_hook_result", patched)
    assert await ModuleCoordinator().process_hook_result(HookResult(), "e") == "patched e"
