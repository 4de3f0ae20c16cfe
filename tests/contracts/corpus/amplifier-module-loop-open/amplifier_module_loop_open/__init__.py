"""An agent loop with tools, limited in iterations."""

from typing import Any

from .loop import OpenLoop

__all__ = ["OpenLoop", "mount"]


async def mount(coordinator: Any, config: dict[str, Any] | None = None):
    await coordinator.mount("orchestrator", OpenLoop(config or {}))
