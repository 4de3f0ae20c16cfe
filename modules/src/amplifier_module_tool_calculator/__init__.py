"""The module ``tool-calculator``: arithmetic that is right, for models that are not good at it."""

from __future__ import annotations

from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_module_tool_calculator.tool import CalculateTool

__amplifier_module_type__ = "tool"
__amplifier_config__ = frozenset[str]()


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any] | None = None) -> None:
    """Mounts the tool ``calculate``; there is nothing to configure."""
    await coordinator.mount("tools", CalculateTool())
