"""The module ``hooks-redaction``: takes secrets out of what a session tells about itself."""

from __future__ import annotations

from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_module_hooks_redaction.config import RedactionConfig
from amplifier_module_hooks_redaction.cover import CAPABILITY, REDACT, Cover

__amplifier_module_type__ = "hook"
__amplifier_config__ = RedactionConfig


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any] | None = None) -> Any:
    """Covers all events that are known by now; returns the clean-up that takes the cover off."""
    cover = Cover(coordinator, RedactionConfig.read(config))
    cover.spread_over_known_events()
    coordinator.register_capability(CAPABILITY, cover.spread)
    coordinator.register_capability(REDACT, cover.redacted)
    return cover.lift


async def on_session_ready(coordinator: ModuleCoordinator) -> None:
    """Covers the events that modules have announced, which is possible only when all of them are mounted."""
    spread = coordinator.get_capability(CAPABILITY)
    if spread is not None:
        announced = await coordinator.collect_contributions("observability.events")
        spread(name for names in announced for name in names)
