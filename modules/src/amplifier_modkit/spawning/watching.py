"""What a parent hears of a child while it works: its events, one by one, and how its turn ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amplifier_core.events import ORCHESTRATOR_COMPLETE
from amplifier_core.hooks import HookRegistry
from amplifier_core.session import AmplifierSession

SESSION_CHILD_EVENT = "session:child_event"
"""An event of a child, told again in its parent: ``event``, ``data``, ``child_session_id`` and ``agent``.

It is not announced on ``observability.events``: who writes a log of everything has the child's own log already.
"""

_FIELDS = ("event", "data", "child_session_id", "agent")


class Watch:
    """Listens to one child from its start to its end, for the parent that listens to it."""

    def __init__(self, child: AmplifierSession, agent: str, parent: HookRegistry) -> None:
        self._child = child
        self._agent = agent
        self._parent = parent
        self._ending: dict[str, Any] = {}
        self.end: Callable[[], None] = child.coordinator.hooks.tap(self._hear)
        """Ends the listening."""

    @property
    def ending(self) -> dict[str, Any]:
        """How the turn ended: ``status``, ``turn_count``, and a ``reason`` where there is one."""
        state = self._child.status.status
        status = self._ending.get("status") or ("success" if state == "completed" else state)
        told = {"status": status, "turn_count": self._ending.get("turn_count", 0)}
        reason = self._ending.get("reason")
        return told if reason is None else {**told, "reason": reason}

    async def _hear(self, event: str, data: dict[str, Any]) -> None:
        if event == ORCHESTRATOR_COMPLETE:
            self._ending = data
        if self._parent.has_listeners(SESSION_CHILD_EVENT):
            await self._parent.emit(SESSION_CHILD_EVENT, self._told(event, data))

    def _told(self, event: str, data: dict[str, Any]) -> dict[str, Any]:
        if event == SESSION_CHILD_EVENT:  # of a grandchild, and told in full
            return {key: data.get(key) for key in _FIELDS}
        return {"event": event, "data": data, "child_session_id": self._child.session_id, "agent": self._agent}
