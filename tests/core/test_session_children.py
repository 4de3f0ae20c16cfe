"""Child sessions: lineage, inherited guards, linked cancellation, and what parent and child share."""

from __future__ import annotations

import asyncio
import gc
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from amplifier_core import AmplifierSession, HookResult, ModuleLoader


async def deny(event: str, data: dict[str, Any]) -> HookResult:
    """A guard that lets nothing pass."""
    return HookResult(action="deny", reason="guarded")


async def answer_of(session: AmplifierSession, event: str = "tool:pre") -> str:
    """What the handlers of ``session`` say to an event."""
    return (await session.coordinator.hooks.emit(event, {})).action


async def test_a_child_knows_its_parent(stage: Any) -> None:
    """It has an id of its own, the parent's as parent id, and the parent's plan as a dict of its own."""
    parent = stage.session(session_id="parent")
    child = parent.fork()
    assert child.parent_id == child.coordinator.parent_id == "parent"
    assert child.session_id not in ("", "parent")
    assert child.config == parent.config
    assert child.config is not parent.config
    assert child.is_resumed is False
    assert await child.execute("hi") == "answer to hi"
    assert parent.initialized is False


async def test_a_childs_id_and_state_can_be_given(stage: Any) -> None:
    """A child is resumed under the id it had."""
    child = stage.session().fork(session_id="child", is_resumed=True)
    seen = stage.watch(child)
    await child.execute("hi")
    assert child.session_id == "child"
    assert [event for event, _ in seen] == ["session:fork", "session:resume"]


async def test_an_overlay_is_merged_into_the_plan(stage: Any) -> None:
    """Dicts are merged, everything else is replaced, and the parent's plan stays as it is."""
    stage.module("loop-b", lambda coordinator, config: stage.Loop())
    plan = stage.plan(session={"metadata": {"a": 1}}, tools=["tool-x"], agents={"x": {"steps": 1}})
    parent = stage.session(plan)
    child = parent.fork({"session": {"orchestrator": "loop-b", "metadata": {"b": 2}}, "tools": []})
    assert child.config == {
        "session": {"orchestrator": "loop-b", "context": "context-a", "metadata": {"a": 1, "b": 2}},
        "providers": ["provider-a"],
        "tools": [],
        "agents": {"x": {"steps": 1}},
    }
    assert parent.config == stage.plan(session={"metadata": {"a": 1}}, tools=["tool-x"], agents={"x": {"steps": 1}})
    await child.initialize()
    assert [module_id for module_id, _, _ in stage.loads] == ["loop-b", "context-a", "provider-a"]


async def test_a_wrong_overlay_is_a_wrong_plan(stage: Any) -> None:
    """The merged plan is checked like any other."""
    with pytest.raises(ValueError, match=r"must specify session\.orchestrator"):
        stage.session().fork({"session": {"orchestrator": None}})


async def test_a_child_tells_that_it_was_forked(stage: Any) -> None:
    """It tells it after all its modules are ready, with both ids."""
    heard: list[Any] = []

    async def note(event: str, data: dict[str, Any]) -> None:
        heard.append((event, data))

    async def ready(coordinator: Any) -> None:
        heard.append("ready")

    def mount(coordinator: Any, config: Any) -> None:
        coordinator.hooks.register("session:fork", note)

    stage.module("hooks-x", mount, ready=ready)
    parent = stage.session(stage.plan(hooks=["hooks-x"]), session_id="parent")
    seen_by_parent = stage.watch(parent)
    await parent.initialize()
    assert heard == ["ready"]
    await parent.fork(session_id="child").initialize()
    assert heard[1] == "ready"
    event, data = heard[2]
    del data["timestamp"]
    assert (event, data) == (
        "session:fork",
        {"session_id": "child", "parent_id": "parent", "parent": "parent"},
    )
    assert seen_by_parent == []


async def test_a_fork_tells_metadata_and_the_raw_plan_where_the_plan_asks_for_it(stage: Any) -> None:
    """Secrets of the plan are blanked out."""
    session = {"metadata": {"agent": "x"}, "raw": True, "api_key": "sk-1"}
    child = stage.session(stage.plan(session=session)).fork()
    seen = stage.watch(child)
    await child.initialize()
    [(event, data)] = seen
    assert event == "session:fork"
    assert data["metadata"] == {"agent": "x"}
    assert data["raw"]["session"]["api_key"] == "[REDACTED]"


