"""Gives a session the mount functions of the demo's own modules, instead of looking for installed ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.module_sources import ModuleNotFoundError

Mount = Callable[[ModuleCoordinator, dict[str, Any]], Awaitable[Any]]
OnSessionReady = Callable[[ModuleCoordinator], Awaitable[None]]


class EmbeddedLoader:
    """A module loader that knows the modules it is made with and no others; serves one session."""

    def __init__(self, mounts: Mapping[str, Mount]) -> None:
        self._mounts = mounts
        self._ready: list[tuple[str, OnSessionReady]] = []

    async def load(
        self,
        module_id: str,
        config: dict[str, Any] | None = None,
        source_hint: Any = None,
        coordinator: ModuleCoordinator | None = None,
    ) -> Callable[[ModuleCoordinator], Awaitable[Any]]:
        """The mount function of ``module_id`` with ``config`` filled in."""
        mount = self._mounts.get(module_id)
        if mount is None:
            known = ", ".join(sorted(self._mounts))
            raise ModuleNotFoundError(f"Module '{module_id}' is not embedded here. Use one of: {known}")
        return lambda target: mount(target, config or {})

    def enqueue_on_session_ready(self, module_id: str, callback: OnSessionReady) -> None:
        """Remembers ``callback`` for the moment when all modules are mounted."""
        self._ready.append((module_id, callback))

    def get_on_session_ready_queue(self) -> list[tuple[str, OnSessionReady]]:
        """What is to be called when all modules are mounted, in order."""
        return list(self._ready)

    def clear_on_session_ready_queue(self) -> None:
        """Forgets the callbacks; the session has called them."""
        self._ready.clear()

    def cleanup(self) -> None:
        """Has nothing to give back: no path was added, nothing was imported on behalf of the session."""
