"""Notices a model that goes round in circles: the same tool call with the same result, again and again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from amplifier_core.models import ToolResult
from amplifier_core.utils.jsonable import to_jsonable
from amplifier_modkit.turns.calls import RequestedCall

Advice = Literal["go on", "remind", "stop"]

# A call with its result, to be compared: name, arguments, whether it succeeded, and what came out.
Happening = tuple[str, Any, bool, Any, Any]


class RepetitionWatch:
    """Counts for one turn in how many rounds in a row each call came with an unchanged result.

    The result counts as well, since asking again is how one waits for something to change.
    """

    def __init__(self, remind_after: int, stop_after: int) -> None:
        self._remind_after = remind_after
        self._stop_after = stop_after
        self._latest: list[tuple[Happening, int]] = []

    def note(self, calls: Iterable[tuple[RequestedCall, ToolResult]]) -> Advice:
        """What to do after a round with these calls and results."""
        happenings = [_happening(call, result) for call, result in calls]
        self._latest = [(each, self._rounds_of(each) + 1) for each in happenings]
        if self._stop_after and self._longest >= self._stop_after:
            return "stop"
        return "remind" if self._remind_after and self._longest >= self._remind_after else "go on"

    @property
    def reminder(self) -> str:
        """What the model is told."""
        return (
            f"You have made the same tool call {self._longest} times in a row and got the same result each time. "
            "Do something else, or answer with what you know."
        )

    @property
    def _longest(self) -> int:
        return max((rounds for _, rounds in self._latest), default=0)

    def _rounds_of(self, happening: Happening) -> int:
        return max((rounds for other, rounds in self._latest if _are_equal(other, happening)), default=0)


def _happening(call: RequestedCall, result: ToolResult) -> Happening:
    # A copy: a tool may give the same list each time, with more in it.
    output = result.output if isinstance(result.output, str) else to_jsonable(result.output)
    return call.name, call.arguments, result.success, output, result.content


def _are_equal(one: Happening, other: Happening) -> bool:
    try:
        return bool(one == other)
    except Exception:
        return False  # outputs are any objects, and some refuse to be compared
