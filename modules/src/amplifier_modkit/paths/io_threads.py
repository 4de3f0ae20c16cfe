"""File operations off the event loop, with a time limit: a share that does not answer costs one call, not the session.

A thread that hangs in the operating system cannot be stopped. It is left behind, it is told to have no effect any more,
and it does not keep the process from ending.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

Result = TypeVar("Result")

MOST_HANGING = 16
"""Operations of one session that may hang before further ones are refused."""


class AbandonedError(Exception):
    """Nobody waits for the operation any more, so it must not have an effect."""


class Leave:
    """The permission of an operation to have its effect, until whoever waits for it gives up; for one operation."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_abandoned = False
        self.is_used = False
        """Whether the effect has begun."""

    def take(self) -> None:
        """To be called right before the effect; raises ``AbandonedError`` when it is too late for it."""
        with self._lock:
            if self._is_abandoned:
                raise AbandonedError
            self.is_used = True

    def abandon(self) -> None:
        """Withdraws the permission, unless it was used."""
        with self._lock:
            self._is_abandoned = True


class IoTimeoutError(TimeoutError):
    """A file operation did not end in time; the message tells what may have become of it."""


class IoThreads:
    """Runs the file operations of one session, each in a thread of its own."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        # Operations that nobody waits for any more and that have not ended.
        self._hanging = 0

    async def run(self, work: Callable[[Leave], Result]) -> Result:
        """What ``work`` returns or raises; it gets the leave that it has to take before it changes anything.

        Raises ``IoTimeoutError`` when it takes too long, or when too many operations hang already. When the caller is
        cancelled the operation is abandoned.
        """
        if self._hanging >= MOST_HANGING:
            raise IoTimeoutError(
                f"{self._hanging} file operations of this session hang already, so no further one is begun. A disk or "
                "a network share does not answer; use files elsewhere when it is back."
            )
        leave = Leave()
        answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        thread = threading.Thread(target=self._live, args=(work, leave, answer), name="amplifier-io", daemon=True)
        thread.start()
        scope = asyncio.timeout(self._timeout_s)
        try:
            async with scope:
                return await answer
        except TimeoutError as error:
            if not scope.expired():
                raise
            raise self._too_late(leave) from error
        finally:
            leave.abandon()
            self._hanging += answer.cancelled()

    def _live(self, work: Callable[[Leave], Result], leave: Leave, answer: asyncio.Future[Result]) -> None:
        try:
            outcome: Any = work(leave)
            tell: Callable[[Any], None] = answer.set_result
        except BaseException as error:
            outcome, tell = error, answer.set_exception
        with suppress(RuntimeError):  # the loop is closed, so nobody waits
            answer.get_loop().call_soon_threadsafe(self._end, answer, tell, outcome)

    def _end(self, answer: asyncio.Future[Result], tell: Callable[[Any], None], outcome: Any) -> None:
        if answer.cancelled():
            self._hanging -= 1
        else:
            tell(outcome)

    def _too_late(self, leave: Leave) -> IoTimeoutError:
        leave.abandon()
        effect = (
            "It had begun to write: look at the file before you go on"
            if leave.is_used
            else "Nothing was written, and nothing will be"
        )
        return IoTimeoutError(
            f"The file operation did not end within {self._timeout_s:g} s: the disk or network share may not answer. "
            f"{effect}."
        )
