"""``tool-search``: ``grep`` and ``glob`` over a tree of 20,000 files, beside ``rg`` called directly."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from amplifier_core.testing import TestCoordinator
from amplifier_module_tool_search import mount
from bench.figure import Figure, ratio_figure
from bench.measure import Effort, Sample, compare

FILES = 20_000
FILES_PER_FOLDER = 20
NEEDLE_EVERY = 500
"""One file of so many holds what is searched for."""
LIMITS = {"grep": 15.0, "glob": 30.0}
"""How many times the time of ``rg`` each may take. ``rg`` walks on all cores, and does not tell dates and sizes."""

_IGNORED = "*.log\nout/\n!keep.log\n"
_LINES = "".join(f"line {number}: the quick brown fox jumps over the lazy dog\n" for number in range(30))


def figures(effort: Effort) -> Iterator[Figure]:
    """Time on the wall of each tool against ``rg`` with the same task; nothing where there is no ``rg``."""
    program = shutil.which("rg", path=str(Path(sys.executable).parent)) or shutil.which("rg")
    if program is None:
        raise RuntimeError("There is no rg on PATH; install ripgrep to measure beside it")
    count = effort.size(FILES, smoke=200)
    wanted = -(-count // NEEDLE_EVERY)
    with _tree(count) as root, asyncio.Runner() as runner:
        tools = runner.run(_tools(root))
        rg = [program, "--no-config", "--no-ignore-global"]
        tasks = {
            "grep": ({"pattern": "needle [0-9]+"}, [*rg, "-l", "-e", "needle [0-9]+", "."], "total_matches", wanted),
            "glob": ({"pattern": "**/*.py"}, [*rg, "--files", "-g", "*.py", "."], "total_files", count),
        }
        for name, (given, words, key, total) in tasks.items():
            subject = _calling(runner, tools[name], given, key, total)
            ratio = compare(subject, _running(words, root, total), rounds=effort.rounds_of(0.1))
            what = f"tool-search: {name} over {count:,} files, against rg itself"
            yield ratio_figure(f"search_{name}", what, ratio, LIMITS[name], "time on the wall")


def _calling(runner: asyncio.Runner, tool: Any, given: dict[str, Any], key: str, total: int) -> Sample:
    """Seconds of one call, which must find ``total``."""

    async def seconds() -> float:
        begin = time.perf_counter()
        result = await tool.execute(given)
        spent_s = time.perf_counter() - begin
        if not result.success or result.output[key] != total:
            raise RuntimeError(f"{tool.name} gave {result.output!r:.200}, and {total} matches were expected")
        return spent_s

    return lambda: runner.run(seconds())


def _running(words: list[str], root: Path, total: int) -> Sample:
    """Seconds of one run of ``rg``, which must tell ``total`` lines."""

    def seconds() -> float:
        begin = time.perf_counter()
        done = subprocess.run(words, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, check=True)
        spent_s = time.perf_counter() - begin
        told = done.stdout.count(b"\n")
        if told != total:
            raise RuntimeError(f"rg told {told} lines, and {total} were expected")
        return spent_s

    return seconds


async def _tools(root: Path) -> dict[str, Any]:
    coordinator = TestCoordinator()
    coordinator.register_capability("session.working_dir", str(root))
    await mount(coordinator, {})
    return coordinator.get_mounted("tools")


@contextmanager
def _tree(count: int) -> Iterator[Path]:
    """A repository with so many Python files, in folders of twenty, and a log that is ignored beside each folder."""
    root = Path(tempfile.mkdtemp())
    try:
        (root / ".git").mkdir()
        (root / ".gitignore").write_text(_IGNORED)
        for number in range(count):
            folder = root / f"part{number // (FILES_PER_FOLDER * 10)}" / f"unit{number // FILES_PER_FOLDER}"
            if number % FILES_PER_FOLDER == 0:
                folder.mkdir(parents=True)
                (folder / "run.log").write_text("needle 0\n")
            (folder / f"file{number}.py").write_text(_LINES if number % NEEDLE_EVERY else f"needle {number}\n{_LINES}")
        yield root
    finally:
        shutil.rmtree(root)
