"""The run in the Microsoft Agent Framework."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
    tool,
)
from agent_framework.observability import ChatTelemetryLayer, disable_instrumentation

from bench.agents import task

DISTRIBUTION = "agent-framework-core"
WHAT = "`Agent.run`, tracing off"

disable_instrumentation()


class InstantClient(FunctionInvocationLayer, ChatMiddlewareLayer, ChatTelemetryLayer, BaseChatClient):
    """Answers from a list; has the layers that the framework's own clients have."""

    def __init__(self) -> None:
        super().__init__()
        self._script = task.Script(_calling, _message(Content.from_text(task.ANSWER)))

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **kwargs: Any) -> Any:
        return self._answer()

    async def _answer(self) -> ChatResponse:
        # The framework puts messages of its own into the response, so only the message can be prepared.
        usage = {"input_token_count": task.INPUT_TOKENS, "output_token_count": task.OUTPUT_TOKENS}
        return ChatResponse(messages=[self._script.next()], model="instant", usage_details=usage)


def _calling(call_id: str, arguments: dict[str, Any]) -> Message:
    return _message(Content.from_function_call(call_id, task.TOOL, arguments=task.as_json(arguments)))


def _message(content: Any) -> Message:
    return Message("assistant", [content])


@asynccontextmanager
async def agent(look_up: task.LookUp) -> AsyncIterator[task.Run]:
    """An agent with the tool as a function, and a client that calls functions."""

    @tool(name=task.TOOL, description=task.DESCRIPTION, approval_mode="never_require")
    async def _look_up(number: int) -> str:
        return look_up(number)

    agent = Agent(client=InstantClient(), tools=[_look_up])

    async def run() -> str:
        # All texts of the run, of which the last one is the only one.
        return (await agent.run(task.PROMPT)).text

    yield run
