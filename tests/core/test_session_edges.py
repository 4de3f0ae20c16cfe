"""Places where sessions used to be easy to misuse: options, overlays, equal clean-ups, swallowed cancellations."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from amplifier_core import AmplifierSession
from amplifier_core.testing import MockContextManager, MockProvider, ScriptedOrchestrator


class Shelf(dict[str, Any]):
    """A loader: module id → mount function."""

    async def load(self, module_id: str, config: Any = None, source_hint: Any = None, coordinator: Any = None) -> Any:
        return self[module_id]

    cleaned = 0

    def cleanup(self) -> None:
        self.cleaned += 1


def shelf(**more: Any) -> Shelf:
    return Shelf(
        loop=lambda coordinator: ScriptedOrchestrator(["answer"]),
        memory=lambda coordinator: MockContextManager(),
        model=lambda coordinator: MockProvider(),
        **more,
    )


def plan(**more: Any) -> dict[str, Any]:
    return {"session": {"orchestrator": "loop", "context": "memory"}, "providers": ["model"], **more}


@pytest.mark.parametrize("name", ["context", "providers", "tools", "hooks", "coordinator"])
async def test_options_cannot_take_the_place_of_what_the_session_passes(name: str) -> None:
    """Such an option is refused by name before the orchestrator is called."""
    session = AmplifierSession(plan(), loader=shelf())
    with pytest.raises(TypeError, match=f"Option '{name}' of execute\\(\\) is what the session itself passes on"):
        await session.execute("hi", **{name: "mine"})


def test_an_overlay_that_is_no_dict_is_refused() -> None:
    """A child is made from a plan; a list cannot be merged into one."""
    session = AmplifierSession(plan(), loader=shelf())
    overlay: Any = ["agents"]
    with pytest.raises(ValueError, match="'overlay' in the mount plan must be a dict, got list"):
        session.fork(overlay)


async def test_two_modules_may_return_the_same_clean_up() -> None:
    """It runs once for each of them; one module that registers and returns it gets it once."""
    ran: list[str] = []

    def release() -> None:
        ran.append("release")

    def mount_returning(coordinator: Any) -> Any:
        coordinator.register_capability("any", object())
        return release

    def mount_doing_both(coordinator: Any) -> Any:
        coordinator.register_cleanup(release)
        return release

    shelves = shelf(one=mount_returning, two=mount_returning, both=mount_doing_both)
    async with AmplifierSession(plan(hooks=["one", "two", "both"]), loader=shelves):
        assert ran == []
    assert ran == ["release"] * 3


async def test_one_instance_id_for_two_providers_is_refused() -> None:
    """The second would replace the first in silence."""
    twins = [{"module": "model", "instance_id": "same"}, {"module": "other", "instance_id": "same"}]
    with pytest.raises(ValueError, match="instance_id 'same' is given to 2 providers"):
        await AmplifierSession(plan(providers=twins), loader=shelf()).initialize()


async def test_a_swallowed_cancellation_still_counts_as_one() -> None:
    """An orchestrator that answers its cancellation with a partial result ends a cancelled turn, and it is told."""
    began = asyncio.Event()
    told: list[Any] = []

    class Partial:
        async def execute(self, prompt: str, context: Any, providers: Any, tools: Any, hooks: Any) -> str:
            began.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return "partial"
            return "whole"

    shelves = shelf()
    shelves["loop"] = lambda coordinator: Partial()
    session = AmplifierSession(plan(), loader=shelves)
    session.coordinator.hooks.register("cancel:completed", lambda event, data: told.append(data["was_immediate"]))
    turn = asyncio.create_task(session.execute("hi"))
    await began.wait()
    turn.cancel()
    assert await turn == "partial"
    assert (session.status.status, told) == ("cancelled", [True])


async def test_a_failed_start_lets_the_loader_go() -> None:
    """What the loader holds, such as entries of ``sys.path``, does not outlive a session that never began."""
    shelves = shelf()
    del shelves["memory"]
    session = AmplifierSession(plan(), loader=shelves)
    with pytest.raises(RuntimeError, match="Cannot initialize without context manager"):
        await session.initialize()
    assert shelves.cleaned == 1


async def test_a_session_that_lives_again_has_not_ended() -> None:
    """The end of the first life is not kept as the end of the second."""
    session = AmplifierSession(plan(), loader=shelf())
    await session.execute("hi")
    await session.cleanup()
    assert session.status.ended_at is not None
    await session.execute("hi again")
    assert session.status.ended_at is None


async def test_the_start_is_emitted_even_when_nobody_listens() -> None:
    """Code that stands in for the registry's emit sees it."""
    emitted: list[str] = []
    session = AmplifierSession(plan(), loader=shelf())
    await session.initialize()
    emit = session.coordinator.hooks.emit

    async def note(event: str, data: Any = None) -> Any:
        emitted.append(event)
        return await emit(event, data)

    session.coordinator.hooks.emit = note
    await session.execute("hi")
    assert emitted[0] == "session:start"
