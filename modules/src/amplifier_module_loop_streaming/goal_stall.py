"""Notices that work on a goal does not get on: the same verdict, or the same tool calls, again and again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Literal

from amplifier_modkit.messages import plain
from amplifier_modkit.turns.calls import RequestedCall

Advice = Literal["go on", "escalate", "stop"]


class StallWatch:
    """Watches the stretches of one turn. The first stall is a reason to try something else, the second one to stop.

    After the first it begins to count anew, so that another approach gets as long as the one before.
    """

    def __init__(self, threshold: int, window: int, min_overlap: float) -> None:
        self._threshold = threshold
        self._window = window
        self._min_overlap = min_overlap
        self._reason: str | None = None
        self._times = 0
        self._calls: list[frozenset[str]] = []
        self._has_escalated = False

    def note(self, reason: str, calls: Iterable[RequestedCall]) -> Advice:
        """What to do after a stretch with these tool calls and the verdict to go on for this reason."""
        words = _words(reason)
        self._times = self._times + 1 if words == self._reason else 1
        self._reason = words
        self._calls.append(frozenset(map(_key, calls)))
        if self._times < self._threshold and not self._is_busy_in_vain:
            return "go on"
        if self._has_escalated:
            return "stop"
        self._has_escalated = True
        self._times = 0
        self._calls.clear()
        return "escalate"

    @property
    def _is_busy_in_vain(self) -> bool:
        if len(self._calls) < self._window:
            return False
        first, *others = self._calls[-self._window :]
        in_any, in_all = first.union(*others), first.intersection(*others)
        return bool(in_any) and len(in_all) / len(in_any) >= self._min_overlap


def _words(reason: str) -> str:
    return " ".join(reason.casefold().split()).rstrip(".!")


def _key(call: RequestedCall) -> str:
    return f"{call.name} {json.dumps(plain(call.arguments), sort_keys=True)}"
