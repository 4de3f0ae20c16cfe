"""The module ``loop-streaming``: the agent loop of a conversation, with streams, steering and goals."""

from __future__ import annotations

from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_modkit import events
from amplifier_module_loop_streaming.config import StreamingSettings
from amplifier_module_loop_streaming.loop import StreamingLoop

__amplifier_module_type__ = "orchestrator"
__amplifier_config__ = StreamingSettings


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any] | None = None) -> None:
    """Mounts the loop and offers ``session.steer``, by which others say something to the agent at work."""
    loop = StreamingLoop(StreamingSettings.read(config))
    await coordinator.mount("orchestrator", loop)
    coordinator.register_capability("session.steer", loop.steering.steer)
    own_events = [
        events.LLM_STREAM_ABORTED,
        events.LLM_STREAM_BLOCK_DELTA,
        events.LLM_STREAM_BLOCK_END,
        events.LLM_STREAM_BLOCK_START,
        events.ORCHESTRATOR_GOAL_PROGRESS,
        events.ORCHESTRATOR_RATE_LIMIT_DELAY,
        events.ORCHESTRATOR_STEERING_INJECTED,
    ]
    coordinator.register_contributor("observability.events", "loop-streaming", lambda: list(own_events))
