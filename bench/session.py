"""A whole session against the bare calls it makes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Any

from amplifier_core import AmplifierSession, HookResult
from amplifier_core.events import (
    PROVIDER_REQUEST,
    PROVIDER_RESPONSE,
    SESSION_END,
    SESSION_START,
    TOOL_POST,
    TOOL_PRE,
)
from bench import workload
from bench.figure import Figure, ratio_figure
from bench.measure import Effort, compare_work

Handler = Callable[[str, dict[str, Any]], Awaitable[HookResult]]


def figures(effort: Effort) -> Iterator[Figure]:
    """From the constructor to the end of the clean-up."""
    plan, mounts = workload.plan(), workload.mounts()
    loader = workload.TableLoader(mounts)

    async def whole_sessions(count: int) -> None:
        for _ in range(count):
            session = AmplifierSession(plan, loader=loader)
            await session.initialize()
            await session.execute(workload.PROMPT)
            await session.cleanup()

    async def bare_calls(count: int) -> None:
        for _ in range(count):
            await run_bare(plan, list(mounts.values()))

    ratio = compare_work(whole_sessions, bare_calls, effort)
    what = "session: create, initialise 8 modules, a turn of 10 steps with 5 hooks on each event, clean up"
    yield ratio_figure("session", what + ", against the bare calls", ratio, 2.5)


class BareHooks:
    """The least that lets a hook module register and go again."""

    def __init__(self) -> None:
        self.handlers: dict[str, list[Handler]] = {}

    def register(self, event: str, handler: Handler, priority: int = 0, name: str | None = None) -> Callable[[], None]:
        """Keeps the handler."""
        handlers = self.handlers.setdefault(event, [])
        handlers.append(handler)
        return partial(handlers.remove, handler)


class BareCoordinator:
    """The least that a mount function can be called with."""

    def __init__(self) -> None:
        self.hooks = BareHooks()
        self.modules: dict[str | None, Any] = {}

    async def mount(self, point: str, module: Any, name: str | None = None) -> None:
        """Keeps the module."""
        self.modules[name or point] = module


async def run_bare(plan: dict[str, Any], mounts: Sequence[workload.Mount]) -> None:
    """Calls what a session calls: mount functions, handlers, provider, tool, context and clean-ups."""
    coordinator = BareCoordinator()
    cleanups = [cleanup for mount in mounts if (cleanup := await mount(coordinator))]
    handlers, modules = coordinator.hooks.handlers, coordinator.modules
    data: dict[str, Any] = {"session_id": "bare", "config": plan}
    for handler in handlers[SESSION_START]:
        await handler(SESSION_START, data)
    await _bare_turn(handlers, modules["bench"], modules["search"], modules["context"])
    for handler in handlers[SESSION_END]:
        await handler(SESSION_END, data)
    for cleanup in reversed(cleanups):
        cleanup()


async def _bare_turn(handlers: dict[str, list[Handler]], provider: Any, tool: Any, context: Any) -> None:
    """What ``workload.Orchestrator`` does, with a loop over the handlers in place of every emit."""
    for _ in range(workload.STEPS):
        for handler in handlers[PROVIDER_REQUEST]:
            await handler(PROVIDER_REQUEST, workload.REQUEST)
        await provider.complete(workload.REQUEST)
        for handler in handlers[PROVIDER_RESPONSE]:
            await handler(PROVIDER_RESPONSE, workload.RESPONSE)
        for handler in handlers[TOOL_PRE]:
            await handler(TOOL_PRE, workload.CALL)
        await tool.execute(workload.CALL)
        for handler in handlers[TOOL_POST]:
            await handler(TOOL_POST, workload.RETURN)
        await context.add_message(workload.MESSAGE)
