"""The provider against a foreign server that plays faults and judges how a client takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.modkit.responses_world import MODEL, asked
from tests.modules.openai_world import text_in

from amplifier_core.message_models import ChatResponse, ToolSpec
from amplifier_core.testing import TestCoordinator
from amplifier_module_provider_openai import mount

if TYPE_CHECKING:
    from llmock.pytest_plugin import LLMock

WEATHER = ToolSpec(
    name="weather", parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
)


async def ask(**wishes: Any) -> ChatResponse:
    """An answer of the server, whose place and key are in the environment."""
    coordinator = TestCoordinator()
    close = await mount(coordinator, {"default_model": MODEL, "min_retry_delay": 0.01, "retry_jitter": False})
    assert close is not None
    try:
        return await coordinator.get("providers", "openai").complete(asked("What is the weather in Paris?", **wishes))
    finally:
        await close()


@pytest.mark.slow
async def test_text_and_calls_come_from_a_foreign_server(llmock: LLMock) -> None:
    """Streamed and whole, with a tool and without."""
    assert text_in(await ask())
    assert text_in(await ask(metadata={"stream": False}))
    response = await ask(tools=[WEATHER], tool_choice="required")
    assert [call.name for call in response.tool_calls or ()] == ["weather"]


@pytest.mark.slow
async def test_arguments_that_a_foreign_server_breaks_are_left_for_the_loop(llmock: LLMock) -> None:
    """They come as the text that they are."""
    llmock.break_tool_call("malformed_arguments")
    response = await ask(tools=[WEATHER], tool_choice="required")
    assert [type(call.arguments) for call in response.tool_calls or ()] == [str]


FAULTS: dict[str, Callable[[LLMock], object]] = {
    "rate limit": lambda llmock: llmock.rate_limit(retry_after=0.05),
    "overloaded": lambda llmock: llmock.fail(503, retry_after=0.05),
    "cut short": lambda llmock: llmock.truncate(),
    "disconnected": lambda llmock: llmock.disconnect(),
    "malformed": lambda llmock: llmock.corrupt(),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
async def test_faults_of_a_foreign_server_are_survived(llmock: LLMock, fault: str) -> None:
    """The answer comes at the next attempt, and the server finds nothing wrong with how it was asked."""
    FAULTS[fault](llmock)
    assert text_in(await ask())
    llmock.assert_resilient()
