"""What every caller of foreign code asks: must I await this, for how long, who cancelled me, and what went wrong?

The kernel's other files leave asyncio to this one where they can: it is imported when first needed, since loading it
takes as long as loading the rest of the kernel.
"""

from __future__ import annotations

from collections.abc import Awaitable
from inspect import isawaitable
from types import CoroutineType
from typing import Any


class TimeLimitError(Exception):
    """Foreign code used up the time it was given."""


async def settle(value: Any) -> Any:
    """Gives ``value`` itself, or what it resolves to when it is awaitable (coroutine, future, task, …)."""
    # Nearly everything that is awaited is a coroutine, and the general question takes long.
    return await value if value.__class__ is CoroutineType or isawaitable(value) else value


async def settle_within(limit_s: float, work: Awaitable[Any]) -> Any:
    """Awaits ``work`` for at most ``limit_s`` seconds, then cancels it and raises ``TimeLimitError``."""
    import asyncio

    scope = asyncio.timeout(limit_s)
    outcome: Any = None
    try:
        async with scope:
            outcome = await work
    except TimeoutError:
        if not scope.expired():
            raise
    # Asked even when there is an outcome: work that ignores its cancellation and answers after all is late, too.
    if scope.expired():
        raise TimeLimitError(f"no answer within {limit_s:g} s")
    return outcome


def is_cancellation(error: BaseException) -> bool:
    """Whether ``error`` is asyncio's ``CancelledError``."""
    from asyncio import CancelledError

    return isinstance(error, CancelledError)


def belongs_to_caller(error: BaseException) -> bool:
    """Whether an error out of foreign code is not that code's own failure but a request to whoever called it.

    ``KeyboardInterrupt`` and ``SystemExit`` are; a ``CancelledError`` only while the current task is being cancelled.
    """
    if isinstance(error, Exception):
        return False
    return task_is_being_cancelled() if is_cancellation(error) else True


def task_is_being_cancelled() -> bool:
    """Whether somebody asked the current task to stop.

    Tells a ``CancelledError`` that must travel on from one that foreign code raised by itself, which is only its own
    failure.
    """
    import asyncio

    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
