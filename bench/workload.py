"""The modules, the plan and the loader of the sessions that are measured.

The modules do as little as their contracts allow, so that what is measured is the kernel. Only names that every
release of the kernel has are used: the same code runs on the public wheel.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from amplifier_core import ChatResponse, HookResult, TextBlock, ToolResult
from amplifier_core.events import (
    PROVIDER_REQUEST,
    PROVIDER_RESPONSE,
    SESSION_END,
    SESSION_START,
    TOOL_POST,
    TOOL_PRE,
)

Mount = Callable[[Any], Awaitable[Any]]

STEPS = 10
HANDLERS_OF_HOOK_MODULES = (3, 2)
TOOLS = ("search", "read", "write")
PROMPT = "What is the weather like?"
TURN_EVENTS = (SESSION_START, PROVIDER_REQUEST, PROVIDER_RESPONSE, TOOL_PRE, TOOL_POST, SESSION_END)

REQUEST = {"provider": "bench", "model": "bench-1", "messages": [{"role": "user", "content": PROMPT}]}
RESPONSE = {"provider": "bench", "response": "I look it up.", "usage": {"input_tokens": 12, "output_tokens": 5}}
CALL = {"tool_name": "search", "tool_input": {"query": "weather"}, "tool_call_id": "call-1"}
RETURN = {**CALL, "tool_result": "sunny"}
ANSWER = ChatResponse(content=[TextBlock(text="I look it up.")])
RESULT = ToolResult(success=True, output="sunny")
MESSAGE = {"role": "tool", "content": "sunny", "tool_call_id": "call-1"}


class Provider:
    """Answers every request with the same text."""

    name = "bench"

    def get_info(self) -> None:
        """Has nothing to tell."""

    async def list_models(self) -> list[Any]:
        """Has no list."""
        return []

    async def complete(self, request: Any, **options: Any) -> ChatResponse:
        """Gives the ready answer."""
        return ANSWER

    def parse_tool_calls(self, response: Any) -> list[Any]:
        """Finds none; the orchestrator knows what to call."""
        return []


class Tool:
    """Gives the same result to everybody."""

    description = "Looks things up."

    def __init__(self, name: str) -> None:
        self.name = name

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        """Gives the ready result."""
        return RESULT

    def close(self) -> None:
        """Has nothing to close."""


class Context:
    """Keeps messages in a list."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    async def add_message(self, message: dict[str, Any]) -> None:
        """Appends."""
        self.messages.append(message)

    async def get_messages_for_request(self, token_budget: int | None = None, provider: Any = None) -> list[Any]:
        """Everything."""
        return self.messages

    async def get_messages(self) -> list[dict[str, Any]]:
        """Everything."""
        return self.messages

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        """Replaces all."""
        self.messages = messages

    async def clear(self) -> None:
        """Forgets all."""
        self.messages = []


class Orchestrator:
    """Ten steps of one model call and one tool call each, with the events that belong to them."""

    async def execute(
        self, prompt: str, context: Any, providers: Any, tools: Any, hooks: Any, coordinator: Any = None
    ) -> str:
        """Runs the turn."""
        provider, tool = providers["bench"], tools["search"]
        for _ in range(STEPS):
            await hooks.emit(PROVIDER_REQUEST, REQUEST)
            await provider.complete(REQUEST)
            await hooks.emit(PROVIDER_RESPONSE, RESPONSE)
            await hooks.emit(TOOL_PRE, CALL)
            await tool.execute(CALL)
            await hooks.emit(TOOL_POST, RETURN)
            await context.add_message(MESSAGE)
        return "sunny"


class Observer:
    """Listens and lets everything go on."""

    async def observe(self, event: str, data: dict[str, Any]) -> HookResult:
        """Answers with a result of its own, as a hook does."""
        return HookResult()


class TableLoader:
    """A loader that holds mount functions by module id."""

    def __init__(self, mounts: Mapping[str, Mount]) -> None:
        self._mounts = mounts

    async def load(self, module_id: str, config: Any = None, source_hint: Any = None, coordinator: Any = None) -> Mount:
        """The function that was put in."""
        return self._mounts[module_id]

    def get_on_session_ready_queue(self) -> list[Any]:
        """No module of the benchmark wants to be called then."""
        return []

    def clear_on_session_ready_queue(self) -> None:
        """Has nothing to forget."""

    def cleanup(self) -> None:
        """Has nothing to give up."""


def mounting_single(point: str, new: Callable[[], Any]) -> Mount:
    """Mounts a new orchestrator or context."""

    async def mount(coordinator: Any) -> None:
        await coordinator.mount(point, new())

    return mount


def mounting_provider() -> Mount:
    """Mounts a new provider."""

    async def mount(coordinator: Any) -> None:
        await coordinator.mount("providers", Provider(), name="bench")

    return mount


def mounting_tool(name: str) -> Mount:
    """Mounts a new tool and hands out its clean-up."""

    async def mount(coordinator: Any) -> Callable[[], None]:
        tool = Tool(name)
        await coordinator.mount("tools", tool, name=name)
        return tool.close

    return mount


def mounting_hooks(events: Sequence[str], new_observer: Callable[[], Observer], count: int, name: str) -> Mount:
    """Registers ``count`` new handlers, each for all of ``events``; the clean-up removes them."""

    async def mount(coordinator: Any) -> Callable[[], None]:
        handlers = [new_observer().observe for _ in range(count)]
        undo = [
            coordinator.hooks.register(event, handler, priority=10, name=name)
            for event in events
            for handler in handlers
        ]

        def cleanup() -> None:
            for remove in undo:
                remove()

        return cleanup

    return mount


def mounts(
    events: Sequence[str] = TURN_EVENTS,
    new_orchestrator: Callable[[], Any] = Orchestrator,
    new_observer: Callable[[], Observer] = Observer,
) -> dict[str, Mount]:
    """Eight modules by id: orchestrator, context, a provider, three tools, two hook modules with five handlers."""
    return {
        "loop-bench": mounting_single("orchestrator", new_orchestrator),
        "context-bench": mounting_single("context", Context),
        "provider-bench": mounting_provider(),
        **{f"tool-{name}": mounting_tool(name) for name in TOOLS},
        **{
            f"hooks-{number}": mounting_hooks(events, new_observer, count, f"hooks-{number}")
            for number, count in enumerate(HANDLERS_OF_HOOK_MODULES)
        },
    }


def plan() -> dict[str, Any]:
    """The mount plan of these eight modules."""
    return {
        "session": {"orchestrator": {"module": "loop-bench"}, "context": {"module": "context-bench"}},
        "providers": [{"module": "provider-bench", "config": {"model": "bench-1"}}],
        "tools": [{"module": f"tool-{name}"} for name in TOOLS],
        "hooks": [{"module": f"hooks-{number}"} for number in range(len(HANDLERS_OF_HOOK_MODULES))],
    }
