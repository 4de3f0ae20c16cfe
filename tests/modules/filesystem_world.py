"""A session with the file tools in a folder of its own, for tests of the module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from amplifier_core.events import ARTIFACT_READ, ARTIFACT_WRITE
from amplifier_core.models import ToolResult
from amplifier_core.testing import EventRecorder, TestCoordinator
from amplifier_module_tool_filesystem import mount


class FileSession:
    """The tools of one session; ``told`` are the artifacts it has told of, as (event, name, bytes)."""

    def __init__(self, folder: Path, **config: Any) -> None:
        self.folder = folder.resolve()
        self.coordinator = TestCoordinator()
        self._config = config
        self._recorder = EventRecorder()

    async def begin(self) -> FileSession:
        """Mounts the module."""
        self.coordinator.register_capability("session.working_dir", str(self.folder))
        for event in (ARTIFACT_READ, ARTIFACT_WRITE):
            self.coordinator.hooks.register(event, self._recorder)
        await mount(self.coordinator, self._config)
        return self

    async def call(self, tool: str, **given: Any) -> ToolResult:
        """The result of a tool call."""
        return await self.coordinator.get_mounted("tools")[tool].execute(given)

    async def read(self, name: str, **given: Any) -> dict[str, Any]:
        """The output of a read that works."""
        return await self._output("read_file", file_path=name, **given)

    async def write(self, name: str, content: str) -> dict[str, Any]:
        """The output of a write that works."""
        return await self._output("write_file", file_path=name, content=content)

    async def edit(self, name: str, **given: Any) -> dict[str, Any]:
        """The output of an edit that works."""
        return await self._output("edit_file", file_path=name, **given)

    async def patch(self, patch: str) -> dict[str, Any]:
        """The output of a patch that works."""
        return await self._output("apply_patch", patch=patch)

    async def failure(self, tool: str, **given: Any) -> tuple[str, str]:
        """Type and message of a failure, with the folder's path left out."""
        result = await self.call(tool, **given)
        assert not result.success, result.output
        error = result.error or {}
        assert result.output == error["message"]
        return error["type"], error["message"].replace(f"{self.folder}/", "")

    def put(self, name: str, content: str | bytes = "text\n") -> Path:
        """Puts a file into the folder, behind the session's back."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def bytes_of(self, name: str) -> bytes:
        """What a file holds."""
        return (self.folder / name).read_bytes()

    def files(self) -> dict[str, str]:
        """All files with their text."""
        paths = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)): path.read_text("utf-8") for path in paths}

    @property
    def told(self) -> list[tuple[str, str, int]]:
        """The artifacts told so far."""
        return [
            (event, str(Path(data["path"]).relative_to(self.folder)), data["bytes"])
            for event, data in self._recorder.get_events()
        ]

    async def _output(self, tool: str, **given: Any) -> dict[str, Any]:
        result = await self.call(tool, **given)
        assert result.success, result.error
        assert isinstance(result.output, dict)
        return result.output
