"""Sources with a lock: what finding 25 of them adds to the start of a run, with everything in the cache."""

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

COUNT = 25
LIMIT_MS = 30.0

# What a run imports anyway comes first; the import of what knows sources counts.
_FINDING = """
import sys, time
from pathlib import Path
import amplifier.cli.working
from amplifier.paths import Places
home, work, *sources = sys.argv[1:]
places = Places(Path(home), Path(home) / "cache", Path(work), Path(work))
begin = time.process_time()
from amplifier.sources import Sources
found = Sources(places, is_offline=True)
states = {found.find(source).state for source in sources}
spent = time.process_time() - begin
if states != {"locked"}:
    sys.exit(f"expected locked sources only, found {states}")
print(spent * 1000)
"""


def figures(effort: Effort) -> Iterator[Figure]:
    """CPU time of finding locked repositories, by a process of its own each time."""
    rounds = effort.size(full=20, smoke=2)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        sources = _locked(place, effort.size(COUNT, smoke=2))
        arguments = [sys.executable, "-c", _FINDING, str(place / "home"), str(place / "work"), *sources]
        spent_ms = [float(_output(arguments, place)) for _ in range(rounds)]
    what = f"{len(sources)} locked sources in a warm cache: CPU time that they add to a start"
    yield Figure("locked_sources", what, median(spent_ms), LIMIT_MS, "ms", min(spent_ms), max(spent_ms))


def _locked(place: Path, count: int) -> list[str]:
    """Makes repositories, a bundle that names them, and the lock."""
    work = place / "work"
    (work / ".amplifier").mkdir(parents=True)
    sources = [_repository(place / f"remote-{number}", f"hooks-example-{number}") for number in range(count)]
    hooks = [{"module": f"hooks-example-{number}", "source": source} for number, source in enumerate(sources)]
    bundle = {
        "bundle": {"name": "many"},
        "session": {"orchestrator": {"module": "loop-basic"}, "context": {"module": "context-simple"}},
        "providers": [{"module": "provider-mock"}],
        "hooks": hooks,
    }
    (work / "bundle.md").write_text(f"---\n{json.dumps(bundle)}\n---\nYou help.\n", encoding="utf-8")
    _output([sys.executable, "-m", "amplifier", "lock", "-B", "./bundle.md"], place)
    return sources


def _repository(folder: Path, module: str) -> str:
    package = folder / f"amplifier_module_{module.replace('-', '_')}"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("async def mount(coordinator, config=None):\n    pass\n", encoding="utf-8")
    who = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    for words in (["init", "--quiet"], ["add", "--all"], [*who, "commit", "--quiet", "--message=x"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return f"git+file://{folder}"


def _output(arguments: list[str], place: Path) -> str:
    environ = {**os.environ, "AMPLIFIER_HOME": str(place / "home")}
    done = subprocess.run(arguments, cwd=place / "work", env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{arguments[1:4]} ended with {done.returncode}: {done.stderr}")
    return done.stdout
