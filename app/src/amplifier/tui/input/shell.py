"""``!command``: run by the user's shell in the working directory; what it prints is shown, and kept for the agent."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import cast

_CHUNK = 8_192
_MOST_KEPT = 30_000


class ShellCommand:
    """One command that the user runs; ``stop`` ends it with everything that it has started."""

    def __init__(self, line: str, folder: Path, show: Callable[[str], None]) -> None:
        self._line = line
        self._folder = folder
        self._show = show
        self._process: asyncio.subprocess.Process | None = None
        self._stops = 0

    async def run(self) -> str:
        """Runs it to its end; gives what is to be told to the agent. ``show`` gets whole lines."""
        process = await asyncio.create_subprocess_shell(
            self._line,
            cwd=self._folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        self._process = process
        try:
            output = await self._read(process)
            code = await process.wait()
        finally:
            self._end(signal.SIGKILL)
        if code:
            self._show(f"(exit code {code})\n")
        return f'<command line="{self._line}" exit_code="{code}">\n{output.strip()}\n</command>'

    def stop(self) -> None:
        """Asks it to end; the second time, ends it."""
        self._stops += 1
        self._end(signal.SIGTERM if self._stops == 1 else signal.SIGKILL)

    async def _read(self, process: asyncio.subprocess.Process) -> str:
        from codecs import getincrementaldecoder

        decoder = getincrementaldecoder("utf-8")("replace")
        kept = rest = ""
        stream = cast("asyncio.StreamReader", process.stdout)
        while chunk := await stream.read(_CHUNK):
            text = decoder.decode(chunk)
            # The end of what a command prints is what counts.
            kept = (kept + text)[-_MOST_KEPT:]
            whole, line_end, rest = (rest + text).rpartition("\n")
            self._show(whole + line_end)
        self._show(f"{rest}\n" if rest else "")
        return kept

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, how)
