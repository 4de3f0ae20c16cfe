"""What it costs to start: processes that import the kernel, against one that imports pydantic and defines a model."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.figure import Figure, ratio_figure
from bench.measure import Effort, Ratio, Sample, compare

BARE = "pass"
ONE_MODEL = "import pydantic\nclass Model(pydantic.BaseModel):\n    value: int = 0\n"
SUBJECTS = (
    ("import_package", "import amplifier_core", 0.15),
    ("import_session", "from amplifier_core import AmplifierSession, HookResult", 1.5),
)


def figures(effort: Effort) -> Iterator[Figure]:
    """The bare import, and the import of what every program needs."""
    with TemporaryDirectory() as folder:
        cache = Path(folder)
        for source in (BARE, ONE_MODEL, *(source for _, source, _ in SUBJECTS)):
            _compile(source, cache)
        bare_s = min(_cpu_seconds(BARE, cache) for _ in range(effort.size(full=10, smoke=1)))
        for key, source, limit in SUBJECTS:
            ratio = compare(_process(source, cache), _process(ONE_MODEL, cache), effort.rounds_of(0.1))
            what = f"process of `{source}`, against one that imports pydantic and defines a model"
            yield ratio_figure(key, what, ratio, limit, note=_without_interpreter(ratio, bare_s))


def _compile(source: str, cache: Path) -> None:
    """Fills the bytecode cache with everything that ``source`` imports, by running it once."""
    _cpu_seconds(source, cache)
    if not any(cache.rglob("*.pyc")):
        raise RuntimeError("No bytecode was written, so compiling would be measured instead of importing")


def _process(source: str, cache: Path) -> Sample:
    return lambda: _cpu_seconds(source, cache)


def _cpu_seconds(source: str, cache: Path) -> float:
    """CPU seconds of a whole process, from its start to its end."""
    # -I ignores variables such as PYTHONDONTWRITEBYTECODE, which would make every start compile anew; installed
    # packages are still found as usual. A cache of our own makes sure that bytecode can be written and is current.
    command = [sys.executable, "-I", "-X", f"pycache_prefix={cache}", "-c", source]
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"A process that runs {source!r} ended with exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def _without_interpreter(ratio: Ratio, bare_s: float) -> str:
    net = (ratio.subject_s - bare_s) / max(ratio.reference_s - bare_s, 1e-9)
    return f"{net:.3g} × without the {bare_s * 1000:.0f} ms of a bare interpreter on both sides"
