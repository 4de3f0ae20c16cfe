"""Watching a turn while it runs: an async iterator over a session's events that ends with the turn's result."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from amplifier_core.hooks import HookRegistry

logger = logging.getLogger(__name__)

Event = tuple[str, dict[str, Any]]

DEFAULT_CAPACITY = 256
"""Events that may wait for a slow reader; after that the turn waits for the reader."""


@dataclass(frozen=True, slots=True)
class TurnResult:
    """The last item of a stream: what the orchestrator answered."""

    response: Any
    session_id: str


class EventStream(AsyncIterator["Event | TurnResult"]):
    """One turn as a series of ``(event, data)`` pairs, each given after its handlers ran, and a ``TurnResult`` last.

    The turn begins with the first item asked for. What the turn raises comes out of the iteration. Leaving an ``async
    for`` early, the end of an ``async with``, or ``aclose()`` cancels a turn that still runs.
    """

    def __init__(
        self,
        hooks: HookRegistry,
        session_id: str,
        turn: Callable[[], Coroutine[Any, Any, Any]],
        capacity: int = DEFAULT_CAPACITY,
    ) -> None:
        self._hooks = hooks
        self._session_id = session_id
        self._turn = turn
        self._waiting: asyncio.Queue[Event | None] = asyncio.Queue(maxsize=capacity)
        self._task: asyncio.Task[TurnResult] | None = None
        self._is_over = False

    async def __anext__(self) -> Event | TurnResult:
        item = await self._next()
        if item is None:
            raise StopAsyncIteration
        return item

    def __aiter__(self) -> AsyncGenerator[Event | TurnResult, None]:
        # A generator, because Python closes one when an ``async for`` is left early; a plain iterator would never
        # hear of it.
        return self._items()

    async def _items(self) -> AsyncGenerator[Event | TurnResult, None]:
        try:
            while (item := await self._next()) is not None:
                yield item
        finally:
            await self.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Ends the stream; a turn that still runs is cancelled and waited for."""
        was_over, self._is_over = self._is_over, True
        if self._task is None:
            return
        self._end_waiting()
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task})
        if not was_over and not self._task.cancelled() and self._task.exception() is not None:
            logger.warning(
                "The turn of session %s failed when nobody listened any more: %r",
                self._session_id,
                self._task.exception(),
            )

    async def _next(self) -> Event | TurnResult | None:
        if self._is_over:
            return None
        task = self._started()
        item = await self._waiting.get()
        if item is not None:
            return item
        self._waiting.put_nowait(None)  # for whoever else may be waiting
        if self._is_over:
            return None
        self._is_over = True
        return await task

    def _started(self) -> asyncio.Task[TurnResult]:
        if self._task is None:
            self._task = asyncio.create_task(self._drive())
        return self._task

    async def _drive(self) -> TurnResult:
        untap = self._hooks.tap(self._offer)
        try:
            return TurnResult(await self._turn(), self._session_id)
        finally:
            untap()
            if self._turn_is_cancelled:
                self._end_waiting()
            else:
                await self._waiting.put(None)

    async def _offer(self, event: str, data: dict[str, Any]) -> None:
        # A cancelled turn waits for no reader: there may be none, and then it would never end.
        if not self._turn_is_cancelled:
            await self._waiting.put((event, data))

    @property
    def _turn_is_cancelled(self) -> bool:
        return self._task is not None and self._task.cancelling() > 0

    def _end_waiting(self) -> None:
        """Lets go whoever waits, on either side; what has not been read is dropped."""
        while not self._waiting.empty():
            self._waiting.get_nowait()
        self._waiting.put_nowait(None)
