"""Python as an engine, where there is no ripgrep: the search runs in a process of its own, see ``worker``."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from amplifier_module_tool_search.children import run
from amplifier_module_tool_search.engine import EVERY_LINE, Files, Query
from amplifier_module_tool_search.problems import EngineError

# An empty package in place of this one: its own beginning would bring in the kernel, for which the worker has no use.
_BEGINNING = """
import sys, types
package = types.ModuleType("amplifier_module_tool_search")
package.__path__ = [sys.argv[1]]
sys.modules[package.__name__] = package
from amplifier_module_tool_search.worker import main
main(sys.stdin.buffer, sys.stdout.buffer)
"""


class PythonEngine:
    """Searches with the ``re`` of Python; no search takes longer than ``max_seconds``."""

    def __init__(self, max_seconds: float, python: str | None = None) -> None:
        self._max_seconds = max_seconds
        self._python = python or sys.executable

    async def files(self, query: Query, files: Files) -> dict[str, int]:
        """The files that match."""
        return await self._told(query, files, most_lines=1, wants_lines=False)

    async def counts(self, query: Query, files: Files) -> dict[str, int]:
        """The files that match with their counts of lines."""
        return await self._told(query, files, most_lines=EVERY_LINE, wants_lines=False)

    async def lines(self, query: Query, files: Files, most: int) -> dict[str, list[int]]:
        """The numbers of the lines that match."""
        return await self._told(query, files, most_lines=most, wants_lines=True)

    async def _told(self, query: Query, files: Files, *, most_lines: int, wants_lines: bool) -> dict[str, Any]:
        job = {
            "pattern": query.expression.python,
            "careful_pattern": query.expression.careful,
            "ignores_case": query.ignores_case,
            "is_multiline": query.is_multiline,
            "max_bytes": files.max_bytes,
            "max_seconds": self._max_seconds,
            "most_lines": most_lines,
            "wants_lines": wants_lines,
        }
        names = b"".join(os.fsencode(name) + b"\0" for name in files.names)
        words = [self._python, "-I", "-S", "-c", _BEGINNING, str(Path(__file__).parent)]
        output = bytearray()
        code, complaints = await run(
            words,
            cwd=files.root,
            env={key: os.environ[key] for key in ("SYSTEMROOT",) if key in os.environ},
            told=json.dumps(job).encode("ascii") + b"\n" + names,
            take=output.extend,
        )
        if code:
            raise EngineError(f"Python could not search (exit code {code}): {complaints[-500:]}")
        answers: list[tuple[int, Any]] = [json.loads(line) for line in output.splitlines()]
        return {files.names[number]: told for number, told in answers}
