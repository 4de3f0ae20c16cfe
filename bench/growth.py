"""Large numbers of handlers, contributors and modules: ten times as many may cost ten times as much, or n log n."""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from amplifier_core import HookRegistry, ModuleCoordinator, ModuleLoader
from amplifier_core.events import TOOL_PRE
from bench.emit import fresh_handlers
from bench.figure import Figure, ratio_figure
from bench.measure import Effort, Sample, compare

TIMES = 10

Action = Callable[[], Awaitable[object]]


def figures(effort: Effort) -> Iterator[Figure]:
    """Costs of n and of 10 n, for each kind of thing there can be many of."""
    with asyncio.Runner() as runner, TemporaryDirectory() as folder:
        kinds = (
            ("handlers", "handlers registered, told one event, removed", 10_000, _handlers),
            ("contributors", "contributors collected", 1_000, _contributors),
            ("modules", "modules discovered", 1_000, lambda count: _modules(count, Path(folder))),
        )
        for key, what, full, prepare in kinds:
            large = effort.size(full, smoke=100)
            small = large // TIMES
            samples = (_sample(runner, prepare(count), repeat) for count, repeat in ((large, 1), (small, TIMES)))
            ratio = compare(*samples, rounds=effort.rounds_of(0.1))
            bound = TIMES * math.log(large) / math.log(small)
            yield ratio_figure(f"growth_{key}", f"{large:,} {what}, against {small:,} (n log n)", ratio, bound)


def _sample(runner: asyncio.Runner, action: Action, repeat: int) -> Sample:
    async def cpu_seconds() -> float:
        begin = time.process_time_ns()
        for _ in range(repeat):
            await action()
        return (time.process_time_ns() - begin) / 1e9 / repeat

    runner.run(cpu_seconds())
    return lambda: runner.run(cpu_seconds())


def _handlers(count: int) -> Action:
    handlers, random = fresh_handlers(count), Random(count)
    priorities = [random.randrange(100) for _ in handlers]

    async def register_tell_remove() -> None:
        registry = HookRegistry()
        undo = [
            registry.register(TOOL_PRE, handler, priority, name=f"handler-{priority}")
            for handler, priority in zip(handlers, priorities, strict=True)
        ]
        await registry.emit(TOOL_PRE, {})
        for remove in undo:
            remove()

    return register_tell_remove


def _contributors(count: int) -> Action:
    coordinator = ModuleCoordinator()
    for number in range(count):
        coordinator.register_contributor("bench", f"contributor-{number}", lambda: ["contribution"])
    return lambda: coordinator.collect_contributions("bench")


def _modules(count: int, folder: Path) -> Action:
    """Half of the modules are installed ones, half lie in a search path; nothing else is installed."""
    site, search_path = folder / f"site-{count}", folder / f"modules-{count}"
    _install(site, count // 2)
    for number in range(count - count // 2):
        (search_path / f"amplifier-module-tool-found-{number}").mkdir(parents=True)

    async def discover() -> None:
        with _only_on_path(site):
            found = await ModuleLoader(search_paths=[search_path]).discover()
        if len(found) != count:
            raise RuntimeError(f"{len(found)} modules were discovered instead of {count}")

    return discover


def _install(site: Path, count: int) -> None:
    """Writes the metadata of an installed distribution with that many modules."""
    info = site / "bench_modules-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bench-modules\nVersion: 1.0\n", encoding="utf-8")
    entries = "".join(f"tool-installed-{number} = bench_modules:mount\n" for number in range(count))
    (info / "entry_points.txt").write_text(f"[amplifier.modules]\n{entries}", encoding="utf-8")


@contextmanager
def _only_on_path(site: Path) -> Iterator[None]:
    # What else is installed would be read each time and, being the same for both counts, hide how these grow.
    before = sys.path[:]
    sys.path[:] = [str(site)]
    try:
        yield
    finally:
        sys.path[:] = before
