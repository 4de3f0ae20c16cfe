"""The module ``hooks-cost``: counts what a session and its children spend, and stops before a limit is passed."""

from __future__ import annotations

from typing import Any

from amplifier_module_hooks_cost.config import CostConfig
from amplifier_module_hooks_cost.guard import CostGuard

__amplifier_module_type__ = "hook"
__amplifier_config__ = CostConfig


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    """Begins to count; handlers and capabilities are taken out by the kernel when the session ends."""
    CostGuard.begin(CostConfig.read(config), coordinator)
