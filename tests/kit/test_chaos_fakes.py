"""The kernel's fakes keep the promises of what they stand for, also under chaos."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from amplifier_core.testing import EventRecorder, MockContextManager, MockProvider, MockTool, ScriptedOrchestrator

Broken = Callable[[str, Any], Awaitable[dict[str, str]]]

FAKES: dict[str, tuple[str, str, Callable[[], Any]]] = {
    "MockTool": ("tool", "tools", MockTool),
    "MockProvider": ("provider", "providers", MockProvider),
    "MockContextManager": ("context", "context", MockContextManager),
    "ScriptedOrchestrator": ("orchestrator", "orchestrator", lambda: ScriptedOrchestrator(["Hello"])),
}


@pytest.mark.parametrize("name", FAKES)
async def test_a_fake_keeps_every_promise(broken: Broken, name: str) -> None:
    """What tests of others rely on is as sturdy as the real thing."""
    kind, point, make = FAKES[name]

    async def mount(coordinator: Any, config: dict[str, Any]) -> None:
        await coordinator.mount(point, make())

    assert await broken(kind, mount) == {}


async def test_the_event_recorder_is_a_sturdy_handler(broken: Broken) -> None:
    """A recorder that is registered as a handler answers whatever it is told."""

    async def mount(coordinator: Any, config: dict[str, Any]) -> None:
        recorder = EventRecorder()
        for event in ("tool:pre", "provider:request", "some:event"):
            coordinator.hooks.register(event, recorder)

    assert await broken("hook", mount) == {}
