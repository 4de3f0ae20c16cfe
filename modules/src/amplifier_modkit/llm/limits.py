"""How much may be asked at once, and when to wait so that a vendor's limits do not bite.

Calls of all sessions of a process that use the same key at the same place count against the same limits, so these are
shared: by the running loop, which ends with everything that waits on it, and so not by the process.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakValueDictionary


class RateLimit(NamedTuple):
    """What a vendor says about one of its limits: how much is left, and in how many seconds it is full again."""

    name: str
    limit: int
    remaining: int
    reset_s: float


class Wait(NamedTuple):
    """How long to wait, and for which limit."""

    seconds: float
    reason: str


ReadLimits = Callable[[Mapping[str, str], float], Sequence[RateLimit]]
"""Reads the limits in the headers of an answer that came at a time of day."""


@dataclass(frozen=True, slots=True)
class LimitRules:
    """How near a limit may come, how long to wait then, and how many calls may run at once."""

    max_concurrent: int
    threshold: float
    least_delay_s: float
    most_delay_s: float


class Limits:
    """What is known about the limits of one key at one place; shared by all who use it."""

    def __init__(self) -> None:
        self._until: dict[str, tuple[float, str]] = {}
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._running = 0
        self.latest: tuple[RateLimit, ...] = ()
        """What the vendor said last."""

    def note(self, found: Sequence[RateLimit], rules: LimitRules, now: float) -> None:
        """Takes in what an answer says; a limit that is nearly used up makes the next calls wait."""
        if not found:
            return
        self.latest = tuple(found)
        for each in found:
            is_near = each.limit > 0 and each.remaining <= each.limit * rules.threshold
            if not is_near:
                self._until.pop(each.name, None)
                continue
            wait = min(max(each.reset_s, rules.least_delay_s), rules.most_delay_s)
            self._until[each.name] = (now + wait, f"{each.remaining} of {each.limit} {each.name} left")

    def hold(self, seconds: float, rules: LimitRules, now: float) -> None:
        """Makes all calls wait since the vendor has said how long; the one that was refused waits by itself."""
        self._until["retry-after"] = (now + min(seconds, rules.most_delay_s), "the service asked to wait")

    def wait_needed(self, now: float) -> Wait | None:
        """How long the next call has to wait, if at all."""
        self._until = {name: entry for name, entry in self._until.items() if entry[0] > now}
        if not self._until:
            return None
        until, reason = max(self._until.values())
        return Wait(until - now, reason)

    async def enter(self, most: int) -> None:
        """Waits until fewer than ``most`` calls run, and counts one more; 0 is no limit."""
        while most and self._running >= most:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except BaseException:
                # Whoever gives up when it is just his turn lets the next one have it.
                if turn.done() and not turn.cancelled():
                    self._wake_next()
                raise
        self._running += 1

    def leave(self) -> None:
        """Counts one call less."""
        self._running -= 1
        self._wake_next()

    def _wake_next(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return


_shared: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakValueDictionary[str, Limits]] = WeakKeyDictionary()


def shared_limits(vendor: str, base_url: str, key: str | None) -> Limits:
    """The limits of a key at a place, for everybody on the running loop; kept as long as somebody uses them."""
    name = hashlib.sha256("\0".join((vendor, base_url, key or "")).encode("utf-8", "replace")).hexdigest()
    table = _shared.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
    limits = table.get(name)
    if limits is None:
        limits = table[name] = Limits()
    return limits


_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_SECONDS = (3600.0, 60.0, 1.0, 0.001)


def read_rate_limits(headers: Mapping[str, str], now: float) -> list[RateLimit]:
    """The limits in headers ``x-ratelimit-limit-…``, ``-remaining-…``, ``-reset-…``, as most services write them."""
    found: list[RateLimit] = []
    for name in ("requests", "tokens"):
        said = {part: headers.get(f"x-ratelimit-{part}-{name}") for part in ("limit", "remaining", "reset")}
        limit = to_rate_limit(name, said["limit"], said["remaining"], said["reset"], now)
        if limit is not None:
            found.append(limit)
    return found


def to_rate_limit(name: str, limit: Any, remaining: Any, reset: Any, now: float) -> RateLimit | None:
    """One limit from three headers; ``reset`` is a duration (``6m0s``), a number of seconds, or a date."""
    try:
        return RateLimit(name, int(limit), int(remaining), _seconds_until(str(reset or "0"), now))
    except (TypeError, ValueError):
        return None


def _seconds_until(text: str, now: float) -> float:
    match = _DURATION.fullmatch(text)
    if match and text:
        return sum(float(part) * unit for part, unit in zip(match.groups(), _SECONDS, strict=True) if part)
    try:
        return max(0.0, float(text))
    except ValueError:
        return max(0.0, datetime.fromisoformat(text).timestamp() - now)
