"""Foreign code under a time limit that it cannot ignore, whether it awaits for ever or blocks the thread.

In the main thread a blocking call is interrupted by an alarm signal. Elsewhere, and where there is no such signal, it
is interrupted as soon as it runs Python code again.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, cast

from amplifier_core._awaiting import TimeLimitError, is_cancellation, settle, settle_within

_LONGEST_GRACE_S = 1.0
# Again and again: an interruption is lost where errors are ignored, and code may catch everything.
_REPEAT_S = 0.5


class Interruption(BaseException):
    """Raised inside foreign code that has blocked its thread for too long; no ``except Exception`` catches it."""


def interrupted_after(limit_s: float) -> AbstractContextManager[None]:
    """Raises ``Interruption`` inside the block when it takes longer than ``limit_s`` seconds."""
    is_main = threading.current_thread() is threading.main_thread()
    return _by_alarm(limit_s) if is_main and hasattr(signal, "setitimer") else _by_exception(limit_s)


async def settle_foreign(work: Callable[[], Any], limit_s: float) -> Any:
    """Calls ``work``, awaits what it gives if need be, and answers its outcome; ``TimeLimitError`` when it is too slow.

    Whatever else it raises comes out as it is. Work that does not stop when it is cancelled is closed, so this never
    waits for long.
    """
    grace_s = grace_of(limit_s)
    try:
        return await settle_within(limit_s + grace_s, settle_within(limit_s, Driven(_call(work), limit_s)))
    except Interruption:
        raise TimeLimitError(f"blocked for {limit_s:g} s") from None


def grace_of(limit_s: float) -> float:
    """How long foreign code may take to stop after it was told to."""
    return min(limit_s, _LONGEST_GRACE_S)


async def _call(work: Callable[[], Any]) -> Any:
    return await settle(work())


class Driven(Coroutine[Any, Any, Any]):
    """A foreign coroutine that blocks no step for longer than ``limit_s`` seconds and is closed when cancelled twice.

    What would stop the whole event loop, ``SystemExit`` above all, is told to ``on_exit`` where there is one, and ends
    the coroutine quietly.
    """

    def __init__(
        self,
        coroutine: Coroutine[Any, Any, Any],
        limit_s: float,
        on_exit: Callable[[BaseException], None] | None = None,
    ) -> None:
        self._coroutine = coroutine
        self._limit_s = limit_s
        self._on_exit = on_exit
        self._was_cancelled = False

    def __await__(self) -> Generator[Any, Any, Any]:
        # ``await`` drives whatever has these methods; a generator in between would only repeat them.
        return cast("Generator[Any, Any, Any]", self)

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: Any) -> Any:
        """Runs the coroutine up to its next wait."""
        return self._step(lambda: self._coroutine.send(value))

    def throw(self, *error: Any) -> Any:
        """Raises ``error`` inside the coroutine and runs it up to its next wait."""
        if is_cancellation(error[0]):
            if self._was_cancelled:
                self.close()
                raise error[0]
            self._was_cancelled = True
        return self._step(lambda: self._coroutine.throw(*error))

    def close(self) -> None:
        """Ends the coroutine; one that goes on even then is forgotten."""
        with suppress(RuntimeError), interrupted_after(self._limit_s):
            self._coroutine.close()

    def _step(self, step: Callable[[], Any]) -> Any:
        try:
            with interrupted_after(self._limit_s):
                return step()
        except (SystemExit, Interruption) as error:
            if self._on_exit is None:
                raise
            self._on_exit(error)
        raise StopIteration


@contextmanager
def _by_alarm(limit_s: float) -> Generator[None]:
    is_armed = True

    def interrupt(*_: Any) -> None:
        if is_armed:
            raise Interruption

    handler_before = signal.signal(signal.SIGALRM, interrupt)
    began = time.monotonic()
    delay_before, repeat_before = signal.setitimer(signal.ITIMER_REAL, limit_s, _REPEAT_S)
    try:
        try:
            yield
        finally:
            is_armed = False
    finally:
        # Somebody else's alarm (a test runner's, say) goes on where it was.
        passed = time.monotonic() - began
        signal.setitimer(signal.ITIMER_REAL, max(delay_before - passed, 0.001) if delay_before else 0, repeat_before)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if handler_before is None else handler_before)


@contextmanager
def _by_exception(limit_s: float) -> Generator[None]:
    interrupter = Interrupter(limit_s)
    watcher = threading.Thread(target=interrupter.watch, daemon=True)
    watcher.start()
    interrupter.begin()
    try:
        yield
    finally:
        interrupter.finish()


class Interrupter:
    """Raises ``Interruption`` in the thread that made it, from another thread, between ``begin`` and ``finish``.

    The thread under watch uses plain locks only: an exception out of nowhere would break anything of ``threading`` that
    is written in Python, where it happens to be.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._thread_id = threading.get_ident()
        self._lock, self._begin, self._end = threading.Lock(), threading.Lock(), threading.Lock()
        self._begin.acquire()
        self._end.acquire()
        self._is_over = False

    def begin(self) -> None:
        """Starts the clock."""
        self._begin.release()

    def finish(self) -> None:
        """Stops it; an interruption that is on its way arrives here, where it does no harm."""
        while True:
            try:
                with self._lock:
                    self._is_over = True
                _arrive()
                break
            except Interruption:
                continue
        self._end.release()

    def watch(self) -> None:
        """Interrupts when the time is up, and again while that does not help; runs in a thread of its own."""
        self._begin.acquire()
        delay_s = self._limit_s
        while not self._end.acquire(timeout=delay_s):
            self.interrupt()
            delay_s = _REPEAT_S

    def interrupt(self) -> None:
        """Interrupts the thread under watch, unless it is over."""
        with self._lock:
            if not self._is_over:
                _raise_in_thread(self._thread_id)


def _raise_in_thread(thread_id: int) -> None:
    import ctypes

    # Never called with NULL to take an exception back: Python 3.11 then runs in circles while it is being traced.
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread_id), ctypes.py_object(Interruption))


def _arrive() -> None:
    """Does nothing: exceptions from other threads are raised when a function begins."""
