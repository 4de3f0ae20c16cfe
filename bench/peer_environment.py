"""The environment that holds the public wheel: made on demand, kept, and made anew when its contents do not fit."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

VERSION = "2.0.2"

_CONTENTS = (
    "import platform; from importlib.metadata import version; "
    "print(platform.python_version(), version('amplifier-core'), version('pydantic'))"
)


class PeerError(Exception):
    """The public wheel cannot be had here, or does not do what it is compared in."""


def ensure(folder: Path) -> Path:
    """The interpreter of the environment, which has the Python and the pydantic that this process has."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted = f"{platform.python_version()} {VERSION} {version('pydantic')}"
    if _contents(python) != wanted:
        print(
            f"making {folder.name} with amplifier-core {VERSION} (the first time only) …", file=sys.stderr, flush=True
        )
        _make(folder, python)
    found = _contents(python)
    if found != wanted:
        raise PeerError(f"{folder.name} holds {found!r} instead of {wanted!r}; remove it and try again")
    return python


def _contents(python: Path) -> str | None:
    """Versions of Python, kernel and pydantic, or ``None`` when there is no such environment."""
    if not python.exists():
        return None
    asked = subprocess.run([python, "-I", "-c", _CONTENTS], capture_output=True, text=True, check=False)
    return asked.stdout.strip() if asked.returncode == 0 else None


def _make(folder: Path, python: Path) -> None:
    _run("cannot make a virtual environment", sys.executable, "-m", "venv", "--clear", str(folder))
    # The same pydantic on both sides, so that only the kernels differ.
    requirements = [f"amplifier-core=={VERSION}", f"pydantic=={version('pydantic')}"]
    problem = (
        f"amplifier-core {VERSION} cannot be installed for {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, so there is nothing to compare with"
    )
    _run(problem, str(python), "-m", "pip", "install", "--quiet", "--only-binary", "amplifier-core", *requirements)


def _run(problem: str, *command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PeerError(f"{problem}:\n{(done.stderr or done.stdout).strip()}")
