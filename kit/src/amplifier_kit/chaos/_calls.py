"""One call into foreign code: watched wherever it waits, stopped there if need be, never waited for in vain."""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from functools import partial
from inspect import isawaitable
from types import coroutine
from typing import Any

_GRACE_S = 1.0
_MOST_CHARS = 600


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended; ``is_late`` when it did not."""

    value: Any = None
    error: BaseException | None = None
    is_late: bool = False

    @property
    def is_cancelled(self) -> bool:
        """Whether it ended with ``CancelledError``."""
        return isinstance(self.error, asyncio.CancelledError)

    def __str__(self) -> str:
        if self.is_late:
            return "did not end"
        return f"returned {type(self.value).__name__}" if self.error is None else f"raised {describe(self.error)}"


class Call:
    """Foreign work in a task of its own, begun at once; whatever it raises is its outcome.

    ``on_suspension`` is told the number of each wait, the first being 1, before the work really waits.
    """

    def __init__(self, work: Callable[[], Any], on_suspension: Callable[[int], None] | None = None) -> None:
        self.suspensions = 0
        """How often it has waited so far."""
        self._on_suspension = on_suspension
        self._is_abandoned = False
        self._task = asyncio.get_running_loop().create_task(self._observe(work))

    async def outcome(self, limit_s: float) -> Outcome:
        """How it ended; work that takes longer than ``limit_s`` seconds is stopped for good."""
        await asyncio.wait({self._task}, timeout=limit_s)
        if self._task.done():
            return self._task.result()
        self._is_abandoned = True
        self._task.cancel()
        await asyncio.wait({self._task}, timeout=_GRACE_S)
        return Outcome(is_late=True)

    async def _observe(self, work: Callable[[], Any]) -> Outcome:
        try:
            return Outcome(await self._step_through(_settle(work)))
        except BaseException as error:
            # SystemExit above all: out of a task it would stop the whole loop.
            return Outcome(error=error.with_traceback(None))

    @coroutine
    def _step_through(self, work: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
        resume: Callable[[], Any] = partial(work.send, None)
        while True:
            try:
                awaited = resume()
            except StopIteration as end:
                return end.value
            self.suspensions += 1
            if self._on_suspension is not None:
                self._on_suspension(self.suspensions)
            try:
                yield awaited
            except BaseException as error:
                if self._is_abandoned:
                    _close(work)
                    raise
                resume = partial(work.throw, error)
            else:
                resume = partial(work.send, None)


def cancel_at(suspension: int) -> Callable[[int], None]:
    """To be passed as ``on_suspension``: cancels the call at one exact wait."""

    def cancel(number: int) -> None:
        task = asyncio.current_task()
        if task is not None and number == suspension:
            task.cancel()

    return cancel


def describe(error: BaseException) -> str:
    """Type and message of a foreign error, shortened; its own ``__str__`` may fail as well."""
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = "(its message cannot be read)"
    shown = text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}…"
    return f"{type(error).__name__}: {shown}" if shown else type(error).__name__


def keep_for_ever(obj: object) -> None:
    """Prevents the end of an object's life: of a coroutine that catches everything it would never come."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(obj))


async def _settle(work: Callable[[], Any]) -> Any:
    answer = work()
    return await answer if isawaitable(answer) else answer


def _close(work: Coroutine[Any, Any, Any]) -> None:
    chain = list(_awaiting(work))
    try:
        work.close()
    except RuntimeError:  # one of them caught even this and waits again
        for each in chain:
            keep_for_ever(each)


def _awaiting(work: Any) -> Generator[Any]:
    """``work``, what it awaits, what that awaits, and so on."""
    while work is not None:
        yield work
        work = getattr(work, "cr_await", getattr(work, "gi_yieldfrom", None))
