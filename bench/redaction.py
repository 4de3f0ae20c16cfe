"""``hooks-redaction``: how long searching text and events for secrets takes, per megabyte."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median, quantiles
from typing import Any

from amplifier_modkit.secrets import redact_text, redact_value
from bench.figure import Figure
from bench.measure import Effort, quiet_heap

TEXT_LIMIT_MS, EVENTS_LIMIT_MS = 100.0, 400.0
"""Milliseconds of CPU time for a megabyte. Events have many short texts, and each is searched by itself."""

_PROSE = "The quick brown fox jumps over the lazy dog, and nobody minds at all. "
_CODE = 'def add(left: int, right: int) -> int:\n    """Adds."""\n    return left + right  # sha 9f86d081884c7d65\n'
_LOG = "2026-11-15T09:00Z INFO request_id=7c9e6679-7425-40de-944b-e07fc1f90ae7 status=200 duration=12ms path=/v1/it\n"


def figures(effort: Effort) -> Iterator[Figure]:
    """CPU time per megabyte of texts without secrets, and of the data of events with one here and there."""
    size = effort.size(1_000_000, smoke=20_000)
    text = _repeated(_PROSE * 4 + _CODE * 3 + _LOG * 2, size)
    events = _events(size)
    what = "hooks-redaction: a megabyte of prose, code and log lines"
    yield _figure("redaction_text", what, TEXT_LIMIT_MS, effort, size, lambda: redact_text(text))
    what = "hooks-redaction: a megabyte of tool calls and results"
    yield _figure("redaction_events", what, EVENTS_LIMIT_MS, effort, size, lambda: redact_value(events))


def _figure(key: str, what: str, limit_ms: float, effort: Effort, size: int, redact: Callable[[], Any]) -> Figure:
    spent_ms: list[float] = []
    with quiet_heap():
        for _ in range(effort.rounds_of(0.05)):
            begin = time.process_time()
            redact()
            spent_ms.append((time.process_time() - begin) * 1e9 / size)
    low, _, high = quantiles(spent_ms, n=4)
    return Figure(key, what, median(spent_ms), limit_ms, "ms", low, high, f"{1000 / median(spent_ms):.3g} MB/s")


def _repeated(text: str, size: int) -> str:
    return (text * (size // len(text) + 1))[:size]


def _events(size: int) -> list[dict[str, Any]]:
    """Calls and results of about ``size`` characters, each text another one, so that nothing is remembered."""
    made: list[dict[str, Any]] = []
    while sum(len(str(each["result"])) for each in made[-1:]) * len(made) < size:
        number = len(made)
        secret = f"password=hunter{number}pass" if number % 20 == 0 else f"port={number}"
        output = {"stdout": f"{number} {secret}\n" + _LOG * 8, "returncode": 0}
        made.append({"tool_name": "bash", "tool_input": {"command": f"tail -n {number} app.log"}, "result": output})
    return made
