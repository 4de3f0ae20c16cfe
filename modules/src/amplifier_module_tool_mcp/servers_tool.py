"""The tool that is there before any server is: which servers there are, what they offer, why one is missing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar

from amplifier_core.models import ToolResult
from amplifier_module_tool_mcp.errors import ServerError
from amplifier_module_tool_mcp.texts import error_line, name_line
from amplifier_module_tool_mcp.visibility import Sight

_NOBODY = "There are no MCP servers in this session. The user can add some to .mcp.json or to ~/.amplifier/mcp.json."


class ServersTool:
    """Lists the MCP servers of the session, and connects one again."""

    name = "mcp_servers"
    description = (
        "Lists the MCP servers of this session with their state and their tools. Use it when a tool mcp_… that you "
        "expect is missing or fails. 'reconnect' connects a server again that is not available."
    )
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {"reconnect": {"type": "string", "description": "the name of a server"}},
    }
    read_only = True

    def __init__(self, look: Callable[[], Sequence[Sight]], reconnect: Callable[[str], Awaitable[None]]) -> None:
        self._look = look
        self._reconnect = reconnect

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        """The servers, after one was connected again if that was asked for."""
        wanted = input.get("reconnect")
        if wanted is None:
            return ToolResult(output="\n".join(map(_line, self._look())) or _NOBODY)
        try:
            await self._reconnect(str(wanted))
        except ServerError as error:
            return ToolResult(success=False, error={"type": error.kind, "message": error_line(error)})
        return ToolResult(output="\n".join(map(_line, self._look())))


def _line(sight: Sight) -> str:
    facts = ", ".join(sight.tools) if sight.tools else "no tools"
    told = facts if sight.problem is None else f"{sight.problem}; {facts}"
    return f"- {name_line(sight.name)} ({sight.state}): {told}"
