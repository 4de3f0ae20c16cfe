"""Tasks that a probed module starts, told apart from all others, so that exactly these end with the probe."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

from amplifier_core._error_text import describe_error
from amplifier_core.validation._failures import Culprit
from amplifier_core.validation._time_limit import Driven, grace_of
from amplifier_core.validation.base import Severity, ValidationCheck

_SHORT_WHILE_S = 0.1

# A task inherits the context it is made in, so this is set in everything that a probed module starts, and only there.
_owner: ContextVar[BackgroundTasks | None] = ContextVar("amplifier_probe_owner", default=None)


class BackgroundTasks:
    """The tasks that one probed module has started; lives as long as the probe."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._tasks: dict[asyncio.Future[Any], str] = {}
        self._exits: list[str] = []

    @contextmanager
    def watched(self) -> Generator[None]:
        """Every task that is started from within the block belongs here."""
        loop = asyncio.get_running_loop()
        factory = _installed_factory(loop)
        token = _owner.set(self)
        try:
            yield
        finally:
            _owner.reset(token)
            _release_factory(loop, factory)

    async def end(self) -> list[ValidationCheck]:
        """Ends what still runs, and tells about it and about tasks that failed."""
        await self._wait(_SHORT_WHILE_S)  # a clean-up that stops its tasks does not always wait for them
        forgotten = [self._tasks[task] for task in self._running() if not _is_being_cancelled(task)]
        for _ in range(2):  # asked once; closed the second time
            for task in self._running():
                task.cancel()
            await self._wait(grace_of(self._limit_s))
        return [*map(_forgotten, forgotten), *map(_exited, self._exits), *self._failures()]

    def adopt(self, make: Callable[[Any], asyncio.Future[Any]], coroutine: Any) -> asyncio.Future[Any]:
        """Makes a task with ``make`` that cannot escape the probe; a mistaken argument is left to ``make``."""
        if not asyncio.iscoroutine(coroutine):
            return make(coroutine)
        name: str = getattr(coroutine, "__qualname__", type(coroutine).__name__)
        culprit = Culprit(f"the task '{name}'", self._limit_s)
        task = make(Driven(coroutine, self._limit_s, lambda error: self._exits.append(culprit.told(error))))
        self._tasks[task] = name
        return task

    def _running(self) -> list[asyncio.Future[Any]]:
        return [task for task in self._tasks if not task.done()]

    async def _wait(self, limit_s: float) -> None:
        running = self._running()
        if running:
            await asyncio.wait(running, timeout=limit_s)

    def _failures(self) -> list[ValidationCheck]:
        ended = {task: name for task, name in self._tasks.items() if task.done() and not task.cancelled()}
        # Asking for the exception also keeps asyncio from printing it with a traceback.
        errors = [(name, task.exception()) for task, name in ended.items()]
        return [_check(f"the task '{name}' failed: {describe_error(error)}", "info") for name, error in errors if error]


class _TaskFactory:
    """Makes the tasks of one loop as before, and hands those of probed modules to their owners."""

    def __init__(self, before: Any) -> None:
        self.before = before
        self.users = 0

    def __call__(self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Future[Any]:
        def make(work: Any) -> asyncio.Future[Any]:
            if self.before is not None:
                return self.before(loop, work, **options)
            return asyncio.Task(work, loop=loop, **options)

        owner = _owner.get()
        return make(coroutine) if owner is None else owner.adopt(make, coroutine)


def _installed_factory(loop: asyncio.AbstractEventLoop) -> _TaskFactory:
    current: Any = loop.get_task_factory()
    if not isinstance(current, _TaskFactory):
        current = _TaskFactory(current)
        loop.set_task_factory(current)
    current.users += 1
    return current


def _release_factory(loop: asyncio.AbstractEventLoop, factory: _TaskFactory) -> None:
    factory.users -= 1
    if not factory.users and loop.get_task_factory() is cast(Any, factory):
        loop.set_task_factory(factory.before)


def _is_being_cancelled(task: asyncio.Future[Any]) -> bool:
    return isinstance(task, asyncio.Task) and task.cancelling() > 0


def _forgotten(name: str) -> ValidationCheck:
    return _check(f"the task '{name}' was still running after the clean-up; cancel it there", "warning")


def _exited(told: str) -> ValidationCheck:
    return _check(told, "error")


def _check(told: str, severity: Severity) -> ValidationCheck:
    return ValidationCheck("background_task", False, f"Started by mount(), {told}", severity)
