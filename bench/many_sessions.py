"""A thousand sessions at once in one event loop: does one cost what it costs among ten, and what does it keep?"""

from __future__ import annotations

import asyncio
import gc
import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

from amplifier_core import AmplifierSession
from amplifier_core.events import ALL_EVENTS
from bench import workload
from bench.figure import Figure, ratio_figure
from bench.measure import Effort, Sample, compare

EVENTS = tuple(ALL_EVENTS[:40])
FEW = 10


class ManyEvents:
    """Emits each of the 40 events once, and lets the other sessions go on in between."""

    async def execute(
        self, prompt: str, context: Any, providers: Any, tools: Any, hooks: Any, coordinator: Any = None
    ) -> str:
        """Runs the turn."""
        for event in EVENTS:
            await hooks.emit(event, workload.CALL)
            await asyncio.sleep(0)
        return "done"


def figures(effort: Effort) -> Iterator[Figure]:
    """Time and memory of one session among a thousand."""
    many = effort.size(full=1000, smoke=20)
    with asyncio.Runner() as runner:
        # As many sessions on either side: of two samples of different length the shorter one has more luck.
        ratio = compare(_lives(runner, many), _lives(runner, FEW, times=many // FEW), effort.rounds_of(0.05))
        what = f"{many:,} sessions at once, 5 handlers on 40 events: time of one against one of {FEW}"
        yield ratio_figure("many_sessions_time", what, ratio, 1.3)
        fresh, used = runner.run(_kept_bytes(many))
    what = f"{many:,} sessions at once: memory of each, kept alive after a turn"
    note = (
        f"{fresh / 1000:.3g} kB when just initialised; traced by tracemalloc: session, coordinator, registry with 200 "
        "registrations, report, and the module objects; the plan and the code are shared"
    )
    yield Figure("many_sessions_memory", what, used / 1000, 60, unit="kB", note=note)


def _lives(runner: asyncio.Runner, at_once: int, times: int = 1) -> Sample:
    """CPU seconds per session when so many live, turn and end side by side."""

    def sample() -> float:
        begin = time.process_time_ns()
        for _ in range(times):
            runner.run(_live_together(at_once))
        return (time.process_time_ns() - begin) / 1e9 / at_once / times

    return sample


async def _live_together(at_once: int) -> None:
    # Three waves rather than one, so that all sessions are really there at the same time.
    sessions = _new_sessions(at_once)
    await asyncio.gather(*(session.initialize() for session in sessions))
    await asyncio.gather(*(session.execute(workload.PROMPT) for session in sessions))
    await asyncio.gather(*(session.cleanup() for session in sessions))


async def _kept_bytes(count: int) -> tuple[float, float]:
    """Bytes per session that are still there when all are initialised, and after each has run a turn."""
    await _live_together(2)
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        sessions = _new_sessions(count)
        await asyncio.gather(*(session.initialize() for session in sessions))
        gc.collect()
        initialised, _ = tracemalloc.get_traced_memory()
        await asyncio.gather(*(session.execute(workload.PROMPT) for session in sessions))
        gc.collect()
        used, _ = tracemalloc.get_traced_memory()
        await asyncio.gather(*(session.cleanup() for session in sessions))
    finally:
        tracemalloc.stop()
    return (initialised - before) / count, (used - before) / count


def _new_sessions(count: int) -> list[AmplifierSession]:
    plan, loader = workload.plan(), workload.TableLoader(workload.mounts(EVENTS, ManyEvents))
    return [AmplifierSession(plan, loader=loader) for _ in range(count)]
