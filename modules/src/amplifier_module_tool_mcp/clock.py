"""A time limit that stands still while a person is waited for."""

from __future__ import annotations

import asyncio
from types import TracebackType


class PatientClock:
    """Cancels its block like ``asyncio.timeout`` does, but for the time between ``pause`` and ``resume``."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._scope: asyncio.Timeout | None = None
        self._left_s: float | None = None

    async def __aenter__(self) -> PatientClock:
        self._scope = asyncio.timeout(self._limit_s)
        await self._scope.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._scope is not None
        scope, self._scope = self._scope, None
        await scope.__aexit__(kind, error, trace)

    def pause(self) -> None:
        """Stops the clock; without effect outside of the block."""
        if self._scope is not None and (when := self._scope.when()) is not None:
            self._left_s = when - asyncio.get_running_loop().time()
            self._scope.reschedule(None)

    def resume(self) -> None:
        """Lets the clock run on from where it was stopped."""
        if self._scope is not None and self._left_s is not None:
            self._scope.reschedule(asyncio.get_running_loop().time() + self._left_s)
            self._left_s = None
