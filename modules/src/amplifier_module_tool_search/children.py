"""Child processes of one search: fed, read piece by piece, and ended with their group whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from amplifier_module_tool_search.problems import EngineError

MOST_OUTPUT_BYTES = 256_000_000
_MOST_COMPLAINT_BYTES = 2000
_READ_BYTES = 65_536


async def run(
    words: Sequence[str], *, cwd: Path, env: Mapping[str, str], told: bytes, take: Callable[[bytes], None]
) -> tuple[int, str]:
    """Runs a program until it ends; ``take`` gets its output as it comes. Returns the exit code and its complaints.

    Raises ``EngineError`` if it cannot be started or tells more than anybody could use.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *words, cwd=cwd, env=dict(env), stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
        )
    except (OSError, ValueError) as error:
        raise EngineError(f"{Path(words[0]).name} cannot be started: {error}.") from error
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.TaskGroup() as both:
            complaints = both.create_task(_complaints(process.stderr))
            both.create_task(_feed(process.stdin, told))
            is_whole = await _read(process.stdout, take)
            if not is_whole:
                _kill(process)
        if not is_whole:
            raise EngineError("There are too many matches to be counted. Narrow the search, or the pattern.")
        return await process.wait(), complaints.result()
    finally:
        _kill(process)
        await asyncio.shield(process.wait())


def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


async def _feed(sink: asyncio.StreamWriter, told: bytes) -> None:
    with contextlib.suppress(ConnectionError):  # it has ended already, and its exit code tells why
        sink.write(told)
        await sink.drain()
        sink.close()


async def _read(source: asyncio.StreamReader, take: Callable[[bytes], None]) -> bool:
    """Whether all of it was read."""
    total = 0
    while data := await source.read(_READ_BYTES):
        total += len(data)
        if total > MOST_OUTPUT_BYTES:
            return False
        take(data)
    return True


async def _complaints(source: asyncio.StreamReader) -> str:
    kept = b""
    while data := await source.read(_READ_BYTES):
        kept = (kept + data)[:_MOST_COMPLAINT_BYTES]
    return kept.decode("utf-8", "replace").strip()
