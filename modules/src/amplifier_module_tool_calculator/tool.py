"""The tool ``calculate``."""

from __future__ import annotations

from typing import Any, ClassVar

from amplifier_core.models import ToolResult
from amplifier_module_tool_calculator.arithmetic import UncountableError, value_of


class CalculateTool:
    """Gives the value of an expression; changes nothing."""

    name = "calculate"
    description = "Calculates the value of an arithmetic expression."
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {"expression": {"type": "string", "description": "Such as 17 * 23."}},
        "required": ["expression"],
        "additionalProperties": False,
    }
    read_only = True

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        """The value as text, or what is wrong with the expression."""
        expression = input.get("expression")
        if not isinstance(expression, str):
            return _failed("'expression' must be a text such as '17 * 23'")
        try:
            return ToolResult(output=value_of(expression))
        except UncountableError as problem:
            return _failed(str(problem))


def _failed(message: str) -> ToolResult:
    return ToolResult(success=False, output=message, error={"message": message})
