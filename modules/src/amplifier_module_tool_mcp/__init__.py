"""The module ``tool-mcp``: the tools, resources and prompts of MCP servers, for the model to call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.events import PROMPT_SUBMIT, PROVIDER_REQUEST
from amplifier_modkit.paths.working_dir import working_dir_of
from amplifier_module_tool_mcp.config import McpConfig
from amplifier_module_tool_mcp.fleet import Fleet
from amplifier_module_tool_mcp.servers_tool import ServersTool
from amplifier_module_tool_mcp.telling import EVENTS
from amplifier_module_tool_mcp.visibility import ServerList

__amplifier_module_type__ = "tool"
__amplifier_config__ = McpConfig


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any] | None = None) -> Callable[[], Awaitable[None]]:
    """Begins to connect to the servers, whose tools are mounted as soon as they are there; the clean-up ends them."""
    settings = McpConfig.read(config)
    fleet = Fleet(coordinator, settings, working_dir_of(coordinator))
    coordinator.hooks.register(PROMPT_SUBMIT, fleet.hold_first_turn, priority=90, name="tool-mcp")
    if settings.visibility.enabled:
        show = ServerList(settings.visibility, fleet.sights).show
        coordinator.hooks.register(PROVIDER_REQUEST, show, priority=settings.visibility.priority, name="tool-mcp")
    coordinator.register_contributor("observability.events", "tool-mcp", lambda: list(EVENTS))
    tool = ServersTool(fleet.sights, fleet.reconnect)
    coordinator.mount("tools", tool, name=tool.name)
    fleet.start()
    return fleet.close
