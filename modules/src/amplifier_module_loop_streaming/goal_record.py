"""The goal of a session as it stands in ``session_state["goal"]``: read with care, updated in place."""

from __future__ import annotations

from typing import Any, Literal, cast

GOAL_KEY = "goal"
DEFAULT_CAP = 10
"""Turns that work on a goal may take, unless it says otherwise."""

Status = Literal["continuing", "achieved", "stalled", "cap_hit", "cancelled", "error"]

_FINISHED = frozenset({"achieved", "stalled", "cap_hit"})


class GoalError(ValueError):
    """A goal that cannot be understood; the text says what is wrong with it."""


class GoalRecord:
    """A goal that somebody has set; everything about it stays in the dict it came in."""

    def __init__(self, fields: dict[str, Any], condition: str, cap: int, turns_used: int) -> None:
        self._fields = fields
        self.condition = condition
        self.cap = cap
        self.turns_used = turns_used

    @property
    def is_finished(self) -> bool:
        """Whether there is nothing more to do about it."""
        return self._fields.get("status") in _FINISHED

    @property
    def is_used_up(self) -> bool:
        """Whether it has had all its turns."""
        return self.turns_used >= self.cap

    def count_turn(self) -> None:
        """Notes that a turn was spent on it."""
        self.turns_used += 1
        self._fields.update(cap=self.cap, turns_used=self.turns_used)

    def note(self, status: Status, reason: str) -> None:
        """Notes how it stands, and why."""
        self._fields.update(status=status, last_reason=reason)

    def note_verdict(self, reason: str, most: int) -> None:
        """Adds to the reasons of all verdicts, of which the last ``most`` are kept."""
        before: Any = self._fields.get("reasons")
        reasons = cast("list[Any]", before) if isinstance(before, list) else []
        self._fields["reasons"] = [*reasons, reason][-most:]


def find_goal(session_state: dict[str, Any]) -> GoalRecord | None:
    """The goal to work on; ``None`` where there is none, or one that is finished.

    Raises ``GoalError`` for what is no goal.
    """
    found: Any = session_state.get(GOAL_KEY)
    if found is None:
        return None
    if not isinstance(found, dict):
        raise GoalError(f"session_state['goal'] must be a dict with a 'condition', got {type(found).__name__}")
    fields = cast("dict[str, Any]", found)
    condition = fields.get("condition")
    if not isinstance(condition, str) or not condition.strip():
        raise GoalError("A goal needs a 'condition', the text that says when it is reached")
    goal = GoalRecord(fields, condition, _count(fields, "cap", DEFAULT_CAP, 1), _count(fields, "turns_used", 0, 0))
    return None if goal.is_finished else goal


def _count(fields: dict[str, Any], key: str, default: int, least: int) -> int:
    value = fields.get(key)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise GoalError(f"'{key}' of a goal must be a whole number of turns, at least {least}, got {value!r}")
    return value
