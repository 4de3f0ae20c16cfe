"""A lock for things a session does once at a time, which knows who holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio


class Exclusive:
    """Lets one task in at a time; a task that calls back into what it is doing gets an error instead of a deadlock."""

    __slots__ = ("_holder", "_lock", "_what")

    def __init__(self, what: str) -> None:
        import asyncio

        self._what = what
        self._lock = asyncio.Lock()
        self._holder: asyncio.Task[Any] | None = None

    @property
    def is_held_by_this_task(self) -> bool:
        """Whether the current task is inside already."""
        import asyncio

        return self._holder is not None and self._holder is asyncio.current_task()

    async def __aenter__(self) -> None:
        import asyncio

        if self.is_held_by_this_task:
            raise RuntimeError(f"Cannot wait here: {self._what} by this very task; do it after that has finished")
        await self._lock.acquire()
        self._holder = asyncio.current_task()

    async def __aexit__(self, *_: object) -> None:
        self._holder = None
        self._lock.release()
