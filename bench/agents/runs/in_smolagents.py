"""The run in smolagents, whose final answer is a tool call as well."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, ClassVar

from smolagents import ChatMessage, LogLevel, Model, Tool, ToolCallingAgent
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole, TokenUsage

from bench.agents import task

DISTRIBUTION = "smolagents"
WHAT = "`ToolCallingAgent.run`, logging off"


class InstantModel(Model):
    """Answers from a list."""

    def __init__(self) -> None:
        super().__init__()
        self._script = task.Script(_calling, _message("call-final", "final_answer", {"answer": task.ANSWER}))

    def generate(self, messages: Any, **kwargs: Any) -> ChatMessage:
        """The next answer."""
        return self._script.next()


class LookUpTool(Tool):
    """The tool as a class, which is the form that needs no source code to be read."""

    name = task.TOOL
    description = task.DESCRIPTION
    inputs: ClassVar = {"number": {"type": "integer", "description": "Which entry."}}
    output_type = "string"
    skip_forward_signature_validation = True

    def __init__(self, look_up: task.LookUp) -> None:
        super().__init__()
        self._look_up = look_up

    def forward(self, number: int) -> str:
        """The entry with that number."""
        return self._look_up(number)


def _calling(call_id: str, arguments: dict[str, Any]) -> ChatMessage:
    return _message(call_id, task.TOOL, arguments)


def _message(call_id: str, name: str, arguments: dict[str, Any]) -> ChatMessage:
    function = ChatMessageToolCallFunction(arguments=arguments, name=name)
    call = ChatMessageToolCall(function=function, id=call_id, type="function")
    usage = TokenUsage(input_tokens=task.INPUT_TOKENS, output_tokens=task.OUTPUT_TOKENS)
    return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call], token_usage=usage)


@asynccontextmanager
async def agent(look_up: task.LookUp) -> AsyncIterator[task.Run]:
    """An agent with the tool; it has no coroutines, so the run is a plain call."""
    agent = ToolCallingAgent(
        tools=[LookUpTool(look_up)], model=InstantModel(), verbosity_level=LogLevel.OFF, max_steps=task.STEPS + 1
    )

    async def run() -> str:
        return str(agent.run(task.PROMPT, reset=True))

    yield run
