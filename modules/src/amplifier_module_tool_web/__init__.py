"""The module ``tool-web``: fetches pages of the public web, and nothing else; asks a search engine, if there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amplifier_module_tool_web.config import WebConfig
from amplifier_module_tool_web.mounting import fetch_tool, search_tool

__amplifier_module_type__ = "tool"
__amplifier_config__ = WebConfig


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> Callable[[], None]:
    """Mounts both tools; the clean-up lets go of the pages that were kept."""
    settings = WebConfig.read(config)
    fetch, search = await fetch_tool(coordinator, settings), search_tool(settings)
    await coordinator.mount("tools", fetch, name=fetch.name)
    await coordinator.mount("tools", search, name=search.name)
    return fetch.forget
