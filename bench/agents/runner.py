"""``python -m bench.agents.runner NAME``: measures one framework's run on request, inside that framework's environment.

First it proves that the run is right, and tells the version; then each line of standard input asks for one sample.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
import time
from collections.abc import Awaitable, Callable
from importlib import import_module
from importlib.metadata import version
from typing import Any, TextIO, cast

from bench.agents import task
from bench.measure import quiet_heap

Cost = tuple[float, float]
"""Seconds of one run: CPU time of the whole process with all its threads, and time on the wall."""


class Subject:
    """A kind of run that can be measured, checked each time."""

    def __init__(self, run: task.Run, look_up: task.LookUp) -> None:
        self._run = run
        self._look_up = look_up

    async def cost(self, runs: int) -> Cost:
        """Seconds of one run, over so many in a row."""
        self._look_up.calls = 0
        text = ""
        cpu, wall = time.process_time_ns(), time.perf_counter_ns()
        for _ in range(runs):
            text = await self._run()
        cpu, wall = time.process_time_ns() - cpu, time.perf_counter_ns() - wall
        task.require_right(text, self._look_up, runs)
        return cpu / 1e9 / runs, wall / 1e9 / runs

    async def runs_lasting(self, seconds: float) -> int:
        """How many runs take about that much CPU time; finding out warms the code up."""
        runs = 1
        while (spent := (await self.cost(runs))[0] * runs) < seconds:
            runs *= max(2, min(10, int(seconds / max(spent, 1e-9))))
        return runs


def main() -> None:
    """Measures until the input ends; a failure is told as ``{"problem": …}``."""
    parser = argparse.ArgumentParser(prog="python -m bench.agents.runner", description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--sample-seconds", type=float, default=0.02)
    options = parser.parse_args()
    # Frameworks may print; only what is asked for goes to the real output.
    answers, sys.stdout = sys.stdout, sys.stderr
    logging.disable(logging.CRITICAL)
    try:
        asyncio.run(serve(options.name, options.sample_seconds, sys.stdin, answers))
    except Exception as error:
        _tell(answers, {"problem": f"{type(error).__name__}: {error}"})
        raise


async def serve(name: str, sample_s: float, asked: TextIO, answers: TextIO) -> None:
    """Prepares both kinds of run, then answers line by line."""
    framework = cast("task.Framework", import_module(f"bench.agents.runs.in_{name}"))
    look_up = task.LookUp()
    async with framework.agent(look_up) as run:
        subjects = {"run": Subject(run, look_up), "anew": Subject(_anew(framework.agent, look_up), look_up)}
        counts = {kind: await subject.runs_lasting(sample_s) for kind, subject in subjects.items()}
        # Told when everything is warm, so that the other processes start up while this one waits.
        _tell(answers, {"version": version(framework.DISTRIBUTION), "what": framework.WHAT})
        with quiet_heap():
            for line in asked:
                kind = line.strip()
                _tell(answers, await subjects[kind].cost(counts[kind]))


def _anew(agent: Callable[[task.LookUp], Any], look_up: task.LookUp) -> Callable[[], Awaitable[str]]:
    """A run with an agent of its own: made, run once, taken down."""

    async def run() -> str:
        async with agent(look_up) as fresh:
            return await fresh()

    return run


def _tell(answers: TextIO, value: Any) -> None:
    print(json.dumps(value), file=answers, flush=True)


if __name__ == "__main__":
    main()
