"""What the command costs before it works: ``amplifier --version`` and ``--help``, against ``import click``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.figure import Figure, ratio_figure
from bench.measure import Effort, compare

REFERENCE = ("-c", "import click")
SUBJECTS = (
    ("app_version", ("-m", "amplifier", "--version"), 2.0),
    ("app_help", ("-m", "amplifier", "--help"), 3.0),
)


def figures(effort: Effort) -> Iterator[Figure]:
    """The two calls that must be there at once, since people and scripts make them all the time."""
    with TemporaryDirectory() as folder:
        cache = Path(folder)
        for arguments in (REFERENCE, *(arguments for _, arguments, _ in SUBJECTS)):
            _cpu_seconds(arguments, cache)
        for key, arguments, limit in SUBJECTS:
            ratio = compare(
                lambda arguments=arguments: _cpu_seconds(arguments, cache),
                lambda: _cpu_seconds(REFERENCE, cache),
                effort.rounds_of(0.1),
            )
            what = f"process of `amplifier {arguments[-1]}`, against one that imports click"
            yield ratio_figure(key, what, ratio, limit)


def _cpu_seconds(arguments: tuple[str, ...], cache: Path) -> float:
    """CPU seconds of a whole process, from its start to its end."""
    # -I and a bytecode cache of our own: variables and read-only folders must not make every start compile anew.
    command = [sys.executable, "-I", "-X", f"pycache_prefix={cache}", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"A process of {' '.join(arguments)!r} ended with exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime
