"""The vendor's own library as an oracle: what it sends we send, and what it reads we read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import TypeAdapter
from tests.modkit.responses_world import (
    MODEL,
    answer,
    answered,
    asked,
    called,
    said,
    searched,
    stream_of,
    thought,
    told,
    wire,
)

from amplifier_core.message_models import (
    ChatResponse,
    ImageBlock,
    Message,
    ResponseFormatJsonSchema,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolSpec,
)
from amplifier_modkit.llm.http import to_json_bytes

if TYPE_CHECKING:
    # Importing the library takes a second, which only these tests are to wait for.
    import httpx2
    from openai import OpenAI
    from openai.types.responses import Response

WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def client_for(reply: bytes, seen: list[httpx2.Request], content_type: str = "application/json") -> OpenAI:
    """The library in front of a service that always replies the same."""
    import httpx2
    import openai

    def handle(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200, content=reply, headers={"content-type": content_type})

    transport = httpx2.MockTransport(handle)
    return openai.OpenAI(api_key="k", http_client=httpx2.Client(transport=transport), max_retries=0)


@pytest.mark.slow
def test_a_request_is_what_the_library_would_send() -> None:
    """Instructions, history with reasoning and calls, images, tools, choice, format, effort, limits: to the letter."""
    first = wire().read_answer(answer(thought(), called()))
    image = {"type": "base64", "media_type": "image/png", "data": "AA=="}
    request = asked(
        Message(role="system", content="Be brief."),
        Message(role="user", content=[TextBlock(text="What is it?"), ImageBlock(source=image)]),
        answered(first),
        Message(role="tool", tool_call_id="call_fc_1", content="rain"),
        tools=[ToolSpec(name="weather", description="Tells it.", parameters=WEATHER)],
        tool_choice="weather",
        response_format=ResponseFormatJsonSchema(json_schema=WEATHER, strict=True),
        reasoning_effort="high",
        max_output_tokens=99,
    )
    seen: list[httpx2.Request] = []
    create: Any = client_for(json.dumps(answer(said("a"))).encode(), seen).responses.create
    create(
        model=MODEL,
        instructions="Be brief.",
        input=[
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "What is it?"},
                    {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AA=="},
                ],
            },
            *client_for(json.dumps(answer(thought(), called())).encode(), []).responses.create(input="x").output,
            {"type": "function_call_output", "call_id": "call_fc_1", "output": "rain"},
        ],
        tools=[
            {"type": "function", "name": "weather", "description": "Tells it.", "parameters": WEATHER, "strict": False}
        ],
        tool_choice={"type": "function", "name": "weather"},
        text={"format": {"type": "json_schema", "name": "answer", "schema": WEATHER, "strict": True}},
        reasoning={"effort": "high"},
        max_output_tokens=99,
        include=["reasoning.encrypted_content"],
        store=False,
        stream=False,
    )
    from openai.types.responses import ResponseCreateParams

    ours = to_json_bytes(wire().to_call(request, MODEL, stream=False).body)
    assert json.loads(ours) == json.loads(seen[0].content)
    TypeAdapter(ResponseCreateParams).validate_python(json.loads(ours))


@pytest.mark.slow
def test_an_answer_says_what_the_library_reads_in_it() -> None:
    """Text, summary of the reasoning, calls, tokens; streamed or not."""
    body = answer(thought("hm"), searched(), said("Hello "), said("there.", "msg_2"), called('{"city":"Köln"}'))
    theirs = client_for(json.dumps(body).encode(), []).responses.create(model=MODEL, input="x")
    assert said_by(wire().read_answer(body)) == said_in(theirs)
    frames = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in stream_of(body))
    client = client_for(frames.encode(), [], "text/event-stream")
    with client.responses.stream(model=MODEL, input="x") as stream:
        deltas = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        final = stream.get_final_response()
    response, pieces = told(body)
    assert said_by(response) == said_in(final)
    assert "".join(piece.text for piece in pieces if (piece.kind, piece.block_type) == ("delta", "text")) == deltas


def said_by(response: ChatResponse) -> dict[str, Any]:
    """What we read."""
    usage = response.usage
    assert usage is not None
    return {
        "text": "".join(block.text for block in response.content if isinstance(block, TextBlock)),
        "thinking": [block.thinking for block in response.content if isinstance(block, ThinkingBlock)],
        "calls": [
            (block.id, block.name, block.input) for block in response.content if isinstance(block, ToolCallBlock)
        ],
        "tokens": (usage.input_tokens, usage.output_tokens, usage.total_tokens),
        "details": (usage.cache_read_tokens, usage.cache_write_tokens, usage.reasoning_tokens),
    }


def said_in(response: Response) -> dict[str, Any]:
    """What the library reads."""
    usage = response.usage
    assert usage is not None
    into, out = usage.input_tokens_details, usage.output_tokens_details
    calls = [item for item in response.output if item.type == "function_call"]
    return {
        "text": response.output_text,
        "thinking": [item.summary[0].text for item in response.output if item.type == "reasoning"],
        "calls": [(item.call_id, item.name, json.loads(item.arguments)) for item in calls],
        "tokens": (usage.input_tokens, usage.output_tokens, usage.total_tokens),
        "details": (into.cached_tokens, into.cache_write_tokens, out.reasoning_tokens),
    }
