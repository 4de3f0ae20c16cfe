"""The current SDK as the oracle: it takes what we send, and reads from answers and streams what we read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.modkit.chat_world import USAGE, answer, chunk, request_of, streamed, wire_of

from amplifier_core.message_models import (
    ImageBlock,
    Message,
    ResponseFormatJsonSchema,
    TextBlock,
    ToolCallBlock,
    ToolSpec,
)
from amplifier_modkit.llm_chat.dialect import Dialect

pytestmark = pytest.mark.slow  # importing the SDK takes most of a second

CALLS = [
    {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2, "b": "größer"}'}},
    {"id": "c2", "type": "function", "function": {"name": "now", "arguments": "{}"}},
]
MESSAGE = {"role": "assistant", "content": "Let me see.", "tool_calls": CALLS, "refusal": None}
FRAME = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}


def conversation() -> Any:
    """A request with everything that the protocol has a place for."""
    picture = ImageBlock(source={"type": "base64", "media_type": "image/png", "data": "QUJD"})
    return request_of(
        Message(role="system", content="Be brief."),
        Message(role="user", content=[TextBlock(text="What is this?"), picture]),
        Message(role="assistant", content=[TextBlock(text="Hm."), ToolCallBlock(id="c1", name="add", input={"a": 2})]),
        Message(role="tool", tool_call_id="c1", content="5"),
        "And now?",
        tools=[ToolSpec(name="add", description="Adds.", parameters={"type": "object", "properties": {}})],
        tool_choice={"type": "tool", "name": "add"},
        temperature=0.0,
        max_output_tokens=5,
        stop=["END"],
        reasoning_effort="low",
        response_format=ResponseFormatJsonSchema(json_schema={"type": "object"}, strict=True),
    )


@pytest.mark.parametrize("key", ["max_tokens", "max_completion_tokens"])
def test_the_sdk_sends_the_same_bytes_for_the_same_meaning(key: Any) -> None:
    """Our body fits its types, and given to it as arguments goes over the wire unchanged."""
    import httpx2
    from openai import OpenAI
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
    from pydantic import ConfigDict, TypeAdapter

    body = wire_of(Dialect(max_tokens_key=key)).to_call(conversation(), "m", stream=False).body
    CompletionCreateParamsNonStreaming.__pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[attr-defined]
    TypeAdapter(CompletionCreateParamsNonStreaming).validate_python(body)
    seen: list[httpx2.Request] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200, json=answer(MESSAGE, id="x", created=1, model="m", object="chat.completion"))

    client = OpenAI(
        api_key="k", base_url="http://test/v1", http_client=httpx2.Client(transport=httpx2.MockTransport(handle))
    )
    client.chat.completions.create(**body)
    assert (seen[0].url.path, json.loads(seen[0].content)) == ("/v1/chat/completions", body)
    assert seen[0].headers["authorization"] == "Bearer k"


def meaning_of(message: Any) -> Any:
    """What the SDK found in a message."""
    calls = [(call.id, call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or ()]
    return message.content, calls


def our_meaning(response: Any) -> Any:
    """What we found."""
    said = [block.text for block in response.content if isinstance(block, TextBlock)]
    calls = [(call.id, call.name, call.arguments) for call in response.tool_calls or ()]
    return "".join(said), calls


def test_a_whole_answer_means_the_same_to_the_sdk() -> None:
    """Text, calls, end and tokens."""
    from openai.types.chat import ChatCompletion

    details = {"prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 1}}
    whole = answer(MESSAGE, "tool_calls", id="x", created=1, model="m", object="chat.completion")
    body = {**whole, "usage": {**USAGE, **details}}
    parsed, ours = ChatCompletion.model_validate(body), wire_of().read_answer(body)
    assert meaning_of(parsed.choices[0].message) == our_meaning(ours)
    assert (parsed.choices[0].finish_reason, parsed.id) == (ours.finish_reason, (ours.metadata or {})["id"])
    assert parsed.usage is not None
    assert ours.usage is not None
    assert (parsed.usage.prompt_tokens, parsed.usage.completion_tokens) == (
        ours.usage.input_tokens,
        ours.usage.output_tokens,
    )
    assert (ours.usage.cache_read_tokens, ours.usage.reasoning_tokens) == (4, 1)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_stream_means_the_same_to_the_sdk(size: int) -> None:
    """However it is cut."""
    from openai.lib.streaming.chat import ChatCompletionStreamState
    from openai.types.chat import ChatCompletionChunk

    def cut(text: str) -> list[str]:
        return [text[at : at + size] for at in range(0, len(text), size)]

    chunks = [chunk({"role": "assistant", "content": ""}), *(chunk({"content": text}) for text in cut("Let me see."))]
    for index, call in enumerate(CALLS):
        function: Any = call["function"]
        head = {"index": index, "id": call["id"], "type": "function", "function": {**function, "arguments": ""}}
        tail = [{"index": index, "function": {"arguments": text}} for text in cut(function["arguments"])]
        chunks += [chunk({"tool_calls": [each]}) for each in (head, *tail)]
    chunks += [chunk({}, "tool_calls"), {"choices": [], "usage": USAGE}]
    state: Any = ChatCompletionStreamState()
    for each in chunks:
        state.handle_chunk(ChatCompletionChunk.model_validate({**FRAME, **each}))
    parsed = state.get_final_completion()
    ours, _ = streamed([*({**FRAME, **each} for each in chunks), "[DONE]"])
    assert meaning_of(parsed.choices[0].message) == our_meaning(ours)
    assert ours.usage is not None
    assert (parsed.choices[0].finish_reason, parsed.usage.total_tokens) == (ours.finish_reason, ours.usage.total_tokens)
