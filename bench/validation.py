"""Validating many modules: what an author's whole shelf costs."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from amplifier_core.validation import ToolValidator
from bench.figure import Figure
from bench.measure import Effort

SOURCE = """
class Tool:
    name, description = "made", "Does nothing."

    async def execute(self, input):
        return None


async def mount(coordinator, config):
    await coordinator.mount("tools", Tool())
"""


def figures(effort: Effort) -> Iterator[Figure]:
    """CPU seconds for a hundred modules, imported for the first time, mounted and cleaned up."""
    count = effort.size(100, smoke=3)
    with TemporaryDirectory() as folder:
        packages = [_write_module(Path(folder), number) for number in range(count)]
        begin = time.process_time()
        passed = asyncio.run(_validate_all(packages))
        spent_s = time.process_time() - begin
    if passed != count:
        raise RuntimeError(f"Only {passed} of {count} modules are valid; the figure would mean nothing")
    yield Figure("validation", f"{count} modules validated, CPU time", spent_s, 5.0, unit="s", note="import included")


def _write_module(folder: Path, number: int) -> Path:
    package = folder / f"amplifier_module_tool_bench_{number}"
    package.mkdir()
    (package / "__init__.py").write_text(SOURCE, encoding="utf-8")
    return package


async def _validate_all(packages: list[Path]) -> int:
    passed = 0
    for package in packages:
        passed += (await ToolValidator().validate(str(package))).passed
        sys.modules.pop(package.name, None)
    return passed
