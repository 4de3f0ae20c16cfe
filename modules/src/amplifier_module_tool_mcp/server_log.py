"""What a server writes to stderr, in a file of bounded size: ``<server>.log``, and one earlier file beside it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from pathlib import Path

from amplifier_modkit.rotating_file import RotatingFile
from amplifier_module_tool_mcp.texts import Mask, error_line

logger = logging.getLogger(__name__)

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_MOST_FILE_NAME_CHARS = 80
# A server that writes faster than the disk loses lines, and does not fill the memory.
_MOST_PENDING_BYTES = 256_000
_MOST_LINE_BYTES = 8_000


def log_path(folder: Path, server: str) -> Path:
    """The log file of a server."""
    name = _UNSAFE.sub("_", server).lstrip(".")[:_MOST_FILE_NAME_CHARS]
    return folder / f"{name or '_'}.log"


class ServerLog:
    """Takes what one server writes; lives as long as the server is wanted."""

    def __init__(self, path: Path, mask: Mask, *, max_bytes: int, is_verbose: bool) -> None:
        self._file = RotatingFile(path, max_bytes=max_bytes, keep=1, compress=False)
        self._name = path.stem
        self._mask = mask
        self._is_verbose = is_verbose
        self._rest = b""
        """A line that has not ended yet."""
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._lost = 0
        self._writing: asyncio.Task[None] | None = None

    def add(self, data: bytes) -> None:
        """Takes the next bytes; the file is written to in the background."""
        *lines, rest = (self._rest + data).split(b"\n")
        if len(rest) > _MOST_LINE_BYTES:
            lines, rest = [*lines, rest], b""
        self._rest = rest
        for line in lines:
            self._take(line[:_MOST_LINE_BYTES])
        if self._pending and (self._writing is None or self._writing.done()):
            self._writing = asyncio.create_task(self._write())

    async def close(self) -> None:
        """Writes what is left."""
        if self._rest:
            self.add(b"\n")
        if self._writing is not None:
            await self._writing

    def _take(self, raw: bytes) -> None:
        text = self._mask(raw.decode("utf-8", "replace").rstrip("\r"))
        if self._is_verbose:
            logger.info("MCP server %s: %s", self._name, error_line(text))
        line = text.encode() + b"\n"
        if self._pending_bytes + len(line) > _MOST_PENDING_BYTES:
            self._lost += 1
            return
        self._pending.append(line)
        self._pending_bytes += len(line)

    async def _write(self) -> None:
        while self._pending:
            lines, self._pending, self._pending_bytes = self._pending, [], 0
            if self._lost:
                lines.append(b"[%d lines were left out]\n" % self._lost)
                self._lost = 0
            with contextlib.suppress(OSError):  # a full disk must not stop a server
                await asyncio.to_thread(self._append_all, lines)

    def _append_all(self, lines: list[bytes]) -> None:
        while lines:
            del lines[: self._file.append_some(lines)]
