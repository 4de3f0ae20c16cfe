"""The run in pydantic-ai."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.usage import RequestUsage

from bench.agents import task

DISTRIBUTION = "pydantic-ai-slim"
WHAT = "`Agent.run`"


class InstantModel(Model):
    """Answers from a list."""

    def __init__(self) -> None:
        super().__init__()
        self._script = task.Script(_calling, _response(TextPart(task.ANSWER)))

    @property
    def model_name(self) -> str:
        """A name."""
        return "instant"

    @property
    def system(self) -> str:
        """A vendor."""
        return "bench"

    async def request(self, messages: Any, model_settings: Any, model_request_parameters: Any) -> ModelResponse:
        """The next answer."""
        return self._script.next()


def _calling(call_id: str, arguments: dict[str, Any]) -> ModelResponse:
    return _response(ToolCallPart(task.TOOL, task.as_json(arguments), tool_call_id=call_id))


def _response(part: Any) -> ModelResponse:
    usage = RequestUsage(input_tokens=task.INPUT_TOKENS, output_tokens=task.OUTPUT_TOKENS)
    return ModelResponse(parts=[part], usage=usage, model_name="instant")


@asynccontextmanager
async def agent(look_up: task.LookUp) -> AsyncIterator[task.Run]:
    """An agent with the tool as a plain function."""
    agent = Agent(InstantModel())

    @agent.tool_plain(name=task.TOOL, description=task.DESCRIPTION)
    async def _look_up(number: int) -> str:
        return look_up(number)

    async def run() -> str:
        return (await agent.run(task.PROMPT)).output

    yield run
