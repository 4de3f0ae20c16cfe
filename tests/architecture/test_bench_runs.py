"""The benchmarks run and tell finite numbers. What the numbers are is for benchmarks to say, never for tests."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

FIGURES = {
    "emit_1_handlers",
    "emit_10_handlers",
    "emit_no_handlers",
    "emit_1_mb",
    "session",
    "validation",
    "import_package",
    "import_session",
    "many_sessions_time",
    "many_sessions_memory",
    "growth_handlers",
    "growth_contributors",
    "growth_modules",
}


def run(*arguments: str, told: str = "") -> subprocess.CompletedProcess[str]:
    """Runs a module of the benchmark as a developer does, from the root of the repository."""
    return subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, input=told, capture_output=True, text=True, check=False
    )


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Imports a module of the benchmark by name, wherever the tests were started."""
    monkeypatch.syspath_prepend(str(ROOT))
    return lambda name: import_module(f"bench.{name}")


@pytest.mark.slow
def test_every_scenario_runs_and_gives_a_finite_figure(tmp_path: Path) -> None:
    """A smoke run prints one row per figure and writes the same figures, under stable keys, where it is told to."""
    output = tmp_path / "results.json"
    done = run("bench", "--smoke", "--output", str(output))
    assert done.returncode == 0, done.stderr
    written = json.loads(output.read_text(encoding="utf-8"))
    assert set(written) == {"date", "python", "pydantic", "machine", "results"}
    assert set(written["machine"]) == {"system", "architecture", "cpu", "cores", "load_before"}
    assert set(written["results"]) == FIGURES
    for figure in written["results"].values():
        assert math.isfinite(figure["measured"])
        assert figure["measured"] > 0
        assert f"| {figure['what']} " in done.stdout


@pytest.mark.slow
def test_the_script_for_any_kernel_answers_what_it_is_asked(bench: Callable[[str], Any]) -> None:
    """It tells its version and the work it does, then the CPU and wall seconds of each operation that is asked for."""
    asked = list(bench("peer").ROWS)
    done = run("bench.portable", "--sample-seconds", "0", told="".join(f"{name}\n" for name in asked))
    assert done.returncode == 0, done.stderr
    about, *costs = map(json.loads, done.stdout.splitlines())
    # Five handlers on four events in each of ten steps, and on session:start and session:end.
    assert about == {"version": import_module("amplifier_core").__version__, "handler_calls": 5 * (4 * 10 + 2)}
    assert len(costs) == len(asked)
    assert all(math.isfinite(seconds) and seconds >= 0 for cost in costs for seconds in cost)


def test_an_unknown_scenario_is_refused_by_name(
    bench: Callable[[str], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """A typing error is told with what is known, before anything is measured."""
    with pytest.raises(SystemExit) as ended:
        bench("__main__").main(["emitt"])
    assert ended.value.code == 2
    assert "unknown scenario emitt; known are emit, session," in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "exit_code"), [(["toy"], 0), (["toy", "--strict"], 1)])
def test_a_missed_target_fails_only_a_strict_run(
    bench: Callable[[str], Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    exit_code: int,
) -> None:
    """The table tells a miss in any case; the exit code tells it when asked to."""
    missed = bench("figure").Figure("toy", "a toy", measured=3.0, limit=2.0)
    monkeypatch.setattr(bench("__main__"), "SCENARIOS", {"toy": lambda effort: iter([missed])})
    assert bench("__main__").main(arguments) == exit_code
    assert "| a toy | 3 ×      | ≤ 2 ×      | MISSED  |" in capsys.readouterr().out


def test_subject_and_reference_take_turns_in_going_first(bench: Callable[[str], Any]) -> None:
    """What the first half of a round does to the second is the same for both."""
    calls: list[str] = []

    def sampling(name: str, seconds: list[float]) -> Callable[[], float]:
        def answers() -> Iterator[float]:
            for each in seconds:
                calls.append(name)
                yield each

        return answers().__next__

    subject, reference = sampling("subject", [2.0, 4.0, 90.0]), sampling("reference", [1.0, 2.0, 3.0])
    ratio = bench("measure").compare(subject, reference, rounds=3)
    assert (ratio.value, ratio.rounds, ratio.subject_s, ratio.reference_s) == (2.0, 3, 4.0, 2.0)
    assert calls == ["subject", "reference", "reference", "subject", "subject", "reference"]


def test_rounds_that_were_disturbed_do_not_count(bench: Callable[[str], Any]) -> None:
    """Of each group of rounds the quickest of either side are compared, and the median group tells the ratio."""
    quiet, disturbed = (3.0, 2.0), [(9.0, 2.5), (4.0, 8.0)]
    ratio = bench("measure").ratio_of([quiet, *disturbed] * 10)
    assert (ratio.value, ratio.low, ratio.high, ratio.rounds) == (1.5, 1.5, 1.5, 30)
