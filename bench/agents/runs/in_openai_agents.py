"""The run in the OpenAI Agents SDK."""

# What is named like a folder here is taken for it by a type checker that does not know the package.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false
from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from bench.agents import task

DISTRIBUTION = "openai-agents"
WHAT = "`Runner.run`, tracing off"


class InstantModel(Model):
    """Answers from a list."""

    def __init__(self) -> None:
        text = ResponseOutputText(annotations=[], text=task.ANSWER, type="output_text")
        final = ResponseOutputMessage(
            id="message-0", content=[text], role="assistant", status="completed", type="message"
        )
        self._script = task.Script(_calling, _response(final))

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        """The next answer."""
        return self._script.next()

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        """Is never asked for."""
        raise NotImplementedError


def _calling(call_id: str, arguments: dict[str, Any]) -> ModelResponse:
    return _response(
        ResponseFunctionToolCall(
            id=f"item-{call_id}",
            call_id=call_id,
            name=task.TOOL,
            arguments=task.as_json(arguments),
            type="function_call",
        )
    )


def _response(item: Any) -> ModelResponse:
    total = task.INPUT_TOKENS + task.OUTPUT_TOKENS
    usage = Usage(1, input_tokens=task.INPUT_TOKENS, output_tokens=task.OUTPUT_TOKENS, total_tokens=total)
    return ModelResponse(output=[item], usage=usage, response_id=None)


@asynccontextmanager
async def agent(look_up: task.LookUp) -> AsyncIterator[task.Run]:
    """An agent with the tool as a function."""

    @function_tool(name_override=task.TOOL, description_override=task.DESCRIPTION)
    async def _look_up(number: int) -> str:
        return look_up(number)

    agent = Agent(name="bench", model=InstantModel(), tools=[_look_up])
    # A trace would be sent to a server.
    config = RunConfig(tracing_disabled=True)

    async def run() -> str:
        result = await Runner.run(agent, task.PROMPT, max_turns=len(task.ENTRIES) + 1, run_config=config)
        return result.final_output

    yield run
