"""Cannot clean up what it has not used."""

from typing import Any

from amplifier_core import ToolResult


class LeakyTool:
    name = "leaky"
    description = "Keeps a connection."
    connection: Any = None

    async def execute(self, input):
        return ToolResult()

    async def close(self):
        await self.connection.close()


async def mount(coordinator, config):
    tool = LeakyTool()
    await coordinator.mount("tools", tool)
    return tool.close
