"""A fetched body as a file: where the session's path policy allows it, as one step, and told to whoever watches."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from amplifier_core.events import ARTIFACT_WRITE
from amplifier_modkit.paths.checkpoints import former_content
from amplifier_modkit.paths.errors import PathError
from amplifier_modkit.paths.io_threads import IoThreads, Leave
from amplifier_modkit.paths.policy import PathPolicy
from amplifier_modkit.paths.replacing import make_folders, replace_file
from amplifier_modkit.paths.walk import Place
from amplifier_module_tool_web.errors import NotSavedError, shown

Tell = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""How events are emitted."""
Checkpoint = Callable[[Place, bytes | None, bytes], None]
"""Has the application keep what a file was, right before it is changed."""

_Result = TypeVar("_Result")


class Saver:
    """Writes files for one session."""

    def __init__(
        self, policy: PathPolicy, tell: Tell, checkpoint: Checkpoint, *, may_replace: bool, timeout_s: float = 30.0
    ) -> None:
        self._policy = policy
        self._tell = tell
        self._checkpoint = checkpoint
        self._may_replace = may_replace
        self._threads = IoThreads(timeout_s)

    async def check(self, path: str) -> None:
        """Raises ``NotSavedError`` if the file may not be written, so that nothing is fetched in vain."""
        await self._run(path, lambda leave: self._visit(path).close())

    async def save(self, path: str, data: bytes) -> Path:
        """Writes the file, with the folders that are missing, and gives its resolved path; raises ``NotSavedError``."""
        saved = await self._run(path, lambda leave: self._write(path, data, leave))
        await self._tell(ARTIFACT_WRITE, {"path": str(saved), "bytes": len(data)})
        return saved

    async def _run(self, path: str, work: Callable[[Leave], _Result]) -> _Result:
        try:
            return await self._threads.run(work)
        except PathError as error:
            raise NotSavedError(str(error)) from error
        except OSError as error:
            raise NotSavedError(f"{shown(path)} cannot be written: {error}.") from error

    def _visit(self, path: str) -> Place:
        place = self._policy.visit(path, "write")
        if place.facts is None or (self._may_replace and not place.is_folder):
            return place
        place.close()
        what = "a folder" if place.is_folder else "a file"
        raise NotSavedError(f"There is {what} by the name {shown(path)} already. Choose another name.")

    def _write(self, path: str, data: bytes, leave: Leave) -> Path:
        with self._visit(path) as place:
            leave.take()
            make_folders(place)
            self._checkpoint(place, former_content(place), data)
            replace_file(place, data)
            return place.path
