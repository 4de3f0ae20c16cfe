"""A provider of the Responses API beside a scripted service, and ears for its events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from tests.modkit.responses_world import stream_of
from tests.modules.llm_server import Answer, LlmServer, json_answer, serving, sse_answer

from amplifier_core import events as kernel_events
from amplifier_core.message_models import ChatResponse
from amplifier_core.models import HookResult
from amplifier_core.testing import EventRecorder, TestCoordinator
from amplifier_modkit.events import LLM_STREAM_BLOCK_DELTA
from amplifier_modkit.llm.telling import STREAM_EVENTS
from amplifier_modkit.llm_responses.events import RESPONSES_EVENTS
from amplifier_modkit.llm_responses.provider import ResponsesProvider
from amplifier_modkit.messages import text_of
from amplifier_module_provider_openai import mount

KEY = "sk-very-secret"
TOLD = (
    *STREAM_EVENTS,
    *RESPONSES_EVENTS,
    kernel_events.LLM_REQUEST,
    kernel_events.LLM_RESPONSE,
    kernel_events.PROVIDER_RETRY,
)


class World:
    """The provider, the service it speaks to, and what was told."""

    def __init__(self, provider: ResponsesProvider, service: LlmServer, seen: EventRecorder) -> None:
        self.provider = provider
        self.service = service
        self.seen = seen
        self.first_delta = asyncio.Event()

    async def note_delta(self, event: str, data: dict[str, Any]) -> HookResult:
        """Hears that something came."""
        self.first_delta.set()
        return HookResult()

    @property
    def events(self) -> list[str]:
        """The names of all events, in order."""
        return [event for event, _ in self.seen.events]

    def told(self, event: str) -> list[dict[str, Any]]:
        """The data of all events of a name."""
        return [data for _, data in self.seen.get_events(event)]


@asynccontextmanager
async def world(*answers: Answer, **config: Any) -> AsyncGenerator[World]:
    """A provider whose service gives those answers."""
    async with serving(*answers) as service:
        coordinator, seen = TestCoordinator(), EventRecorder()
        for event in TOLD:
            coordinator.hooks.register(event, seen)
        defaults = {"api_key": KEY, "base_url": service.url, "min_retry_delay": 0, "max_retry_delay": 0}
        close = await mount(coordinator, {**defaults, **config})
        assert close is not None
        here = World(coordinator.get("providers", "openai"), service, seen)
        coordinator.hooks.register(LLM_STREAM_BLOCK_DELTA, here.note_delta)
        try:
            yield here
        finally:
            await close()


def streamed(body: dict[str, Any], size: int = 3) -> Answer:
    """An answer that comes as a stream."""
    return sse_answer((event["type"], event) for event in stream_of(body, size))


def whole(body: dict[str, Any]) -> Answer:
    """An answer that comes at once."""
    return json_answer(body)


def refusal(status: int, code: str, message: str) -> Answer:
    """A no."""
    return json_answer({"error": {"message": message, "type": "invalid_request_error", "code": code}}, status)


def text_in(response: ChatResponse) -> str:
    """What an answer says."""
    return text_of([block.model_dump() for block in response.content])
