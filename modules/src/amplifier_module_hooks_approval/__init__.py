"""The module ``hooks-approval``: a guard that lets a tool run only if a rule, the mode or a person allows it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_module_hooks_approval.config import ApprovalConfig
from amplifier_module_hooks_approval.mounting import stand_guard

__amplifier_module_type__ = "hook"
# Names, not the model: a session goes on without a module whose config the kernel refuses, so here a config that cannot
# be read is settled by the module, which then refuses every call.
__amplifier_config__ = tuple(ApprovalConfig.model_fields)


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any] | None = None) -> Callable[[], Awaitable[None]]:
    """Registers the guard and what it offers to others; returns what ends its part in the session."""
    return stand_guard(coordinator, config)
