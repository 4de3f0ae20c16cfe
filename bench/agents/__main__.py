"""``python -m bench.agents``: one agent run in this repository and in other frameworks, side by side.

Each of the others lives in an environment of its own, ``.venv-bench-<name>``, which is made when it is not there.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack
from pathlib import Path

from bench import machine
from bench.agents import comparison, environment
from bench.agents.comparison import OURS, OURS_WITH_HOOKS
from bench.agents.environment import UnavailableError
from bench.agents.process import ROOT, AgentProcess
from bench.measure import SMOKE

RESULTS = ROOT / "bench/agents-results.json"
OTHERS = ("agent_framework", "langgraph", "openai_agents", "pydantic_ai", "smolagents", "strands_agents")
KINDS = ("run", "anew")


def main(arguments: list[str] | None = None) -> int:
    """Makes what environments are missing, measures, prints and writes."""
    options = _parse(arguments)
    conditions = machine.conditions()
    pythons, missing = _interpreters(options.frameworks or OTHERS)
    with ExitStack() as stack:
        processes = _start(stack, pythons, missing, options.sample_seconds)
        if OURS not in processes:
            print(f"This repository's own run cannot be measured: {missing[OURS]}", file=sys.stderr)
            return 1
        samples = _measure(processes, options.rounds)
    abouts = {name: (process.version, process.what) for name, process in processes.items()}
    rows = comparison.rows(abouts, samples, missing)
    print(f"\n{machine.in_words(conditions)}\n\n{comparison.render(rows)}")
    output = options.output or (None if options.frameworks else RESULTS)
    if output is not None:
        results = {**conditions, "results": {row.name: row.to_dict() for row in rows}}
        output.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


def _interpreters(names: list[str] | tuple[str, ...]) -> tuple[dict[str, str], dict[str, str]]:
    """The interpreter of each framework, one installation after the other, and why some have none."""
    found, missing = {OURS: sys.executable, OURS_WITH_HOOKS: sys.executable}, dict[str, str]()
    for name in names:
        try:
            found[name] = str(environment.ensure(name, ROOT))
        except UnavailableError as error:
            missing[name] = str(error)
    return found, missing


def _start(
    stack: ExitStack, pythons: dict[str, str], missing: dict[str, str], sample_s: float
) -> dict[str, AgentProcess]:
    """The processes whose run is right, warm and waiting; the others join the ``missing``."""
    processes: dict[str, AgentProcess] = {}
    for name, python in pythons.items():
        print(f"starting {name} …", file=sys.stderr, flush=True)
        try:
            processes[name] = stack.enter_context(AgentProcess(python, name, sample_s))
        except UnavailableError as error:
            missing[name] = str(error)
    return processes


def _measure(processes: dict[str, AgentProcess], rounds: int) -> dict[str, dict[str, list[float]]]:
    """CPU seconds of a run, by kind and framework: all are asked in each round, each time another one first."""
    print(f"measuring, {rounds} rounds …", file=sys.stderr, flush=True)
    samples: dict[str, dict[str, list[float]]] = {kind: {name: [] for name in processes} for kind in KINDS}
    order = list(processes)
    for _ in range(rounds):
        for kind in KINDS:
            for name in order:
                samples[kind][name].append(processes[name].cost(kind)[0])
        order.append(order.pop(0))
    return samples


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.agents", description=__doc__)
    parser.add_argument("frameworks", nargs="*", metavar="framework", help=f"only these: {', '.join(OTHERS)}")
    parser.add_argument("--rounds", type=int, default=60, help="samples of each (default: 60)")
    parser.add_argument("--sample-seconds", type=float, default=0.05, help="CPU time of a sample (default: 0.05)")
    parser.add_argument(
        "--output", type=Path, help="where to write (default: bench/agents-results.json, when all are measured)"
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.frameworks if name not in OTHERS]
    if unknown:
        parser.error(f"unknown framework {', '.join(unknown)}; known are {', '.join(OTHERS)}")
    if options.rounds < SMOKE.rounds:
        parser.error(f"--rounds must be at least {SMOKE.rounds}")
    return options


if __name__ == "__main__":
    sys.exit(main())
