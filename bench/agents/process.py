"""A process that runs ``bench.agents.runner`` with some interpreter and is asked for one sample at a time."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import Any, Self

from bench.agents.environment import UnavailableError

ROOT = Path(__file__).parents[2]

_QUIET = {"LANGSMITH_TRACING": "false", "HF_HUB_OFFLINE": "1", "OPENAI_AGENTS_DISABLE_TRACING": "1"}
"""What keeps frameworks from calling home; each is a documented setting."""


class AgentProcess:
    """One framework, ready to measure; lives inside a ``with`` block, which fails when the run is not right."""

    def __init__(self, python: str, name: str, sample_s: float) -> None:
        environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
        self._errors = TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - closed when the block is left
        self._process = subprocess.Popen(
            [python, "-m", "bench.agents.runner", name, "--sample-seconds", str(sample_s)],
            cwd=ROOT,
            env=environment | _QUIET,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def __enter__(self) -> Self:
        try:
            about = self._read()
        except UnavailableError:
            self._end()
            raise
        self.version: str = about["version"]
        self.what: str = about["what"]
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if exc_type is not None:
            self._process.kill()
        self._end()

    def cost(self, kind: str) -> tuple[float, float]:
        """CPU and wall seconds of one run, from one sample."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{kind}\n")
        self._process.stdin.flush()
        cpu_s, wall_s = self._read()
        return cpu_s, wall_s

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        answer = json.loads(line) if line else {"problem": self._last_words()}
        if isinstance(answer, dict) and "problem" in answer:
            raise UnavailableError(f"cannot be run: {answer['problem']}")
        return answer

    def _last_words(self) -> str:
        exit_code = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().split("\n")
        return f"exit code {exit_code}, {next((line for line in reversed(lines) if line.strip()), 'without a word')}"

    def _end(self) -> None:
        self._process.communicate()
        self._errors.close()
