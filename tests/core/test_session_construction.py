"""Making a session: what it takes, what it shows before it is initialised, and what it refuses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from amplifier_core import AmplifierSession, ModuleCoordinator, ModuleLoader, SessionStatus
from amplifier_core import session as session_module
from amplifier_core._session_init import initialize_session
from amplifier_core.kernel_events import KERNEL_EVENTS
from amplifier_core.report import LoadReport

PLAN: dict[str, Any] = {"session": {"orchestrator": "loop-a", "context": "context-a"}}


def test_a_new_session_has_mounted_nothing() -> None:
    """Everything is there to be looked at, and nothing has happened yet."""
    session = AmplifierSession(PLAN)
    assert session.initialized is session._initialized is False
    assert session.is_resumed is session._is_resumed is False
    assert session._lifecycle_event_emitted is False
    assert session.parent_id is None
    assert isinstance(session.coordinator, ModuleCoordinator)
    assert isinstance(session.status, SessionStatus)
    assert (session.status.status, session.status.session_id) == ("running", session.session_id)
    assert session.report == session.coordinator.report == LoadReport()
    assert str(session.report) == "nothing mounted"


def test_arguments_come_in_the_published_order() -> None:
    """All seven may be given by position."""
    loader, approval, display = object(), object(), object()
    session = AmplifierSession(PLAN, loader, "s", "p", approval, display, True)
    assert (session.config, session.loader, session.session_id, session.parent_id) == (PLAN, loader, "s", "p")
    assert (session.coordinator.approval_system, session.coordinator.display_system) == (approval, display)
    assert session.is_resumed is True


def test_the_plan_is_kept_by_reference() -> None:
    """Later changes of the plan show, in the session and in the coordinator."""
    plan: dict[str, Any] = {"session": dict(PLAN["session"])}
    session = AmplifierSession(plan)
    assert session.config is plan
    assert session.coordinator.config is plan


def test_a_session_has_a_random_id_unless_it_is_given_one() -> None:
    """An empty id counts as none."""
    made = [AmplifierSession(PLAN).session_id, AmplifierSession(PLAN, session_id="").session_id]
    assert [UUID(each).version for each in made] == [4, 4]
    assert made[0] != made[1]
    assert AmplifierSession(PLAN, session_id="mine").session_id == "mine"


def test_ids_and_time_can_be_given() -> None:
    """``new_id`` makes the session's id, ``clock`` its start; both are offered to modules."""

    def clock() -> datetime:
        return datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)

    session = AmplifierSession(PLAN, clock=clock, new_id=lambda: "id-1")
    assert session.session_id == "id-1"
    assert session.status.started_at == datetime(2030, 1, 2, 3, 4, 5)
    assert session.coordinator.clock is clock
    assert session.coordinator.new_id() == "id-1"
    assert AmplifierSession(PLAN, session_id="given", new_id=lambda: "id-1").session_id == "given"


def test_time_is_the_wall_clock_by_default() -> None:
    """A session starts now."""
    before = datetime.now()
    started = AmplifierSession(PLAN).status.started_at
    assert before <= started <= datetime.now()


def test_the_coordinator_knows_its_session_from_the_start() -> None:
    """Modules reach the session, its ids and its plan through the coordinator."""
    session = AmplifierSession(PLAN, session_id="s", parent_id="p")
    coordinator = session.coordinator
    assert coordinator.session is session
    assert (coordinator.session_id, coordinator.parent_id, coordinator.config) == ("s", "p", PLAN)


async def test_every_event_carries_the_ids_of_the_session() -> None:
    """The ids are default fields of the session's events."""
    session = AmplifierSession(PLAN, session_id="s", parent_id="p")
    seen: list[dict[str, Any]] = []

    async def handler(event: str, data: dict[str, Any]) -> None:
        seen.append(data)

    session.coordinator.hooks.register("custom:event", handler)
    await session.coordinator.hooks.emit("custom:event", {"a": 1})
    del seen[0]["timestamp"]
    assert seen == [{"session_id": "s", "parent_id": "p", "a": 1}]


def test_a_loader_is_made_unless_one_is_given() -> None:
    """The session's own loader works for the session's coordinator."""
    session = AmplifierSession(PLAN)
    assert isinstance(session.loader, ModuleLoader)
    assert session.loader.coordinator is session.coordinator
    mine = object()
    assert AmplifierSession(PLAN, loader=mine).loader is mine


def test_the_class_of_the_loader_can_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that replaces ``amplifier_core.session.ModuleLoader`` gets its own loader into the session."""
    made: list[Any] = []

    class FakeLoader:
        def __init__(self, coordinator: Any) -> None:
            made.append(coordinator)

    monkeypatch.setattr("amplifier_core.session.ModuleLoader", FakeLoader)
    session = AmplifierSession(PLAN)
    assert isinstance(session.loader, FakeLoader)
    assert made == [session.coordinator]


def test_the_initialisation_function_can_be_found_beside_the_session() -> None:
    """``initialize_session`` is importable from both places, as one function."""
    assert session_module.initialize_session is initialize_session


async def test_the_session_announces_the_events_of_the_kernel() -> None:
    """Events that are not canonical are told on the channel made for it."""
    session = AmplifierSession(PLAN)
    assert await session.coordinator.collect_contributions("observability.events") == [KERNEL_EVENTS]


@pytest.mark.parametrize("name", ["initialized", "is_resumed", "report"])
def test_what_the_session_finds_out_itself_cannot_be_set(name: str) -> None:
    """Three attributes are read-only."""
    with pytest.raises(AttributeError):
        setattr(AmplifierSession(PLAN), name, True)


@pytest.mark.parametrize("plan", [None, "", [], 5, "loop-a", [PLAN]])
def test_a_plan_that_is_no_dict_is_a_type_error_and_a_value_error(plan: Any) -> None:
    """Callers that catch either are served."""
    for error in (TypeError, ValueError):
        with pytest.raises(error, match="Configuration is required"):
            AmplifierSession(plan)


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        ({}, "Configuration is required"),
        ({"session": {"context": "c"}}, "must specify session.orchestrator"),
        ({"session": {"orchestrator": None, "context": "c"}}, "must specify session.orchestrator"),
        ({"session": {"orchestrator": "", "context": "c"}}, "must specify session.orchestrator"),
        ({"session": {"orchestrator": "o"}}, "must specify session.context"),
        ({"session": {"orchestrator": "o", "context": None}}, "must specify session.context"),
        ({"session": {"orchestrator": "o", "context": ""}}, "must specify session.context"),
        ({"session": "loop-a"}, "'session' in the mount plan must be a dict, got str"),
    ],
)
def test_a_plan_that_cannot_work_is_refused(plan: dict[str, Any], told: str) -> None:
    """What no session can do without is missed at once, not at the first turn."""
    with pytest.raises(ValueError, match=told):
        AmplifierSession(plan)
