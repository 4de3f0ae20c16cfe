"""What became of a task, and how the model is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from amplifier_core.models import ToolResult
from amplifier_modkit.clipping import clip_chars

_MOST_RESPONSE_CHARS = 100_000
_MOST_REASON_CHARS = 2_000
_SUCCESS = "success"
# Applications say it in the words of a loop or in those of a session.
_WORDS_FOR_SUCCESS = (_SUCCESS, "completed", "ok")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one task: ``success``, or why not, with what the agent has said so far in any case."""

    status: str
    response: str = ""
    message: str | None = None
    """What went wrong, for the model."""
    session_id: str | None = None
    turn_count: int | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def is_success(self) -> bool:
        """Whether the agent has done what it was asked."""
        return self.status == _SUCCESS

    def to_result(self, agent: str, session_id: str) -> ToolResult:
        """The result of the tool call: the same fields however it ended."""
        output: dict[str, Any] = {
            "agent": agent,
            "session_id": self.session_id or session_id,
            "status": self.status,
            "response": clip_chars(self.response, _MOST_RESPONSE_CHARS),
        }
        if self.turn_count is not None:
            output["turn_count"] = self.turn_count
        if self.metadata:
            output["metadata"] = self.metadata
        if self.is_success:
            return ToolResult(output=output)
        message = clip_chars(self.message or f"Agent '{agent}' ended early ({self.status})", _MOST_REASON_CHARS)
        return ToolResult(success=False, output=output, error={"message": message, "type": self.status})


def read_answer(agent: str, answer: Any) -> Outcome:
    """What ``session.spawn`` or ``session.resume`` gave; applications may say less than the reference does."""
    if not isinstance(answer, Mapping) or "output" not in answer:
        told = f"The session of agent '{agent}' gave no answer: expected a dict with 'output', got {answer!r:.200}"
        return Outcome("failed", message=told)
    fields = cast("Mapping[str, Any]", answer)
    told = str(fields.get("status") or _SUCCESS)
    status = _SUCCESS if told in _WORDS_FOR_SUCCESS else told
    metadata: Any = fields.get("metadata")
    turn_count, session_id = fields.get("turn_count"), fields.get("session_id")
    return Outcome(
        status,
        str(fields["output"]),
        _ended_early(agent, status, fields.get("reason")),
        session_id if isinstance(session_id, str) else None,
        turn_count if isinstance(turn_count, int) else None,
        dict(cast("Mapping[str, Any]", metadata)) if isinstance(metadata, Mapping) else {},
    )


def _ended_early(agent: str, status: str, reason: Any) -> str:
    if status == "cancelled":
        return f"Agent '{agent}' was stopped before it had finished; 'response' is what it had said by then."
    cause = f"{status}: {reason}" if reason else status
    return f"Agent '{agent}' ended early ({cause}); 'response' is what it has."
