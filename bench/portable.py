"""The part of the benchmark that runs on any release of the kernel: measures on request what its operations cost.

``bench.peer`` runs it with two interpreters and asks them in turn. Only public names that all releases share are used.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import amplifier_core
from amplifier_core import AmplifierSession, HookResult, ModuleCoordinator
from bench import workload
from bench.emit import PAYLOAD, emitting, fresh_handlers, registry_with
from bench.measure import Work, quiet_heap

Cost = tuple[float, float]
"""Seconds of one operation: CPU time of the whole process, and time on the wall."""


def operations() -> dict[str, Work]:
    """What is measured, by the name in the result."""
    large = {"output": "x" * 1_000_000}
    return {
        "emit_no_handlers": emitting(registry_with([]), PAYLOAD),
        "emit_1_handler": emitting(registry_with(fresh_handlers(1)), PAYLOAD),
        "emit_10_handlers": emitting(registry_with(fresh_handlers(10)), PAYLOAD),
        "emit_1_mb": emitting(registry_with(fresh_handlers(1)), large),
        "session": _whole_sessions,
        "mount_unmount": _mounting(ModuleCoordinator()),
    }


async def _whole_sessions(count: int) -> None:
    plan, loader = workload.plan(), workload.TableLoader(workload.mounts())
    for _ in range(count):
        await _run_session(plan, loader)


async def _run_session(plan: dict[str, Any], loader: workload.TableLoader) -> None:
    session = AmplifierSession(plan)
    # Not every release honours the constructor's ``loader=``.
    session.coordinator.loader = loader
    await session.initialize()
    await session.execute(workload.PROMPT)
    await session.cleanup()


async def _handler_calls() -> int:
    """How often handlers are called in one session: proof that every release does the same work."""
    events: list[str] = []

    class Counter(workload.Observer):
        async def observe(self, event: str, data: dict[str, Any]) -> HookResult:
            events.append(event)
            return await super().observe(event, data)

    await _run_session(workload.plan(), workload.TableLoader(workload.mounts(new_observer=Counter)))
    return len(events)


def _mounting(coordinator: Any) -> Work:
    tool = workload.Tool("search")

    async def work(count: int) -> None:
        for _ in range(count):
            await coordinator.mount("tools", tool, name="search")
            await coordinator.unmount("tools", name="search")

    return work


def _sampler(runner: asyncio.Runner, work: Work, sample_s: float) -> Callable[[], Cost]:
    """Measures ``work``, repeated until it takes about ``sample_s`` CPU seconds; finding out how often warms it up."""
    count = 1
    while (spent_s := runner.run(_cost(work, count))[0] * count) < sample_s:
        count *= max(2, min(10, int(sample_s / spent_s)))
    return lambda: runner.run(_cost(work, count))


async def _cost(work: Work, count: int) -> Cost:
    cpu, wall = time.process_time_ns(), time.perf_counter_ns()
    await work(count)
    return (time.process_time_ns() - cpu) / 1e9 / count, (time.perf_counter_ns() - wall) / 1e9 / count


def main() -> None:
    """Tells which kernel this is, then measures one sample of each operation that a line of standard input names."""
    parser = argparse.ArgumentParser(prog="python -m bench.portable", description=__doc__)
    parser.add_argument("--sample-seconds", type=float, default=0.01)
    sample_s: float = parser.parse_args().sample_seconds
    # What is logged is not what is measured; without a handler the standard library would print warnings.
    logging.disable(logging.CRITICAL)
    with asyncio.Runner() as runner:
        samplers = {name: _sampler(runner, work, sample_s) for name, work in operations().items()}
        # Told when everything is warm, so that the other process starts up while this one waits.
        _answer({"version": amplifier_core.__version__, "handler_calls": runner.run(_handler_calls())})
        with quiet_heap():
            for line in sys.stdin:
                _answer(samplers[line.strip()]())
    # A kernel with threads of its own may crash while the interpreter is taken down; everything is measured by now.
    os._exit(0)


def _answer(value: Any) -> None:
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    main()
