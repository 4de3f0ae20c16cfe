"""The run in langgraph, with the agent graph that langchain makes of it."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

from bench.agents import task

DISTRIBUTION = "langgraph"
WHAT = "`create_agent(…).ainvoke`"


class InstantModel(BaseChatModel):
    """Answers from a list."""

    script: Any

    @property
    def _llm_type(self) -> str:
        return "instant"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """The answers know the tool already."""
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return self.script.next()

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return self.script.next()


def _calling(call_id: str, arguments: dict[str, Any]) -> ChatResult:
    call = {"id": call_id, "name": task.TOOL, "args": arguments}
    return _result(AIMessage("", tool_calls=[call], usage_metadata=_usage()))


def _result(message: AIMessage) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message)])


def _usage() -> dict[str, int]:
    total = task.INPUT_TOKENS + task.OUTPUT_TOKENS
    return {"input_tokens": task.INPUT_TOKENS, "output_tokens": task.OUTPUT_TOKENS, "total_tokens": total}


@asynccontextmanager
async def agent(look_up: task.LookUp) -> AsyncIterator[task.Run]:
    """A compiled graph with the tool as a function."""

    @tool(task.TOOL, description=task.DESCRIPTION)
    async def _look_up(number: int) -> str:
        return look_up(number)

    final = _result(AIMessage(task.ANSWER, usage_metadata=_usage()))
    graph = create_agent(InstantModel(script=task.Script(_calling, final)), [_look_up])

    async def run() -> str:
        state = await graph.ainvoke({"messages": [("user", task.PROMPT)]})
        return state["messages"][-1].content

    yield run
