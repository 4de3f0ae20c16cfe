"""The agent loop of a conversation: answers stream, the user may say something meanwhile, and goals are pursued."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.hooks import HookRegistry
from amplifier_core.interfaces import ContextManager, Provider, Tool
from amplifier_modkit.turns.stopping import finish
from amplifier_modkit.turns.turn import Outcome, Turn, World
from amplifier_module_loop_streaming.config import StreamingSettings
from amplifier_module_loop_streaming.goal_pursuit import GoalPursuit
from amplifier_module_loop_streaming.pacing import Pace
from amplifier_module_loop_streaming.steering import Steering
from amplifier_module_loop_streaming.streamed_turn import StreamedTurn


class StreamingLoop:
    """Runs turns one after another; between them it keeps what the user has said meanwhile."""

    def __init__(self, settings: StreamingSettings | None = None, pace: Pace | None = None) -> None:
        self._settings = settings or StreamingSettings()
        self._pace = pace or Pace()
        self.steering = Steering()

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
        settings = self._settings.for_turn(options)
        turn = StreamedTurn(world, settings, self._pace, provider=provider)
        return await turn.show(content).run(prompt, partial(self._work, GoalPursuit(turn, settings, self._rounds)))

    async def _work(self, goal: GoalPursuit, turn: Turn) -> Outcome:
        outcome = await goal.run()
        # A user may have said something while the last answer was judged.
        while self.steering.is_waiting and outcome.status == "success" and not turn.is_at_limit:
            outcome = await self._rounds(turn)
        return outcome

    async def _rounds(self, turn: Turn) -> Outcome:
        while not turn.is_at_limit:
            if turn.token.is_cancelled:
                return await turn.stopped()
            await self.steering.inject(turn)
            reply = await turn.ask_model()
            if reply.calls:
                if await turn.run_tools(reply) == "stop":
                    return await turn.wrapped_up("repeated_calls")
            elif self.steering.is_waiting and not turn.is_at_limit:
                await finish(turn.store(reply.message))
            else:
                return await turn.answered(reply)
        return await turn.wrapped_up("max_iterations")
