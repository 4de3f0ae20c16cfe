"""Has what files were kept before tools change them, for the turn in which that happens.

Tools call the capability ``files.checkpoint`` right before a change, those of child sessions too: what children do
counts to the turn of their parent. Keeping never stops the work; what cannot be kept is told once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from amplifier.store.checkpoints import Checkpoints
from amplifier.store.transcript import turn_count

CAPABILITY = "files.checkpoint"
_STEERED = "orchestrator:steering_injected"
_NAME = "amplifier-checkpoints"


class CheckpointKeeper:
    """The checkpoints of one session at work."""

    def __init__(self, session: Any, checkpoints: Checkpoints, tell: Callable[[str], None]) -> None:
        """Made where the session's loop runs."""
        self._session = session
        self._checkpoints = checkpoints
        self._tell = tell
        self._loop = asyncio.get_running_loop()
        self._turn = 0
        self._told: set[str] = set()

    def offer(self) -> None:
        """Offers the capability; before the session is set up, so that every module finds it."""
        from amplifier_core.events import PROMPT_SUBMIT

        coordinator = self._session.coordinator
        coordinator.register_capability(CAPABILITY, self.keep)
        coordinator.hooks.register(PROMPT_SUBMIT, self._on_prompt, name=_NAME)
        coordinator.hooks.register(_STEERED, self._on_steered, name=_NAME)

    def keep(self, path: str, before: bytes | None, after: bytes | None, mode: int | None) -> None:
        """The capability; may be called in any thread."""
        told = self._checkpoints.keep(path, before, after, mode)
        if told is not None and told not in self._told:
            self._told.add(told)
            text = f"warning: {told}; not everything can be undone (first for {path})"
            self._loop.call_soon_threadsafe(self._tell, text)

    async def _on_prompt(self, event: str, data: dict[str, Any]) -> None:
        context = self._session.coordinator.get("context")
        self._begin(turn_count(await context.get_messages()) + 1)

    async def _on_steered(self, event: str, data: dict[str, Any]) -> None:
        # What is said during a turn is one of its own, to which one can go back.
        self._begin(self._turn + 1)

    def _begin(self, turn: int) -> None:
        self._turn = turn
        self._checkpoints.begin_turn(turn)
