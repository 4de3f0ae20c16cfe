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
    "agent_run",
    "agent_step",
    "agent_run_hooks",
    "agent_step_hooks",
    "context_100",
    "context_10000",
    "context_100000",
    "context_compaction",
    "event_log",
    "search_grep",
    "search_glob",
    "big_file_first",
    "big_file_last",
    "redaction_text",
    "redaction_events",
    "app_version",
    "app_help",
    "app_run",
    "session_list",
    "module_list",
    "locked_sources",
    "batch_speed",
    "batch_growth",
    "batch_memory",
    "chat_render",
    "chat_render_growth",
    "provider_delta_anthropic",
    "provider_delta_openai",
    "provider_delta_chat_completions",
    "provider_history_anthropic",
    "provider_history_openai",
    "provider_history_chat_completions",
    "provider_mount_anthropic",
    "provider_mount_openai",
    "provider_mount_chat_completions",
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
    for key, figure in written["results"].items():
        assert math.isfinite(figure["measured"])
        # Nothing left behind in memory is what a batch is to reach; whatever takes time takes some.
        assert figure["measured"] > 0 or (key, figure["measured"]) == ("batch_memory", 0)
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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["amplifier", "amplifier_with_hooks"])
def test_our_agent_run_is_right_each_time_it_is_measured(bench: Callable[[str], Any], name: str) -> None:
    """The process that is set beside other frameworks tells what it is, then what a run costs, checked each time."""
    done = run("bench.agents.runner", name, "--sample-seconds", "0", told="run\nanew\n")
    assert done.returncode == 0, done.stderr
    about, *costs = map(json.loads, done.stdout.splitlines())
    hooks = ", 3 handlers on every event" if name == "amplifier_with_hooks" else ""
    assert about == {
        "version": import_module("amplifier_core").__version__,
        "what": f"`loop-basic`, `context-simple`{hooks}",
    }
    assert len(costs) == 2
    assert all(math.isfinite(seconds) and seconds > 0 for cost in costs for seconds in cost)


@pytest.mark.slow
def test_a_framework_that_does_not_run_is_told_with_its_reason(bench: Callable[[str], Any]) -> None:
    """A run that cannot be started is an error that says why, and leaves no process behind."""
    process = bench("agents.process").AgentProcess(sys.executable, "nonsense", 0.0)
    with pytest.raises(bench("agents.environment").UnavailableError) as failed, process:
        pass
    assert str(failed.value) == ("cannot be run: ModuleNotFoundError: No module named 'bench.agents.runs.in_nonsense'")


async def test_handlers_hear_every_step_of_our_agent_run(bench: Callable[[str], Any]) -> None:
    """The run with hooks really has its handlers called: three times for each model call and each tool call."""
    heard: list[str] = []

    async def hear(event: str, data: dict[str, Any]) -> None:
        heard.append(event)

    task, ours = bench("agents.task"), bench("agents.runs.in_amplifier")
    look_up = task.LookUp()
    async with ours.session(look_up, handlers=3) as session:
        for event in ("provider:request", "tool:pre", "tool:post"):
            for _ in range(3):
                session.coordinator.hooks.register(event, hear)
        assert await session.execute(task.PROMPT) == task.ANSWER
        registered = session.coordinator.hooks.list_handlers("tool:pre")["tool:pre"]
    assert look_up.calls == task.STEPS
    assert [heard.count(event) for event in ("provider:request", "tool:pre", "tool:post")] == [33, 30, 30]
    assert [name for name in registered if name.startswith("observer-")] == ["observer-0", "observer-1", "observer-2"]


async def test_the_bare_loop_does_the_same_run(bench: Callable[[str], Any]) -> None:
    """What our run is measured against calls the tool as often and ends with the same text."""
    task = bench("agents.task")
    look_up = task.LookUp()
    task.require_right(await bench("agent_run").bare_run(look_up)(), look_up)
    assert look_up.calls == task.STEPS


