"""The transcript of a session whose context does not keep one: written after every tool result and every turn."""

from __future__ import annotations

from typing import Any

from amplifier.store import StoredSession
from amplifier.store.transcript import append_missing

_LATE = 900
_NAME = "amplifier-transcript"
_NOT_SAID = ("system", "developer")


class TranscriptSaver:
    """Writes what the context has and the file has not; lives as long as the session."""

    def __init__(self, session: Any, stored: StoredSession) -> None:
        self._session = session
        self._stored = stored
        self._created = stored.metadata().created

    def listen(self) -> None:
        """Has itself called when there may be something new."""
        from amplifier_core.events import ORCHESTRATOR_COMPLETE, PROMPT_SUBMIT, TOOL_ERROR, TOOL_POST

        hooks = self._session.coordinator.hooks
        for event in (PROMPT_SUBMIT, TOOL_POST, TOOL_ERROR, ORCHESTRATOR_COMPLETE):
            hooks.register(event, self._on_event, priority=_LATE, name=_NAME)

    async def save(self) -> None:
        """Writes what is missing."""
        import asyncio

        context = self._session.coordinator.get("context")
        messages = [each for each in await context.get_messages() if each.get("role") not in _NOT_SAID]
        await asyncio.to_thread(append_missing, self._stored.transcript, self._stored.id, self._created, messages)

    async def _on_event(self, event: str, data: dict[str, Any]) -> None:
        if data.get("session_id") == self._session.session_id:
            await self.save()
