"""The module ``context-simple``: a conversation kept in memory, shortened for requests when it grows too long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amplifier_modkit.memory.context import ContextConfig
from amplifier_module_context_simple.context import SimpleContext

__amplifier_module_type__ = "context"
__amplifier_config__ = ContextConfig


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> Callable[[], None]:
    """Mounts an empty conversation as the session's context."""
    context = SimpleContext(ContextConfig.read(config), coordinator=coordinator)
    await coordinator.mount("context", context)
    return context.connect("context-simple")
