"""The module ``loop-basic``: the plain agent loop."""

from __future__ import annotations

from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_modkit.turns.settings import LoopSettings
from amplifier_module_loop_basic.loop import BasicLoop

__amplifier_module_type__ = "orchestrator"
__amplifier_config__ = LoopSettings


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any] | None = None) -> None:
    """Mounts the loop."""
    await coordinator.mount("orchestrator", BasicLoop(LoopSettings.read(config)))
