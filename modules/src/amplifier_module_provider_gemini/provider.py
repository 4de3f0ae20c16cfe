"""The provider of Gemini: counts tokens, lists models by pages, and lets answers go on that one call cannot hold."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import quote

from typing_extensions import override

from amplifier_core.message_models import ChatRequest, ChatResponse
from amplifier_modkit.llm.blocks import calls_of
from amplifier_modkit.llm.http import Outgoing
from amplifier_modkit.llm.provider import HttpProvider
from amplifier_modkit.llm.repair import repair
from amplifier_modkit.llm.telling import CallEvents
from amplifier_modkit.llm.wire import PAUSE, WireCall
from amplifier_module_provider_gemini.answers import joined
from amplifier_module_provider_gemini.config import GeminiConfig
from amplifier_module_provider_gemini.usage import sum_of
from amplifier_module_provider_gemini.wire import GeminiWire, continuing

_MOST_CALLS = 32
_MOST_PAGES = 20


class GeminiProvider(HttpProvider):
    """Gemini with one key; lives as long as its session."""

    def __init__(self, wire: GeminiWire, settings: GeminiConfig, *parts: Any, **named: Any) -> None:
        super().__init__(wire, settings, *parts, **named)
        self._gemini = wire

    async def count_tokens(self, request: ChatRequest, model: str | None = None) -> int:
        """How many tokens the service counts in a request."""
        asked = model or request.model or self.default_model
        call = self._gemini.to_count(repair(request, self.vendor.mark).request, asked)
        counted: dict[str, Any] = await self.fetch(
            Outgoing("POST", call.path, call.body, timeout_s=self.settings.timeout), asked
        )
        return int(counted["totalTokens"])

    @override
    async def fetch(self, outgoing: Outgoing, model: str | None = None) -> Any:
        """One JSON answer beside the conversation; a list of models that comes in pages is put together."""
        body: Any = await super().fetch(outgoing, model)
        page = body
        for _ in range(_MOST_PAGES):
            token: Any = cast("dict[str, Any]", page).get("nextPageToken") if isinstance(page, dict) else None
            if not token:
                break
            path = f"{outgoing.path}&pageToken={quote(str(token), safe='')}"
            page = await super().fetch(Outgoing("GET", path, timeout_s=outgoing.timeout_s), model)
            body = {**body, "models": [*body["models"], *page["models"]]}
        return body

    @override
    async def exchange(self, request: ChatRequest, model: str, call: WireCall, events: CallEvents) -> ChatResponse:
        """The whole answer; where one call cannot hold it, the service is asked to go on."""
        response = await super().exchange(request, model, call, events)
        for _ in range(_MOST_CALLS):
            token = (response.metadata or {}).get("continuationToken")
            if response.finish_reason != PAUSE or not token:
                break
            events.go_on_after(len(response.content))
            rest = await super().exchange(request, model, continuing(call, token), events)
            content = joined(response, rest)
            usage = sum_of(response.usage, rest.usage)
            together = {"content": content, "tool_calls": calls_of(content), "usage": usage}
            response = rest.model_copy(update=together)
        return response
