"""What sessions use: read from whoever says it, and added up."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from amplifier_core.models import SessionStatus
from amplifier_core.testing import TestCoordinator
from amplifier_modkit.spawning.spending import add_spending, cost_of, told_spending


@pytest.mark.parametrize(
    ("contributions", "cost"),
    [
        ([], "0.5"),
        ([{"cost_usd": "0.1"}, {"cost_usd": Decimal("0.2")}], "0.3"),
        ([1, 0.25], "1.25"),
        ([{"cost_usd": None}, {"unit": "USD"}, "a lot", True, ["1"], "NaN", "inf"], "0.5"),
        ([{"cost_usd": "0"}], "0"),
    ],
)
async def test_the_cost_is_what_modules_say_else_what_the_loop_counted(contributions: list[Any], cost: str) -> None:
    """Contributions in any of their shapes are added; those that are no money are left out."""
    coordinator = TestCoordinator()
    for contribution in contributions:
        coordinator.register_contributor("session.cost", "x", lambda contribution=contribution: contribution)
    assert await cost_of(coordinator, SessionStatus(session_id="s", cost_usd=Decimal("0.5"))) == Decimal(cost)


def test_spending_is_added_up() -> None:
    """Every count, and money where somebody names it."""
    total = SessionStatus(session_id="a", tool_failures=1, total_input_tokens=5)
    part = SessionStatus(session_id="b", tool_invocations=3, tool_successes=1, tool_failures=2, total_messages=4)
    add_spending(total, part, None)
    assert total.cost_usd is None
    add_spending(total, part, Decimal("0.5"))
    add_spending(total, SessionStatus(session_id="c", total_input_tokens=1, total_output_tokens=2), Decimal("0.25"))
    assert total.model_dump(include={"tool_invocations", "tool_successes", "tool_failures", "total_messages"}) == {
        "tool_invocations": 6,
        "tool_successes": 2,
        "tool_failures": 5,
        "total_messages": 8,
    }
    assert (total.total_input_tokens, total.total_output_tokens, total.cost_usd) == (6, 2, Decimal("0.75"))


def test_spending_is_told_as_plain_data() -> None:
    """Without money where nobody knows."""
    status = SessionStatus(session_id="a", total_input_tokens=1, total_output_tokens=2, tool_invocations=3)
    plain = {"input_tokens": 1, "output_tokens": 2, "tool_calls": 3}
    assert told_spending(status, None) == plain
    assert told_spending(status, Decimal("0.10")) == {**plain, "cost_usd": "0.10"}
