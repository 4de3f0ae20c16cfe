"""Gemini's provider against foreign servers that play Gemini: one that judges its clients, and one with fixtures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.modules.aimock import aimock, needs_foreign
from tests.modules.provider_faults import text_of

from amplifier_core.message_models import ChatRequest, ChatResponse, Message, ToolSpec
from amplifier_core.testing import TestCoordinator
from amplifier_module_provider_gemini import mount

if TYPE_CHECKING:
    from llmock.pytest_plugin import LLMock

pytestmark = pytest.mark.slow  # a server starts

WEATHER = ToolSpec(
    name="weather", parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
)


async def ask(text: str = "What is the weather in Paris?", **given: Any) -> ChatResponse:
    """An answer of the server; place and key come from the environment unless they are given."""
    places = {name: given.pop(name) for name in ("base_url", "api_key") if name in given}
    quick = {"min_retry_delay": 0.01, "retry_jitter": False}
    coordinator = TestCoordinator()
    close = await mount(coordinator, {**quick, **places})
    assert close is not None
    try:
        request = ChatRequest(messages=[Message(role="user", content=text)], **given)
        return await coordinator.get("providers", "gemini").complete(request)
    finally:
        await close()


async def test_text_and_calls_come_from_a_server_that_judges(llmock: LLMock) -> None:
    """Streamed and whole, with a tool and without."""
    assert text_of(await ask())
    assert text_of(await ask(metadata={"stream": False}))
    response = await ask(tools=[WEATHER], tool_choice="required")
    assert [(call.name, list(call.arguments)) for call in response.tool_calls or ()] == [("weather", ["city"])]
    llmock.assert_resilient(strict=True)


FAULTS: dict[str, Callable[[LLMock], object]] = {
    "rate limit": lambda llmock: llmock.rate_limit(retry_after=0.05),
    "overloaded": lambda llmock: llmock.fail(503, retry_after=0.05),
    "cut short": lambda llmock: llmock.truncate(),
    "disconnected": lambda llmock: llmock.disconnect(),
    "malformed": lambda llmock: llmock.corrupt(),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_faults_of_a_server_that_judges_are_survived(llmock: LLMock, fault: str) -> None:
    """The answer comes at the next attempt, and the server finds nothing wrong with how it was asked."""
    FAULTS[fault](llmock)
    assert text_of(await ask())
    llmock.assert_resilient()


@needs_foreign
async def test_a_server_with_fixtures_is_understood(tmp_path: Path) -> None:
    """Texts and calls, streamed and whole."""
    calls = {"toolCalls": [{"name": "weather", "arguments": '{"city": "Paris"}'}]}
    fixtures: list[dict[str, Any]] = [
        {"match": {"userMessage": "weather"}, "response": calls},
        {"match": {"userMessage": "hello"}, "response": {"content": "Grüße 🌍"}},
    ]
    async with aimock(tmp_path, fixtures) as url:
        place = {"base_url": url, "api_key": "test-key-0123"}
        for streams in (True, False):
            said = await ask("hello", metadata={"stream": streams}, **place)
            assert (text_of(said), said.finish_reason) == ("Grüße 🌍", "stop")
            called = await ask("the weather?", metadata={"stream": streams}, tools=[WEATHER], **place)
            assert [call.arguments for call in called.tool_calls or ()] == [{"city": "Paris"}]
            assert called.finish_reason == "tool_calls"
