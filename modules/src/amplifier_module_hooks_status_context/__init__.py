"""The module ``hooks-status-context``: tells the model where it works, at the end of each request."""

from __future__ import annotations

from typing import Any

from amplifier_module_hooks_status_context.config import StatusConfig
from amplifier_module_hooks_status_context.status import StatusContext

__amplifier_module_type__ = "hook"
__amplifier_config__ = StatusConfig


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    """Begins to tell; the kernel removes the handlers when the session ends."""
    StatusContext(StatusConfig.read(config), coordinator).register()
