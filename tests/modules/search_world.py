"""A session with the search tools in a folder of its own, with and without ripgrep, for tests of the module."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from amplifier_core.models import ToolResult
from amplifier_core.testing import TestCoordinator
from amplifier_module_tool_search import mount

_FOLDERS = [str(Path(sys.executable).parent), *os.get_exec_path()]
RIPGREPS = sorted({str(Path(found).resolve()) for path in _FOLDERS if (found := shutil.which("rg", path=path))})
"""Every ripgrep of this machine."""
NOWHERE = os.devnull
ENGINES = [*RIPGREPS, NOWHERE]
"""What stands for the folder of ripgrep: of each one, and of none."""


@contextmanager
def with_engine(program: str) -> Iterator[None]:
    """In the block, the only ripgrep that can be found is ``program``."""
    with patch.dict(os.environ, {"PATH": str(Path(program).parent) if program != NOWHERE else NOWHERE}):
        yield


class SearchSession:
    """The tools of one session."""

    def __init__(self, folder: Path, **config: Any) -> None:
        self.folder = folder.resolve()
        self.coordinator = TestCoordinator()
        self._config = config

    async def begin(self) -> SearchSession:
        """Mounts the module."""
        self.coordinator.register_capability("session.working_dir", str(self.folder))
        await mount(self.coordinator, self._config)
        return self

    async def call(self, tool: str, given: dict[str, Any]) -> ToolResult:
        """The result of a tool call."""
        return await self.coordinator.get_mounted("tools")[tool].execute(given)

    async def grep(self, pattern: str, **given: Any) -> dict[str, Any]:
        """The output of a ``grep`` that works; ``_C`` stands for ``-C``."""
        options = {f"-{key[1]}" if key[0] == "_" else key: value for key, value in given.items()}
        return await self._output("grep", {"pattern": pattern, **options})

    async def files(self, pattern: str, **given: Any) -> list[str]:
        """The files that match."""
        return (await self.grep(pattern, **given))["files"]

    async def glob(self, pattern: str, **given: Any) -> list[str]:
        """The paths that match, in order of their names."""
        output = await self._output("glob", {"pattern": pattern, **given})
        return sorted(match["path"] for match in output["matches"])

    async def failure(self, tool: str, **given: Any) -> tuple[str, str]:
        """Type and message of a failure, with the folder's path left out."""
        options = {f"-{key[1]}" if key[0] == "_" else key: value for key, value in given.items()}
        result = await self.call(tool, options)
        assert not result.success, result.output
        error = result.error or {}
        return error["type"], error["message"].replace(f"{self.folder}/", "")

    def put(self, name: str, content: str | bytes = "needle\n") -> Path:
        """Puts a file into the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    async def _output(self, tool: str, given: dict[str, Any]) -> dict[str, Any]:
        result = await self.call(tool, given)
        assert result.success, result.error
        assert isinstance(result.output, dict)
        return result.output
