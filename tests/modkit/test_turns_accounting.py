"""What a turn used is added to the status of its session, in whatever form a provider tells it."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.message_models import Usage
from amplifier_core.models import SessionStatus, ToolResult
from amplifier_modkit.turns.accounting import Accounting


def accounting_of(status: Any) -> Accounting:
    """The accounting of a session with this status."""
    session = SimpleNamespace(session_id="s", parent_id=None, config={}, status=status)
    return Accounting(ModuleCoordinator(session))


def test_messages_tool_calls_tokens_and_money_are_added_up() -> None:
    """Two calls and two results are in the status as one sum."""
    status = SessionStatus(session_id="s")
    accounting = accounting_of(status)
    accounting.note_message()
    accounting.note_usage(Usage(input_tokens=5, output_tokens=7, total_tokens=12, cost_usd=Decimal("0.10")))
    accounting.note_usage(Usage(input_tokens=1, output_tokens=2, total_tokens=3, cost_usd=Decimal("0.02")))
    accounting.note_result(ToolResult(output="fine"))
    accounting.note_result(ToolResult(success=False, output="broken"))
    counts = status.model_dump(
        exclude={"session_id", "started_at", "status", "ended_at", "last_activity", "last_error"}
    )
    assert counts == {
        "total_messages": 1,
        "tool_invocations": 2,
        "tool_successes": 1,
        "tool_failures": 1,
        "total_input_tokens": 6,
        "total_output_tokens": 9,
        "cost_usd": "0.12",
    }


def test_a_provider_that_tells_no_usage_costs_nothing() -> None:
    """Neither ``None`` nor an object without numbers changes the sums, and an unknown price stays unknown."""
    status = SessionStatus(session_id="s")
    accounting = accounting_of(status)
    for usage in (None, object(), SimpleNamespace(input_tokens="many", output_tokens=None, cost_usd=0.5)):
        accounting.note_usage(usage)
    assert (status.total_input_tokens, status.total_output_tokens, status.cost_usd) == (0, 0, None)


def test_without_a_session_nothing_is_counted() -> None:
    """A turn in a test, or in a session of another kind, keeps no accounts and does not fail."""
    for accounting in (Accounting(ModuleCoordinator()), accounting_of({"total_messages": 0})):
        accounting.note_message()
        accounting.note_usage(Usage(input_tokens=1, output_tokens=1, total_tokens=2))
        assert accounting.note_result(ToolResult()) is None
