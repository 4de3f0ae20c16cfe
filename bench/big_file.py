"""``tool-filesystem``: some lines of a file of 1 GB, against the same lines of a file of 64 MB."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from amplifier_core.testing import TestCoordinator
from amplifier_module_tool_filesystem import mount
from bench.figure import Figure, ratio_figure
from bench.measure import Effort, Sample, compare

LARGE_BYTES, SMALL_BYTES = 1 << 30, 64 << 20
LIMIT = 1.3
"""A slice costs what the slice costs; some more is left for the file system."""
SLICES = {"first": 1, "last": -200}
"""Where 200 lines begin."""

_LINE = b"2026-11-15T09:00:00Z level=info the quick brown fox jumps over the lazy dog number %09d\n"


def figures(effort: Effort) -> Iterator[Figure]:
    """Time on the wall of reading 200 lines at either end."""
    folder = Path(tempfile.mkdtemp())
    large = effort.size(LARGE_BYTES, smoke=2 * SMALL_BYTES)
    try:
        paths = [_written(folder / name, size) for name, size in (("large.log", large), ("small.log", SMALL_BYTES))]
        with asyncio.Runner() as runner:
            read = runner.run(_reader(folder))
            for name, offset in SLICES.items():
                samples = [_reading(runner, read, path, offset) for path in paths]
                ratio = compare(samples[0], samples[1], rounds=effort.rounds_of(0.2))
                what = (
                    f"read_file: the {name} 200 lines of {large >> 20:,} MiB, against those of {SMALL_BYTES >> 20} MiB"
                )
                yield ratio_figure(f"big_file_{name}", what, ratio, LIMIT, "time on the wall")
    finally:
        shutil.rmtree(folder)


def _written(path: Path, size: int) -> Path:
    block = b"".join(_LINE % number for number in range(10_000))
    with path.open("wb") as file:
        for _ in range(size // len(block)):
            file.write(block)
    return path


async def _reader(folder: Path) -> Any:
    coordinator = TestCoordinator()
    coordinator.register_capability("session.working_dir", str(folder))
    await mount(coordinator, {})
    return coordinator.get("tools", "read_file")


def _reading(runner: asyncio.Runner, tool: Any, path: Path, offset: int) -> Sample:
    """Seconds of one call, which must give 200 lines."""

    async def seconds() -> float:
        begin = time.perf_counter()
        result = await tool.execute({"file_path": str(path), "offset": offset, "limit": 200})
        spent_s = time.perf_counter() - begin
        if not result.success or "quick brown fox" not in str(result.output):
            raise RuntimeError(f"read_file gave {result.output!r:.200}")
        return spent_s

    return lambda: runner.run(seconds())
