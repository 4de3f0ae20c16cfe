"""A batch of scripted sessions: against the bare kernel running the same turns, as it grows, and what it keeps."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from amplifier.batch.batch import Batch
from amplifier.batch.items import read_items
from amplifier.batch.results import Results
from amplifier.batch.session_runner import SessionRunner
from amplifier.batch.signalled import run_signalled
from amplifier.paths import Places
from amplifier.settings import Settings
from amplifier_core import AmplifierSession
from bench.figure import Figure, ratio_figure
from bench.measure import Effort, Sample, compare

AT_ONCE = 8
PLAN: dict[str, Any] = {
    "session": {"orchestrator": {"module": "loop-basic"}, "context": {"module": "context-simple"}},
    "providers": [
        {
            "module": "provider-mock",
            "config": {
                "script": [{"tool_calls": [{"name": "todo", "arguments": {"action": "list"}}]}, "It is done."],
                "at_end": "repeat",
            },
        }
    ],
    "tools": [{"module": "tool-todo"}],
}


def figures(effort: Effort) -> Iterator[Figure]:
    """Speed, growth and memory of a batch whose sessions call the model twice and a tool once."""
    few, many = effort.size(full=50, smoke=4), effort.size(full=1000, smoke=8)
    with TemporaryDirectory() as folder, _without_settings():
        places = _places(Path(folder))
        ratio = compare(_batches(places, few), _bare(few), effort.rounds_of(0.1))
        what = "a session of a batch, with its result written, against the bare kernel running the same turn"
        yield ratio_figure("batch_speed", what, ratio, 1.25)
        grown = compare(_batches(places, many), _batches(places, few, times=many // few), effort.rounds_of(0.01))
        what = f"a batch of {many:,}: time of one session against one of {few}"
        yield ratio_figure("batch_growth", what, grown, 1.2)
        kept = _kept_bytes(places, few, many)
    what = f"a batch of {many:,}: memory that each session more leaves behind"
    note = "traced by tracemalloc while the batch runs"
    yield Figure("batch_memory", what, kept / 1000, 1.0, unit="kB", note=note)


def _batches(places: Places, count: int, times: int = 1) -> Sample:
    """CPU seconds per session of whole batches."""

    def sample() -> float:
        begin = time.process_time_ns()
        for _ in range(times):
            _run_batch(places, count)
        return (time.process_time_ns() - begin) / 1e9 / count / times

    return sample


def _bare(count: int) -> Sample:
    """CPU seconds per session of the same turns on the kernel alone, as many at a time."""

    async def lives() -> None:
        left = iter(range(count))

        async def work() -> None:
            for number in left:
                async with AmplifierSession(PLAN) as session:
                    await session.execute(f"Question {number}")

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))

    def sample() -> float:
        begin = time.process_time_ns()
        asyncio.run(lives())
        return (time.process_time_ns() - begin) / 1e9 / count

    return sample


def _run_batch(places: Places, count: int, on_done: Any = lambda item, outcome: None) -> None:
    items = places.working_dir / f"items-{count}.jsonl"
    if not items.exists():
        items.write_text("".join(json.dumps({"prompt": f"Question {n}"}) + "\n" for n in range(count)))
    output = places.working_dir / "results.jsonl"
    output.unlink(missing_ok=True)

    def load(flags: Any) -> Settings:
        return Settings.load(places, flags, {})

    with Results.opened(output) as results:
        runner = SessionRunner(places, load, str(places.working_dir / "bundle.md"))
        batch = Batch(runner, results, concurrency=AT_ONCE, on_done=on_done)
        run_signalled(batch, read_items(items), print)
    if batch.tally.succeeded != count:
        raise RuntimeError(f"{count - batch.tally.succeeded} of {count} sessions failed; see {output}")


def _kept_bytes(places: Places, few: int, many: int) -> float:
    """Bytes per session by which memory grows between the first sessions of a batch and its last ones."""
    sizes: list[int] = []

    def on_done(item: Any, _: Any) -> None:
        if item.line in (few, many):
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])

    tracemalloc.start()
    try:
        _run_batch(places, many, on_done)
    finally:
        tracemalloc.stop()
    return max(0.0, (sizes[-1] - sizes[0]) / (many - few))


def _places(folder: Path) -> Places:
    (folder / "bundle.md").write_text(f"---\n{json.dumps({'bundle': {'name': 'bench'}, **PLAN})}\n---\n")
    return Places(home=folder / "home", cache=folder / "cache", working_dir=folder, project_dir=folder)


@contextmanager
def _without_settings() -> Iterator[None]:
    before = Path.cwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
