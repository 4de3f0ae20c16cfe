"""The tool calls of one model answer: run side by side where they may, stored in the order in which they were made.

However the batch ends, every call has a result in the context.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from amplifier_core.cancellation import CancellationToken
from amplifier_core.interfaces import Tool
from amplifier_core.models import ToolResult
from amplifier_modkit.turns.calls import RequestedCall
from amplifier_modkit.turns.results import failure
from amplifier_modkit.turns.stopping import GRACE_S, ended, finish
from amplifier_modkit.turns.tool_step import CANCELLED_ITSELF, STOPPED

logger = logging.getLogger(__name__)

Run = Callable[[RequestedCall], Awaitable[ToolResult]]
Keep = Callable[[RequestedCall, ToolResult], Awaitable[None]]

NOT_STARTED = "Not run: a stop was requested before this call began."


class ToolBatch:
    """Runs the calls of one answer with ``run`` and hands each result to ``keep``, in the order of the calls.

    All of it happens in a task of its own, which a cancellation of the turn does not reach: only tools that run are
    cancelled. So nothing is interrupted while it is being stored.
    """

    def __init__(
        self, calls: Sequence[RequestedCall], run: Run, keep: Keep, token: CancellationToken, limit: int = 0
    ) -> None:
        self._calls = calls
        self._run = run
        self._keep = keep
        self._token = token
        self._slots = asyncio.Semaphore(limit) if 0 < limit < len(calls) else None
        self._results: list[ToolResult | None] = [None] * len(calls)
        self._kept = 0
        self._is_stopped = False
        self._storing_error: Exception | None = None
        self._running: set[asyncio.Task[Any]] = set()

    async def complete(self, begin: Callable[[], Awaitable[None]], tools: Mapping[str, Tool]) -> list[ToolResult]:
        """Does what must come first, then runs the calls; every result, in order.

        A call that was stopped or not begun has a result that says so.
        """
        work = asyncio.get_running_loop().create_task(self._work(begin, tools))
        try:
            await ended(work)
        except asyncio.CancelledError:
            await finish(self._stop(work))
            raise
        work.result()
        return [result for result in self._results if result is not None]

    async def _work(self, begin: Callable[[], Awaitable[None]], tools: Mapping[str, Tool]) -> None:
        await begin()
        try:
            for wave in _waves(self._calls, tools):
                await self._run_wave(wave)
        finally:
            await self._keep_rest()
        if self._storing_error is not None:
            raise self._storing_error

    async def _run_wave(self, places: range) -> None:
        if len(places) == 1:
            await self._run_one(places[0])
            await self._keep_finished()
            return
        tasks = [asyncio.create_task(self._run_one(place)) for place in places]
        pending = set(tasks)
        while pending:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            await self._keep_finished()
            if any(task.cancelled() or task.exception() is not None for task in done):
                self._cancel_running()
        for task in tasks:
            task.result()

    async def _run_one(self, place: int) -> None:
        if self._slots is None:
            self._results[place] = await self._result_of(self._calls[place])
            return
        async with self._slots:
            self._results[place] = await self._result_of(self._calls[place])

    async def _result_of(self, call: RequestedCall) -> ToolResult:
        if self._is_stopped or self._token.is_cancelled:
            return failure(NOT_STARTED, type="cancelled")
        task = cast("asyncio.Task[Any]", asyncio.current_task())
        self._running.add(task)
        try:
            return await self._run(call)
        except asyncio.CancelledError:
            return failure(STOPPED if self._is_stopped else CANCELLED_ITSELF, type="cancelled")
        except BaseException:
            self._is_stopped = True  # before anybody who waits for this call's place can begin
            raise
        finally:
            self._running.discard(task)
            while task.cancelling():
                task.uncancel()

    async def _keep_finished(self) -> None:
        """Keeps the results up to the first call that still runs."""
        while self._kept < len(self._calls) and (result := self._results[self._kept]) is not None:
            call = self._calls[self._kept]
            self._kept += 1
            await self._keep_one(call, result)

    async def _keep_one(self, call: RequestedCall, result: ToolResult) -> None:
        """Keeps a result; one that cannot be stored is replaced by one that says so, and nothing more is begun."""
        try:
            await self._keep(call, result)
        except Exception as error:
            self._storing_error = self._storing_error or error
            self._cancel_running()
            told = f"The result could not be stored: {type(error).__name__}: {error}"
            try:
                await self._keep(call, failure(told, type=type(error).__name__))
            except Exception as again:
                logger.error("The call '%s' of tool '%s' is left without a result: %r", call.id, call.name, again)

    async def _keep_rest(self) -> None:
        for place, result in enumerate(self._results):
            if result is None:
                self._results[place] = failure(STOPPED, type="cancelled")
        await self._keep_finished()

    async def _stop(self, work: asyncio.Task[None]) -> None:
        """Cancels the tools that run and waits for the end of the work, but not for ever."""
        self._cancel_running()
        await asyncio.wait((work,), timeout=GRACE_S)
        if not work.done():
            logger.error("A tool ignores its cancellation for %g s and is left behind: %r", GRACE_S, self._running)
            await self._keep_rest()
        elif not work.cancelled() and (error := work.exception()) is not None:
            logger.error("While a turn was being stopped, its tool calls failed: %r", error)

    def _cancel_running(self) -> None:
        self._is_stopped = True
        for task in self._running:
            task.cancel()


def is_sequential(tool: Any) -> bool:
    """Whether a tool declares that nothing may run beside it: an attribute ``sequential``, or one in its metadata."""
    declared = getattr(tool, "sequential", None)
    if declared is None:
        metadata = getattr(tool, "metadata", None)
        declared = cast("Mapping[str, Any]", metadata).get("sequential") if isinstance(metadata, Mapping) else None
    return declared is True


def _waves(calls: Sequence[RequestedCall], tools: Mapping[str, Tool]) -> Iterator[range]:
    """Places of calls that run together; a sequential tool has a wave of its own."""
    start = 0
    for place, call in enumerate(calls):
        if is_sequential(tools.get(call.name)):
            if start < place:
                yield range(start, place)
            yield range(place, place + 1)
            start = place + 1
    if start < len(calls):
        yield range(start, len(calls))
