"""What a context tells hooks, and what they may answer."""

from __future__ import annotations

import logging
from typing import Any

from amplifier_core.events import CONTEXT_COMPACTION, CONTEXT_POST_COMPACT, CONTEXT_PRE_COMPACT
from amplifier_core.models import HookResult
from amplifier_modkit.events import CONTEXT_HEALED

logger = logging.getLogger(__name__)

CONTEXT_EVENTS = (CONTEXT_PRE_COMPACT, CONTEXT_POST_COMPACT, CONTEXT_COMPACTION, CONTEXT_HEALED)
"""The events that a context emits."""


class Announcements:
    """The way from one context to the hooks of its session; without a coordinator nobody hears anything."""

    def __init__(self, coordinator: Any) -> None:
        self._coordinator = coordinator
        self._told_notes: set[str] = set()

    def is_heard(self, event: str) -> bool:
        """Whether anybody would notice ``event``."""
        return self._coordinator is not None and self._coordinator.hooks.has_listeners(event)

    async def tell(self, event: str, data: dict[str, Any]) -> HookResult:
        """Emits ``event`` and carries out what hooks answered; gives what is left of the answer.

        An answer that cannot be carried out is logged and counts as a refusal, so that no request fails over it.
        """
        if self._coordinator is None:
            return HookResult()
        result = await self._coordinator.hooks.emit(event, data)
        try:
            return await self._coordinator.process_hook_result(result, event)
        except Exception as error:
            logger.warning("What hooks answered to '%s' could not be carried out: %r", event, error)
            return HookResult(action="deny", reason=f"The answer could not be carried out: {error!r}")

    async def tell_healing(self, notes: list[str]) -> None:
        """Tells of repairs in the view, each once."""
        untold = [note for note in dict.fromkeys(notes) if note not in self._told_notes]
        if not untold:
            return
        self._told_notes.update(untold)
        logger.warning("The conversation was repaired for the request: %s", "; ".join(untold))
        await self.tell(CONTEXT_HEALED, {"notes": untold, "count": len(untold)})
