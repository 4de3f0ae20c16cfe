"""Shows a session's events on its display: through the one of the host if it has one, else on the console."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from decimal import Decimal
from inspect import isawaitable
from typing import Any

from amplifier_core.events import ORCHESTRATOR_COMPLETE
from amplifier_core.models import HookResult
from amplifier_modkit.pricing import contributed_cost
from amplifier_module_hooks_streaming_ui.config import StreamingUiConfig
from amplifier_module_hooks_streaming_ui.console import Console
from amplifier_module_hooks_streaming_ui.lines import Line, sign_of
from amplifier_module_hooks_streaming_ui.rendering import Renderer

logger = logging.getLogger(__name__)

_NAME = "hooks-streaming-ui"
_COLLECTING_S = 2.0


class StreamingUi:
    """Shows what happens in one session; lives as long as the session's modules are mounted."""

    def __init__(self, config: StreamingUiConfig, coordinator: Any) -> None:
        self._config = config
        self._coordinator = coordinator
        self._renderer = Renderer(config.ui)
        self._cost_before: Decimal | None = None

    def begin(self) -> Callable[[], None]:
        """Registers the handlers, and gives a host without a display the console; the answer undoes both."""
        coordinator = self._coordinator
        console = Console() if coordinator.display_system is None else None
        if console is not None:
            coordinator.display_system = console
        registrations = [
            coordinator.hooks.register(
                event,
                self.on_turn_end if event == ORCHESTRATOR_COMPLETE else self.on_event,
                self._config.priority,
                _NAME,
            )
            for event in self._renderer.events
        ]

        def end() -> None:
            for unregister in registrations:
                unregister()
            if console is not None and coordinator.display_system is console:
                coordinator.display_system = None

        return end

    async def on_event(self, event: str, data: dict[str, Any]) -> HookResult:
        """Shows what an event adds."""
        await self._show(self._renderer.lines(event, data))
        return HookResult()

    async def on_turn_end(self, event: str, data: dict[str, Any]) -> HookResult:
        """Shows, once, what the turn used and cost."""
        cost = await self._cost() if self._config.ui.show_token_usage else None
        spent = None if cost is None else max(Decimal(0), cost - (self._cost_before or Decimal(0)))
        self._cost_before = cost
        await self._show(self._renderer.end_of_turn(data, spent, cost))
        return HookResult()

    async def _cost(self) -> Decimal | None:
        """What modules say that the session cost so far."""
        try:
            async with asyncio.timeout(_COLLECTING_S):
                return contributed_cost(await self._coordinator.collect_contributions("session.cost"))
        except TimeoutError:
            return None

    async def _show(self, lines: Sequence[Line]) -> None:
        display = self._coordinator.display_system
        if not lines or display is None:
            return
        try:
            show_lines = getattr(display, "show_lines", None)
            if callable(show_lines):
                shown = show_lines(lines)
            else:
                level = "warning" if any(line.style == "bad" for line in lines) else "info"
                shown = display.show_message("\n".join(map(_plain, lines)), level, _NAME)
            if isawaitable(shown):
                await shown
        except Exception as error:
            logger.warning("The display of session '%s' failed: %r", self._coordinator.session_id, error)


def _plain(line: Line) -> str:
    label = f"{line.label} " if line.label else ""
    return f"{label}{' ' * line.indent}{sign_of(line)}{line.text}".rstrip()
