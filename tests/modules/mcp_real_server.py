"""A server on the official SDK, to be run over stdio or served over HTTP.

Annotations are evaluated here on purpose: the SDK reads them.
"""

import asyncio

from mcp.server import MCPServer
from mcp.server.mcpserver import Context


def real_server() -> MCPServer:
    """A server with tools, a resource and a prompt."""
    server = MCPServer("real")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Adds two numbers."""
        return a + b

    @server.tool()
    async def grow(ctx: Context) -> str:
        """Adds a tool."""
        server.add_tool(lambda: "there", name="grown")
        await ctx.notify_tools_changed()
        return "grown"

    @server.tool()
    async def wait() -> str:
        """Takes too long."""
        await asyncio.sleep(60)
        return "late"

    @server.resource("real://text")
    def text() -> str:
        return "some text"

    @server.prompt()
    def greet(name: str) -> str:
        return f"Hello {name}"

    return server


if __name__ == "__main__":
    real_server().run()
