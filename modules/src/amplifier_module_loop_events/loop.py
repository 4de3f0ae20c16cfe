"""The agent loop for schedulers: before a tool runs, hooks decide whether it is the right one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.hooks import HookRegistry
from amplifier_core.interfaces import ContextManager, Provider, Tool
from amplifier_modkit.turns.rounds import run_rounds
from amplifier_modkit.turns.turn import World
from amplifier_module_loop_events.config import EventsSettings
from amplifier_module_loop_events.scheduling import ScheduledTurn


class EventsLoop:
    """Runs turns one after another; keeps nothing between them but its settings."""

    def __init__(self, settings: EventsSettings | None = None) -> None:
        self._settings = settings or EventsSettings()

    async def execute(
        self,
        prompt: str,
        context: ContextManager,
        providers: dict[str, Provider],
        tools: dict[str, Tool],
        hooks: HookRegistry,
        coordinator: ModuleCoordinator | None = None,
        provider: str | None = None,
        content: Sequence[Any] | None = None,
        **options: Any,
    ) -> str:
        """The model's answer to ``prompt``; ``provider`` and the settings can be given for this turn alone.

        ``content`` is the prompt as blocks, where it is more than text: images among it, in order.
        """
        world = World.of(context, providers, tools, hooks, coordinator)
        turn = ScheduledTurn("loop-events", world, self._settings.for_turn(options), provider=provider)
        return await turn.show(content).run(prompt, run_rounds)
