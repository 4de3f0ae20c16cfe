"""Whole sessions under a budget: they stop in time, and children, however many at once, share it with their parent."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from amplifier_core import AmplifierSession
from amplifier_core.testing import RecordingDisplay, wait_for


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own."""
    monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path))
    return tmp_path


def plan(cost: str = "0.30", calls: int = 100, **config: Any) -> dict[str, Any]:
    """A session whose every model call costs that much, with a budget."""
    usage = {"input_tokens": 1_000, "output_tokens": 100, "cost_usd": cost}
    return {
        "session": {"orchestrator": "loop-basic", "context": "context-simple"},
        "providers": [{"module": "provider-mock", "config": {"script": ["Hi."] * calls, "usage": usage}}],
        "hooks": [{"module": "hooks-cost", "config": config}],
    }


def calls_of(session: AmplifierSession) -> int:
    """How many model calls a session has made."""
    return session.coordinator.get("providers")["mock"].calls


def account_of(session: AmplifierSession) -> Any:
    """The account of a session."""
    return session.coordinator.get_capability("cost.account")


async def talk(session: AmplifierSession, turns: int) -> list[str]:
    """What a session answers to so many prompts."""
    return [await session.execute("Hello") for _ in range(turns)]


async def test_a_session_stops_before_its_limit_and_says_why(home: Path) -> None:
    """Three calls fit; the fourth is not made, and its turn ends with the reason."""
    display = RecordingDisplay()
    async with AmplifierSession(plan(max_cost_usd=1), session_id="s", display_system=display) as session:
        answers = await talk(session, 5)
        assert (calls_of(session), answers[:3]) == (3, ["Hi."] * 3)
        assert answers[3].startswith("Denied: The spending limit of session 's' and its children ('max_cost_usd'")
        assert "$0.9000 of $1.0000 are spent" in answers[3]
    assert [(level, source) for _, level, source in display.messages] == [("warning", "hook:hooks-cost")]
    assert json.loads((home / "spending" / "today.json").read_text())["cost_usd"] == "0.90"


@pytest.mark.parametrize("has_own_guard", [True, False])
async def test_children_draw_on_the_budget_of_their_parent(has_own_guard: bool) -> None:
    """A child and a grandchild spend what their parent may spend, whether or not they count for themselves."""
    overlay = {} if has_own_guard else {"hooks": []}
    async with AmplifierSession(plan(max_cost_usd=1), session_id="parent") as parent:
        await talk(parent, 1)
        async with parent.fork(overlay, session_id="child") as child:
            await talk(child, 1)
            async with child.fork(overlay, session_id="grandchild") as grandchild:
                answers = await talk(grandchild, 3)
                assert calls_of(grandchild) == 1
                assert "session 'parent'" in answers[-1]
            assert (await talk(child, 1))[0].startswith("Denied: ")
        assert account_of(parent).report() == {
            "cost_usd": "0.90",
            "tokens": 3_300,
            "sessions": {name: {"cost_usd": "0.30", "tokens": 1_100} for name in ("parent", "child", "grandchild")},
            "reserved": {"cost_usd": "0", "tokens": 0},
            "limits": {"max_cost_usd": "1"},
            "day_cost_usd": "0.90",
        }


async def test_a_child_may_have_a_tighter_budget() -> None:
    """The limit of the child's own plan refuses first."""
    async with AmplifierSession(plan(max_cost_usd=10), session_id="parent") as parent:
        tighter = {"hooks": [{"module": "hooks-cost", "config": {"max_cost_usd": 0.5}}]}
        async with parent.fork(tighter, session_id="child") as child:
            answers = await talk(child, 2)
            assert "session 'child'" in answers[1]
        assert account_of(parent).spent.cost == Decimal("0.30")


async def test_a_child_that_is_made_by_hand_is_given_the_account() -> None:
    """An application that makes child sessions itself hands the account down as a capability."""
    async with AmplifierSession(plan(max_cost_usd=1), session_id="parent") as parent:
        child = AmplifierSession(plan(), session_id="child", parent_id="parent")
        child.coordinator.register_capability("cost.account", account_of(parent))
        async with child:
            answers = await talk(child, 4)
        assert (calls_of(parent), answers[2], answers[3].startswith("Denied: ")) == (0, "Hi.", True)
        assert account_of(parent).spent.cost == Decimal("0.90")


async def test_a_child_that_is_guarded_and_given_the_account_counts_once() -> None:
    """Spawning a child hands down both the guards and the account; its calls are not paid twice."""
    async with AmplifierSession(plan(max_cost_usd=1), session_id="parent") as parent:
        child = parent.fork(session_id="child")
        child.coordinator.register_capability("cost.account", account_of(parent))
        async with child:
            assert await talk(child, 3) == ["Hi."] * 3
        assert account_of(parent).spent.cost == Decimal("0.90")
        assert account_of(parent).day_cost == Decimal("0.90")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_children_at_the_same_time_never_spend_more_than_there_is(seed: int) -> None:
    """Twenty children that all ask at once get as many calls as the budget has, and not one more."""
    config = {"max_cost_usd": 2, "reserve_output_tokens": 0}
    async with AmplifierSession(plan(cost="0.10", **config), session_id="parent") as parent:
        await talk(parent, 1)
        children = [parent.fork(session_id=f"child-{number}") for number in range(20)]
        # What one call costs is known from the parent's; each child learns it for itself, too.
        answers = await asyncio.gather(*(talk(child, 1 + (seed + number) % 5) for number, child in enumerate(children)))
        made = sum(map(calls_of, children))
        for child in children:
            await child.cleanup()
        spent = account_of(parent).spent.cost
    denied = [answer for talks in answers for answer in talks if answer.startswith("Denied")]
    assert (spent, made) == (Decimal("2.00"), 19)
    assert len(denied) == sum(map(len, answers)) - 19


async def test_a_call_that_costs_more_than_reckoned_passes_the_limit_by_the_difference_only() -> None:
    """What an estimate cannot know is all by which the limit can be passed."""
    script: list[Any] = [
        {"text": "Hi.", "usage": {"input_tokens": 1_000, "cost_usd": cost}} for cost in ("0.10", "0.10", "0.95")
    ]
    given = plan(max_cost_usd=1)
    given["providers"][0]["config"]["script"] = [*script, *["Hi."] * 10]
    async with AmplifierSession(given, session_id="s") as session:
        answers = await talk(session, 5)
        spent = account_of(session).spent.cost
    assert ([answer[:6] for answer in answers], spent) == (["Hi."] * 3 + ["Denied"] * 2, Decimal("1.15"))
    assert spent <= Decimal("1") + (Decimal("0.95") - Decimal("0.10"))


async def test_an_error_and_a_cancelled_turn_leave_nothing_reserved() -> None:
    """Afterwards the whole rest of the budget is there again."""
    given = plan(max_cost_usd=1)
    given["providers"][0]["config"]["script"] = [
        {"error": {"type": "AuthenticationError", "message": "no"}},
        {"text": "late", "delay_s": 60},
        "Hi.",
    ]
    async with AmplifierSession(given, session_id="s") as session:
        with pytest.raises(Exception, match="no"):
            await session.execute("Hello")
        assert account_of(session).reserved.tokens == 0
        turn = asyncio.create_task(session.execute("Hello"))
        await wait_for(lambda: account_of(session).reserved.tokens > 0)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert account_of(session).reserved.tokens == 0
        assert await session.execute("Hello") == "Hi."
