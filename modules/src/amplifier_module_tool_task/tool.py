"""The tool itself: what the model reads about it, and how it is called."""

from __future__ import annotations

from typing import Any

from amplifier_core.models import ToolResult
from amplifier_modkit.clipping import clip_chars
from amplifier_modkit.plain_text import on_one_line
from amplifier_modkit.spawning.agents import description_of
from amplifier_modkit.turns.results import failure
from amplifier_module_tool_task.delegation import Delegation
from amplifier_module_tool_task.errors import RefusedError
from amplifier_module_tool_task.requests import INPUT_SCHEMA, TaskRequest

_WHAT_IT_DOES = (
    "Hands a task to an agent, which works on it by itself in a session of its own and answers with a report. The "
    "agent knows nothing of this conversation but your instruction, unless you let it inherit some. Its answer carries "
    "a 'session_id': give that instead of 'agent' to ask the same agent further. Several tasks can be given at once."
)
_NOBODY = "No agent can be started from this session: it is as deep as it may be."
_MOST_DESCRIPTION_CHARS = 1_000


class TaskTool:
    """Hands tasks to agents; lives as long as the module is mounted."""

    input_schema = INPUT_SCHEMA

    def __init__(self, name: str, delegation: Delegation) -> None:
        self.name = name
        self._delegation = delegation

    @property
    def description(self) -> str:
        """What the tool is for, and which agents there are now."""
        agents = self._delegation.agents
        if not agents:
            return _NOBODY
        told = [f"- {name}: {_described(agent)}" for name, agent in agents.items()]
        return "\n".join([_WHAT_IT_DOES, "", "Agents:", *told])

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        """The agent's report, or why there is none."""
        try:
            return await self._delegation.run(TaskRequest.read(input), self.name)
        except RefusedError as refusal:
            return failure(str(refusal), type=refusal.kind)


def _described(agent: Any) -> str:
    return on_one_line(clip_chars(description_of(agent), _MOST_DESCRIPTION_CHARS)) or "(no description)"
