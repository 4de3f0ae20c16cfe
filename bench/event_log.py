"""``hooks-logging``: what an event costs the loop when it is logged, and what the thread needs to write it."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from amplifier_core.events import LLM_RESPONSE, TOOL_POST, TOOL_PRE
from amplifier_core.models import ToolResult
from amplifier_core.testing import TestCoordinator
from amplifier_module_hooks_logging import mount
from amplifier_module_hooks_logging.event_log import LOG
from bench.figure import Figure
from bench.measure import Effort, quiet_heap

EVENTS = 100_000
LIMIT_US = 15.0
BURST = 500
"""Events in a row before the loop waits for something, as it does for a model or a tool."""

_TOOL = {
    "tool_name": "search",
    "tool_call_id": "call-1",
    "parallel_group_id": "g-1",
    "tool_input": {"query": "weather"},
}
_USAGE = {"input_tokens": 1_200, "output_tokens": 80, "total_tokens": 1_280}
PAYLOADS: tuple[tuple[str, dict[str, Any]], ...] = (
    (TOOL_PRE, _TOOL),
    (TOOL_POST, {**_TOOL, "tool_result": ToolResult(output={"lines": ["It rains. " * 20]}), "duration_ms": 1.5}),
    (LLM_RESPONSE, {"provider": "p", "model": "m", "status": "ok", "duration_ms": 900, "usage": _USAGE}),
)


def figures(effort: Effort) -> Iterator[Figure]:
    """Loop time per logged event, emitting included; and time on the wall until it is in the file."""
    count = effort.size(EVENTS, smoke=2 * BURST)
    with quiet_heap():
        loop_us, wall_us = asyncio.run(_logged(count))
    low, _, high = quantiles(loop_us, n=4)
    what = f"hooks-logging: {count:,} events, loop time of emitting and logging one"
    note = f"{median(wall_us):.3g} µs until one is written, all threads together"
    yield Figure("event_log", what, median(loop_us), LIMIT_US, "µs", low, high, note)


async def _logged(count: int) -> tuple[list[float], list[float]]:
    """For each burst the microseconds of one event: of the thread that emits, and on the wall until all are written."""
    folder = Path(tempfile.mkdtemp())
    coordinator = TestCoordinator()
    await mount(coordinator, {"session_log_template": str(folder / "events.jsonl")})
    log = coordinator.get_capability(LOG)
    loop_us: list[float] = []
    wall_us: list[float] = []
    try:
        for _ in range(count // BURST):
            begin, wall_begin = time.thread_time_ns(), time.perf_counter_ns()
            for number in range(BURST):
                event, data = PAYLOADS[number % len(PAYLOADS)]
                await coordinator.hooks.emit(event, data)
            loop_us.append((time.thread_time_ns() - begin) / 1e3 / BURST)
            await log.flush()
            wall_us.append((time.perf_counter_ns() - wall_begin) / 1e3 / BURST)
        return loop_us, wall_us
    finally:
        shutil.rmtree(folder)
