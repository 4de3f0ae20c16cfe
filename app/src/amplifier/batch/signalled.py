"""A batch in a thread of its own, so that the main thread is free for signals: every turn would take them otherwise.

The first Ctrl-C lets what is running finish, the second ends it; so do SIGTERM and SIGHUP.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from amplifier.batch.batch import Batch
from amplifier.batch.items import Item

_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
INTERRUPTED = 130


class Signals:
    """What signals asked for so far, and how that is told to the batch in its thread."""

    def __init__(self, batch: Batch, tell: Callable[[str], None]) -> None:
        self._batch = batch
        self._tell = tell
        self.loop: asyncio.AbstractEventLoop | None = None
        self.exit_code: int | None = None
        """The exit code that a signal wants, if one came."""

    def interrupt(self, *_: Any) -> None:
        """Ctrl-C."""
        is_second = self.exit_code is not None
        self.exit_code = INTERRUPTED
        if is_second:
            self._tell("stopping at once …")
            self._ask(self._batch.abort)
        else:
            self._tell("finishing what is running; Ctrl-C again stops at once …")
            self._ask(self._batch.stop)

    def end(self, number: int, *_: Any) -> None:
        """Another signal."""
        self.exit_code = 128 + number
        self._ask(self._batch.abort)

    def _ask(self, wish: Callable[[], None]) -> None:
        if self.loop is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(wish)
        else:
            self._batch.stop()


def run_signalled(batch: Batch, items: Iterator[Item], tell: Callable[[str], None]) -> int | None:
    """Runs a batch to its end; gives the exit code that a signal wants, if one came."""
    signals = Signals(batch, tell)

    def work() -> None:
        with asyncio.Runner() as runner:
            signals.loop = runner.get_loop()
            runner.run(batch.run(items))

    with _listening(signals), ThreadPoolExecutor(1, "batch") as executor:
        executor.submit(work).result()
    return signals.exit_code


@contextmanager
def _listening(signals: Signals) -> Generator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread is told of signals
        return
    before = [(signal.SIGINT, signal.signal(signal.SIGINT, signals.interrupt))]
    before += [(number, signal.signal(number, signals.end)) for number in _ENDING]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
