"""``python -m bench``: measures the kernel and an agent run on it, prints a table, writes ``bench/results.json``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench import (
    agent_run,
    app_run,
    app_start,
    batch,
    big_file,
    chat_render,
    context_sizes,
    emit,
    event_log,
    growth,
    imports,
    locked_sources,
    machine,
    many_sessions,
    module_list,
    providers,
    redaction,
    search_tree,
    session,
    table,
    validation,
)
from bench.figure import Figure
from bench.measure import FULL, SMOKE, Effort

RESULTS = Path(__file__).with_name("results.json")
SCENARIOS = {
    "emit": emit.figures,
    "session": session.figures,
    "imports": imports.figures,
    "many_sessions": many_sessions.figures,
    "growth": growth.figures,
    "validation": validation.figures,
    "agent_run": agent_run.figures,
    "context_sizes": context_sizes.figures,
    "event_log": event_log.figures,
    "search_tree": search_tree.figures,
    "big_file": big_file.figures,
    "redaction": redaction.figures,
    "providers": providers.figures,
    "app_start": app_start.figures,
    "app_run": app_run.figures,
    "module_list": module_list.figures,
    "locked_sources": locked_sources.figures,
    "batch": batch.figures,
    "chat_render": chat_render.figures,
}


def main(arguments: list[str] | None = None) -> int:
    """Runs the scenarios; the exit code tells of a missed target only when asked to."""
    options = _parse(arguments)
    conditions = machine.conditions()
    figures = measure(options.scenarios or list(SCENARIOS), SMOKE if options.smoke else FULL)
    print(report(conditions, figures))
    output = options.output or (None if options.smoke or options.scenarios else RESULTS)
    if output is not None:
        write(output, conditions, figures)
    return 1 if options.strict and not all(figure.is_reached for figure in figures) else 0


def measure(names: Iterable[str], effort: Effort) -> list[Figure]:
    """The figures of the named scenarios; says on standard error how far it is."""
    figures: list[Figure] = []
    for name in names:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        for figure in SCENARIOS[name](effort):
            print(f"  {figure.key}: {figure.measured:.3g} {figure.unit} ({figure.note})", file=sys.stderr, flush=True)
            figures.append(figure)
    return figures


def report(conditions: dict[str, Any], figures: list[Figure]) -> str:
    """The table, with a line about the machine above it and one about the spread below."""
    rows = table.render(["what", "measured", "must reach", "verdict"], [figure.to_row() for figure in figures])
    legend = (
        "Ratios of CPU time: medians over groups of rounds of one run; the middle half of the groups is in brackets."
    )
    return f"\n{machine.in_words(conditions)}\n\n{rows}\n\n{legend}"


def write(path: Path, conditions: dict[str, Any], figures: list[Figure]) -> None:
    """Writes the results as JSON; keys are stable."""
    results = {**conditions, "results": {figure.key: figure.to_dict() for figure in figures}}
    path.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("scenarios", nargs="*", metavar="scenario", help=f"only these: {', '.join(SCENARIOS)}")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a target is missed")
    parser.add_argument(
        "--smoke", action="store_true", help="run everything once with tiny counts; figures mean nothing"
    )
    parser.add_argument(
        "--output", type=Path, help="where to write the results (default: bench/results.json, full runs)"
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.scenarios if name not in SCENARIOS]
    if unknown:
        parser.error(f"unknown scenario {', '.join(unknown)}; known are {', '.join(SCENARIOS)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
