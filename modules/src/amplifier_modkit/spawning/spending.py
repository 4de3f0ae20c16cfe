"""What a child session used, and how it is added to what its parent used."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.models import SessionStatus

COST_CHANNEL = "session.cost"

_COUNTS = (
    "total_messages",
    "tool_invocations",
    "tool_successes",
    "tool_failures",
    "total_input_tokens",
    "total_output_tokens",
)


async def cost_of(coordinator: ModuleCoordinator, status: SessionStatus) -> Decimal | None:
    """What a session cost so far: what its modules contribute, else what its loop has counted; ``None`` if nobody says.

    Providers also count calls that no turn makes, so what they say goes first.
    """
    costs = [_cost_in(contribution) for contribution in await coordinator.collect_contributions(COST_CHANNEL)]
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) if known else status.cost_usd


def add_spending(total: SessionStatus, part: SessionStatus, cost: Decimal | None) -> None:
    """Adds what one session used to what another used."""
    for name in _COUNTS:
        setattr(total, name, getattr(total, name) + getattr(part, name))
    if cost is not None:
        total.cost_usd = cost + (total.cost_usd or 0)


def told_spending(status: SessionStatus, cost: Decimal | None) -> dict[str, Any]:
    """What a session used, as plain data."""
    told: dict[str, Any] = {
        "input_tokens": status.total_input_tokens,
        "output_tokens": status.total_output_tokens,
        "tool_calls": status.tool_invocations,
    }
    return told if cost is None else {**told, "cost_usd": str(cost)}


def _cost_in(contribution: Any) -> Decimal | None:
    value: Any = contribution
    if isinstance(contribution, Mapping):
        value = cast("Mapping[str, Any]", contribution).get("cost_usd")
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        return None
    try:
        cost = Decimal(str(value))
    except InvalidOperation:
        return None
    return cost if cost.is_finite() else None
