"""Dice tool module for Amplifier."""

import logging
import random
from typing import Any

from amplifier_core import ModuleCoordinator, ToolResult

logger = logging.getLogger(__name__)


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any] | None = None):
    config = config or {}
    tool = DiceTool(config)
    await coordinator.mount("tools", tool, name=tool.name)
    logger.info("Mounted DiceTool")
    return


class DiceTool:
    """Rolls dice."""

    name = "roll_dice"
    description = "Roll one or more dice and return the results."

    def __init__(self, config: dict[str, Any]):
        self.max_dice = config.get("max_dice", 100)
        self.random = random.Random(config.get("seed"))

    @property
    def input_schema(self) -> dict:
        return {
            "type": "object",
            "properties": {
                "count": {"type": "integer", "description": "How many dice", "default": 1},
                "sides": {"type": "integer", "description": "Sides of a die", "default": 6},
            },
        }

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        count = input.get("count", 1)
        sides = input.get("sides", 6)
        if not isinstance(count, int) or not 0 < count <= self.max_dice:
            return ToolResult(success=False, error={"message": f"count must be 1 to {self.max_dice}"})
        rolls = [self.random.randint(1, sides) for _ in range(count)]
        return ToolResult(success=True, output={"rolls": rolls, "total": sum(rolls)})
