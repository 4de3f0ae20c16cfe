"""Is not async where it has to be."""

from amplifier_core import ToolResult


class SyncTool:
    name = "sync"
    description = "Does nothing."

    async def execute(self, input):
        return ToolResult()


def mount(coordinator, config):
    coordinator.mount("tools", SyncTool())


def on_session_ready(coordinator):
    pass
