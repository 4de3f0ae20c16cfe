"""Tally hooks: count what happens in a session."""

import logging
from collections import Counter
from typing import Any

from amplifier_core import HookResult, ModuleCoordinator

logger = logging.getLogger(__name__)

DEFAULT_EVENTS = ["session:start", "prompt:submit", "provider:request", "tool:pre", "tool:post", "session:end"]


class Tally:
    def __init__(self):
        self.counts: Counter[str] = Counter()
        self.ready = False

    async def count(self, event: str, data: dict[str, Any]) -> HookResult:
        self.counts[event] += 1
        return HookResult(action="continue")


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any] | None = None):
    config = config or {}
    tally = Tally()
    handlers = []
    for event in config.get("enabled_events", DEFAULT_EVENTS):
        handlers.append(coordinator.hooks.register(event, tally.count, priority=10, name=f"tally-{event}"))  # noqa: PERF401
    coordinator.register_capability("tally", tally)
    coordinator.register_contributor("observability.events", "hooks-tally", lambda: ["tally:done"])

    def cleanup():
        for unregister in handlers:
            unregister()

    return cleanup


async def on_session_ready(coordinator: ModuleCoordinator) -> None:
    events = await coordinator.collect_contributions("observability.events")
    tally = coordinator.get_capability("tally")
    tally.ready = bool(events)
