"""The tool ``bash_jobs``: lists, reads and stops the commands that ``bash`` has left running."""

from __future__ import annotations

from typing import Any, ClassVar

from amplifier_core.models import ToolResult
from amplifier_module_tool_bash.inputs import flag_in
from amplifier_module_tool_bash.jobs import Jobs
from amplifier_module_tool_bash.problems import InputError, ProblemError
from amplifier_module_tool_bash.results import failure


class BashJobsTool:
    """Looks after the jobs of one session."""

    name = "bash_jobs"
    description = (
        "Looks after commands that bash runs in the background: 'list' them, 'read' what one has written since the "
        "last read, or 'stop' one."
    )
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["list", "read", "stop"]},
            "job_id": {"type": "string", "description": "as bash has told it; needed for read and stop"},
            "from_start": {
                "type": "boolean",
                "default": False,
                "description": "true to read everything once more, not only what was written since the last read",
            },
        },
        "required": ["action"],
    }

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        """Does what is asked; a failure is a result as well."""
        try:
            return ToolResult(output=await self._work(input))
        except ProblemError as problem:
            return failure(str(problem), problem.kind)

    async def _work(self, given: dict[str, Any]) -> dict[str, Any]:
        action = given.get("action")
        if action == "list":
            return {"jobs": self._jobs.summaries()}
        if action not in ("read", "stop"):
            raise InputError("'action' must be one of: list, read, stop.")
        is_whole = flag_in(given, "from_start")
        job = self._jobs.require(given.get("job_id"))
        if action == "stop":
            await self._jobs.stop(job)
        return {**self._jobs.summary(job), **job.read(is_whole=is_whole)}
