"""Foreign code in a thread with an event loop of its own: what it blocks, leaves running or exits stays in there."""

from __future__ import annotations

import asyncio
import ctypes
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from amplifier_kit.chaos._calls import describe, keep_for_ever

_GRACE_S = 0.5

Result = TypeVar("Result")


class BlockedError(Exception):
    """Foreign code held its thread beyond the time limit."""


class EscapedError(Exception):
    """Foreign code raised what would have ended the process."""


async def run_isolated(work: Callable[[], Coroutine[Any, Any, Result]], limit_s: float) -> Result:
    """Runs ``work`` in its own thread and loop, and gives its result.

    Raises ``BlockedError`` after ``limit_s`` seconds; the thread then ends as soon as it executes Python code again.
    """
    future: Future[Result] = Future()
    thread = threading.Thread(target=_live, args=(work, future), name="amplifier-chaos", daemon=True)
    thread.start()
    answer = asyncio.wrap_future(future)
    try:
        await asyncio.wait({answer}, timeout=limit_s)
        if answer.done():
            thread.join(_GRACE_S)  # it has nothing left to do
            return answer.result()
        raise BlockedError(f"the event loop did not turn for too long: there was no end after {limit_s:g} s")
    finally:
        if not answer.done():
            answer.cancel()
            _interrupt(thread)


def _live(work: Callable[[], Coroutine[Any, Any, Result]], future: Future[Result]) -> None:
    future.set_running_or_notify_cancel()
    loop = asyncio.new_event_loop()
    # What foreign tasks leave unhandled is not worth a traceback: findings tell what matters.
    loop.set_exception_handler(lambda loop, context: None)
    try:
        try:
            result = loop.run_until_complete(work())
        finally:
            _close(loop)
    except BaseException as error:
        future.set_exception(error if isinstance(error, Exception) else EscapedError(describe(error)))
    else:
        future.set_result(result)


def _close(loop: asyncio.AbstractEventLoop) -> None:
    try:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=_GRACE_S))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        for task in asyncio.all_tasks(loop):
            keep_for_ever(task)
        loop.close()


def _interrupt(thread: threading.Thread) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit))
