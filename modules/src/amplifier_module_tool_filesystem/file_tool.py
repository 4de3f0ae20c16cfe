"""What the file tools have in common: whatever goes wrong becomes a result that tells the model what to do."""

from __future__ import annotations

import errno
from abc import ABC, abstractmethod
from typing import Any

from amplifier_core.models import ToolResult
from amplifier_modkit.paths.errors import InvalidPathError, PathDeniedError, UnstablePathError, shown
from amplifier_modkit.paths.io_threads import IoTimeoutError
from amplifier_module_tool_filesystem.desk import Desk
from amplifier_module_tool_filesystem.problems import ProblemError

_KINDS: tuple[tuple[type[OSError], str], ...] = (
    (PathDeniedError, "denied"),
    (InvalidPathError, "invalid_input"),
    (UnstablePathError, "stale"),
    (IoTimeoutError, "timeout"),
    (FileNotFoundError, "not_found"),
)
_NOT_OURS = "The operating system does not let this user use {path}. Use another place, or ask the user."
_TOLD: dict[int, str] = {
    errno.ENOENT: "There is no {path}. Check the path; read_file of a folder lists what is there.",
    errno.ENOTDIR: "{path} is a file, not a folder. Check the path.",
    errno.EISDIR: "{path} is a folder. Give the path of a file.",
    errno.EACCES: _NOT_OURS,
    errno.EPERM: _NOT_OURS,
    errno.EROFS: "{path} is on a disk that cannot be written to. Use another place.",
    errno.ENOSPC: "The disk is full; {path} is as it was. Free some space, then try again.",
    errno.EDQUOT: "The quota is used up; {path} is as it was. Free some space, then try again.",
    errno.ENAMETOOLONG: "{path} has a name that is too long for its disk. Give a shorter one.",
}


class FileTool(ABC):
    """A tool of this module, for one session."""

    name: str
    description: str
    input_schema: dict[str, Any]

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        """Does the work; a failure is a result as well, with ``type`` and ``message`` in its error."""
        try:
            return await self.work(input)
        except ProblemError as problem:
            return _failure(str(problem), problem.kind)
        except OSError as error:
            kind = next((kind for each, kind in _KINDS if isinstance(error, each)), "io_error")
            return _failure(_message(error), kind)

    @abstractmethod
    async def work(self, given: dict[str, Any]) -> ToolResult:
        """Does the work, or raises ``ProblemError`` or ``OSError``."""


def _failure(message: str, kind: str) -> ToolResult:
    return ToolResult(success=False, error={"message": message, "type": kind})


def _message(error: OSError) -> str:
    if error.filename is None:
        return str(error)
    told = _TOLD.get(error.errno or 0, f"{{path}} cannot be used: {error.strerror}.")
    return told.replace("{path}", shown(str(error.filename)))
