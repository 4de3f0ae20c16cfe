"""The embedded model itself, in this process: slow tests, few and short. What it says is not judged, only how."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from tests.modules.llama_server import embedded_model
from tests.modules.local_world import asking

from amplifier_core.hooks import HookRegistry
from amplifier_core.message_models import ChatRequest, Message, ResponseFormatJsonSchema, TextBlock, ToolSpec
from amplifier_core.testing import EventRecorder, TestCoordinator
from amplifier_modkit.turns.schemas import Schema
from amplifier_module_provider_local.config import LocalConfig
from amplifier_module_provider_local.engines import ENGINES
from amplifier_module_provider_local.errors import FetchError
from amplifier_module_provider_local.provider import LocalProvider

pytestmark = pytest.mark.slow

CALCULATE = ToolSpec(
    name="calculate",
    description="Calculates the value of an arithmetic expression.",
    parameters={"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]},
)
TRIP = ToolSpec(
    name="book_trip",
    description="Books a trip.",
    parameters={
        "type": "object",
        "properties": {
            "to": {"$ref": "#/$defs/Place"},
            "class": {"enum": ["first", "second"]},
            "days": {"type": "integer", "minimum": 1, "maximum": 30},
            "wishes": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
            "price": {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5},
            "name": {"type": "string", "pattern": "^[A-Z][a-z]{1,8}$"},
            "seat": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
        "required": ["to", "class", "days", "wishes", "price", "name", "seat"],
        "$defs": {
            "Place": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "abroad": {"type": "boolean"}},
                "required": ["city", "abroad"],
            }
        },
    },
)


@pytest.fixture(scope="module", autouse=True)
def _loaded_model() -> Iterator[None]:
    """Keeps the model loaded from the first test to the last; skips where it cannot be had."""
    try:
        keeper = provider_with(None)
    except FetchError as error:
        pytest.skip(str(error))
    asyncio.run(keeper.prepare())
    yield
    asyncio.run(keeper.close())


@pytest.fixture
async def provider() -> AsyncIterator[LocalProvider]:
    """A provider of the embedded model."""
    provider = provider_with(None)
    yield provider
    await provider.close()


def provider_with(hooks: HookRegistry | None) -> LocalProvider:
    """A provider with a small window, which loads sooner."""
    return LocalProvider(LocalConfig(model_path=embedded_model(), context_window=1024), hooks=hooks)


def text_of(response: Any) -> str:
    """The text of a response with one block."""
    (block,) = response.content
    assert isinstance(block, TextBlock)
    return block.text


async def test_it_streams_counts_and_remembers_the_beginning() -> None:
    """Pieces make up the answer; the same again is the same answer, for which the prompt need not be read."""
    coordinator, seen = TestCoordinator(), EventRecorder()
    coordinator.hooks.register("llm:stream_block_delta", seen)
    provider = provider_with(coordinator.hooks)
    request = asking("Count from one to ten.", max_output_tokens=6)
    first, second = await provider.complete(request), await provider.complete(request)
    assert first.usage is not None
    assert second.usage is not None
    assert (first.finish_reason, first.usage.output_tokens) == ("length", 6)
    assert (
        text_of(first) == text_of(second) == "".join(data["text"] for _, data in seen.events[: len(seen.events) // 2])
    )
    assert (second.usage.cache_read_tokens or 0) > (first.usage.cache_read_tokens or 0)
    await provider.close()


async def test_it_calls_a_tool_and_then_tells_the_result(provider: LocalProvider) -> None:
    """The expression is the user's; the answer has the number that the tool gave."""
    asked = [Message(role="user", content="What is 17 * 23?")]
    response = await provider.complete(ChatRequest(messages=asked, tools=[CALCULATE]))
    (call,) = provider.parse_tool_calls(response)
    assert (call.name, call.arguments) == ("calculate", {"expression": "17 * 23"})
    said = Message(role="assistant", content=response.content)
    result = Message(role="tool", tool_call_id=call.id, content="391")
    answer = await provider.complete(ChatRequest(messages=[*asked, said, result], tools=[CALCULATE]))
    assert (answer.tool_calls, "391" in text_of(answer)) == (None, True)


async def test_arguments_of_any_shape_fit_their_schema(provider: LocalProvider) -> None:
    """References, choices, limits, patterns and nesting are obeyed by a model that understands none of them."""
    request = asking("A trip to Rome for 5 days for Ada, second class.", tools=[TRIP], tool_choice="required")
    response = await provider.complete(request)
    (call,) = provider.parse_tool_calls(response)
    assert Schema(TRIP.parameters).complaint(call.arguments) is None
    assert (call.arguments["class"], call.arguments["days"]) == ("second", 5)


async def test_an_answer_of_a_given_form_has_it(provider: LocalProvider) -> None:
    """The schema is a grammar for the model."""
    schema = {"type": "object", "properties": {"sky": {"enum": ["blue", "green"]}}, "required": ["sky"]}
    schema["additionalProperties"] = False
    wanted = ResponseFormatJsonSchema(json_schema=schema)
    response = await provider.complete(asking("What colour is the sky?", response_format=wanted))
    assert json.loads(text_of(response)) in ({"sky": "blue"}, {"sky": "green"})


async def test_a_cancelled_answer_leaves_the_model_to_the_next_one() -> None:
    """The coroutine returns at once, and the model is free again without anybody waiting for the whole answer."""
    coordinator, has_begun = TestCoordinator(), asyncio.Event()

    async def note(event: str, data: dict[str, Any]) -> None:
        has_begun.set()

    coordinator.hooks.register("llm:stream_block_delta", note)
    provider = provider_with(coordinator.hooks)
    task = asyncio.create_task(provider.complete(asking("Tell a very long story.", max_output_tokens=900)))
    await has_begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(20):
        await provider.complete(asking("Hi", max_output_tokens=1))
    await provider.close()


async def test_two_providers_share_the_loaded_model() -> None:
    """The model goes with the last of them."""
    config = LocalConfig(model_path=embedded_model(), context_window=512)
    first, second, before = LocalProvider(config), LocalProvider(config), len(ENGINES)
    await asyncio.gather(first.prepare(), second.prepare())
    assert len(ENGINES) == before + 1
    await first.close()
    assert len(ENGINES) == before + 1
    await second.close()
    assert len(ENGINES) == before
