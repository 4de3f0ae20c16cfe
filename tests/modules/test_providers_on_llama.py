"""Whole agent turns on a real model: every loop with the embedded model, and over sockets with llama.cpp's server.

The model is very small, so what is asserted is how a turn goes: a call that fits the tool, its result, an answer.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest
from tests.modules.llama_server import LlamaServer, embedded_model, llama_server

from amplifier_core import AmplifierSession, ToolResult
from amplifier_modkit.messages import text_of
from amplifier_module_provider_local.config import LocalConfig
from amplifier_module_provider_local.provider import LocalProvider

__all__ = ["llama_server"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

LOOPS = ("loop-basic", "loop-streaming", "loop-events")
BY_SOCKET = {
    "provider-chat-completions": "/v1",
    "provider-openai": "/v1",
    "provider-anthropic": "",
}


class WeatherTool:
    """Tells the weather of any city; remembers which it was asked for."""

    name, description = "get_weather", "weather of a city"
    input_schema = {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 20}},
        "required": ["city"],
    }

    def __init__(self) -> None:
        self.cities: list[str] = []

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        self.cities.append(input["city"])
        return ToolResult(output="rain, 4 degrees")


async def turn(loop: str, provider: dict[str, Any]) -> tuple[str, list[str], list[dict[str, Any]], list[str]]:
    """One turn: the answer, the cities asked for, the transcript, and the pieces that streamed."""
    # One round with tools, then the answer: a model of this size may well want the same tool for ever.
    limits = {"max_iterations": 1, "max_output_tokens": 40, "temperature": 0.0}
    plan = {
        "session": {"orchestrator": loop, "context": "context-simple"},
        "orchestrator": {"config": limits},
        "providers": [provider],
    }
    tool, pieces = WeatherTool(), list[str]()

    async def note(event: str, data: dict[str, Any]) -> None:
        pieces.append(data["text"])

    async with AmplifierSession(plan) as session:
        assert session.report.failed == []
        session.coordinator.mount("tools", tool)
        session.coordinator.hooks.register("llm:stream_block_delta", note)
        answer = await session.execute("weather in Paris?")
        transcript = await session.coordinator.get("context").get_messages()
    return answer, tool.cities, transcript, pieces


@pytest.fixture(scope="module")
def local_config() -> Iterator[dict[str, Any]]:
    """The config of a model that stays loaded from the first turn to the last, as in a process with many sessions."""
    config = {"model_path": str(embedded_model()), "context_window": 1024}
    keeper = LocalProvider(LocalConfig.read(config))
    asyncio.run(keeper.prepare())
    yield config
    asyncio.run(keeper.close())


@pytest.mark.parametrize("loop", LOOPS)
async def test_a_turn_with_the_embedded_model(loop: str, local_config: dict[str, Any]) -> None:
    """It calls the tool with the city of the question, and puts the result into words."""
    answer, cities, transcript, pieces = await turn(loop, {"module": "provider-local", "config": local_config})
    assert cities == ["Paris"]
    assert [message["role"] for message in transcript] == ["user", "assistant", "tool", "assistant"]
    assert text_of(transcript[-1]["content"]) == answer != ""
    assert answer in "".join(pieces)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("module", BY_SOCKET)
async def test_a_turn_with_a_server_nobody_here_wrote(loop: str, module: str, llama_server: LlamaServer) -> None:
    """Over the wire format of each vendor a call comes, its result goes back, and an answer streams."""
    if importlib.util.find_spec(f"amplifier_module_{module.replace('-', '_')}") is None:
        pytest.skip(f"{module} is not installed")
    config = {
        "api_key": llama_server.api_key,
        "base_url": llama_server.base_url + BY_SOCKET[module],
        "default_model": llama_server.model,
        "max_retries": 0,
    }
    answer, cities, transcript, pieces = await turn(loop, {"module": module, "config": config})
    assert [message["role"] for message in transcript] == ["user", "assistant", "tool", "assistant"]
    assert cities == ["Paris"]
    assert text_of(transcript[-1]["content"]) == answer != ""
    assert answer in "".join(pieces)
