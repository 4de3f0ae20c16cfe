"""What tests of tool-mcp need: sessions without a session, and servers that are told how to behave."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from amplifier_core.testing import EventRecorder, TestCoordinator
from amplifier_module_tool_mcp import mount
from amplifier_module_tool_mcp.telling import EVENTS

SCRIPT = Path(__file__).with_name("mcp_scripted_server.py")


def scripted(*options: str, **entry: Any) -> dict[str, Any]:
    """The entry of a scripted server."""
    return {"command": sys.executable, "args": ["-I", "-S", str(SCRIPT), *options], **entry}


class McpSession:
    """The module in a coordinator, with all its events."""

    def __init__(self, coordinator: TestCoordinator) -> None:
        self.coordinator = coordinator
        self.events = EventRecorder()
        for event in EVENTS:
            coordinator.hooks.register(event, self.events)

    @property
    def tools(self) -> dict[str, Any]:
        """What is mounted."""
        return self.coordinator.get("tools")

    async def call(self, tool: str, **arguments: Any) -> Any:
        """Calls a tool."""
        return await self.tools[tool].execute(arguments)

    def told(self, event: str) -> list[dict[str, Any]]:
        """What an event carried, without what every event has."""
        usual = ("session_id", "parent_id", "timestamp")
        return [
            {key: value for key, value in data.items() if key not in usual} for _, data in self.events.get_events(event)
        ]

    async def until(self, event: str, count: int = 1) -> None:
        """Waits until an event has come so often."""
        while len(self.events.get_events(event)) < count:  # noqa: ASYNC110 - the recorder has no event of its own
            await asyncio.sleep(0.005)


@contextlib.asynccontextmanager
async def session(
    servers: dict[str, Any], tmp_path: Path, *, settle: bool = True, prepare: Any = None, **config: Any
) -> AsyncIterator[McpSession]:
    """A session whose servers are connected, or known not to be."""
    coordinator = TestCoordinator()
    coordinator.register_capability("session.working_dir", str(tmp_path))
    if prepare is not None:
        prepare(coordinator)
    world = McpSession(coordinator)
    close = await mount(coordinator, {"servers": servers, "startup_wait": 30, **config})
    try:
        if settle:
            await coordinator.hooks.emit("prompt:submit", {"prompt": "Hello"})
        yield world
    finally:
        await close()
