"""Providers of chat completions at scripted servers, for the tests of all modules that speak it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from tests.modules.llm_server import Answer, Frame, LlmServer, serving
from tests.modules.provider_faults import VendorUnderTest

from amplifier_core.hooks import HookRegistry
from amplifier_core.message_models import ChatRequest, Message
from amplifier_core.testing import EventRecorder, TestCoordinator
from amplifier_modkit.llm_chat.mounting import to_wire
from amplifier_modkit.llm_chat.provider import ChatProvider
from amplifier_modkit.llm_chat.settings import ChatSettings
from amplifier_module_provider_chat_completions.mounting import vendor_for

USAGE = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
FREE = {"max_retries": 0, "min_retry_delay": 0.0, "retry_jitter": False}


def question(text: str = "hi", **wishes: Any) -> ChatRequest:
    """A request with one message."""
    return ChatRequest(messages=[Message(role="user", content=text)], **wishes)


def delta(text: str | None = None, reason: str | None = None, **others: Any) -> dict[str, Any]:
    """A chunk that says a text."""
    said = {**({"content": text} if text else {}), **others}
    return {"choices": [{"index": 0, "delta": said, "finish_reason": reason}], "model": "m-1"}


def thirds(text: str) -> list[str]:
    """A text in three pieces."""
    size = len(text) // 3
    return [text[:size], text[size : 2 * size], text[2 * size :]]


def frames(text: str) -> Sequence[Frame]:
    """The stream of an answer."""
    said: list[Frame] = [(None, delta(part)) for part in thirds(text)]
    return [
        (None, delta(role="assistant")),
        *said,
        (None, delta(None, "stop")),
        (None, {"choices": [], "usage": USAGE}),
        (None, "[DONE]"),
    ]


def body(text: str) -> dict[str, Any]:
    """The same as a whole."""
    message = {"role": "assistant", "content": text}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": USAGE, "model": "m-1"}


def refusal(message: str) -> dict[str, Any]:
    """An error."""
    return {"error": {"message": message, "type": "odd_error", "code": None}}


def lines(answers: Iterable[Any], status: int = 200) -> Answer:
    """A stream with one JSON text per line, each a piece."""
    pieces = [json.dumps(each, ensure_ascii=False).encode() + b"\n" for each in answers]
    return Answer(status, {"content-type": "application/x-ndjson"}, pieces)


def make(url: str, hooks: HookRegistry | None, key: str | None, **settings: Any) -> ChatProvider:
    """A provider without a session."""
    read = ChatSettings.read({"default_model": "m", **settings, "base_url": url})
    return ChatProvider(to_wire(read), read, vendor_for(read, url), key=key, hooks=hooks)


VENDOR = VendorUnderTest(make=make, frames=frames, body=body, refusal=refusal)


class World:
    """A mounted provider, its server, and the events of the session."""

    def __init__(self, provider: Any, server: LlmServer, coordinator: TestCoordinator, recorder: EventRecorder) -> None:
        self.provider = provider
        self.server = server
        self.coordinator = coordinator
        self.recorder = recorder

    @property
    def events(self) -> list[str]:
        """The names of the events, in order."""
        return [event for event, _ in self.recorder.events]


Mount = Callable[[TestCoordinator, dict[str, Any]], Awaitable[Any]]


@asynccontextmanager
async def world(
    mount: Mount,
    name: str,
    *answers: Answer,
    paths: Mapping[str, Answer] | None = None,
    events: Sequence[str] = (),
    place: str = "base_url",
    **config: Any,
) -> AsyncGenerator[World]:
    """A session with the provider at a server that plays ``answers``."""
    coordinator, recorder = TestCoordinator(), EventRecorder()
    for event in events:
        coordinator.hooks.register(event, recorder)
    async with serving(*answers, paths=paths) as server:
        close = await mount(coordinator, {**FREE, **config, place: server.url})
        try:
            yield World(coordinator.get("providers", name), server, coordinator, recorder)
        finally:
            await close()
