"""Trusts its input."""

from amplifier_core import ToolResult


class RaisingTool:
    name = "raising"
    description = "Reads a file."

    async def execute(self, input):
        return ToolResult(output=open(input["path"]).read())  # noqa: ASYNC230, PTH123


async def mount(coordinator, config):
    await coordinator.mount("tools", RaisingTool())
