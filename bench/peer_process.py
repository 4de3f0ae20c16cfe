"""A process that runs ``bench.portable`` with some interpreter and is asked for one sample at a time."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.peer_environment import PeerError

ROOT = Path(__file__).parents[1]


class PeerProcess:
    """One interpreter with one kernel, waiting to measure; lives inside a ``with`` block."""

    def __init__(self, python: str) -> None:
        self._python = python
        environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
        self._process = subprocess.Popen(
            [python, "-m", "bench.portable"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        about = self._read()
        self.version: str = about["version"]
        self.handler_calls: int = about["handler_calls"]
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if exc_type is not None:
            self._process.kill()
        self._process.communicate()

    def cost(self, operation: str) -> tuple[float, float]:
        """CPU and wall seconds of one operation, from one sample."""
        assert self._process.stdin is not None
        self._process.stdin.write(operation + "\n")
        self._process.stdin.flush()
        cpu_s, wall_s = self._read()
        return cpu_s, wall_s

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise PeerError(f"`{self._python} -m bench.portable` ended with exit code {self._process.wait()}")
        return json.loads(line)
