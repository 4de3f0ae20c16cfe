"""A provider of this protocol: it finds out which models there are, and learns how the server wants to be asked."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from amplifier_core.llm_errors import InvalidRequestError, InvalidToolCallError, LLMError
from amplifier_core.message_models import ChatRequest, ChatResponse
from amplifier_core.models import ModelInfo, ProviderInfo
from amplifier_modkit.llm.errors import Refusal
from amplifier_modkit.llm.http import Outgoing
from amplifier_modkit.llm.provider import HttpProvider
from amplifier_modkit.llm.settings import ProviderSettings
from amplifier_modkit.llm.telling import CallEvents
from amplifier_modkit.llm.vendor import Vendor
from amplifier_modkit.llm.wire import WireCall, WireError
from amplifier_modkit.llm_chat.lessons import is_known, is_miscall
from amplifier_modkit.llm_chat.stream_client import StreamClient
from amplifier_modkit.llm_chat.usage import estimate_usage
from amplifier_modkit.llm_chat.wire import ChatWire

logger = logging.getLogger(__name__)

UNNAMED = "default"
"""The model of a server that was not asked yet which it has."""

LIST_TIMEOUT_S = 5.0
_MOST_LESSONS = 5
_UNREADABLE = (WireError, ValueError, TypeError, KeyError, AttributeError)


def judge(refusal: Refusal) -> type[LLMError] | None:
    """Complaints about a request, and about a call that the model got wrong, are that, whatever status they have."""
    if is_miscall(f"{refusal.code} {refusal.message}"):
        return InvalidToolCallError
    return InvalidRequestError if (refusal.status or 0) >= 500 and is_known(refusal.message) else None


class ChatProvider(HttpProvider):
    """A provider of one server; lives as long as its session.

    With ``asks_first`` the server is asked for the windows of its models before the first request.
    """

    def __init__(
        self, wire: ChatWire, settings: ProviderSettings, vendor: Vendor, *, asks_first: bool = False, **others: Any
    ) -> None:
        super().__init__(wire, settings, vendor, **others)
        self._asks_first = asks_first
        self._client = StreamClient(self._client)
        self._chat = wire
        self._known: dict[str, ModelInfo] = {}
        self._has_asked = False
        self._asking = asyncio.Lock()

    def get_info(self) -> ProviderInfo:
        """Describes the provider, with the limits of its default model as far as they were found out."""
        info, windows = super().get_info(), self._chat.windows
        known = self._known.get(self.default_model)
        window = known.context_window if known else windows.window_of(self.default_model)
        told = known.max_output_tokens if known else windows.max_output_tokens
        most = min(self.settings.max_tokens or told, window)
        limits = {"context_window": window, "max_output_tokens": most, "max_tokens": most}
        return info.model_copy(update={"defaults": {**info.defaults, **limits}})

    async def list_models(self) -> list[ModelInfo]:
        """The models that the server has; those of the last time where it cannot be asked."""
        complaint = await self._take_stock()
        if complaint is not None:
            logger.warning("%s cannot list its models: %s", self.instance_id, complaint)
        return list(self._known.values())

    async def discover(self) -> str | None:
        """Finds out about the default model, which is the first of the server's where none is set.

        Tells why it failed, if it did.
        """
        return await self._take_stock()

    async def find_models(self) -> list[ModelInfo]:
        """The models that the server lists; raises what keeps it from that."""
        return self.wire.read_models(await self.fetch(Outgoing("GET", "/models", timeout_s=LIST_TIMEOUT_S)))

    async def complete(self, request: ChatRequest, **kwargs: Any) -> ChatResponse:
        """Answers one request, as every provider does, once it knows about the model what it needs to."""
        async with self._asking:
            await self.prepare(kwargs.get("model") or request.model or self.default_model)
        return await super().complete(request, **kwargs)

    async def prepare(self, model: str) -> None:
        """Asks the server for its models before a request for ``model``, if there is a reason to; a failure is none.

        What keeps the server from answering that will keep it from answering the request, and is told there.
        """
        if model == UNNAMED or (self._asks_first and not self._has_asked):
            await self.discover()

    def streams(self, request: ChatRequest) -> bool:
        """Whether the answer is to come in pieces; some servers cannot do that where there are tools."""
        return super().streams(request) and (self._chat.dialect.streams_tools or not request.tools)

    async def exchange(self, request: ChatRequest, model: str, call: WireCall, events: CallEvents) -> ChatResponse:
        """The answer to ``call``; where the server complains about its form, it is put in another way, and kept so."""
        lessons = 0
        while True:
            try:
                response = await super().exchange(request, model, call, events)
                break
            except InvalidRequestError as error:
                lessons += 1
                if lessons > _MOST_LESSONS or not self._chat.learn(call.body, str(error)):
                    raise
                logger.info("%s is asked in another way from now on: %s", self.instance_id, error)
                await events.retried(lessons, _MOST_LESSONS, 0.0, error)
                call = self.wire.to_call(request, model, stream=self.streams(request))
        if response.usage is None:
            response.usage = estimate_usage(call.body, response)
        return response

    async def _take_stock(self) -> str | None:
        try:
            found = await self.find_models()
        except (LLMError, *_UNREADABLE) as error:
            # One that is away for now is asked again, one that cannot tell is not.
            self._has_asked = not (isinstance(error, LLMError) and error.retryable)
            return str(error) or type(error).__name__
        self._has_asked = True
        self._known = {model.id: model for model in found}
        if self.default_model == UNNAMED and found:
            self.default_model = found[0].id
        return None
