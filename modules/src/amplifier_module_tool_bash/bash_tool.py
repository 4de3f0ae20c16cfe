"""The tool ``bash``: runs a command and waits for it, or leaves it running as a job."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from amplifier_core.models import ToolResult
from amplifier_module_tool_bash.inputs import BashInput, command_in, read_input
from amplifier_module_tool_bash.jobs import Jobs
from amplifier_module_tool_bash.problems import ProblemError
from amplifier_module_tool_bash.results import failure, finished, note_of, timed_out
from amplifier_module_tool_bash.rules import Rules
from amplifier_module_tool_bash.runner import TOOL_NAME, Runner

_DESCRIPTION = (
    "Runs a bash command and gives its stdout, stderr and returncode. Every call is a shell of its own that starts in "
    "the working directory; there is no input to read. What it leaves running with '&' is ended with the call: use "
    "run_in_background for servers and other long work, and bash_jobs to list, read and stop it."
)


class BashTool:
    """Runs the commands of one session."""

    name = TOOL_NAME

    def __init__(self, runner: Runner, rules: Rules, jobs: Jobs) -> None:
        config = runner.config
        self._runner = runner
        self._rules = rules
        self._jobs = jobs
        self.require_approval = config.require_approval
        """Read by hooks that ask people before a tool runs."""
        self.metadata = {"require_approval": config.require_approval, "sandbox": runner.sandbox.name}
        self.description = f"{_DESCRIPTION} {self._surroundings_told()}"
        self.input_schema: dict[str, Any] = {
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "the command, as written in bash"},
                "timeout": {
                    "type": "number",
                    "exclusiveMinimum": 0,
                    "description": f"seconds it may take; {config.timeout:g} if left out, up to {config.max_timeout:g}",
                },
                "run_in_background": {
                    "type": "boolean",
                    "default": False,
                    "description": "true to go on at once; the command runs as a job until it ends or is stopped",
                },
            },
            "required": ["command"],
        }

    @property
    def sandbox_missing(self) -> tuple[str, ...]:
        """What the sandbox leaves open; nothing is told of one that is turned off."""
        return self._runner.sandbox.missing if self._runner.config.sandbox != "off" else ()

    def needs_approval(self, input: Mapping[str, Any]) -> str | None:
        """Why a call needs somebody's approval, for hooks that decide on calls; ``None`` if it does not.

        What is denied in any case, or cannot be read, needs none.
        """
        try:
            verdict = self._rules.verdict(command_in(input))
        except ProblemError:
            return None
        return verdict.reason if verdict.decision == "ask" else None

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        """Runs a command; whatever becomes of it is a result."""
        try:
            given = read_input(input)
            await self._rules.require_allowed(self.name, input, given.command)
            if given.is_background:
                return await self._begin(given)
            async with self._runner.slot:
                return await self._complete(given)
        except ProblemError as problem:
            return failure(str(problem), problem.kind)
        except OSError as error:
            return failure(f"The command cannot be started: {error}", "io_error")

    async def _complete(self, given: BashInput) -> ToolResult:
        config = self._runner.config
        timeout_s = min(given.timeout_s or config.timeout, config.max_timeout)
        run = await self._runner.start(given.command)
        is_late = False
        try:
            await asyncio.wait_for(run.wait(), timeout_s)
        except TimeoutError:
            is_late = True
        finally:
            await run.end()
        if is_late:
            return timed_out(run.process, timeout_s, self.sandbox_missing)
        return finished(run.process, self.sandbox_missing)

    async def _begin(self, given: BashInput) -> ToolResult:
        self._jobs.require_room()
        run = await self._runner.start(given.command)
        job = self._jobs.add(given.command, run, given.timeout_s)
        message = f"Runs in the background as {job.id}."
        note = "Use bash_jobs with action 'read' for its output, and 'stop' to end it. It ends with the session."
        if self.sandbox_missing:
            note += f" {note_of(self.sandbox_missing)}"
        return ToolResult(output={"pid": run.process.pid, "job_id": job.id, "message": message, "note": note})

    def _surroundings_told(self) -> str:
        sandbox = self._runner.sandbox
        if sandbox.confine is None:
            return "There is no sandbox: commands can do what the user can."
        network = "with" if self._runner.config.network else "without"
        told = f"It runs in a sandbox {network} network; outside of {self._runner.writable_told} files are read-only."
        return f"{told} {note_of(sandbox.missing)}" if sandbox.missing else told
