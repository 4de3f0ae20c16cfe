"""The provider: it finds out about each model before it is asked, and fetches one that is missing if it may."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from amplifier_core.llm_errors import LLMError, NotFoundError
from amplifier_core.message_models import ChatRequest, ChatResponse
from amplifier_core.models import ModelInfo
from amplifier_modkit.llm.http import Outgoing
from amplifier_modkit.llm.telling import CallEvents
from amplifier_modkit.llm.vendor import Vendor
from amplifier_modkit.llm.wire import WireCall
from amplifier_modkit.llm_chat.provider import LIST_TIMEOUT_S, ChatProvider
from amplifier_module_provider_ollama.config import OllamaSettings
from amplifier_module_provider_ollama.facts import loaded_window, read_facts
from amplifier_module_provider_ollama.wire import OllamaWire

logger = logging.getLogger(__name__)

_MOST_AT_ONCE = 8


class OllamaProvider(ChatProvider):
    """A provider of one Ollama server; lives as long as its session."""

    def __init__(self, wire: OllamaWire, settings: OllamaSettings, vendor: Vendor, **others: Any) -> None:
        super().__init__(wire, settings, vendor, **others)
        self._ollama = wire
        self._ollama_settings = settings

    async def discover(self) -> str | None:
        """Asks what the default model can take; tells why that failed."""
        try:
            await self._look_up(self.default_model)
        except NotFoundError as error:
            hint = "" if self._ollama_settings.auto_pull else f"; fetch it with: ollama pull {self.default_model}"
            return f"{error}{hint}"
        except (LLMError, ValueError, TypeError, KeyError, AttributeError) as error:
            return str(error)
        return None

    async def prepare(self, model: str) -> None:
        """Asks what ``model`` can take, before the first request for it."""
        if model not in self._ollama.facts:
            try:
                await self._look_up(model)
            except (LLMError, ValueError, TypeError, KeyError, AttributeError) as error:
                logger.debug("%s tells nothing about %s: %s", self.instance_id, model, error)

    async def find_models(self) -> list[ModelInfo]:
        """The models that the server has, with what each can take."""
        body = await self._get("/api/tags")
        gate = asyncio.Semaphore(_MOST_AT_ONCE)

        async def look_up(model: str) -> None:
            async with gate:
                await self.prepare(model)

        await asyncio.gather(*(look_up(model.id) for model in self.wire.read_models(body)))
        return self.wire.read_models(body)

    async def exchange(self, request: ChatRequest, model: str, call: WireCall, events: CallEvents) -> ChatResponse:
        """The answer to ``call``; a model that is missing is fetched first, if the plan allows it."""
        try:
            return await super().exchange(request, model, call, events)
        except NotFoundError as error:
            if not self._ollama_settings.auto_pull:
                raise
            logger.warning("%s does not have the model %s and fetches it", self.instance_id, model)
            await events.retried(1, 1, 0.0, error)
        pull = {"model": model, "stream": False}
        await self.fetch(Outgoing("POST", "/api/pull", pull, timeout_s=self._ollama_settings.pull_timeout), model)
        await self.prepare(model)
        call = self.wire.to_call(request, model, stream=self.streams(request))
        return await super().exchange(request, model, call, events)

    async def _look_up(self, model: str) -> None:
        shown = Outgoing("POST", "/api/show", {"model": model}, timeout_s=LIST_TIMEOUT_S)
        facts = read_facts(await self.fetch(shown, model))
        if not (self._ollama_settings.num_ctx or facts.chosen):
            window = loaded_window(await self._get("/api/ps"), model)
            if window is not None:
                self._ollama.loaded[model] = window
        self._ollama.facts[model] = facts
        if model == self.default_model:
            shown_as = ModelInfo(id=model, display_name=model, context_window=1, max_output_tokens=1)
            self._known.setdefault(model, self._ollama.describe(shown_as))

    async def _get(self, path: str) -> Any:
        return await self.fetch(Outgoing("GET", path, timeout_s=LIST_TIMEOUT_S))
