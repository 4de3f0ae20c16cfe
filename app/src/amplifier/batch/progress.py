"""How far a batch is: a bar on a terminal, a line now and then anywhere else; both on standard error."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Protocol, TextIO

_LINES = 10


class Progress(Protocol):
    """Told after each item."""

    def advance(self, failed: int) -> None:
        """One more is done; ``failed`` of all so far have failed."""
        ...


class Lines:
    """A line for each tenth of the items."""

    def __init__(self, total: int, stream: TextIO) -> None:
        self._total = total
        self._stream = stream
        self._done = 0

    def advance(self, failed: int) -> None:
        """One more."""
        self._done += 1
        if self._done * _LINES // self._total > (self._done - 1) * _LINES // self._total:
            more = f", {failed} failed" if failed else ""
            print(f"amplifier: {self._done} of {self._total} done{more}", file=self._stream, flush=True)


class Bar:
    """A bar with the time that is left."""

    def __init__(self, bar: Any, task: Any) -> None:
        self._bar = bar
        self._task = task

    def advance(self, failed: int) -> None:
        """One more."""
        self._bar.update(self._task, advance=1, failed=f"[red]{failed} failed" if failed else "")


class Silence:
    """Says nothing."""

    def advance(self, failed: int) -> None:
        """One more."""


@contextmanager
def progress(total: int, *, is_quiet: bool, stream: TextIO | None = None) -> Generator[Progress]:
    """What fits ``stream``, standard error by default, for the time of the block."""
    shown: TextIO | None = stream or sys.stderr
    if is_quiet or shown is None:
        yield Silence()
    elif not shown.isatty():
        yield Lines(total, shown)
    else:
        from rich import progress as parts
        from rich.console import Console

        columns = (
            parts.BarColumn(), parts.MofNCompleteColumn(), parts.TimeElapsedColumn(), parts.TextColumn("left:"),
            parts.TimeRemainingColumn(), parts.TextColumn("{task.fields[failed]}"),
        )  # fmt: skip
        with parts.Progress(*columns, console=Console(file=shown)) as bar:
            yield Bar(bar, bar.add_task("batch", total=total, failed=""))
