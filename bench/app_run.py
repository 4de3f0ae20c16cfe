"""What the command adds to the work: ``amplifier run`` on the scripted provider, and a list of many sessions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.figure import Figure
from bench.measure import Effort

BARE = ("-c", "pass")
LIBRARIES = ("-c", "import asyncio, click, pydantic, yaml\nclass Model(pydantic.BaseModel):\n    value: int = 0\n")
"""What no run can do without: event loop, command line, the form of bundles, and the kernel's one dependency."""
LIST = ("-m", "amplifier", "session", "list")
MOST_ADDED_MS, MOST_LISTED_MS = 150.0, 300.0
BUNDLE = {
    "bundle": {"name": "scripted"},
    "session": {"orchestrator": {"module": "loop-streaming"}, "context": {"module": "context-persistent"}},
    "providers": [{"module": "provider-mock", "config": {"script": ["It is red."]}}],
}


def figures(effort: Effort) -> Iterator[Figure]:
    """CPU time of a run beyond that of a bare Python, and of a list of 10,000 sessions."""
    rounds = effort.size(full=30, smoke=1)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        bundle = place / "scripted.md"
        bundle.write_text(f"---\n{json.dumps(BUNDLE)}\n---\nYou help.\n", encoding="utf-8")
        run = ("-m", "amplifier", "run", "Which colour?", "--bundle", str(bundle))
        bare_ms, libraries_ms, run_ms = (_cpu_ms(each, place, rounds) for each in (BARE, LIBRARIES, run))
        what = "`amplifier run` on the scripted provider, session stored: CPU time beyond a bare Python start"
        note = f"{run_ms:.0f} ms against {bare_ms:.0f} ms; {libraries_ms - bare_ms:.0f} ms are the imports of libraries"
        yield Figure("app_run", what, run_ms - bare_ms, MOST_ADDED_MS, unit="ms", note=note)
        count = effort.size(full=10_000, smoke=10)
        _make_sessions(place / "home", count)
        listed_ms = _cpu_ms(LIST, place, rounds)
        yield Figure("session_list", f"`amplifier session list` among {count:,}", listed_ms, MOST_LISTED_MS, unit="ms")


def _make_sessions(home: Path, count: int) -> None:
    for number in range(count):
        folder = home / "projects" / f"-project-{number % 50}" / "sessions" / f"session-{number:05d}"
        folder.mkdir(parents=True)
        about = {"session_id": folder.name, "updated": "2026-01-01T00:00:00.000+00:00", "working_dir": "/project"}
        (folder / "metadata.json").write_text(json.dumps(about), encoding="utf-8")
        said = json.dumps({"role": "user", "content": f"prompt {number}"})
        (folder / "transcript.jsonl").write_text(f"{said}\n", encoding="utf-8")


def _cpu_ms(arguments: tuple[str, ...], place: Path, rounds: int) -> float:
    """The CPU time of a process, from its start to its end; the first one fills caches and is not counted."""
    samples = [_process_ms(arguments, place) for _ in range(rounds + 1)][1:]
    return median(samples)


def _process_ms(arguments: tuple[str, ...], place: Path) -> float:
    # -I and a bytecode cache of our own: variables and read-only folders must not make every start compile anew.
    command = [sys.executable, "-I", "-X", f"pycache_prefix={place / 'bytecode'}", *arguments]
    environ = {**os.environ, "AMPLIFIER_HOME": str(place / "home")}
    process = subprocess.Popen(command, cwd=place, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"A process of {' '.join(arguments)!r} ended with exit code {process.returncode}")
    return (usage.ru_utime + usage.ru_stime) * 1e3
