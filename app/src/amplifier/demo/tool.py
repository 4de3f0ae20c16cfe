"""The demo's tool: counts the lines of the files below a directory. It reads, and changes nothing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.models import ToolResult

_BLOCK_BYTES = 1 << 16
_LARGEST_SHOWN = 3


class CountLinesTool:
    """Counts lines of text files; hidden directories and installed packages are left out."""

    name = "count_lines"
    description = "Counts the files with a given suffix below a directory, their lines, and names the largest ones."

    @property
    def input_schema(self) -> dict[str, Any]:
        """The arguments as JSON Schema; both may be left out."""
        return {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "directory to look into", "default": "."},
                "suffix": {"type": "string", "description": "ending of the file names", "default": ".py"},
            },
        }

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        """Counts in a thread, so that a large tree does not hold up the session."""
        path, suffix = input.get("path", "."), input.get("suffix", ".py")
        if not isinstance(path, str) or not isinstance(suffix, str):
            return _failure(f"'path' and 'suffix' must be strings, got {path!r} and {suffix!r}")
        return await asyncio.to_thread(_count_below, path, suffix)


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any]) -> None:
    """Mounts the tool under its name."""
    await coordinator.mount("tools", CountLinesTool())


def _failure(message: str) -> ToolResult:
    return ToolResult(success=False, error={"message": message})


def _count_below(path: str, suffix: str) -> ToolResult:
    root = Path(path)
    if not root.is_dir():
        return _failure(f"'{path}' is not a directory; give one that exists, such as '.'")
    counts = {file.relative_to(root).as_posix(): _lines_of(file) for file in _files_below(root, suffix)}
    return ToolResult(output=_summary(path, suffix, counts))


def _files_below(root: Path, suffix: str) -> Iterator[Path]:
    for directory, subdirectories, names in os.walk(root):
        subdirectories[:] = sorted(name for name in subdirectories if _is_own(name))
        for name in sorted(names):
            file = Path(directory, name)
            if name.endswith(suffix) and file.is_file() and os.access(file, os.R_OK):
                yield file


def _is_own(directory: str) -> bool:
    return not directory.startswith((".", "__pycache__", "node_modules", "site-packages"))


def _lines_of(file: Path) -> int:
    lines, last = 0, b"\n"
    with file.open("rb") as stream:
        while block := stream.read(_BLOCK_BYTES):
            lines, last = lines + block.count(b"\n"), block[-1:]
    return lines if last == b"\n" else lines + 1


def _summary(path: str, suffix: str, counts: dict[str, int]) -> dict[str, Any]:
    by_size = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return {
        "path": path,
        "suffix": suffix,
        "files": len(counts),
        "lines": sum(counts.values()),
        "largest": dict(by_size[:_LARGEST_SHOWN]),
    }
