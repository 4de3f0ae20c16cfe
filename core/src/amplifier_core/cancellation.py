"""Cooperative cancellation: a token that tools, loops and child sessions look at.

The token only records and passes on what was asked for; who stops what, and when, is left to orchestrators and
applications.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum
from typing import Any
from weakref import WeakSet

from amplifier_core._awaiting import belongs_to_caller, settle
from amplifier_core._error_text import describe_error

logger = logging.getLogger(__name__)


class CancellationState(Enum):
    """How strongly a turn was asked to stop."""

    NONE = "none"
    GRACEFUL = "graceful"
    IMMEDIATE = "immediate"


class CancellationToken:
    """The cancellation state of one session; lives as long as its coordinator.

    States only grow, none → graceful → immediate, until ``reset()``.
    """

    def __init__(self) -> None:
        self._state = CancellationState.NONE
        self._running_tools: dict[str, str] = {}
        # Weak, so that a child session dropped without clean-up does not live on in its parent.
        self._children: WeakSet[CancellationToken] = WeakSet()
        self._callbacks: list[Callable[[], Any]] = []
        # A dict serves as an ordered set; replaced, never changed, so that a watcher may stop watching when it is told.
        self._watchers: dict[object, Callable[[], None]] = {}

    @property
    def state(self) -> str:
        """The state as text: ``none``, ``graceful`` or ``immediate``."""
        return self._state.value

    @property
    def is_cancelled(self) -> bool:
        """Whether any kind of stop was asked for."""
        return self._state is not CancellationState.NONE

    @property
    def is_graceful(self) -> bool:
        """Whether running tools may still finish."""
        return self._state is CancellationState.GRACEFUL

    @property
    def is_immediate(self) -> bool:
        """Whether everything should stop at once."""
        return self._state is CancellationState.IMMEDIATE

    @property
    def running_tools(self) -> set[str]:
        """Ids of the tool calls that run now, as a copy."""
        return set(self._running_tools)

    @property
    def running_tool_names(self) -> list[str]:
        """Names of the tools that run now, one per call."""
        return list(self._running_tools.values())

    def request_graceful(self) -> bool:
        """Asks to stop after the running tools; tells whether that changed the state."""
        if self._state is not CancellationState.NONE:
            return False
        self._state = CancellationState.GRACEFUL
        self._tell_watchers()
        for child in list(self._children):
            child.request_graceful()
        return True

    def request_immediate(self) -> bool:
        """Asks to stop at once; tells whether that changed the state."""
        if self._state is CancellationState.IMMEDIATE:
            return False
        self._state = CancellationState.IMMEDIATE
        self._tell_watchers()
        for child in list(self._children):
            child.request_immediate()
        return True

    def request_cancellation(self) -> None:
        """Asks to stop gracefully."""
        self.request_graceful()

    def reset(self) -> None:
        """Makes the token fresh for the next turn; children and callbacks stay as they are."""
        self._state = CancellationState.NONE
        self._running_tools.clear()

    def register_tool_start(self, tool_call_id: str, tool_name: str) -> None:
        """Notes that a tool call began."""
        self._running_tools[tool_call_id] = tool_name

    def register_tool_complete(self, tool_call_id: str) -> None:
        """Notes that a tool call ended; an unknown id is fine."""
        self._running_tools.pop(tool_call_id, None)

    def register_child(self, token: CancellationToken) -> None:
        """Passes every later request on to ``token``, and at once the one already made."""
        self._children.add(token)
        if self._state is CancellationState.GRACEFUL:
            token.request_graceful()
        elif self._state is CancellationState.IMMEDIATE:
            token.request_immediate()

    def unregister_child(self, token: CancellationToken) -> None:
        """Stops passing requests on to ``token``."""
        self._children.discard(token)

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Calls ``watcher()`` at every later request, in the thread that makes it; returns the function that ends it.

        This is how an orchestrator that waits for a model or a tool hears of a request at once. A watcher that raises
        is logged and holds nobody up.
        """
        key = object()
        self._watchers = {**self._watchers, key: watcher}

        def unwatch() -> None:
            self._watchers = {each: other for each, other in self._watchers.items() if each is not key}

        return unwatch

    def on_cancel(self, callback: Callable[[], Any]) -> None:
        """Adds a sync or async callback for ``trigger_callbacks``; requests alone never call it."""
        self._callbacks.append(callback)

    def _tell_watchers(self) -> None:
        for watcher in self._watchers.values():
            try:
                watcher()
            except Exception as error:
                logger.error("Error in a watcher of a cancellation token: %s", describe_error(error))

    async def trigger_callbacks(self) -> None:
        """Runs every callback in order, each time it is called.

        A failing callback is logged and does not stop the rest. Only what is no ``Exception`` (a ``KeyboardInterrupt``,
        the cancellation of this very task) is raised again, the first of them, after all have run.
        """
        first: BaseException | None = None
        for callback in list(self._callbacks):
            try:
                await settle(callback())
            except BaseException as error:
                if belongs_to_caller(error):
                    first = first or error
                else:
                    logger.error("Error in cancellation callback: %s", describe_error(error))
        if first is not None:
            raise first
