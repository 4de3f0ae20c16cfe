"""What all sessions of a user have spent today: a small file that several processes change, one after another.

Everything here blocks, and is called in a thread.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from amplifier_modkit import file_lock
from amplifier_modkit.pricing import to_money

Result = TypeVar("Result")

_VERSION = 1
_LOCK_TIMEOUT_S = 3.0
# A process that is killed during a call leaves what it reserved; no call takes longer.
_RESERVED_FOR_S = 3600.0
_FLAGS: int = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
_FOR_THE_USER_ALONE = 0o600
_FOLDER_FOR_THE_USER_ALONE = 0o700


class DayFileError(Exception):
    """The file of the day cannot be read; the message tells what to do."""


@dataclass(slots=True)
class DayTotal:
    """What was spent on one day, and what is reserved: by id, with the time at which it lapses."""

    day: date
    cost: Decimal = Decimal(0)
    tokens: int = 0
    reserved: dict[str, tuple[Decimal, float]] = field(default_factory=dict[str, tuple[Decimal, float]])

    def reserve(self, key: str, cost: Decimal, now: float) -> None:
        """Sets money aside under ``key``, in place of what was there."""
        self.reserved[key] = cost, now + _RESERVED_FOR_S

    def reserved_by_others(self, key: str) -> Decimal:
        """What is set aside under other keys."""
        return sum((cost for other, (cost, _) in self.reserved.items() if other != key), Decimal(0))

    def settle(self, key: str, cost: Decimal, tokens: int) -> None:
        """Adds what was spent, and gives back what was set aside for it."""
        self.reserved.pop(key, None)
        self.cost += cost
        self.tokens += tokens


class DayFile:
    """The file below ``folder``; ``clock`` tells the time, of which the local day counts."""

    def __init__(self, folder: Path, clock: Callable[[], datetime]) -> None:
        self.path = folder / "today.json"
        self._clock = clock

    def change(self, change: Callable[[DayTotal, float], Result]) -> Result:
        """Lets ``change`` work on the total of today, at the given time; meanwhile nobody else does.

        Raises ``DayFileError`` for a file that cannot be read, ``OSError`` for all that the system refuses.
        """
        folder = self.path.parent
        folder.mkdir(_FOLDER_FOR_THE_USER_ALONE, parents=True, exist_ok=True)
        descriptor = os.open(self.path.with_suffix(".lock"), _FLAGS, _FOR_THE_USER_ALONE)
        try:
            with file_lock.held(descriptor, _LOCK_TIMEOUT_S):
                now = self._clock()
                total = self._read(now)
                result = change(total, now.timestamp())
                self._write(total)
                return result
        finally:
            os.close(descriptor)

    def _read(self, now: datetime) -> DayTotal:
        today = now.astimezone().date()
        try:
            text = self.path.read_text("utf-8")
        except FileNotFoundError:
            return DayTotal(today)
        try:
            total = _from_json(json.loads(text))
        except Exception as error:
            raise DayFileError(
                f"{self.path} does not tell what was spent today ({type(error).__name__}: {error}). Correct it, or "
                "remove it to begin the day at 0."
            ) from error
        if total.day != today:
            return DayTotal(today)
        total.reserved = {key: entry for key, entry in total.reserved.items() if entry[1] > now.timestamp()}
        return total

    def _write(self, total: DayTotal) -> None:
        partial = self.path.with_suffix(".part")
        partial.unlink(missing_ok=True)
        descriptor = os.open(partial, _FLAGS | os.O_EXCL, _FOR_THE_USER_ALONE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(json.dumps(_to_json(total)) + "\n")
            file.flush()
            os.fsync(descriptor)
        partial.replace(self.path)


def _to_json(total: DayTotal) -> dict[str, Any]:
    reserved = {key: {"cost_usd": str(cost), "until": until} for key, (cost, until) in total.reserved.items()}
    spent = {"cost_usd": str(total.cost), "tokens": total.tokens}
    return {"version": _VERSION, "date": total.day.isoformat(), **spent, "reserved": reserved}


def _from_json(data: Any) -> DayTotal:
    if data["version"] != _VERSION:
        raise ValueError(f"version {data['version']!r} instead of {_VERSION}")
    reserved = {str(key): (_money(entry["cost_usd"]), float(entry["until"])) for key, entry in data["reserved"].items()}
    return DayTotal(date.fromisoformat(data["date"]), _money(data["cost_usd"]), int(data["tokens"]), reserved)


def _money(value: Any) -> Decimal:
    amount = to_money(value)
    if amount is None:
        raise ValueError(f"{value!r} is no amount of money")
    return amount