@pytest.mark.parametrize(
    ("text", "calls", "told"),
    [
        ("Something else.", 10, "The final text is 'Something else.' instead of 'All ten entries are there.'"),
        ("All ten entries are there.", 9, "The tool ran 9 times instead of 10"),
    ],
)
def test_a_run_that_is_not_right_is_refused(bench: Callable[[str], Any], text: str, calls: int, told: str) -> None:
    """A framework that skips the tool or loses the answer gets no figure."""
    task = bench("agents.task")
    look_up = task.LookUp()
    look_up.calls = calls
    with pytest.raises(task.WrongRunError) as wrong:
        task.require_right(text, look_up)
    assert str(wrong.value) == told


def test_every_framework_is_pinned_and_has_its_run(bench: Callable[[str], Any]) -> None:
    """Each of them has exact pins and a file with the run, whose name is what the table sorts by."""
    for name in bench("agents.__main__").OTHERS:
        pins = (ROOT / f"bench/agents/requirements/{name}.txt").read_text(encoding="utf-8").split()
        source = (ROOT / f"bench/agents/runs/in_{name}.py").read_text(encoding="utf-8")
        assert all("==" in pin for pin in pins)
        assert any(f'DISTRIBUTION = "{pin.partition("==")[0]}"' in source for pin in pins)
        assert "async def agent(look_up: task.LookUp) -> AsyncIterator[task.Run]:" in source


def test_the_table_of_frameworks_tells_costs_and_reasons(bench: Callable[[str], Any]) -> None:
    """The cheapest comes first; what could not be measured comes last with its reason, shortened to a line."""
    comparison = bench("agents.comparison")
    abouts = {
        "smolagents": ("1.0", "`run`"),
        "amplifier": ("3.0", "`a`"),
        "amplifier_with_hooks": ("3.0", "`a`, hooks"),
    }
    costs = {"smolagents": [0.03] * 4, "amplifier": [0.001] * 4, "amplifier_with_hooks": [0.002] * 4}
    rows = comparison.rows(abouts, {"run": costs, "anew": costs}, {"strands_agents": "cannot\nbe run: " + "x" * 200})
    assert [row.to_cells() for row in rows] == [
        ["amplifier 3.0, `a`", "100 µs", "1", "100 µs", "1"],
        ["amplifier 3.0, `a`, hooks", "200 µs", "2 × (2–2)", "200 µs", "2 × (2–2)"],
        ["smolagents 1.0, `run`", "3 ms", "30 × (30–30)", "3 ms", "30 × (30–30)"],
        ["strands-agents", "not measured: cannot be run: " + "x" * 144 + "…", "–", "–", "–"],
    ]
    assert comparison.render(rows).splitlines()[-2:] == [
        "Ours against the cheapest of the others, smolagents: 0.033 ×, expected < 1 ×: reached.",
        "Ours with handlers against the cheapest of the others, smolagents: 0.067 ×, expected < 1 ×: reached.",
    ]
    assert rows[-1].to_dict() == {"not_measured": "cannot be run: " + "x" * 144 + "…"}
    assert rows[0].to_dict() == {
        "version": "3.0",
        "what": "`a`",
        "run": {"us_per_step": 100.0, "times_ours": 1.0, "middle_half": [1.0, 1.0]},
        "agent_made_anew": {"us_per_step": 100.0, "times_ours": 1.0, "middle_half": [1.0, 1.0]},
    }
    assert comparison.verdicts(rows[:2]) == ["There is nothing to compare with."]


def test_the_reason_of_a_failed_installation_is_its_last_error(bench: Callable[[str], Any]) -> None:
    """Of all that an installer says, the line that tells what is wrong is kept."""
    reason_in = bench("agents.environment").reason_in
    assert reason_in("WARNING: old\nERROR: No such release\n  hint: look again\n") == "ERROR: No such release"
    assert reason_in("Error: the folder is read-only\n") == "Error: the folder is read-only"
    assert reason_in("") == "it said nothing"


def test_an_unknown_framework_is_refused_by_name(
    bench: Callable[[str], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """A typing error is told with what is known, before anything is installed."""
    with pytest.raises(SystemExit) as ended:
        bench("agents.__main__").main(["langraph"])
    assert ended.value.code == 2
    assert "unknown framework langraph; known are agent_framework, langgraph," in capsys.readouterr().err
