"""Sessions that start others: plans with scripted models, and modules of a test's own beside the real ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from inspect import isawaitable
from typing import Any

from amplifier_core import AmplifierSession, ModuleLoader
from amplifier_modkit.messages import text_of

Modules = dict[str, Callable[[Any, dict[str, Any]], Any]]


def model(*script: Any, **config: Any) -> list[dict[str, Any]]:
    """The providers of a plan: one model that plays ``script``."""
    return [{"module": "provider-mock", "config": {"script": list(script), **config}}]


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    """An answer of a model that calls one tool."""
    return {"tool_calls": [{"name": tool, "arguments": arguments}]}


def plan(*script: Any, **more: Any) -> dict[str, Any]:
    """A plan whose model plays ``script``; ``more`` are further sections."""
    session = {"orchestrator": {"module": "loop-basic", "config": {"max_retries": 0}}, "context": "context-simple"}
    return {"session": session, "providers": model(*script), "tools": [], "hooks": [], **more}


def shelf(modules: Modules) -> ModuleLoader:
    """The usual loader, which also has modules of a test's own: by id, functions of coordinator and config."""

    class Shelf(ModuleLoader):
        async def load(self, module_id: str, config: Any = None, *rest: Any, **more: Any) -> Any:
            if module_id not in modules:
                return await super().load(module_id, config, *rest, **more)

            async def mount(coordinator: Any) -> Any:
                mounted = modules[module_id](coordinator, config or {})
                return await mounted if isawaitable(mounted) else mounted

            return mount

    return Shelf()


async def said(session: AmplifierSession) -> list[tuple[str, str]]:
    """The conversation of a session: who said what."""
    messages = await session.coordinator.get("context").get_messages()
    return [(message["role"], text_of(message["content"])) for message in messages]


class Noting:
    """A tool that notes its calls, and answers with its name."""

    description = "Notes."
    input_schema: dict[str, Any] = {"type": "object", "properties": {}}

    def __init__(self, name: str, calls: list[str] | None = None) -> None:
        self.name = name
        self.calls = [] if calls is None else calls

    async def execute(self, input: dict[str, Any]) -> str:
        self.calls.append(self.name)
        return f"{self.name} is noted"


class LoopClock:
    """The time of the running event loop, which a test can put forward."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._real = self._loop.time
        self._ahead_s = 0.0
        self._loop.time = lambda: self._real() + self._ahead_s

    def advance(self, seconds: float) -> None:
        """Puts it forward."""
        self._ahead_s += seconds
        self._loop.call_soon(lambda: None)
