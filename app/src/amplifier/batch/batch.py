"""The batch itself: so many items at a time, each with its result written as soon as it is there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from amplifier.batch.items import Item
from amplifier.batch.results import Results
from amplifier.runtime.outcome import TurnOutcome

RunItem = Callable[[Item], Awaitable[TurnOutcome]]


@dataclass(slots=True)
class Tally:
    """What became of the items of one run."""

    succeeded: int = 0
    failed: int = 0
    skipped: int = 0
    """Those that were finished before."""
    is_stopped: bool = False
    """Whether it was stopped before all were done."""


class Batch:
    """One run over the items of a file; lives until the last worker is done."""

    def __init__(
        self,
        run_item: RunItem,
        results: Results,
        *,
        concurrency: int,
        retries_failed: bool = False,
        on_done: Callable[[Item, TurnOutcome | None], None] = lambda item, outcome: None,
    ) -> None:
        """``on_done`` is told each item that is done; without an outcome, it was finished before."""
        self._run_item = run_item
        self._results = results
        self._concurrency = concurrency
        self._retries_failed = retries_failed
        self._on_done = on_done
        self._workers: list[asyncio.Task[None]] = []
        self.tally = Tally()

    async def run(self, items: Iterator[Item]) -> Tally:
        """Runs what is not finished yet. What an item does wrong is in its result; a result that cannot be written ends
        the batch and is raised."""
        self._workers = [asyncio.create_task(self._work(items)) for _ in range(self._concurrency)]
        ends = await asyncio.gather(*self._workers, return_exceptions=True)
        for end in ends:
            if isinstance(end, Exception):
                raise end
        return self.tally

    def stop(self) -> None:
        """Begins nothing more; what is running ends by itself."""
        self.tally.is_stopped = True

    def abort(self) -> None:
        """Ends what is running at once; it has no results, and is run again next time."""
        self.stop()
        for worker in self._workers:
            worker.cancel()

    async def _work(self, items: Iterator[Item]) -> None:
        for item in items:
            if self.tally.is_stopped:
                return
            if self._results.is_done(item, retries_failed=self._retries_failed):
                self.tally.skipped += 1
                self._on_done(item, None)
            else:
                await self._done(item)

    async def _done(self, item: Item) -> None:
        outcome = await self._run_item(item)
        try:
            self._results.append(item, outcome)
        except BaseException:
            self.abort()
            raise
        if outcome.is_error:
            self.tally.failed += 1
        else:
            self.tally.succeeded += 1
        self._on_done(item, outcome)
