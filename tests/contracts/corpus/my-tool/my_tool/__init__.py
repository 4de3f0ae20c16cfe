"""Counts words, following the tool contract to the letter."""

from typing import Any

from amplifier_core.models import ToolResult


class MyTool:
    def __init__(self, config: dict[str, Any]):
        self.config = config

    @property
    def name(self) -> str:
        return "my_tool"

    @property
    def description(self) -> str:
        return "Counts the words of a text."

    def get_schema(self) -> dict:
        return {
            "type": "object",
            "properties": {"required_param": {"type": "string", "description": "The text"}},
            "required": ["required_param"],
        }

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        try:
            required_param = input.get("required_param")
            if not required_param:
                return ToolResult(success=False, error={"message": "required_param is required"})
            return ToolResult(success=True, output=len(required_param.split()))
        except Exception as e:
            return ToolResult(success=False, error={"message": str(e), "type": type(e).__name__})


async def mount(coordinator, config: dict):
    tool = MyTool(config=config)
    await coordinator.mount("tools", tool, name="my-tool")
    return tool
