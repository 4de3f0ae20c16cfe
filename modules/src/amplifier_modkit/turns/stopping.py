"""How work in progress ends: stopped at once by the session's token, or finished in spite of a cancellation."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from amplifier_core.cancellation import CancellationToken

logger = logging.getLogger(__name__)

T = TypeVar("T")

GRACE_S = 5.0
"""How long what is cancelled may take to clean up before the turn goes on without it."""


class StoppedError(Exception):
    """An immediate stop was asked for, and what was running has been cancelled."""


@asynccontextmanager
async def stop_scope(token: CancellationToken) -> AsyncGenerator[None]:
    """Cancels what runs inside as soon as ``token`` asks for an immediate stop, and raises ``StoppedError`` then.

    A cancellation of the task from outside stays a ``CancelledError``.
    """
    if token.is_immediate:
        raise StoppedError
    loop = asyncio.get_running_loop()
    # asyncio's own scope knows how to cancel the current task and to take that back; a stop is a deadline of "now".
    deadline = asyncio.timeout(None)

    is_over = False

    def expire() -> None:
        # The request may come from another thread, in the very moment in which the work ends.
        if not is_over and not deadline.expired():
            deadline.reschedule(loop.time())

    def stop_if_immediate() -> None:
        if token.is_immediate:
            loop.call_soon_threadsafe(expire)

    unwatch = token.watch(stop_if_immediate)
    try:
        async with deadline:
            yield
    except TimeoutError as error:
        if not deadline.expired():
            raise
        raise StoppedError from error
    finally:
        is_over = True
        unwatch()


async def finish(work: Coroutine[Any, Any, T]) -> T:
    """Awaits ``work`` to its end even when the current task is cancelled meanwhile; that is raised again afterwards.

    Once the task is cancelled the work has a few seconds left; what hangs is cancelled as well.
    """
    task = _started(work)
    try:
        await ended(task)
    except asyncio.CancelledError:
        await _end_soon(task)
        raise
    return task.result()


async def _end_soon(task: asyncio.Task[Any]) -> None:
    deadline = asyncio.get_running_loop().time() + GRACE_S
    while not task.done() and (left_s := deadline - asyncio.get_running_loop().time()) > 0:
        # A second cancellation asks for nothing that the first did not.
        with suppress(asyncio.CancelledError):
            await asyncio.wait((task,), timeout=left_s)
    if not task.done():
        task.cancel()
        logger.error("A cancelled turn does not wait any longer for what it was finishing: %r", task)
    elif not task.cancelled() and (error := task.exception()) is not None:
        logger.error("What a cancelled turn was finishing failed: %r", error)


def is_being_cancelled() -> bool:
    """Whether somebody wants the current task to stop; a ``CancelledError`` without that is somebody's own failure."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def ended(task: asyncio.Task[Any]) -> None:
    """Waits for the end of ``task`` without passing a cancellation on to it."""
    if task.done():
        return
    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def wake(_: object) -> None:
        if not waiter.done():
            waiter.set_result(None)

    task.add_done_callback(wake)
    try:
        await waiter
    finally:
        task.remove_done_callback(wake)


def _started(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    loop = asyncio.get_running_loop()
    if sys.version_info >= (3, 12):  # pragma: no cover - the tests run on 3.11
        # Most work here never waits, and is then done at once.
        return asyncio.Task(work, loop=loop, eager_start=True)
    return loop.create_task(work)
