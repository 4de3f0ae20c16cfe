"""The spending of the day, for a guard in the event loop: the file is worked on in threads, with a time limit."""

from __future__ import annotations

import logging
from collections.abc import Callable
from decimal import Decimal
from typing import TypeVar

from amplifier_modkit.paths.io_threads import IoThreads, Leave
from amplifier_modkit.turns.stopping import finish
from amplifier_module_hooks_cost.accounts import Account, Amount, Standing
from amplifier_module_hooks_cost.day_file import DayFile, DayFileError, DayTotal

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

TROUBLES = (OSError, DayFileError)
"""What may go wrong with the file; a time-out is an ``OSError``."""

_TIMEOUT_S = 5.0


class Day:
    """Adds to the total of the day, and asks it where there is a limit; lives as long as its guard."""

    def __init__(self, file: DayFile, limit: Decimal | None, account: Account) -> None:
        self._file = file
        self._limit = limit
        self._account = account
        self._threads = IoThreads(_TIMEOUT_S)
        self._has_warned = False

    async def reserve(self, key: str, cost: Decimal) -> Standing | None:
        """Sets money aside for a call, or says that the limit forbids it; without a limit nothing is done.

        Raises one of ``TROUBLES`` when the total cannot be had.
        """
        limit = self._limit
        if limit is None:
            return None

        def work(total: DayTotal, now: float) -> Standing | None:
            standing = Standing("daily_max_cost_usd", limit, total.cost, total.reserved_by_others(key), cost)
            if not standing.is_passed:
                total.reserve(key, cost, now)
            self._account.day_cost = total.cost
            return standing if standing.is_passed else None

        return await self._change(work)

    async def settle(self, key: str, spent: Amount) -> None:
        """Adds what a call cost, in place of what was set aside for it; a trouble is told once and passed over."""
        if self._limit is not None or spent.cost:
            # What was paid must not be missing because somebody stops the turn at this moment.
            await finish(self._settle(key, spent))

    async def _settle(self, key: str, spent: Amount) -> None:
        def work(total: DayTotal, now: float) -> None:
            total.settle(key, spent.cost, spent.tokens)
            self._account.day_cost = total.cost

        try:
            await self._change(work)
        except TROUBLES as error:
            if not self._has_warned:
                self._has_warned = True
                logger.warning("Spending is missing from the total of the day: %s", error)

    def standing(self) -> Standing | None:
        """Where the day stands as of the last look, where there is a limit."""
        if self._limit is None or self._account.day_cost is None:
            return None
        return Standing("daily_max_cost_usd", self._limit, self._account.day_cost)

    async def _change(self, change: Callable[[DayTotal, float], Result]) -> Result:
        def work(leave: Leave) -> Result:
            def permitted(total: DayTotal, now: float) -> Result:
                leave.take()
                return change(total, now)

            return self._file.change(permitted)

        return await self._threads.run(work)
