"""The provider of a service with the Responses API: it goes on with cut answers, and gets past a lost memory."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, cast

from amplifier_core.llm_errors import LLMError
from amplifier_core.message_models import ChatRequest, ChatResponse, Degradation
from amplifier_core.models import ModelInfo, ProviderInfo
from amplifier_modkit.llm.errors import BrokenStreamError
from amplifier_modkit.llm.http import Outgoing
from amplifier_modkit.llm.provider import HttpProvider, note_degradations
from amplifier_modkit.llm.telling import CallEvents
from amplifier_modkit.llm.wire import WireCall
from amplifier_modkit.llm_responses.background import RUNNING, Patience, wait_for_answer
from amplifier_modkit.llm_responses.config import ResponsesConfig
from amplifier_modkit.llm_responses.continuing import (
    MAX_CONTINUATIONS,
    ShiftedEvents,
    joined,
    joined_in_part,
    next_request,
)
from amplifier_modkit.llm_responses.events import (
    PROVIDER_BACKGROUND_STATUS,
    PROVIDER_INCOMPLETE_CONTINUATION,
    PROVIDER_RESPONSE_CHAIN_INVALIDATED,
)
from amplifier_modkit.llm_responses.incoming import RESPONSE_ID
from amplifier_modkit.llm_responses.known_models import SHORT_CONTEXT_WINDOW
from amplifier_modkit.llm_responses.refusals import LostChainError, LostReasoningError
from amplifier_modkit.llm_responses.wire import ResponsesWire

logger = logging.getLogger(__name__)


class ResponsesProvider(HttpProvider):
    """A provider of the Responses API; see ``HttpProvider``."""

    wire: ResponsesWire
    settings: ResponsesConfig

    def get_info(self) -> ProviderInfo:
        """Describes the provider; a window beyond which every token costs more counts only if the config wants it."""
        info = super().get_info()
        defaults = {**info.defaults, "context_window": self._window(info.defaults["context_window"])}
        return info.model_copy(update={"defaults": defaults})

    def selected(self, models: list[ModelInfo]) -> list[ModelInfo]:
        """The newest of each known family, where a service has known models and the config wants it so."""
        known = {model.id: self.vendor.catalogue.find(model.id) for model in models}
        newest = {model.id for model in self.vendor.catalogue.listed(only_latest=True)}
        chosen = [model for model in models if (found := known[model.id]) is not None and found.id in newest]
        listed = chosen if chosen and self.settings.filtered else models
        return [model.model_copy(update={"context_window": self._window(model.context_window)}) for model in listed]

    async def exchange(self, request: ChatRequest, model: str, call: WireCall, events: CallEvents) -> ChatResponse:
        """The answer to ``call``, with what follows it where it was cut; see ``HttpProvider``."""
        response = await self._recall(request, model, call, events)
        for number in range(1, MAX_CONTINUATIONS + 1):
            following = next_request(request, response)
            if following is None:
                break
            await self._tell_continuation(model, number, response)
            try:
                more = await self._go_on(following, model, response, events)
            except LLMError as error:
                return _given_up(response, error)
            response = joined(response, more)
        return response

    async def _go_on(
        self, request: ChatRequest, model: str, response: ChatResponse, events: CallEvents
    ) -> ChatResponse:
        shifted = cast("CallEvents", ShiftedEvents(events, len(response.content)))
        self._price(response, model)
        call = self.wire.to_call(request, model, stream=self.streams(request))
        more = await self._recall(request, model, call, shifted)
        self._price(more, model)
        return more

    async def _recall(self, request: ChatRequest, model: str, call: WireCall, events: CallEvents) -> ChatResponse:
        """The answer to ``call``, or to the same with less reliance on what the service remembers."""
        try:
            response = await self._answer(request, model, call, events)
        except LostChainError as error:
            if "previous_response_id" not in call.body:
                raise
            await self._tell_lost_chain(model, call, error)
            whole = self.wire.to_call(request, model, stream=self.streams(request))
            response = await self._answer(request, model, whole, events)
        except LostReasoningError as error:
            logger.warning("%s cannot use the reasoning of earlier answers, so it goes without: %s", self.name, error)
            bare = self.wire.to_call(request, model, stream=self.streams(request), forgets_reasoning=True)
            if bare.body["input"] == call.body["input"]:
                raise
            response = await self._answer(request, model, bare, events)
            _degrade(response, "the reasoning of earlier answers", "an answer without it", str(error))
        self._remember(request, response)
        return response

    async def _answer(self, request: ChatRequest, model: str, call: WireCall, events: CallEvents) -> ChatResponse:
        if not call.body.get("background"):
            return await super().exchange(request, model, call, events)
        response = await self.attempt(call, model, events, is_streaming=False)
        metadata = response.metadata or {}
        if metadata.get("status") in RUNNING:
            response = await self._wait(str(metadata[RESPONSE_ID]), model)
        note_degradations(response, call.degradations)
        return response

    async def _wait(self, response_id: str, model: str) -> ChatResponse:
        async def ask(method: str, path: str) -> Mapping[str, Any]:
            return await self.fetch(Outgoing(method, self.wire.path(path), timeout_s=self.settings.timeout), model)

        async def tell(status: Any, waited: float) -> None:
            await self._emit(
                PROVIDER_BACKGROUND_STATUS,
                {"model": model, "response_id": response_id, "status": status, "waited_s": waited},
            )

        settings = self.settings
        patience = Patience(
            poll_interval=settings.poll_interval, timeout=settings.background_timeout, retries=self.retries
        )
        body = await wait_for_answer(response_id, ask, tell, patience, self.timing.sleep)
        return self._read(body, self.blame(model))

    def _remember(self, request: ChatRequest, response: ChatResponse) -> None:
        response_id = (response.metadata or {}).get(RESPONSE_ID)
        if isinstance(response_id, str):
            self.wire.remember(request, response, response_id)

    def _price(self, response: ChatResponse, model: str) -> None:
        """Puts a price on one part of an answer: that of the whole is not that of all its tokens at once."""
        catalogue, answered_by = self.vendor.catalogue, str((response.metadata or {}).get("model") or model)
        cost = catalogue.cost_of(response.usage, answered_by) or catalogue.cost_of(response.usage, model)
        response.usage = response.usage and response.usage.model_copy(update={"cost_usd": cost})

    def _window(self, window: int) -> int:
        return window if self.settings.enable_long_context else min(window, SHORT_CONTEXT_WINDOW)

    async def _tell_continuation(self, model: str, number: int, response: ChatResponse) -> None:
        reason = (response.metadata or {}).get("stop_reason")
        told = {"model": model, "continuation": number, "max_continuations": MAX_CONTINUATIONS, "reason": reason}
        await self._emit(PROVIDER_INCOMPLETE_CONTINUATION, told)

    async def _tell_lost_chain(self, model: str, call: WireCall, error: LLMError) -> None:
        self.wire.forget_answers()
        told = {"model": model, "previous_response_id": call.body["previous_response_id"], "error": str(error)}
        await self._emit(PROVIDER_RESPONSE_CHAIN_INVALIDATED, told)

    async def _emit(self, event: str, facts: dict[str, Any]) -> None:
        if self._hooks is not None:
            await self._hooks.emit(event, {"provider": self.instance_id, **facts})


def _given_up(response: ChatResponse, error: LLMError) -> ChatResponse:
    """What came before the limit, when going on failed: it is paid for, and better than nothing."""
    logger.warning("An answer that was cut at its limit could not be gone on with: %s", error)
    if isinstance(error, BrokenStreamError) and error.partial is not None:
        response = joined_in_part(response, error.partial)
    _degrade(response, "the whole answer", "its beginning", f"going on failed: {error}")
    return response


def _degrade(response: ChatResponse, requested: str, actual: str, reason: str) -> None:
    note_degradations(response, [Degradation(requested=requested, actual=actual, reason=reason)])
