"""The guard of the budget, event by event: what is reserved, charged once, given back, warned about and refused."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import amplifier_module_hooks_cost
from amplifier_core.events import (
    EXECUTION_END,
    LLM_REQUEST,
    LLM_RESPONSE,
    POLICY_VIOLATION,
    PROVIDER_ERROR,
    PROVIDER_REQUEST,
    PROVIDER_RESPONSE,
    SESSION_END,
)
from amplifier_core.models import HookResult
from amplifier_core.testing import EventRecorder, TestCoordinator
from amplifier_core.validation import HookValidator
from amplifier_core.validation.behavioral import HookBehaviorTests
from amplifier_core.validation.structural import HookStructuralTests
from amplifier_kit.chaos.suites import HookChaosTests
from amplifier_modkit.locations import amplifier_home
from amplifier_module_hooks_cost import guard as guard_file
from amplifier_module_hooks_cost import mount
from amplifier_module_hooks_cost.accounts import Account
from amplifier_module_hooks_cost.events import OWN_EVENTS

PACKAGE = Path(str(amplifier_module_hooks_cost.__file__)).parent
MODEL = "claude-sonnet-5-5"  # $2 per million in, $10 out
USAGE = {"input_tokens": 100_000, "output_tokens": 10_000}  # $0.30


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own."""
    monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path))
    return tmp_path


class World:
    """A session with the guard, of which a test makes the model calls."""

    def __init__(self, coordinator: TestCoordinator) -> None:
        self.coordinator = coordinator
        self.events = EventRecorder()
        for event in (*OWN_EVENTS, POLICY_VIOLATION):
            coordinator.hooks.register(event, self.events)

    @classmethod
    async def of(cls, **config: Any) -> World:
        world = cls(TestCoordinator())
        await mount(world.coordinator, config)
        return world

    @property
    def account(self) -> Account:
        return self.coordinator.get_capability("cost.account")

    @property
    def cost(self) -> str:
        return str(self.account.spent.cost.normalize())

    async def emit(self, event: str, **data: Any) -> HookResult:
        return await self.coordinator.hooks.emit(event, data)

    async def ask(self, *, chars: int = 0, model: str | None = MODEL, **data: Any) -> HookResult:
        messages = [{"role": "user", "content": "x" * chars}]
        return await self.emit(PROVIDER_REQUEST, provider="p", model=model, messages=messages, **data)

    async def report(self, usage: Any = USAGE, **data: Any) -> None:
        await self.emit(LLM_REQUEST, provider="p", model=MODEL, message_count=1)
        facts = {"provider": "p", "model": MODEL, "status": "ok", "duration_ms": 1, "usage": usage, **data}
        await self.emit(LLM_RESPONSE, **facts)

    async def answer(self, usage: Any = USAGE, **data: Any) -> HookResult:
        return await self.emit(PROVIDER_RESPONSE, **{"provider": "p", "response": None, "usage": usage, **data})


@pytest.fixture
async def world() -> World:
    """A session without limits."""
    return await World.of()


async def test_a_call_is_charged_once_whoever_reports_it(world: World) -> None:
    """By the provider, by the loop, or by both: one call is one call."""
    await world.ask()
    await world.report()
    await world.answer()
    assert world.cost == "0.3"
    await world.ask()
    await world.answer()
    assert world.cost == "0.6"
    await world.report()
    assert world.cost == "0.9"
    assert world.account.spent.tokens == 330_000
    assert world.account.reserved.tokens == 0


async def test_a_reported_cost_counts_as_it_is(world: World) -> None:
    """What the provider says goes before the table, and is not contributed again."""
    await world.ask()
    await world.answer({**USAGE, "cost_usd": "0.05"})
    assert world.cost == "0.05"
    assert await world.coordinator.collect_contributions("session.cost") == []
    await world.ask()
    await world.answer()
    assert await world.coordinator.collect_contributions("session.cost") == [
        {"cost_usd": "0.30", "source": "hooks-cost"}
    ]


