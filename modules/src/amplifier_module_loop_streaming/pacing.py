"""A least time between two model calls, for services that count requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from amplifier_modkit.events import ORCHESTRATOR_RATE_LIMIT_DELAY
from amplifier_modkit.turns.gate import HookGate


class Pace:
    """Remembers when the latest model call began; lives as long as the loop."""

    def __init__(
        self,
        now_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._now_s = now_s
        self._sleep = sleep
        self._latest_s: float | None = None

    async def keep(self, least_ms: float, gate: HookGate, iteration: int) -> None:
        """Waits until ``least_ms`` have passed since the model call before this one began."""
        if least_ms and self._latest_s is not None:
            elapsed_ms = (self._now_s() - self._latest_s) * 1000
            delay_ms = least_ms - elapsed_ms
            if delay_ms > 0:
                facts = {"delay_ms": delay_ms, "configured_ms": least_ms, "elapsed_ms": elapsed_ms}
                await gate.tell(ORCHESTRATOR_RATE_LIMIT_DELAY, {**facts, "iteration": iteration})
                await self._sleep(delay_ms / 1000)
        self._latest_s = self._now_s()
