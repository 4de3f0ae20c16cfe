"""The mode of a session: what becomes of calls that no rule decides. It can be changed while the session runs."""

from __future__ import annotations

import logging
from typing import Any, Literal, get_args

logger = logging.getLogger(__name__)

Mode = Literal["default", "plan", "accept-edits", "dont-ask", "bypass"]
MODES: tuple[Mode, ...] = get_args(Mode)

APPROVAL_MODE_CHANGED = "approval:mode_changed"
"""Told when the mode is another one: ``mode`` and ``former_mode``."""

STATE_KEY = "approval_mode"


class ApprovalMode:
    """The mode of one session, offered as the capability ``approval.mode``; lives as long as the session's guard.

    ``session_state["approval_mode"]`` comes first. Without it a child whose plan says the same as its parent's follows
    the parent, and any other session is in the mode of its config.
    """

    def __init__(self, coordinator: Any, configured: Mode, parent: ApprovalMode | None = None) -> None:
        self.configured: Mode = configured
        self._coordinator = coordinator
        self._parent = parent
        self._told = self.get()

    def get(self) -> Mode:
        """The mode now; one that does not exist counts as the one that asks nobody and allows nothing by itself."""
        chosen: Any = self._coordinator.session_state.get(STATE_KEY)
        if chosen is None:
            if self._parent is None or self._parent.configured != self.configured:
                return self.configured
            return self._parent.get()
        if chosen not in MODES:
            logger.warning("There is no approval mode %r, 'dont-ask' is used; expected one of %s", chosen, MODES)
            return "dont-ask"
        return chosen

    async def set(self, mode: Mode) -> None:
        """Changes the mode from the next call on; raises ``ValueError`` for one that does not exist."""
        if mode not in MODES:
            raise ValueError(f"There is no approval mode {mode!r}; expected one of {', '.join(MODES)}")
        self._coordinator.session_state[STATE_KEY] = mode
        await self.observe()

    async def observe(self) -> Mode:
        """The mode now; tells if it is another than at the last time."""
        mode, former = self.get(), self._told
        if mode != former:
            self._told = mode
            await self._coordinator.hooks.emit(APPROVAL_MODE_CHANGED, {"mode": mode, "former_mode": former})
        return mode
