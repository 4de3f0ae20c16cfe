"""What signals do to a running turn: Ctrl-C lets it finish what it is doing, a second one stops it, others end it.

SIGTERM and SIGHUP stop the turn at once; what was said is saved, and the process ends with the code of the signal.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

INTERRUPTED, TERMINATED, HUNG_UP = 130, 143, 129
_STOPPING = (("SIGTERM", TERMINATED), ("SIGHUP", HUNG_UP))


@dataclass(slots=True)
class Stops:
    """What was asked for by signals, so far."""

    interrupts: int = 0
    exit_code: int | None = None
    """The exit code that a signal wants, if one came."""


@contextmanager
def listening(stop: Callable[[bool], None], tell: Callable[[str], None]) -> Generator[Stops]:
    """Listens for signals during the block; ``stop(is_immediate)`` is called for each, ``tell`` says what happens.

    Where the platform or the thread cannot listen, Python's own handling stays.
    """
    loop = asyncio.get_running_loop()
    stops = Stops()

    def interrupt() -> None:
        stops.interrupts += 1
        stops.exit_code = INTERRUPTED
        is_second = stops.interrupts > 1
        tell("stopping at once …" if is_second else "finishing the current step; Ctrl-C again stops at once …")
        stop(is_second)

    def end(code: int) -> None:
        stops.exit_code = code
        stop(True)

    wanted = [(signal.SIGINT, interrupt)]
    wanted += [
        (getattr(signal, name), lambda code=code: end(code)) for name, code in _STOPPING if hasattr(signal, name)
    ]
    listened: list[int] = []
    with suppress(NotImplementedError, ValueError, RuntimeError):
        for number, handler in wanted:
            loop.add_signal_handler(number, handler)
            listened.append(number)
    try:
        yield stops
    finally:
        for number in listened:
            loop.remove_signal_handler(number)
