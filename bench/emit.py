"""``HookRegistry.emit`` against the bare calls behind it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from amplifier_core import HookRegistry, HookResult
from amplifier_core.events import TOOL_PRE
from bench.figure import Figure, ratio_figure
from bench.measure import Effort, Work, compare_work

Handler = Callable[[str, dict[str, Any]], Awaitable[HookResult]]

PAYLOAD = {"tool_name": "search", "tool_input": {"query": "weather"}, "tool_call_id": "call-1"}


def figures(effort: Effort) -> Iterator[Figure]:
    """Emitting to 1 and 10 handlers, to nobody, and with a large value."""
    for count, limit in ((1, 3.0), (10, 1.6)):
        handlers = fresh_handlers(count)
        ratio = compare_work(emitting(registry_with(handlers), PAYLOAD), _calling(handlers), effort)
        yield ratio_figure(f"emit_{count}_handlers", f"emit, {_some(count)}, against a bare loop", ratio, limit)
    ratio = compare_work(emitting(HookRegistry(), PAYLOAD), _constructing, effort)
    yield ratio_figure("emit_no_handlers", "emit, no handlers, against constructing a HookResult", ratio, 1.2)
    # This limit is close to 1, so chance has to be averaged out more thoroughly than elsewhere.
    large, small = ({"output": "x" * size} for size in (1_000_000, 100))
    registry = registry_with(fresh_handlers(1))
    ratio = compare_work(emitting(registry, large), emitting(registry, small), effort, weight=2)
    yield ratio_figure("emit_1_mb", "emit, 1 handler, 1 MB under one key against 100 bytes", ratio, 1.05)


def fresh_handlers(count: int) -> list[Handler]:
    """Handlers that do nothing but answer with a result of their own."""

    def new_handler() -> Handler:
        async def handler(event: str, data: dict[str, Any]) -> HookResult:
            return HookResult()

        return handler

    return [new_handler() for _ in range(count)]


def registry_with(handlers: list[Handler]) -> HookRegistry:
    """A registry with these handlers on one event."""
    registry = HookRegistry()
    for handler in handlers:
        registry.register(TOOL_PRE, handler)
    return registry


def emitting(registry: HookRegistry, data: dict[str, Any]) -> Work:
    """The work of emitting the same data again and again."""

    async def work(count: int) -> None:
        for _ in range(count):
            await registry.emit(TOOL_PRE, data)

    return work


def _calling(handlers: list[Handler]) -> Work:
    async def work(count: int) -> None:
        for _ in range(count):
            for handler in handlers:
                await handler(TOOL_PRE, PAYLOAD)

    return work


async def _constructing(count: int) -> None:
    for _ in range(count):
        HookResult()


def _some(count: int) -> str:
    return f"{count} handler" if count == 1 else f"{count} handlers"
