"""The provider that has others answer: in order, without those that rest, until one does."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.interfaces import Provider
from amplifier_core.llm_errors import ConfigurationError, LLMError
from amplifier_core.message_models import ChatRequest, ChatResponse, ToolCall
from amplifier_core.models import ModelInfo, ProviderInfo
from amplifier_module_provider_fallback.conditions import calls_for_rest, condition_of
from amplifier_module_provider_fallback.config import Choice, Condition, FallbackConfig

logger = logging.getLogger(__name__)

PROVIDER_FALLBACK = "provider:fallback"
"""A provider failed and another is asked: ``provider``, ``next``, ``condition``, ``error_type``, ``error_message``,
``rest_s``."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry of the list whose provider is mounted."""

    choice: Choice
    provider: Provider


class FallbackProvider:
    """Asks the providers of its list; lives as long as its session, and remembers who rests until when."""

    name = "fallback"

    def __init__(
        self, config: FallbackConfig, coordinator: ModuleCoordinator, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.priority = config.priority
        self._config = config
        self._coordinator = coordinator
        self._clock = clock
        self._rests_until: dict[Choice, float] = {}

    def get_info(self) -> ProviderInfo:
        """Describes the first choice that is mounted, with a window into which every request must fit."""
        found = [(each.choice, each.provider.get_info()) for each in self._mounted()]
        if not found:
            return ProviderInfo(id=self.name, display_name="Fallback: none of its providers is mounted")
        first_choice, first = found[0]
        defaults = {**first.defaults, **({"model": first_choice.model} if first_choice.model else {})}
        window = self._window([(choice, info.defaults.get("context_window")) for choice, info in found])
        names = ", ".join(choice.provider for choice, _ in found)
        return first.model_copy(
            update={
                "id": self.name,
                "display_name": f"Fallback: {names}",
                "defaults": defaults if window is None else {**defaults, "context_window": window},
            }
        )

    async def list_models(self) -> list[ModelInfo]:
        """The models of all its providers; one that cannot be asked is left out."""
        models: list[ModelInfo] = []
        for each in self._mounted():
            try:
                models += await each.provider.list_models()
            except Exception as error:
                logger.warning("The models of provider '%s' cannot be listed: %r", each.choice.provider, error)
        return models

    async def complete(self, request: ChatRequest, **kwargs: Any) -> ChatResponse:
        """The answer of the first provider that has one; raises the error of the last that was asked."""
        *earlier, last = candidates = self._in_order()
        for place, candidate in enumerate(earlier, 1):
            try:
                return await self._ask(candidate, request, kwargs)
            except LLMError as error:
                if not self._condition(candidate.choice, error):
                    raise
                await self._tell(candidate, candidates[place], error)
        return await self._ask(last, request, kwargs)

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        """The calls of ``response``, as the provider that gave it has read them."""
        return list(response.tool_calls or ())

    def _mounted(self) -> list[Candidate]:
        providers = self._providers()
        found = ((choice, providers.get(choice.provider)) for choice in self._config.providers)
        return [Candidate(choice, each) for choice, each in found if each is not None and each is not self]

    def _providers(self) -> Mapping[str, Provider]:
        return cast("Mapping[str, Provider]", self._coordinator.get("providers") or {})

    def _in_order(self) -> list[Candidate]:
        """Those that do not rest, then those that do: being asked too early is better than nobody being asked."""
        mounted = self._mounted()
        if not mounted:
            wanted = ", ".join(f"'{choice.provider}'" for choice in self._config.providers)
            there = ", ".join(name for name, each in self._providers().items() if each is not self) or "none"
            raise ConfigurationError(
                f"provider-fallback has nobody to ask: of {wanted} none is mounted. Mounted are: {there}. Add one of "
                "them to 'providers' in the mount plan, or correct the names under 'providers' of provider-fallback.",
                provider=self.name,
            )
        now = self._clock()
        return sorted(mounted, key=lambda candidate: self._rests_until.get(candidate.choice, now) > now)

    async def _ask(self, candidate: Candidate, request: ChatRequest, options: dict[str, Any]) -> ChatResponse:
        try:
            response = await candidate.provider.complete(self._for(candidate.choice, request), **options)
        except LLMError as error:
            self._send_to_rest(candidate.choice, error)
            raise
        return _with_calls(response, candidate.provider)

    def _for(self, choice: Choice, request: ChatRequest) -> ChatRequest:
        # A model that the request names is one of the first choice; others do not know it.
        is_first = choice is self._config.providers[0]
        model = choice.model or (request.model if is_first else None)
        return request if model == request.model else request.model_copy(update={"model": model})

    def _condition(self, choice: Choice, error: LLMError) -> Condition | None:
        """The condition under which ``error`` leads on to the next, if it does."""
        condition = condition_of(error)
        return condition if condition in self._conditions(choice) else None

    def _conditions(self, choice: Choice) -> tuple[Condition, ...]:
        return self._config.on if choice.on is None else choice.on

    def _send_to_rest(self, choice: Choice, error: LLMError) -> None:
        condition = self._condition(choice, error)
        if condition is not None and calls_for_rest(condition):
            usual_s = self._config.cooldown_seconds if choice.cooldown_seconds is None else choice.cooldown_seconds
            self._rests_until[choice] = self._clock() + max(usual_s, error.retry_after or 0.0)

    async def _tell(self, failed: Candidate, successor: Candidate, error: LLMError) -> None:
        name, following = failed.choice.provider, successor.choice.provider
        condition = self._condition(failed.choice, error)
        logger.warning("Provider '%s' failed (%s), '%s' is asked instead: %s", name, condition, following, error)
        rest_s = max(0.0, self._rests_until.get(failed.choice, 0.0) - self._clock())
        told = {"provider": name, "next": following, "condition": condition, "rest_s": rest_s}
        told |= {"error_type": type(error).__name__, "error_message": str(error)}
        await self._coordinator.hooks.emit(PROVIDER_FALLBACK, told)

    def _window(self, windows: Sequence[tuple[Choice, Any]]) -> int | None:
        """The smallest, but for those that hand on what is too long for them."""
        window: int | None = None
        for choice, own in reversed(windows):
            hands_on = "context_length" in self._conditions(choice)
            if isinstance(own, int) and (window is None or (own < window and not hands_on)):
                window = own
        return window


def _with_calls(response: ChatResponse, provider: Provider) -> ChatResponse:
    """``response`` with its tool calls listed, as the provider that gave it reads them."""
    calls = None if response.tool_calls else provider.parse_tool_calls(response)
    return response.model_copy(update={"tool_calls": calls}) if calls else response
