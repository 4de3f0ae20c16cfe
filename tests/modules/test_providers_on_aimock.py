"""Providers against a server that others wrote and that speaks the protocols of several vendors, with its fixtures."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.modules.aimock import aimock, needs_foreign
from tests.modules.provider_faults import text_of

from amplifier_core.message_models import ChatRequest, ChatResponse, Message, ToolSpec
from amplifier_core.testing import TestCoordinator

pytestmark = [pytest.mark.slow, needs_foreign]  # a server starts

WEATHER = ToolSpec(
    name="weather", parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
)
FIXTURES: list[dict[str, Any]] = [
    {
        "match": {"userMessage": "weather"},
        "response": {"toolCalls": [{"name": "weather", "arguments": '{"city": "Paris"}'}]},
    },
    {"match": {"userMessage": "hello"}, "response": {"content": "Grüße 🌍"}},
]
PLACES: dict[str, dict[str, Any]] = {
    "openai": {"base_url": "{url}/v1"},
    "gemini": {"base_url": "{url}"},
    "chat-completions": {"base_url": "{url}/v1", "default_model": "gpt-4o", "context_window": 8192},
    "ollama": {"host": "{url}", "default_model": "llama3.2:3b"},
}


async def ask(provider: Any, text: str, *, streams: bool, **wishes: Any) -> ChatResponse:
    """An answer of the server."""
    metadata = {"stream": streams}
    return await provider.complete(
        ChatRequest(messages=[Message(role="user", content=text)], metadata=metadata, **wishes)
    )


@pytest.mark.parametrize("name", PLACES)
async def test_texts_and_calls_of_a_server_with_fixtures_are_understood(name: str, tmp_path: Path) -> None:
    """Streamed and whole, a text comes with its end, and a call with its arguments."""
    mount = import_module(f"amplifier_module_provider_{name.replace('-', '_')}").mount
    async with aimock(tmp_path, FIXTURES) as url:
        place = {key: value.format(url=url) if isinstance(value, str) else value for key, value in PLACES[name].items()}
        coordinator = TestCoordinator()
        close = await mount(coordinator, {"api_key": "test-key-0123", "max_retries": 0, **place})
        try:
            provider = coordinator.get("providers", name)
            for streams in (True, False):
                said = await ask(provider, "hello", streams=streams)
                assert (text_of(said), said.finish_reason) == ("Grüße 🌍", "stop")
                called = await ask(provider, "the weather?", streams=streams, tools=[WEATHER])
                assert [(call.name, call.arguments) for call in called.tool_calls or ()] == [
                    ("weather", {"city": "Paris"})
                ]
                assert called.finish_reason == "tool_calls"
        finally:
            await close()
