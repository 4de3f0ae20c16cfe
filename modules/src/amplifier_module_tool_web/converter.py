"""Starts the worker for one page at a time and ends it when it takes too long, or when nobody waits any more."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from amplifier_module_tool_web.errors import BadContentError, NotInstalledError, TimedOutError, shown

_LIBRARIES = ("charset_normalizer", "html_to_markdown", "pypdf")
_MOST_WORKERS = 2
# An empty package in place of this one: its own beginning would bring in the kernel, for which the worker has no use.
_BEGINNING = """
import sys, types
package = types.ModuleType("amplifier_module_tool_web")
package.__path__ = [sys.argv[1]]
sys.modules[package.__name__] = package
sys.path += sys.argv[2:]
from amplifier_module_tool_web.worker import main
main(sys.stdin.buffer, sys.stdout.buffer)
"""


@dataclass(frozen=True, slots=True)
class Job:
    """What the worker is told beside the content."""

    kind: Literal["html", "pdf"]
    base_url: str
    charset: str | None
    max_pages: int
    max_chars: int
    max_seconds: float


@dataclass(frozen=True, slots=True)
class Converted:
    """What the worker made of the content."""

    text: str
    title: str | None = None
    notes: tuple[str, ...] = ()


class Converter:
    """Converts contents in processes of their own, a few at the same time; lives as long as the tool that uses it."""

    def __init__(self, python: str | None = None) -> None:
        self._python = python or sys.executable
        self._turn = asyncio.Semaphore(_MOST_WORKERS)

    async def convert(self, job: Job, data: bytes) -> Converted:
        """The content as text; raises ``WebError`` if it cannot be converted, or not in time."""
        async with self._turn:
            try:
                process = await asyncio.create_subprocess_exec(
                    self._python,
                    "-I",
                    "-c",
                    _BEGINNING,
                    *_paths(),
                    stdin=PIPE,
                    stdout=PIPE,
                    stderr=DEVNULL,
                    env=_environment(),
                )
            except (OSError, ValueError) as error:
                raise BadContentError(f"The converter {shown(self._python)!r} cannot be started: {error}.") from error
            try:
                async with asyncio.timeout(job.max_seconds):
                    output, _ = await process.communicate(_told(job) + data)
            except TimeoutError as error:
                raise TimedOutError(f"The content could not be converted within {job.max_seconds:g} s.") from error
            finally:
                await _end(process)
        return await asyncio.to_thread(_read, output)


def _told(job: Job) -> bytes:
    return json.dumps(asdict(job)).encode("ascii") + b"\n"


def _read(output: bytes) -> Converted:
    try:
        answer: dict[str, Any] = json.loads(output)
        if "missing" in answer:
            raise NotInstalledError(str(answer["missing"]))
        if "error" in answer:
            raise BadContentError(f"{shown(str(answer['error']))}.")
        title = answer["title"]
        return Converted(str(answer["text"]), None if title is None else str(title), tuple(map(str, answer["notes"])))
    except (ValueError, TypeError, KeyError) as error:
        raise BadContentError("The content broke the converter; it may be damaged, or too much for it.") from error


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
        await process.wait()


def _paths() -> list[str]:
    """Where this package is, and the libraries; the worker looks nowhere else but in its own installation."""
    specs = [find_spec(name) for name in _LIBRARIES]
    places = [str(Path(spec.origin).parent.parent) for spec in specs if spec is not None and spec.origin is not None]
    return [str(Path(__file__).parent), *dict.fromkeys(places)]


def _environment() -> dict[str, str]:
    # Without the secrets that are in ours; Windows starts nothing without this one.
    return {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
