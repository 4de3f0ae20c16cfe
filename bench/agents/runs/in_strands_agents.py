"""The run in Strands Agents."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from strands import Agent, tool
from strands.models import Model

from bench.agents import task

DISTRIBUTION = "strands-agents"
WHAT = "`Agent.invoke_async`"


class InstantModel(Model):
    """Answers from a list, in the fewest stream events that an answer can have."""

    def __init__(self) -> None:
        self._script = task.Script(_calling, _events({}, {"text": task.ANSWER}, "end_turn"))

    def update_config(self, **model_config: Any) -> None:
        """Has no settings."""

    def get_config(self) -> dict[str, Any]:
        """Has no settings but the size that a warning would ask for."""
        return {"context_window_limit": 200_000}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        """Is never asked for."""
        raise NotImplementedError

    async def stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """The next answer, event by event."""
        for event in self._script.next():
            yield event


def _calling(call_id: str, arguments: dict[str, Any]) -> list[Any]:
    start = {"toolUse": {"name": task.TOOL, "toolUseId": call_id}}
    return _events(start, {"toolUse": {"input": task.as_json(arguments)}}, "tool_use")


def _events(start: dict[str, Any], delta: dict[str, Any], reason: str) -> list[Any]:
    total = task.INPUT_TOKENS + task.OUTPUT_TOKENS
    usage = {"inputTokens": task.INPUT_TOKENS, "outputTokens": task.OUTPUT_TOKENS, "totalTokens": total}
    return [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockStart": {"start": start}},
        {"contentBlockDelta": {"delta": delta}},
        {"contentBlockStop": {}},
        {"messageStop": {"stopReason": reason}},
        {"metadata": {"usage": usage, "metrics": {"latencyMs": 0}}},
    ]


@asynccontextmanager
async def agent(look_up: task.LookUp) -> AsyncIterator[task.Run]:
    """An agent with the tool as a function; its history is emptied before each run."""

    # A coroutine, since plain functions are run in threads.
    @tool(name=task.TOOL, description=task.DESCRIPTION)
    async def _look_up(number: int) -> str:
        return look_up(number)

    agent = Agent(model=InstantModel(), tools=[_look_up], callback_handler=None)

    async def run() -> str:
        agent.messages.clear()
        result = await agent.invoke_async(task.PROMPT)
        return result.message["content"][0]["text"]

    yield run
