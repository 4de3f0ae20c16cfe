"""The module ``tool-search``: finds text in files and files by their names, within what the path policy allows."""

from __future__ import annotations

from typing import Any

from amplifier_module_tool_search.config import SearchConfig
from amplifier_module_tool_search.glob_tool import GlobTool
from amplifier_module_tool_search.grep_tool import GrepTool
from amplifier_module_tool_search.place import SearchPlace

__amplifier_module_type__ = "tool"
__amplifier_config__ = SearchConfig


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    """Mounts both tools."""
    settings = SearchConfig.read(config)
    place = await SearchPlace.of_session(coordinator, settings)
    for tool in (GrepTool(place, settings), GlobTool(place, settings)):
        await coordinator.mount("tools", tool, name=tool.name)