@pytest.mark.parametrize("way", ["fork", "by hand"])
@pytest.mark.parametrize("immediate", [False, True])
async def test_cancelling_the_parent_cancels_the_child(stage: Any, way: str, immediate: bool) -> None:
    """Both ways of making a child link the tokens; a grandchild is reached as well."""

    def make_child(of: AmplifierSession) -> AmplifierSession:
        if way == "fork":
            return of.fork()
        return AmplifierSession(of._merge_configs(of.config, {}), loader=stage, parent_id=of.session_id)

    parent = stage.session()
    child = make_child(parent)
    grandchild = make_child(child)
    stranger = stage.session()
    await parent.coordinator.request_cancel(immediate)
    states = [each.coordinator.cancellation.state for each in (parent, child, grandchild, stranger)]
    assert states == ["immediate" if immediate else "graceful"] * 3 + ["none"]


async def test_a_fork_is_linked_to_its_own_parent_whoever_has_the_same_id(stage: Any) -> None:
    """A second session under the id of the first, such as a resumed one, does not take its children."""
    first = stage.session(session_id="same")
    second = stage.session(session_id="same")
    child = first.fork()
    await first.coordinator.request_cancel()
    assert child.coordinator.cancellation.is_cancelled is True
    assert second.coordinator.cancellation.is_cancelled is False


async def test_cancelling_the_child_leaves_the_parent_alone(stage: Any) -> None:
    """Requests travel downward only."""
    parent = stage.session()
    child = parent.fork()
    await child.coordinator.request_cancel()
    assert parent.coordinator.cancellation.is_cancelled is False


async def test_a_child_of_a_cancelled_parent_is_cancelled_at_once(stage: Any) -> None:
    """It does not slip through because it came late."""
    parent = stage.session()
    await parent.coordinator.request_cancel(immediate=True)
    assert parent.fork().coordinator.cancellation.is_immediate is True


async def test_a_parent_that_is_not_here_is_only_a_name(stage: Any) -> None:
    """The parent may live in another process, or no more."""
    parent = stage.session(session_id="gone")
    del parent
    gc.collect()
    child = stage.session(parent_id="gone")
    assert child.parent_id == "gone"
    assert child.coordinator.cancellation.state == "none"


async def test_a_session_is_freed_when_nobody_holds_it(stage: Any) -> None:
    """Neither the parent's token nor the list of live sessions keeps a child alive."""
    import weakref

    parent = stage.session()
    child = parent.fork()
    await child.execute("hi")
    await child.cleanup()
    gone = weakref.ref(child)
    del child
    gc.collect()
    assert gone() is None


async def test_the_parents_guards_guard_the_child(stage: Any) -> None:
    """Guards of now and later are inherited, over generations; observers are not."""
    parent = stage.session()
    heard: list[str] = []

    async def observe(event: str, data: dict[str, Any]) -> None:
        heard.append(data["session_id"])

    parent.coordinator.hooks.register("tool:pre", observe)
    parent.coordinator.hooks.register("tool:pre", deny, on_error="deny")
    grandchild = parent.fork().fork()
    parent.coordinator.hooks.register("tool:post", deny, on_error="deny")
    assert await answer_of(grandchild) == "deny"
    assert await answer_of(grandchild, "tool:post") == "deny"
    assert heard == []


async def test_the_childs_guards_do_not_guard_the_parent(stage: Any) -> None:
    """Inheritance goes one way."""
    parent = stage.session()
    parent.fork().coordinator.hooks.register("tool:pre", deny, on_error="deny")
    assert await answer_of(parent) == "continue"


