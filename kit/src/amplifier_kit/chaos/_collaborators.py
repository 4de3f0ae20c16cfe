"""What surrounds the module under test: a model, a tool, a conversation and people, each sound, slow or failing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal

from amplifier_core.message_models import ChatRequest, ChatResponse, TextBlock, ToolCall, ToolCallBlock, Usage
from amplifier_core.models import ModelInfo, ProviderInfo, ToolResult

Temper = Literal["sound", "waiting", "slow", "failing"]
"""``waiting`` gives way once, which makes a place to interrupt its caller; ``slow`` gives way for long."""

TOOL_NAME = "chaos_tool"
ANSWER = "Chaos is done."

_TURNS: dict[Temper, int] = {"sound": 0, "waiting": 1, "slow": 50}


class CollaboratorError(RuntimeError):
    """What a failing collaborator raises."""


class Collaborators:
    """The surroundings of one session; ``exceptions`` gives single ones (``provider``, ``tool``, …) another temper."""

    def __init__(self, temper: Temper = "sound", **exceptions: Temper) -> None:
        self._temper: Temper = temper
        self._exceptions = exceptions
        self.running: list[str] = []
        """Calls that have begun and not ended."""
        self.provider = ChaosProvider(self)
        self.tool = ChaosTool(self)
        self.context = ChaosContext(self)
        self.people = ChaosPeople(self)

    def require_patience(self, who: str) -> int:
        """For how many turns of the event loop ``who`` keeps its caller waiting; raises when it is to fail at once."""
        temper = self._exceptions.get(who, self._temper)
        if temper == "failing":
            raise CollaboratorError(f"the {who} of this session fails on purpose")
        return _TURNS[temper]

    @asynccontextmanager
    async def suffered(self, who: str, what: str) -> AsyncGenerator[None]:
        """Around what a collaborator does: it waits, or fails, by its temper."""
        told = f"{who}.{what}()"
        self.running.append(told)
        try:
            for _ in range(self.require_patience(who)):
                await asyncio.sleep(0)
            yield
        finally:
            self.running.remove(told)


class ChaosProvider:
    """A model that asks for two tool calls whenever the user has spoken, and answers when it has their results."""

    name = "chaos"

    def __init__(self, surroundings: Collaborators) -> None:
        self._surroundings = surroundings
        self._prompts_answered = 0
        self._calls_made = 0
        self.requests: list[ChatRequest] = []
        self.replies: list[ChatResponse] = []
        """What it says instead, as long as there is something left."""

    def get_info(self) -> ProviderInfo:
        """A model with a small window, so that contexts have to compact."""
        self._surroundings.require_patience("provider")
        limits = {"context_window": 2_000, "max_output_tokens": 500}
        return ProviderInfo(id=self.name, display_name="Chaos", defaults={"model": "chaos-1", **limits})

    async def list_models(self) -> list[ModelInfo]:
        """Its one model."""
        async with self._surroundings.suffered("provider", "list_models"):
            return [ModelInfo(id="chaos-1", display_name="Chaos", context_window=2_000, max_output_tokens=500)]

    async def complete(self, request: ChatRequest, **kwargs: Any) -> ChatResponse:
        """Two calls of the chaos tool, then an answer."""
        self.requests.append(request)
        async with self._surroundings.suffered("provider", "complete"):
            if self.replies:
                return self.replies.pop(0)
            prompts = sum(1 for message in request.messages if message.role == "user")
            if prompts == self._prompts_answered:
                return text_response(ANSWER)
            self._prompts_answered = prompts
            self._calls_made += 2
            return calls_response(*(f"chaos-{self._calls_made - missing}" for missing in (1, 0)))

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        """The calls in ``response``."""
        return list(response.tool_calls or ())


class ChaosTool:
    """A tool that does nothing, at its own pace."""

    name = TOOL_NAME
    description = "Does nothing."

    def __init__(self, surroundings: Collaborators) -> None:
        self._surroundings = surroundings
        self.input_schema: dict[str, Any] = {"type": "object", "properties": {}}
        self.output = "done"
        self.executions = 0

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        """Gives ``output``."""
        self.executions += 1
        async with self._surroundings.suffered("tool", "execute"):
            return ToolResult(output=self.output)


class ChaosContext:
    """A conversation that keeps everything and never compacts."""

    def __init__(self, surroundings: Collaborators) -> None:
        self._surroundings = surroundings
        self.messages: list[dict[str, Any]] = []

    async def add_message(self, message: dict[str, Any]) -> None:
        """Appends ``message``."""
        async with self._surroundings.suffered("context", "add_message"):
            self.messages.append(message)

    async def get_messages_for_request(self, token_budget: int | None = None, provider: Any = None) -> list[Any]:
        """All messages."""
        async with self._surroundings.suffered("context", "get_messages_for_request"):
            return list(self.messages)

    async def get_messages(self) -> list[Any]:
        """All messages."""
        async with self._surroundings.suffered("context", "get_messages"):
            return list(self.messages)

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        """Replaces all messages."""
        async with self._surroundings.suffered("context", "set_messages"):
            self.messages = list(messages)

    async def clear(self) -> None:
        """Forgets all messages."""
        async with self._surroundings.suffered("context", "clear"):
            self.messages = []


class ChaosPeople:
    """Approval and display in one: people who refuse everything and read everything."""

    def __init__(self, surroundings: Collaborators) -> None:
        self._surroundings = surroundings

    async def request_approval(self, prompt: str, options: list[str], timeout: float, default: str) -> str:
        """Refuses."""
        async with self._surroundings.suffered("people", "request_approval"):
            return "Deny"

    def show_message(self, message: str, level: str, source: str = "hook") -> None:
        """Reads it."""
        self._surroundings.require_patience("people")


class QuietLoop:
    """An orchestrator for sessions whose subject is something else."""

    async def execute(self, prompt: str, context: Any, providers: Any, tools: Any, hooks: Any) -> str:
        """Answers at once."""
        return ANSWER


def text_response(text: str) -> ChatResponse:
    """A model's final answer."""
    usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
    return ChatResponse(content=[TextBlock(text=text)], usage=usage, finish_reason="stop")


def calls_response(*call_ids: str, tool: str = TOOL_NAME) -> ChatResponse:
    """A model's wish to call ``tool``, once for every id."""
    return ChatResponse(
        content=[TextBlock(text="I look."), *(ToolCallBlock(id=each, name=tool, input={}) for each in call_ids)],
        tool_calls=[ToolCall(id=each, name=tool, arguments={}) for each in call_ids],
        usage=Usage(input_tokens=1, output_tokens=1, total_tokens=2),
        finish_reason="tool_calls",
    )


Mount = Callable[[Any], Any]


def mounting(point: str, module: Any) -> Mount:
    """A mount function that mounts ``module`` as it is."""

    async def mount(coordinator: Any) -> None:
        await coordinator.mount(point, module)

    return mount
