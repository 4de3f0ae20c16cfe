"""On what was measured: enough to judge a figure, nothing that tells whose machine it is."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any


def conditions() -> dict[str, Any]:
    """Date, interpreter and machine, for the head of a result file."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "pydantic": version("pydantic"),
        "machine": {
            "system": platform.system(),
            "architecture": platform.machine(),
            "cpu": _cpu_model(),
            "cores": os.cpu_count(),
            "load_before": None if load is None else round(load, 2),
        },
    }


def in_words(conditions: dict[str, Any]) -> str:
    """The same as one line above a table."""
    machine = conditions["machine"]
    load = "" if machine["load_before"] is None else f", load {machine['load_before']:g} before the run"
    return (
        f"{conditions['date']}, {conditions['python']}, pydantic {conditions['pydantic']}, {machine['system']} "
        f"{machine['architecture']}, {machine['cpu']}, {machine['cores']} cores{load}"
    )


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or "unknown processor"