async def test_an_event_that_is_shown_twice_is_counted_once(world: World) -> None:
    """Guards see an event again when a later handler changed it."""

    async def mask(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="modify", data={**data, "masked": True})

    for event in (PROVIDER_REQUEST, LLM_RESPONSE, PROVIDER_RESPONSE):
        world.coordinator.hooks.register(event, mask, priority=10)
    await world.ask()
    await world.report()
    await world.answer()
    await world.ask()
    await world.answer()
    assert world.cost == "0.6"
    assert world.account.reserved.tokens == 0


async def test_a_provider_that_works_in_another_task_is_recognised_by_its_name(world: World) -> None:
    """Its report belongs to the call that waits for it; one of another provider does not."""
    await world.ask()
    await asyncio.create_task(world.report(provider="other"))
    await asyncio.create_task(world.report())
    assert world.account.reserved.tokens == 0
    await world.answer()
    assert world.cost == "0.6"


async def test_a_call_of_which_nobody_says_what_it_took_counts_as_reckoned() -> None:
    """No usage at all is not taken for nothing."""
    world = await World.of(reserve_output_tokens=1_000)
    await world.ask(chars=4_000)
    await world.answer(usage=None)
    assert world.account.spent.tokens == 1_000 + 1_004
    assert world.cost == str((Decimal(1_004) * 2 + Decimal(1_000) * 10) / 1_000_000)


async def test_the_model_of_the_answer_decides_about_the_price(world: World) -> None:
    """A request may name another model than the one that answers, or none."""
    await world.ask(model=None)
    await world.answer(response=SimpleNamespace(model="gpt-6-luna"))
    assert world.cost == "0.015"


@pytest.mark.parametrize("ending", [PROVIDER_ERROR, EXECUTION_END, SESSION_END, PROVIDER_REQUEST])
async def test_what_was_reserved_for_a_call_that_came_to_nothing_is_given_back(ending: str) -> None:
    """An error, a cancelled turn and another attempt free what was set aside; on the day, too."""
    world = await World.of(max_cost_usd=1, daily_max_cost_usd=1)
    await world.ask(chars=400)
    reserved = world.account.reserved
    assert reserved.cost > 0
    await world.emit(ending, provider="p", model=MODEL, messages=[])
    left = world.account.reserved
    assert left.cost < reserved.cost
    if ending != PROVIDER_REQUEST:
        assert left.cost == 0
        assert _day()["reserved"] == {}
    assert (await world.answer()).action == "continue"


def _day_file() -> Path:
    return amplifier_home() / "spending" / "today.json"


def _day() -> dict[str, Any]:
    return json.loads(_day_file().read_text())


async def test_a_paid_call_that_is_cancelled_stays_paid() -> None:
    """The provider has told what it took, and then the turn ended before the loop could say so."""
    world = await World.of(daily_max_cost_usd=10)
    await world.ask()
    await world.report()
    await world.emit(EXECUTION_END, response="", status="cancelled")
    assert (world.cost, _day()["cost_usd"], _day()["reserved"]) == ("0.3", "0.30", {})


async def test_a_call_that_might_pass_the_limit_is_refused_before_it_is_made() -> None:
    """The refusal has the numbers, and says what to do; others hear of it."""
    world = await World.of(max_cost_usd=0.5, reserve_output_tokens=10_000)
    assert (await world.ask()).action == "continue"
    await world.answer()
    verdict = await world.ask()
    assert (verdict.action, verdict.reason) == (
        "deny",
        "The spending limit of session 'test-session' and its children ('max_cost_usd' of hooks-cost) leaves no room "
        "for another model call: $0.3000 of $0.5000 are spent, $0.0000 are reserved for calls under way, and this call "
        "is reckoned at $0.3000 (100,000 tokens in, up to 10,000 out, claude-sonnet-5-5). Raise it, lower "
        "'reserve_output_tokens', or begin another session.",
    )
    assert [(event, data["reason"] == verdict.reason) for event, data in world.events.events] == [
        ("cost:limit_reached", True),
        ("policy:violation", True),
    ]
    assert world.account.reserved.tokens == 0


async def test_tokens_can_be_limited_without_any_price() -> None:
    """Input and output count, of models that nobody knows as well."""
    world = await World.of(max_tokens=215_000, reserve_output_tokens=0)
    await world.ask(model="odd")
    await world.answer()
    await world.ask(model="odd")
    await world.answer()
    verdict = await world.ask(model="odd")
    assert verdict.action == "deny"
    assert str(verdict.reason).startswith(
        "The token limit of session 'test-session' and its children ('max_tokens' of hooks-cost) leaves no room for "
        "another model call: 220,000 tokens of 215,000 tokens are spent, 0 tokens are reserved"
    )


