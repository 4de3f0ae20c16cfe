"""A turn whose answers stream: what was heard of one is kept even when it is cut off."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Any

from amplifier_core.interfaces import Provider
from amplifier_core.message_models import ChatRequest, ChatResponse
from amplifier_core.models import ToolResult
from amplifier_modkit.turns.calls import RequestedCall
from amplifier_modkit.turns.model_step import ModelStep
from amplifier_modkit.turns.replies import Reply
from amplifier_modkit.turns.stopping import finish
from amplifier_modkit.turns.turn import Rounds, Turn, World
from amplifier_module_loop_streaming.config import StreamingSettings
from amplifier_module_loop_streaming.pacing import Pace
from amplifier_module_loop_streaming.relay import StreamRelay

logger = logging.getLogger(__name__)

_CALLS_REMEMBERED = 50


class StreamedTurn(Turn):
    """One prompt on its way to an answer, in one stretch or, for a goal, in several; made for one ``execute()``."""

    def __init__(self, world: World, settings: StreamingSettings, pace: Pace, *, provider: str | None = None) -> None:
        super().__init__("loop-streaming", world, settings, provider=provider, complete=self._stream)
        self._pace = pace
        self._least_ms = settings.min_delay_between_calls_ms
        self._relay = StreamRelay(self.gate, world.coordinator.new_id, settings.stream_delay)
        self.streamed_blocks = self._relay.told_blocks
        self._calls_before = 0
        self.asked: Provider | None = None
        """The provider of the latest model call."""
        self.calls: list[RequestedCall] = []
        """The tool calls of this stretch."""
        self.work: deque[tuple[RequestedCall, ToolResult]] = deque(maxlen=_CALLS_REMEMBERED)
        """The latest tool calls of the turn with their results."""

    @property
    def is_at_limit(self) -> bool:
        """Whether as many model calls were made as a stretch may have."""
        return 0 <= self.settings.max_iterations <= self.model_calls - self._calls_before

    def begin_stretch(self) -> None:
        """Begins the work anew, within the same turn."""
        self._calls_before = self.model_calls
        self.calls.clear()

    async def run(self, prompt: str, rounds: Rounds) -> str:
        """The answer to ``prompt``; hooks hear of streams as long as it takes."""
        with self._relay.listening():
            return await super().run(prompt, rounds)

    async def ask_model(self, *, offers_tools: bool = True) -> Reply:
        """One model call, not too soon after the one before."""
        await self._pace.keep(self._least_ms, self.gate, self.model_calls + 1)
        self._relay.begin()
        try:
            return await super().ask_model(offers_tools=offers_tools)
        except asyncio.CancelledError:
            await finish(self._keep_said())
            raise

    async def ask_aside(self, step: ModelStep) -> Reply:
        """One model call beside the conversation, of which nothing is stored."""
        await self._pace.keep(self._least_ms, self.gate, self.model_calls)
        step.note_usage = self._accounting.note_usage
        return await step.ask(self.model_calls)

    async def run_tool(self, call: RequestedCall, group_id: str) -> ToolResult:
        """One tool call through all its hooks, remembered with its result."""
        self.calls.append(call)
        result = await super().run_tool(call, group_id)
        self.work.append((call, result))
        return result

    async def _stream(self, provider: Provider, request: ChatRequest, extras: dict[str, Any]) -> ChatResponse:
        self.asked = provider
        return await self._relay.complete(provider, request, extras)

    async def _keep_said(self) -> None:
        """What the user has read must not be missing from the conversation."""
        said = self._relay.said
        if not said:
            return
        self._said = said
        try:
            await self.store({"role": "assistant", "content": said, "metadata": {"interrupted": True}})
        except Exception as error:
            # The cancellation goes on: whoever asked for it waits.
            logger.error("What was said before a stop is not stored: %s: %s", type(error).__name__, error)