async def test_a_child_outlives_its_parent_with_its_guards(stage: Any) -> None:
    """The parent's clean-up removes its own handlers and loosens nothing for the child."""
    stage.module(
        "hooks-guard",
        lambda coordinator, config: coordinator.hooks.register("tool:pre", deny, on_error="deny") and None,
    )
    parent = stage.session(stage.plan(hooks=["hooks-guard"]))
    await parent.initialize()
    child = parent.fork({"hooks": []})
    await child.initialize()
    await parent.cleanup()
    assert await answer_of(parent) == "continue"
    assert await answer_of(child) == "deny"
    assert await child.execute("hi") == "answer to hi"
    await child.cleanup()
    assert await answer_of(child) == "deny"


async def test_a_child_has_the_parents_systems_unless_it_is_given_others(stage: Any) -> None:
    """Approval, display, time and ids."""
    approval, display, other = object(), object(), object()

    def clock() -> datetime:
        return datetime(2030, 1, 1, tzinfo=UTC)

    parent = stage.session(approval_system=approval, display_system=display, clock=clock, new_id=lambda: "id")
    child = parent.fork()
    assert (child.coordinator.approval_system, child.coordinator.display_system) == (approval, display)
    assert child.coordinator.clock is clock
    assert child.session_id == "id"
    child = parent.fork(approval_system=other, display_system=other)
    assert (child.coordinator.approval_system, child.coordinator.display_system) == (other, other)


async def test_a_loader_of_the_applications_own_is_shared(stage: Any) -> None:
    """A loader given to the fork is used instead."""
    parent = stage.session()
    assert parent.fork().loader is stage
    other = object()
    assert parent.fork(loader=other).loader is other


async def test_a_loader_set_on_the_coordinator_is_the_childs_as_well(stage: Any) -> None:
    """The child finds its modules where the parent found its own."""
    parent = AmplifierSession(stage.plan())
    parent.coordinator.loader = stage
    await parent.initialize()
    assert await parent.fork().execute("hi") == "answer to hi"


async def test_a_child_does_not_clean_up_the_loader_it_shares(stage: Any) -> None:
    """The parent still needs it; a loader made for the child goes with the child."""
    cleaned: list[str] = []
    stage.cleanup = lambda: cleaned.append("loader")

    class Own:
        load = stage.load

        def cleanup(self) -> None:
            cleaned.append("own")

    parent = stage.session()
    async with parent:
        async with parent.fork() as child:
            await child.execute("hi")
        assert cleaned == []
        async with parent.fork(loader=Own()):
            pass
        assert cleaned == ["own"]
    assert cleaned == ["own", "loader"]


async def test_the_kernels_loader_is_made_anew_for_a_child(tmp_path: Path) -> None:
    """It works for the child's coordinator, with the same search paths."""
    loader = ModuleLoader(search_paths=[tmp_path])
    parent = AmplifierSession({"session": {"orchestrator": "o", "context": "c"}}, loader=loader)
    child = parent.fork()
    assert isinstance(child.loader, ModuleLoader)
    assert child.loader is not loader
    assert child.loader.coordinator is child.coordinator
    assert child.loader._search_paths == loader._search_paths


async def test_the_resolver_is_passed_on(stage: Any) -> None:
    """The child finds its modules where the parent does."""

    class Resolver:
        def resolve(self, module_id: str) -> None: ...

    parent = stage.session()
    assert parent.fork().coordinator.get("module-source-resolver") is None
    resolver = Resolver()
    parent.coordinator.mount("module-source-resolver", resolver)
    child = parent.fork()
    assert child.coordinator.get("module-source-resolver") is resolver
    await child.execute("hi")
    await child.cleanup()
    assert child.coordinator.get("module-source-resolver") is resolver


async def test_a_child_runs_inside_a_turn_of_its_parent(stage: Any) -> None:
    """A tool delegates to a child as the documentation shows, and the cancelled parent takes the child with it."""
    started = asyncio.Event()

    async def turn(coordinator: Any) -> Any:
        if coordinator.parent_id is None:
            async with coordinator.session.fork() as child:
                children.append(child)
                return await child.execute("inner")
        started.set()
        return await asyncio.Event().wait()

    children: list[AmplifierSession] = []
    stage.turn = turn
    parent = stage.session()
    task = asyncio.create_task(parent.execute("outer"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [parent.status.status, children[0].status.status] == ["cancelled", "cancelled"]
    assert children[0].initialized is False
