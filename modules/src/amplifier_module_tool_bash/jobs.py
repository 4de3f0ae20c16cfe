"""Commands in the background: numbered, so that they can be listed, read and stopped."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from amplifier_modkit.clipping import clip_chars
from amplifier_modkit.processes import STREAMS, Stream
from amplifier_module_tool_bash.problems import InputError, ProblemError
from amplifier_module_tool_bash.runner import Run

_MOST_FINISHED = 16
_MOST_COMMAND_CHARS = 200


@dataclass(slots=True)
class Job:
    """One command in the background."""

    id: str
    command: str
    run: Run
    started_s: float
    watcher: asyncio.Task[None]
    read_bytes: dict[Stream, int] = field(default_factory=lambda: dict.fromkeys(STREAMS, 0))
    """How much of each stream was told to the model."""
    is_stopped: bool = False

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self.run.process.returncode is None

    def summary(self, now_s: float) -> dict[str, Any]:
        """What a list says about it."""
        status = "running" if self.is_running else "stopped" if self.is_stopped else "finished"
        return {
            "job_id": self.id,
            "status": status,
            "returncode": self.run.process.returncode,
            "pid": self.run.process.pid,
            "seconds": round(now_s - self.started_s, 1),
            "command": clip_chars(self.command, _MOST_COMMAND_CHARS),
        }

    def read(self, *, is_whole: bool) -> dict[str, Any]:
        """What it has written since the last time, or at all."""
        told: dict[str, Any] = {}
        for stream in STREAMS:
            output = self.run.process.outputs[stream]
            told[stream] = output.text_since(0 if is_whole else self.read_bytes[stream])
            told[f"{stream}_total_bytes"] = output.total_bytes
            self.read_bytes[stream] = output.total_bytes
        return told


class Jobs:
    """The jobs of one session."""

    def __init__(self, max_running: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_running = max_running
        self._clock = clock
        self._jobs: dict[str, Job] = {}
        self._started = 0

    def require_room(self) -> None:
        """Raises ``ProblemError`` if as many run as may."""
        running = [job.id for job in self._jobs.values() if job.is_running]
        if len(running) >= self._max_running:
            raise ProblemError(
                f"{len(running)} jobs run in the background ({', '.join(running) or 'none'}), and {self._max_running} "
                "may. Stop one with bash_jobs, or run the command in the foreground."
            )

    def add(self, command: str, run: Run, timeout_s: float | None) -> Job:
        """Takes over a command that runs; it is ended after ``timeout_s``, if any."""
        self._forget_old()
        self._started += 1
        watcher = asyncio.create_task(self._watch(run, timeout_s), name=f"bash job {self._started}")
        job = Job(f"job_{self._started}", command, run, self._clock(), watcher)
        self._jobs[job.id] = job
        return job

    def summaries(self) -> list[dict[str, Any]]:
        """All jobs that are remembered, the oldest first."""
        now_s = self._clock()
        return [job.summary(now_s) for job in self._jobs.values()]

    def summary(self, job: Job) -> dict[str, Any]:
        """What is to say about one job now."""
        return job.summary(self._clock())

    def require(self, job_id: object) -> Job:
        """The job with an id; raises ``InputError`` that names those there are."""
        job = self._jobs.get(job_id) if isinstance(job_id, str) else None
        if job is None:
            raise InputError(f"'job_id' must be one of: {', '.join(self._jobs) or 'there are no jobs'}.")
        return job

    async def stop(self, job: Job) -> None:
        """Ends a job; comes back when it has ended."""
        job.is_stopped = job.is_stopped or job.is_running
        await job.run.end()

    async def end_all(self) -> None:
        """Ends every job."""
        jobs = list(self._jobs.values())
        await asyncio.gather(*(self.stop(job) for job in jobs))
        if jobs:
            await asyncio.wait([job.watcher for job in jobs])

    @staticmethod
    async def _watch(run: Run, timeout_s: float | None) -> None:
        try:
            await asyncio.wait_for(run.wait(), timeout_s)
        except TimeoutError:
            await run.end()

    def _forget_old(self) -> None:
        finished = [job.id for job in self._jobs.values() if not job.is_running]
        for job_id in finished[: max(len(finished) - _MOST_FINISHED + 1, 0)]:
            del self._jobs[job_id]
