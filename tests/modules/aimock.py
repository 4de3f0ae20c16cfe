"""``@copilotkit/aimock`` for tests of providers: a foreign server that speaks OpenAI, Anthropic, Gemini and Ollama.

    pytestmark = needs_foreign

    async def test_…(tmp_path):
        async with aimock(tmp_path, [{"match": {"userMessage": "Hi"}, "response": {"content": "Hello"}}]) as url:
            …

What it answers are its fixtures; its options (``--chaos-ratelimit``, ``--latency``, …) can be given as further words.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from tests.modules.foreign import needs_foreign, program

__all__ = ["aimock", "needs_foreign"]

_READY = re.compile(r"listening on (http://127\.0\.0\.1:\d+)")
_START_S = 60.0


@contextlib.asynccontextmanager
async def aimock(folder: Path, fixtures: Sequence[dict[str, Any]], *options: str) -> AsyncIterator[str]:
    """The URL of the server, which runs as long as the block does."""
    path = folder / "aimock-fixtures.json"
    path.write_text(json.dumps({"fixtures": list(fixtures)}), encoding="utf-8")
    words = [*program("@copilotkit/aimock", "llmock"), "-p", "0", "-f", str(path), *options]
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout is not None
    draining: asyncio.Task[bytes] | None = None
    try:
        async with asyncio.timeout(_START_S):
            url = await _url(process.stdout)
        # A pipe that nobody reads would stop the server when it is full.
        draining = asyncio.create_task(process.stdout.read())
        yield url
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        if draining is not None:
            await draining


async def _url(output: asyncio.StreamReader) -> str:
    said = ""
    async for line in output:
        said += line.decode()
        if found := _READY.search(said):
            return found[1]
    raise AssertionError(f"aimock has ended: {said}")
