"""The demo's tool: counts the lines of the files below a directory. It reads, and changes nothing."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from amplifier_core.models import ToolResult

_BLOCK_BYTES = 1 << 16
_LARGEST_SHOWN = 3
_QUOTED_CHARS = 80
_PATH_LIKE = re.compile(r"[\w./-]{1,120}")


class CountLinesTool:
    """Counts lines of text files; hidden directories and installed packages are left out.

    Every result has the ``directory`` that was meant, as far as that can be told, and a ``summary`` in words.
    """

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
            message = f"'path' and 'suffix' must be strings, got {path!r} and {suffix!r}"
            return ToolResult(success=False, error={"message": message})
        return await asyncio.to_thread(_count_below, path, suffix)


def _count_below(path: str, suffix: str) -> ToolResult:
    if not _is_directory(path):
        return _no_directory(path)
    root = Path(path)
    counts = {file.relative_to(root).as_posix(): _lines_of(file) for file in _files_below(root, suffix)}
    by_size = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    largest = [{"name": name, "lines": lines} for name, lines in by_size[:_LARGEST_SHOWN]]
    facts = {"directory": path, "suffix": suffix, "files": len(counts), "lines": sum(counts.values())}
    return ToolResult(output={**facts, "largest": largest, "summary": _summary(facts, largest)})


def _no_directory(path: str) -> ToolResult:
    flat = " ".join(path.split())
    shown = flat if len(flat) <= _QUOTED_CHARS else f"{flat[:_QUOTED_CHARS]}…"
    words = (word.rstrip(".") or word for word in _PATH_LIKE.findall(path))
    named = next(filter(_is_directory, words), None)
    if named is None:
        message = f"'{shown}' is no directory and names none that exists; take '.'"
    else:
        message = f"'{shown}' is no directory, but names one that exists: '{named}'"
    output = {"directory": named or ".", "summary": message}
    return ToolResult(success=False, output=output, error={"message": message})


def _is_directory(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except OSError:
        return False  # such as a name that is too long for any file


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


def _summary(facts: dict[str, Any], largest: list[dict[str, Any]]) -> str:
    if not largest:
        return f"no {facts['suffix']} files"
    names = ", ".join(f"{file['name']} ({file['lines']:,})" for file in largest)
    files, lines = _counted(facts["files"], f"{facts['suffix']} file"), _counted(facts["lines"], "line")
    return f"{files} with {lines}, the largest: {names}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
