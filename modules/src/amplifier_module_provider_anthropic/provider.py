"""The provider of Claude: counts tokens, lets paused answers go on, and hands over to a smaller model on overload."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from amplifier_core.llm_errors import LLMError
from amplifier_core.message_models import ChatRequest, ChatResponse, Degradation, Message, Usage
from amplifier_core.utils.retry import RetryConfig
from amplifier_modkit.llm.blocks import calls_of
from amplifier_modkit.llm.http import Outgoing
from amplifier_modkit.llm.provider import HttpProvider, note_degradations
from amplifier_modkit.llm.repair import repair
from amplifier_modkit.llm.telling import CallEvents
from amplifier_modkit.llm.wire import PAUSE, WireCall
from amplifier_module_provider_anthropic.config import AnthropicConfig
from amplifier_module_provider_anthropic.wire import AnthropicWire, continuing

OVERLOADED = 529
_MOST_PAUSES = 10
_COUNTS = ("input_tokens", "output_tokens", "total_tokens")
_NOTHING = Usage(input_tokens=0, output_tokens=0, total_tokens=0)
_OPTIONAL_COUNTS = ("reasoning_tokens", "cache_read_tokens", "cache_write_tokens")


class AnthropicProvider(HttpProvider):
    """Claude with one key; lives as long as its session."""

    def __init__(self, wire: AnthropicWire, settings: AnthropicConfig, *parts: Any, **named: Any) -> None:
        slower = {OVERLOADED: settings.overloaded_delay_multiplier}
        super().__init__(wire, settings, *parts, delay_multipliers=slower, **named)
        self._claude = wire
        self._config = settings
        self._stand_ins: dict[str, tuple[str, float]] = {}

    async def count_tokens(self, request: ChatRequest, model: str | None = None) -> int:
        """How many tokens the service counts in a request."""
        asked = model or request.model or self.default_model
        call = self._claude.to_count(repair(request, self.vendor.mark).request, asked)
        outgoing = Outgoing("POST", call.path, call.body, call.headers, self.settings.timeout)
        counted: dict[str, Any] = await self.fetch(outgoing, asked)
        return int(counted["input_tokens"])

    @property
    @override
    def retries(self) -> RetryConfig:
        """Fewer where another model is there to answer."""
        if not self._config.fallback_on_overload:
            return super().retries
        fewer = min(self._config.fallback_retry_count, self._config.max_retries)
        return self._config.model_copy(update={"max_retries": fewer}).retries

    @override
    async def exchange(self, request: ChatRequest, model: str, call: WireCall, events: CallEvents) -> ChatResponse:
        """The whole answer, by the model that was asked, or by one that stands in for it while it is overloaded."""
        asked = self._stand_in_for(model)
        while True:
            if asked != model:
                call = self.wire.to_call(request, asked, stream=self.streams(request))
            try:
                response = await self._to_the_end(request, asked, call, events)
            except LLMError as error:
                smaller = self._smaller_than(asked)
                if error.status_code != OVERLOADED or smaller is None:
                    raise
                await events.retried(1, 1, 0.0, error)
                asked = smaller
                until = self.timing.monotonic() + self._config.fallback_cooldown_seconds
                self._stand_ins[model] = (smaller, until)
                continue
            if asked != model:
                note_degradations(response, [Degradation(requested=model, actual=asked, reason="it is overloaded")])
            return response

    async def _to_the_end(self, request: ChatRequest, model: str, call: WireCall, events: CallEvents) -> ChatResponse:
        """The answer, gone on with as often as the service pauses while it works with tools of its own."""
        response = await super().exchange(request, model, call, events)
        for _ in range(_MOST_PAUSES):
            if response.finish_reason != PAUSE:
                break
            came = Message(role="assistant", content=response.content)
            rest = continuing(request, [*request.messages, came])
            events.go_on_after(len(response.content))
            call = self.wire.to_call(rest, model, stream=self.streams(request))
            response = _joined(response, await super().exchange(rest, model, call, events))
        return response

    def _stand_in_for(self, model: str) -> str:
        stand_in, until = self._stand_ins.get(model, (model, 0.0))
        return stand_in if self._config.fallback_on_overload and until > self.timing.monotonic() else model

    def _smaller_than(self, model: str) -> str | None:
        if not self._config.fallback_on_overload:
            return None
        sonnet, haiku = self._config.fallback_sonnet_model, self._config.fallback_haiku_model
        if "haiku" in model or model == haiku:
            return None
        return haiku if "sonnet" in model or model == sonnet else sonnet


def _joined(first: ChatResponse, rest: ChatResponse) -> ChatResponse:
    content = [*first.content, *rest.content]
    return rest.model_copy(
        update={
            "content": content,
            "tool_calls": calls_of(content),
            "usage": _sum_of(first.usage or _NOTHING, rest.usage or _NOTHING),
        }
    )


def _sum_of(first: Usage, rest: Usage) -> Usage:
    counts = {name: getattr(first, name) + getattr(rest, name) for name in _COUNTS}
    found = {name: [getattr(each, name) for each in (first, rest)] for name in _OPTIONAL_COUNTS}
    others = {name: sum(each or 0 for each in both) for name, both in found.items() if both != [None, None]}
    return rest.model_copy(update={**counts, **others})
