"""The module ``tool-filesystem``: reads, writes, edits and patches files, within what the path policy allows."""

from __future__ import annotations

from typing import Any

from amplifier_module_tool_filesystem.config import FilesystemConfig
from amplifier_module_tool_filesystem.desk import Desk
from amplifier_module_tool_filesystem.edit_tool import EditFileTool
from amplifier_module_tool_filesystem.patch_tool import ApplyPatchTool
from amplifier_module_tool_filesystem.read_tool import ReadFileTool
from amplifier_module_tool_filesystem.write_tool import WriteFileTool

__amplifier_module_type__ = "tool"
__amplifier_config__ = FilesystemConfig


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    """Mounts the four tools, which share what this session has read."""
    desk = await Desk.of_session(coordinator, FilesystemConfig.read(config))
    for tool in (ReadFileTool(desk), WriteFileTool(desk), EditFileTool(desk), ApplyPatchTool(desk)):
        await coordinator.mount("tools", tool, name=tool.name)
