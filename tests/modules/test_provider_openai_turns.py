"""Whole turns with the provider, on each loop: what it gave comes back to it, and nothing twice."""

from __future__ import annotations

from typing import Any

import pytest
from tests.modkit.responses_world import answer, called, said, searched, thought
from tests.modules.llm_server import LlmServer, serving
from tests.modules.openai_world import KEY, streamed

from amplifier_core import AmplifierSession
from amplifier_core.models import ToolResult
from amplifier_module_provider_openai import mount

LOOPS = ("loop-basic", "loop-streaming", "loop-events")


class Weather:
    """A tool that the model of these turns calls."""

    name, description = "weather", "Tells it."
    input_schema = {"type": "object", "properties": {"city": {"type": "string"}}}

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        """It always rains."""
        return ToolResult(output=f"rain in {input['city']}")


async def turns(loop: str, service: LlmServer, **config: Any) -> list[str]:
    """The answers to two prompts."""
    plan = {"session": {"orchestrator": loop, "context": "context-simple"}, "providers": [], "tools": []}
    async with AmplifierSession(plan) as session:
        close = await mount(session.coordinator, {"api_key": KEY, "base_url": service.url, **config})
        assert close is not None
        await session.coordinator.mount("tools", Weather())
        answers = [await session.execute(prompt) for prompt in ("Weather?", "Sure?")]
        await close()
    return answers


def script() -> list[Any]:
    """A call with reasoning and a search, its answer, and another one."""
    first = answer(thought(), searched(), called())
    second = answer(thought("ah", "rs_2"), said("Rain."), response_id="resp_2")
    return [streamed(first), streamed(second), streamed(answer(said("Yes.", "msg_2"), response_id="resp_3"))]


@pytest.mark.parametrize("loop", LOOPS)
async def test_a_whole_conversation_goes_back_as_it_came(loop: str) -> None:
    """Reasoning, the search of the service and the call are in the next requests to the letter."""
    async with serving(*script()) as service:
        assert await turns(loop, service) == ["Rain.", "Yes."]
    result = {"type": "function_call_output", "call_id": "call_fc_1", "output": "rain in Paris"}
    first = [{"role": "user", "content": "Weather?"}, thought(), searched(), called(), result]
    assert service.bodies[1]["input"] == first
    assert service.bodies[2]["input"] == [
        *first,
        thought("ah", "rs_2"),
        said("Rain."),
        {"role": "user", "content": "Sure?"},
    ]


@pytest.mark.parametrize("loop", LOOPS)
async def test_a_chained_conversation_sends_nothing_twice(loop: str) -> None:
    """Each request has what came after the last answer."""
    async with serving(*script()) as service:
        assert await turns(loop, service, enable_state=True) == ["Rain.", "Yes."]
    assert [body.get("previous_response_id") for body in service.bodies] == [None, "resp_1", "resp_2"]
    assert [body["input"] for body in service.bodies] == [
        [{"role": "user", "content": "Weather?"}],
        [{"type": "function_call_output", "call_id": "call_fc_1", "output": "rain in Paris"}],
        [{"role": "user", "content": "Sure?"}],
    ]