async def test_there_is_one_warning_for_each_limit() -> None:
    """From the given share on, the user is told once, and so is whoever listens."""
    world = await World.of(max_cost_usd=1, max_tokens=10_000_000, daily_max_cost_usd=2, warn_at=0.5)
    warnings: list[str | None] = []
    for _ in range(4):
        asked = await world.ask()
        answered = await world.answer({**USAGE, "cost_usd": "0.3"})
        warnings += [asked.user_message, answered.user_message]
    assert warnings == [
        *[None] * 3,
        "60 % of 'max_cost_usd' of hooks-cost are used: $0.6000 of $1.0000. Model calls stop when it is reached.",
        *[None] * 4,
    ]
    assert world.events.events[0][0] == "cost:warning"
    facts = {key: world.events.events[0][1][key] for key in ("limit", "spent", "of")}
    assert facts == {"limit": "max_cost_usd", "spent": "0.6", "of": "1"}


async def test_a_warning_may_be_about_a_day_without_a_budget() -> None:
    """A limit of nothing is used up from the beginning, and free calls are let through."""
    world = await World.of(daily_max_cost_usd=0, prices={"free*": {"input_per_million": 0, "output_per_million": 0}})
    asked = await world.ask(model="free-1")
    assert (asked.action, asked.user_message) == (
        "continue",
        "100 % of 'daily_max_cost_usd' of hooks-cost are used: $0.0000 of $0.0000. "
        "Model calls stop when it is reached.",
    )
    assert (await world.ask()).action == "deny"


async def test_a_model_without_a_price_is_asked_once(caplog: pytest.LogCaptureFixture) -> None:
    """If its provider does not say what it cost, a limit on money cannot be kept, and that is the end of it."""
    world = await World.of(max_cost_usd=1)
    assert (await world.ask(model="odd")).action == "continue"
    await world.answer()
    verdict = await world.ask(model="odd")
    assert (verdict.action, verdict.reason) == (
        "deny",
        "Nobody can tell what model 'odd' costs: its provider does not report it, and the table of 2026-11-06 has no "
        "price for it. A limit on money cannot be kept this way. Set its price in 'prices' of hooks-cost (0 if it is "
        "free), or 'on_unknown_price' to 'allow'.",
    )
    assert [(event, data.get("model")) for event, data in world.events.events][:1] == [("cost:unknown_price", "odd")]
    assert caplog.messages == ["Nobody can tell what model 'odd' costs; its calls count as free"]


async def test_a_model_without_a_price_may_be_allowed() -> None:
    """With a setting of its own, or where only tokens are limited, such calls go on, and are told once."""
    for config in ({"max_cost_usd": 1, "on_unknown_price": "allow"}, {"max_tokens": 10**9}):
        world = await World.of(**config)
        for _ in range(3):
            assert (await world.ask(model="odd")).action == "continue"
            await world.answer()
        assert len(world.events.events) == 1


async def test_a_report_beside_the_conversation_may_be_of_an_unknown_model(world: World) -> None:
    """A call that no turn makes is told without the name of a provider; one without any name is not told at all."""
    await world.report(model="odd")
    await world.report(model=None)
    assert [(data["model"], data["provider"]) for _, data in world.events.events] == [("odd", None)]


async def test_a_model_that_reports_its_cost_needs_no_price() -> None:
    """After the first report the next call is reckoned by it."""
    world = await World.of(max_cost_usd=1)
    for _ in range(3):
        assert (await world.ask(model="odd")).action == "continue"
        await world.answer({"input_tokens": 10, "output_tokens": 1, "cost_usd": "0.3"})
    assert (await world.ask(model="odd")).action == "deny"
    assert world.cost == "0.9"


async def test_costs_that_only_others_know_count() -> None:
    """Tools that cost money contribute to the channel, and leave less for models."""
    world = await World.of(max_cost_usd=1)
    world.coordinator.register_contributor("session.cost", "tool-search", lambda: {"cost_usd": "0.99"})
    assert (await world.ask()).action == "deny"


