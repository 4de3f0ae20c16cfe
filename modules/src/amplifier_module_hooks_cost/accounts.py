"""What was spent and what is reserved for calls under way, against limits; a child's account draws on its parent's."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

Limit = Literal["max_cost_usd", "max_tokens", "daily_max_cost_usd"]


@dataclass(frozen=True, slots=True)
class Amount:
    """Money and tokens."""

    cost: Decimal = Decimal(0)
    tokens: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.cost + other.cost, self.tokens + other.tokens)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"cost_usd": str(self.cost), "tokens": self.tokens}


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an account stands at one of its limits; ``wanted`` is what the next call is reckoned at."""

    limit: Limit
    of: Decimal
    spent: Decimal
    reserved: Decimal = Decimal(0)
    wanted: Decimal = Decimal(0)
    owner: str = ""
    """Id of the session whose limit it is."""

    @property
    def is_passed(self) -> bool:
        """Whether the next call might pass the limit; one that is used up has no room even for what costs nothing."""
        return self.spent + self.reserved + self.wanted > self.of or 0 < self.of <= self.spent

    def is_beyond(self, share: float) -> bool:
        """Whether so much of the limit is used."""
        return self.spent >= self.of * Decimal(str(share))


class Account:
    """The spending of one session and those below it; lives as long as the session's modules are mounted.

    To reserve is to ask and to take in one: of calls that begin at the same time, in whichever sessions, only as many
    begin as there is room for.
    """

    def __init__(
        self,
        session_id: str,
        max_cost: Decimal | None = None,
        max_tokens: int | None = None,
        parent: Account | None = None,
    ) -> None:
        self.session_id = session_id
        self.contributed = Decimal(0)
        """What modules say that the session cost, where that is more than is known here."""
        self.day_cost: Decimal | None = None
        """What was spent today by everybody, as of the last look."""
        self._max_cost = max_cost
        self._max_tokens = max_tokens
        self._parent = parent
        # Sessions of one tree may run in several threads.
        self._lock: Any = threading.RLock() if parent is None else parent._lock
        self._by_session: dict[str, Amount] = {}
        self._reserved: dict[Hashable, Amount] = {}

    @property
    def spent(self) -> Amount:
        """What the session and those below it have spent."""
        known = sum(self._by_session.values(), Amount())
        return Amount(max(known.cost, self.contributed), known.tokens)

    @property
    def reserved(self) -> Amount:
        """What is set aside for calls under way."""
        return sum(self._reserved.values(), Amount())

    def spent_by(self, session_id: str) -> Amount:
        """What one session of the tree has spent itself."""
        return self._by_session.get(session_id, Amount())

    def reserve(self, key: Hashable, amount: Amount) -> Standing | None:
        """Sets ``amount`` aside under ``key``, here and above, in place of what was; or says what forbids it."""
        with self._lock:
            self.release(key)
            for account in self._line():
                for standing in account.standings(amount):
                    if standing.is_passed:
                        return standing
            for account in self._line():
                account._reserved[key] = amount
        return None

    def release(self, key: Hashable) -> None:
        """Gives back what was set aside under ``key``, if anything was."""
        with self._lock:
            for account in self._line():
                account._reserved.pop(key, None)

    def charge(self, session_id: str, amount: Amount) -> None:
        """Adds what a session has spent, here and above."""
        with self._lock:
            for account in self._line():
                account._by_session[session_id] = account.spent_by(session_id) + amount

    def standings(self, wanted: Amount = Amount()) -> Iterator[Standing]:  # noqa: B008 - it cannot be changed
        """Where the account stands at each limit that it has."""
        spent, reserved = self.spent, self.reserved
        if self._max_cost is not None:
            yield Standing(
                "max_cost_usd", self._max_cost, spent.cost, reserved.cost, wanted.cost, owner=self.session_id
            )
        if self._max_tokens is not None:
            counts = (self._max_tokens, spent.tokens, reserved.tokens, wanted.tokens)
            yield Standing("max_tokens", *map(Decimal, counts), owner=self.session_id)

    def report(self) -> dict[str, Any]:
        """The spending as plain data: in all, by session, set aside, of which limits, and of the day."""
        with self._lock:
            return {
                **self.spent.to_dict(),
                "sessions": {session_id: amount.to_dict() for session_id, amount in self._by_session.items()},
                "reserved": self.reserved.to_dict(),
                "limits": {standing.limit: str(standing.of) for standing in self.standings()},
                "day_cost_usd": None if self.day_cost is None else str(self.day_cost),
            }

    def _line(self) -> Iterator[Account]:
        account: Account | None = self
        while account is not None:
            yield account
            account = account._parent
