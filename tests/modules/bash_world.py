"""A session with the tools of tool-bash in a folder of its own, for tests of the module."""

from __future__ import annotations

import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from amplifier_core.models import ToolResult
from amplifier_core.testing import EventRecorder, TestCoordinator
from amplifier_module_tool_bash import mount
from amplifier_module_tool_bash.bash_tool import BashTool
from amplifier_module_tool_bash.events import SANDBOX_DEGRADED, TOOL_OUTPUT


class BashSession:
    """The tools of one session; to be entered with ``async with``. Commands are not confined unless asked for."""

    def __init__(self, folder: Path, **config: Any) -> None:
        self.folder = folder.resolve()
        self.coordinator = TestCoordinator()
        self.seen = EventRecorder()
        self._config = {"sandbox": "off", **config}
        self._end: Callable[[], Awaitable[None]] | None = None

    async def __aenter__(self) -> BashSession:
        self.coordinator.register_capability("session.working_dir", str(self.folder))
        self._end = await mount(self.coordinator, self._config)
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._end is not None
        await self._end()

    def watch(self) -> None:
        """Records what the module tells from now on."""
        for event in (TOOL_OUTPUT, SANDBOX_DEGRADED):
            self.coordinator.hooks.register(event, self.seen)

    @property
    def tool(self) -> BashTool:
        """The tool ``bash``."""
        return self.coordinator.get_mounted("tools")["bash"]

    async def run(self, command: Any, **given: Any) -> ToolResult:
        """The result of a command."""
        return await self.tool.execute({"command": command, **given})

    async def stdout(self, command: str, **given: Any) -> str:
        """What a command writes that works."""
        result = await self.run(command, **given)
        assert result.success, result
        return told(result)["stdout"]

    async def jobs(self, action: Any, **given: Any) -> ToolResult:
        """The result of a call of ``bash_jobs``."""
        return await self.coordinator.get_mounted("tools")["bash_jobs"].execute({"action": action, **given})

    async def failure(self, command: Any, **given: Any) -> tuple[str, str]:
        """Type and message of a call that fails."""
        result = await self.run(command, **given)
        assert not result.success, result
        assert result.error is not None
        return result.error["type"], result.error["message"]


def names_in(folder: Path) -> list[str]:
    """What is in a folder."""
    return sorted(path.name for path in folder.iterdir())


def sleepers(mark: str) -> list[str]:
    """The processes that sleep for ``mark`` seconds."""
    found = subprocess.run(("pgrep", "-f", f"^sleep {mark}$"), capture_output=True, text=True, check=False)
    return found.stdout.split()


def told(result: ToolResult) -> dict[str, Any]:
    """What a result says, which must be something."""
    assert result.output is not None, result
    return result.output