async def test_a_contributor_that_takes_for_ever_is_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The call goes on with what is known."""
    monkeypatch.setattr(guard_file, "_COLLECTING_S", 0.01)
    world = await World.of(max_cost_usd=1)
    world.coordinator.register_contributor("session.cost", "tool-slow", asyncio.Event().wait)
    assert (await world.ask()).action == "continue"
    assert caplog.messages == ["What modules contribute to 'session.cost' takes too long to collect and is left out"]


async def test_the_day_is_shared_by_all_sessions() -> None:
    """What one session spent or reserved is missing for another; each call is on the day once."""
    one, other = await World.of(daily_max_cost_usd=1), await World.of(daily_max_cost_usd=1, reserve_output_tokens=0)
    await one.ask()
    await one.report()
    await one.answer()
    await other.ask()
    await other.answer()
    assert _day()["cost_usd"] == "0.60"
    assert other.account.report()["day_cost_usd"] == "0.60"
    assert (await one.ask()).action == "continue"
    verdict = await other.ask()
    assert verdict.action == "deny"
    assert str(verdict.reason).startswith(
        "The spending limit of all sessions of this day ('daily_max_cost_usd' of hooks-cost) leaves no room for "
        "another model call: $0.6000 of $1.0000 are spent, $0.2819 are reserved for calls under way, and this call is "
        "reckoned at $0.2000"
    )
    assert str(verdict.reason).endswith("or go on tomorrow.")
    assert other.account.reserved.tokens == 0


async def test_a_day_that_cannot_be_looked_up_refuses_where_it_is_limited(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A limit that cannot be kept is not passed over; without one there is a warning, once."""
    (home / "spending").write_text("in the way")
    limited, free = await World.of(daily_max_cost_usd=1), await World.of()
    verdict = await limited.ask()
    assert (verdict.action, str(verdict.reason).partition(": ")[0]) == (
        "deny",
        "What was spent today cannot be looked up, so 'daily_max_cost_usd' of hooks-cost cannot be kept",
    )
    assert limited.account.reserved.tokens == 0
    for _ in range(2):
        assert (await free.ask()).action == "continue"
        await free.answer()
    assert [message.partition(":")[0] for message in caplog.messages] == [
        "Spending is missing from the total of the day"
    ]


async def test_a_day_that_was_spoilt_refuses_as_well() -> None:
    """A model that can write files does not get a fresh budget by spoiling one."""
    world = await World.of(daily_max_cost_usd=1)
    await world.ask()
    await world.answer()
    _day_file().write_text("{}")
    assert (await world.ask()).action == "deny"


async def test_a_second_guard_in_one_plan_is_refused(world: World) -> None:
    """Each would count for itself."""
    with pytest.raises(RuntimeError, match="hooks-cost is in the plan of session 'test-session' twice"):
        await mount(world.coordinator)


async def test_events_are_announced_and_the_account_is_handed_down(world: World) -> None:
    """Observers can find the events, and children the account."""
    assert await world.coordinator.collect_contributions("observability.events") == [list(OWN_EVENTS)]
    assert await world.coordinator.collect_contributions("session.handed_down") == [{"cost.account": world.account}]


async def test_the_module_is_valid() -> None:
    """The validator has nothing to say."""
    result = await HookValidator().validate(PACKAGE)
    assert (result.passed, result.errors, result.warnings) == (True, [], [])


class Cost:
    """Tests of the module."""

    @pytest.fixture
    def module_path(self) -> Path:
        return PACKAGE


class TestContract(Cost, HookBehaviorTests, HookStructuralTests):
    """The module as a plan without config mounts it."""


@pytest.mark.slow
class TestUnderChaos(Cost, HookChaosTests):
    """The module as a plan without config mounts it, under every fault."""


@pytest.mark.slow
class TestUnderChaosWithLimits(Cost, HookChaosTests):
    """With every limit, so that the file of the day is asked each time."""

    limit_s = 30.0

    @pytest.fixture
    def amplifier_module_config(self) -> dict[str, Any]:
        return {"max_cost_usd": 1, "max_tokens": 1_000_000, "daily_max_cost_usd": 1, "warn_at": 0.5}
