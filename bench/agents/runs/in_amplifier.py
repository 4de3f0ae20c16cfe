"""The run in this repository: a session with ``loop-basic`` and ``context-simple``, found as any module is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from amplifier_core import (
    AmplifierSession,
    ChatResponse,
    HookRegistry,
    HookResult,
    ProviderInfo,
    TextBlock,
    ToolCall,
    ToolCallBlock,
    ToolResult,
)
from amplifier_core.events import ALL_EVENTS
from amplifier_core.message_models import Usage
from bench.agents import task

DISTRIBUTION = "amplifier-core"
WHAT = "`loop-basic`, `context-simple`"

PLAN: dict[str, Any] = {"session": {"orchestrator": {"module": "loop-basic"}, "context": {"module": "context-simple"}}}
INFO = ProviderInfo(
    id="instant",
    display_name="Instant",
    defaults={"model": "instant", "context_window": 200_000, "max_output_tokens": 8_192},
)


class InstantProvider:
    """Answers from a list."""

    name = "instant"

    def __init__(self) -> None:
        self._script = task.Script(_calling, _response(TextBlock(text=task.ANSWER)))

    def get_info(self) -> ProviderInfo:
        """The size that the context plans with."""
        return INFO

    async def list_models(self) -> list[Any]:
        """Has no list."""
        return []

    async def complete(self, request: Any, **kwargs: Any) -> ChatResponse:
        """The next answer."""
        return self._script.next()

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        """The calls of the answer."""
        return response.tool_calls or []


class LookUpTool:
    """The tool as a module would mount it."""

    name = task.TOOL
    description = task.DESCRIPTION
    input_schema = task.SCHEMA

    def __init__(self, look_up: task.LookUp) -> None:
        self._look_up = look_up

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        """The entry with that number."""
        return ToolResult(output=self._look_up(input["number"]))


def _calling(call_id: str, arguments: dict[str, Any]) -> ChatResponse:
    response = _response(ToolCallBlock(id=call_id, name=task.TOOL, input=arguments))
    response.tool_calls = [ToolCall(id=call_id, name=task.TOOL, arguments=arguments)]
    return response


def _response(block: TextBlock | ToolCallBlock) -> ChatResponse:
    total = task.INPUT_TOKENS + task.OUTPUT_TOKENS
    usage = Usage(input_tokens=task.INPUT_TOKENS, output_tokens=task.OUTPUT_TOKENS, total_tokens=total)
    return ChatResponse(content=[block], usage=usage)


def listen(hooks: HookRegistry, handlers: int, events: Iterable[str] = ALL_EVENTS) -> None:
    """Registers so many handlers on every event that the kernel names; each answers with a result of its own."""

    async def observe(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult()

    for event in events:
        for number in range(handlers):
            hooks.register(event, observe, name=f"observer-{number}")


@asynccontextmanager
async def session(look_up: task.LookUp, handlers: int, provider: Any = None) -> AsyncIterator[AmplifierSession]:
    """A session that is ready for its turn, cleaned up at the end."""
    async with AmplifierSession(PLAN) as session:
        session.coordinator.mount("providers", provider or InstantProvider(), name="instant")
        session.coordinator.mount("tools", LookUpTool(look_up), name=task.TOOL)
        listen(session.coordinator.hooks, handlers)
        yield session


@asynccontextmanager
async def agent(look_up: task.LookUp, handlers: int = 0) -> AsyncIterator[task.Run]:
    """A session whose history is emptied before each run."""
    async with session(look_up, handlers) as ready:
        context = ready.coordinator.get("context")

        async def run() -> str:
            await context.clear()
            return await ready.execute(task.PROMPT)

        yield run
