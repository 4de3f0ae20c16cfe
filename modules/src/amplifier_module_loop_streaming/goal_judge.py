"""The judge of a goal: one model call beside the conversation, by the provider that the settings prefer."""

from __future__ import annotations

import logging
from fnmatch import fnmatchcase
from typing import Any, cast

from amplifier_core.interfaces import ContextManager, Provider
from amplifier_core.message_models import ChatRequest, ChatResponse
from amplifier_modkit.messages import Message
from amplifier_modkit.turns.gate import HookGate
from amplifier_modkit.turns.model_step import ModelStep
from amplifier_modkit.turns.providers import Candidate, model_of, rank
from amplifier_module_loop_streaming.config import StreamingSettings
from amplifier_module_loop_streaming.goal_verdict import UNREADABLE, Verdict, read_verdict, to_messages
from amplifier_module_loop_streaming.streamed_turn import StreamedTurn

logger = logging.getLogger(__name__)


class Judge:
    """Says for one turn whether a goal is reached."""

    def __init__(self, turn: StreamedTurn, settings: StreamingSettings) -> None:
        self._turn = turn
        self._settings = settings

    async def verdict(self, condition: str, answer: str) -> Verdict:
        """The verdict on what the agent said last, in the light of what it did in this turn.

        Raises the provider's error when there is none, and ``DeniedError`` when a hook refuses the call.
        """
        messages = to_messages(condition, answer, list(self._turn.work), self._settings.goal_clip_chars)
        reply = await self._turn.ask_aside(self._step(messages))
        verdict = read_verdict(reply.text)
        if verdict.reason == UNREADABLE:
            logger.warning("The verdict on a goal could not be read, so the work goes on: %.200r", reply.text)
        return verdict

    def _step(self, messages: list[Message]) -> ModelStep:
        world = self._turn.world
        # A gate of its own: what hooks have for the next request of the conversation waits for that.
        gate = HookGate(world.hooks, world.coordinator)
        context = cast("ContextManager", _Case(messages))
        candidate = self._candidate()
        settings = self._settings_for(candidate)
        return ModelStep(gate, context, {}, [candidate], settings, world.coordinator.new_id, self._complete)

    def _candidate(self) -> Candidate:
        candidates = rank(self._turn.world.providers)
        for pattern in self._settings.goal_provider_preferences:
            for each in candidates:
                if _matches(pattern, each.name, model_of(each.provider)):
                    return Candidate(each.name, each.provider, f"judges the goal, preferred by '{pattern}'")
        found = next((each for each in candidates if each.provider is self._turn.asked), candidates[0])
        return Candidate(found.name, found.provider, "judges the goal")

    def _settings_for(self, candidate: Candidate) -> StreamingSettings:
        """The settings of the turn, without what is meant for its answer or for another provider's model."""
        changes: dict[str, Any] = {"output_schema": None, "extended_thinking": False, "reasoning_effort": None}
        if candidate.provider is not self._turn.asked:
            changes["model"] = None
        return self._settings.model_copy(update=changes)

    async def _complete(self, provider: Provider, request: ChatRequest, extras: dict[str, Any]) -> ChatResponse:
        metadata = {"stream": False, "purpose": "goal", "model_role": self._settings.goal_model_role}
        return await provider.complete(request.model_copy(update={"metadata": metadata}), **extras)


class _Case:
    """The part of a context that a request needs; a judge has no other."""

    def __init__(self, messages: list[Message]) -> None:
        self._messages = messages

    async def get_messages_for_request(self, token_budget: int | None = None, provider: Any = None) -> list[Message]:
        return list(self._messages)


def _matches(pattern: str, *names: str | None) -> bool:
    return any(name is not None and fnmatchcase(name.lower(), pattern.lower()) for name in names)
