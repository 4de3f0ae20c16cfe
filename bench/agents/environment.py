"""The environments of the other frameworks: made on demand, one each, kept, and made anew when their pins change."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).with_name("requirements")


class UnavailableError(Exception):
    """A framework cannot be installed or run here; the message says why, in one line."""


def ensure(name: str, root: Path) -> Path:
    """The interpreter of the environment ``.venv-bench-<name>`` below ``root``, with exactly the pinned release."""
    folder = root / f".venv-bench-{name}"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    # A copy of the pins inside the environment says what it was made from. It is written last.
    stamp, wanted = folder / "made-from.txt", contents_wanted(name)
    if not (python.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == wanted):
        print(f"making {folder.name} (the first time only) …", file=sys.stderr, flush=True)
        _run(sys.executable, "-m", "venv", "--clear", str(folder))
        _run(str(python), "-m", "pip", "install", "--quiet", "-r", str(REQUIREMENTS / f"{name}.txt"))
        stamp.write_text(wanted, encoding="utf-8")
    return python


def contents_wanted(name: str) -> str:
    """The Python of this process and the pins of the framework."""
    return f"Python {platform.python_version()}\n{(REQUIREMENTS / f'{name}.txt').read_text(encoding='utf-8')}"


def reason_in(output: str) -> str:
    """The line of an installer's output that tells what went wrong: the last error, or else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["it said nothing"])[-1]


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UnavailableError(f"cannot be installed: {reason_in(done.stderr or done.stdout)}")
