"""``amplifier module list`` as people call it: a process of its own, from its start to its end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.figure import Figure
from bench.measure import Effort

LIMIT_S = 0.3


def figures(effort: Effort) -> Iterator[Figure]:
    """CPU seconds of the whole process; on a machine with nothing else to do that is what it takes."""
    with TemporaryDirectory() as folder:
        cache = Path(folder)
        _cpu_seconds(cache)
        spent = [_cpu_seconds(cache) for _ in range(effort.rounds_of(0.05))]
    what = "process of `amplifier module list`"
    yield Figure("module_list", what, median(spent), LIMIT_S, unit="s", low=min(spent), high=max(spent))


def _cpu_seconds(cache: Path) -> float:
    command = [sys.executable, "-I", "-X", f"pycache_prefix={cache}", "-m", "amplifier", "module", "list"]
    environ = {**os.environ, "AMPLIFIER_HOME": str(cache / "home")}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environ)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"amplifier module list ended with exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime
