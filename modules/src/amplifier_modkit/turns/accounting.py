"""What a turn used, added to the session's status: messages, tool calls, tokens, money."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.models import SessionStatus, ToolResult


class Accounting:
    """Adds to the status of the session a turn belongs to, if there is one."""

    def __init__(self, coordinator: ModuleCoordinator) -> None:
        status = getattr(coordinator.session, "status", None)
        self._status = status if isinstance(status, SessionStatus) else None

    def note_message(self) -> None:
        """A message went into the conversation."""
        if self._status is not None:
            self._status.total_messages += 1

    def note_usage(self, usage: Any) -> None:
        """A model call was paid for; ``usage`` may be ``None`` where the provider does not say."""
        if self._status is None or usage is None:
            return
        self._status.total_input_tokens += _count(usage, "input_tokens")
        self._status.total_output_tokens += _count(usage, "output_tokens")
        cost = getattr(usage, "cost_usd", None)
        if isinstance(cost, Decimal):
            self._status.cost_usd = (self._status.cost_usd or Decimal(0)) + cost

    def note_result(self, result: ToolResult) -> None:
        """A tool call ended."""
        if self._status is None:
            return
        self._status.tool_invocations += 1
        if result.success:
            self._status.tool_successes += 1
        else:
            self._status.tool_failures += 1


def _count(usage: Any, name: str) -> int:
    value = getattr(usage, name, 0)
    return value if isinstance(value, int) else 0
