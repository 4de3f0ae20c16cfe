"""How a turn ended: the answer, why there is none, and what it took."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from amplifier.problems import Problem

Status = Literal["success", "incomplete", "cancelled", "error"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and money that a turn took, its child sessions included."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: str | None = None
    """As text, since money is exact; ``None`` where nobody knows."""

    def to_dict(self) -> dict[str, Any]:
        """The usage as it stands in JSON results."""
        total = self.input_tokens + self.output_tokens
        return {"input_tokens": self.input_tokens, "output_tokens": self.output_tokens, "total_tokens": total}


@dataclass(frozen=True, slots=True)
class Denial:
    """A tool call that was not allowed, by a rule, by a mode, or because nobody was there to ask."""

    tool_name: str
    tool_call_id: str
    session_id: str
    reason: str

    def to_dict(self) -> dict[str, str]:
        """The denial as it stands in JSON results."""
        call = {"tool_name": self.tool_name, "tool_call_id": self.tool_call_id}
        return {**call, "session_id": self.session_id, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """The end of one turn."""

    session_id: str
    text: str
    status: Status
    reason: str | None = None
    """Why there is no plain answer: ``max_iterations``, ``denied``, ``timeout`` …"""
    problem: Problem | None = None
    """What failed, where something did."""
    duration_ms: float = 0.0
    model_calls: int = 0
    tool_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    provider: str | None = None
    denials: tuple[Denial, ...] = ()
    """What was not allowed, in the session and its children."""

    @property
    def is_error(self) -> bool:
        """Whether a caller should not take the text for an answer."""
        return self.problem is not None or self.status in ("cancelled", "error")

    @property
    def exit_code(self) -> int:
        """What the process ends with."""
        if self.problem is not None:
            return self.problem.exit_code
        return 1 if self.status == "error" else 130 if self.status == "cancelled" else 0
