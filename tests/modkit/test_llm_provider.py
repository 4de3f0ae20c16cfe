"""A provider over HTTP: what it does in the same way for every vendor."""

from __future__ import annotations

import logging
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from tests.modkit.llm_world import KEY, TOY, Told, answer, make_toy, question, stream, text_of
from tests.modules.llm_server import json_answer, serving, sse_answer

from amplifier_core.events import (
    LLM_REQUEST,
    LLM_RESPONSE,
    PROVIDER_TOOL_SEQUENCE_REPAIRED,
)
from amplifier_core.interfaces import Provider
from amplifier_core.message_models import (
    ChatRequest,
    ChatResponse,
    Degradation,
    Message,
    ToolCall,
    ToolCallBlock,
    ToolSpec,
)
from amplifier_core.models import ProviderInfo
from amplifier_modkit.events import (
    LLM_STREAM_BLOCK_DELTA,
    LLM_STREAM_BLOCK_START,
)
from amplifier_modkit.llm.names import safe_name


async def test_a_streamed_call_is_told_from_beginning_to_end() -> None:
    """All events have one request id; pieces are numbered within their block; the response is the whole."""
    async with serving(stream("a", "b", tokens=3)) as server:
        told = Told()
        provider = make_toy(server.url, told.hooks)
        assert isinstance(provider, Provider)
        response = await provider.complete(question())
        await provider.close()
    assert text_of(response) == "ab"
    block = {"block_index": 0, "block_type": "text"}
    (request_id,) = {data["request_id"] for _, data in told.events}
    sent = [
        (event, {k: v for k, v in data.items() if k not in ("timestamp", "request_id")}) for event, data in told.events
    ]
    duration_ms = sent[-1][1].pop("duration_ms")
    call = {"provider": "toy", "model": "toy-2"}
    usage = {"input_tokens": 3, "output_tokens": 1, "total_tokens": 4}
    assert sent == [
        (LLM_REQUEST, {**call, "message_count": 1, "has_system": False}),
        (LLM_STREAM_BLOCK_START, block),
        (LLM_STREAM_BLOCK_DELTA, {**block, "sequence": 0, "text": "a"}),
        (LLM_STREAM_BLOCK_DELTA, {**block, "sequence": 1, "text": "b"}),
        (LLM_RESPONSE, {**call, "status": "ok", "usage": usage}),
    ]
    assert isinstance(request_id, str)
    assert duration_ms > 0
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert server.requests[0].headers["x-toy"] == "1"
    assert server.requests[0].headers["accept"] == "text/event-stream"


@pytest.mark.parametrize(
    ("settings", "wishes", "streams"),
    [
        ({}, {}, True),
        ({"use_streaming": False}, {}, False),
        ({}, {"metadata": {"stream": False}}, False),
        ({}, {"metadata": {"stream": True}}, True),
    ],
)
async def test_streaming_can_be_switched_off(settings: dict[str, Any], wishes: dict[str, Any], streams: bool) -> None:
    """For all calls by the config, for one by its request."""
    async with serving(answer()) as server:
        provider = make_toy(server.url, **settings)
        await provider.complete(question(**wishes))
        await provider.close()
    assert server.bodies[0]["stream"] is streams


async def test_wishes_go_to_the_wire_and_what_is_not_granted_is_told() -> None:
    """The request's model goes before the default; keywords are wishes; all degradations are in one."""
    async with serving(answer(), answer()) as server:
        provider = make_toy(server.url, use_streaming=False, default_model="toy-1")
        response = await provider.complete(question(model="toy-9", temperature=0.0, top_p=0.5), extended_thinking=True)
        await provider.complete(question())
        await provider.close()
    assert response.degradation == Degradation(
        requested="temperature; top_p", actual="none; none", reason="a toy has no temperature; a toy has no top_p"
    )
    assert [body["model"] for body in server.bodies] == ["toy-9", "toy-1"]
    assert server.bodies[0]["extended_thinking"] is True


async def test_a_gap_in_the_history_is_filled_and_told() -> None:
    """The request goes out in order; the event says what was done."""
    history = [
        Message(role="user", content="read"),
        Message(role="assistant", content=[ToolCallBlock(id="1", name="read", input={})]),
        Message(role="user", content="well?"),
    ]
    async with serving(answer()) as server:
        told = Told()
        provider = make_toy(server.url, told.hooks)
        await provider.complete(ChatRequest(messages=history))
        await provider.close()
    (repaired,) = told.of(PROVIDER_TOOL_SEQUENCE_REPAIRED)
    repairs = [{"kind": "missing_result", "tool_call_id": "1", "tool_name": "read"}]
    assert (repaired["provider"], repaired["repair_count"], repaired["repairs"]) == ("toy", 1, repairs)
    assert [text.partition(":")[0] for text in server.bodies[0]["texts"]] == ["user", "assistant", "tool", "user"]


@pytest.mark.parametrize("streams", [True, False])
async def test_a_tool_keeps_its_name_whatever_the_wire_calls_it(streams: bool) -> None:
    """Calls come back under the name that the tool has, in the content, in the list, and in what is told."""
    call = {"id": "1", "name": safe_name("files.read"), "args": '{"a": 1}'}
    frames = [(None, {"call": call}), (None, {"done": True})]
    async with serving(sse_answer(frames) if streams else answer("hm", calls=[call])) as server:
        told = Told()
        provider = make_toy(server.url, told.hooks, use_streaming=streams)
        tools = [ToolSpec(name="files.read", parameters={})]
        response = await provider.complete(question(tools=tools))
        await provider.close()
    assert server.bodies[0]["tools"] == [safe_name("files.read")]
    assert provider.parse_tool_calls(response) == [ToolCall(id="1", name="files.read", arguments={"a": 1})]
    assert [block.name for block in response.content if isinstance(block, ToolCallBlock)] == ["files.read"]
    assert [data["name"] for data in told.of(LLM_STREAM_BLOCK_START)] == (["files.read"] if streams else [])


async def test_calls_are_found_in_the_content_where_none_are_listed() -> None:
    """A response of another kind is read as well."""
    provider = make_toy("http://127.0.0.1:9")
    response = ChatResponse(content=[ToolCallBlock(id="1", name="read", input={"a": 1})])
    assert provider.parse_tool_calls(response) == [ToolCall(id="1", name="read", arguments={"a": 1})]
    assert provider.parse_tool_calls(ChatResponse(content=[])) == []


async def test_answers_cost_what_their_model_costs() -> None:
    """The model that answered counts, else the one that was asked; the sum is what the provider offers."""
    async with serving(
        answer(tokens=1_000_000, model="gpt-6-luna"), answer(tokens=1_000_000), answer(tokens=1), answer()
    ) as server:
        provider = make_toy(server.url, use_streaming=False)
        assert provider.cost() is None
        asked = [await provider.complete(question(model=model)) for model in (None, "gpt-6-luna", None, None)]
        await provider.close()
    costs = [response.usage.cost_usd if response.usage else None for response in asked]
    # A million tokens of a call that is longer than most, and one token that came back.
    assert costs == [Decimal("0.20000075"), Decimal("0.20000075"), None, None]
    assert provider.cost() == {"cost_usd": str(sum(filter(None, costs)))}


async def test_it_describes_itself_with_its_settings() -> None:
    """Limits are those of the default model, unless the config says otherwise."""
    info = make_toy("http://127.0.0.1:9", default_model="toy-1", max_tokens=77, priority=3).get_info()
    assert info == ProviderInfo(
        id="toy",
        display_name="Toy",
        credential_env_vars=["TOY_API_KEY", "TOY_KEY"],
        capabilities=["tools", "streaming"],
        defaults={
            "model": "toy-1",
            "context_window": 5_000,
            "max_output_tokens": 77,
            "max_tokens": 77,
            "timeout": 5.0,
        },
    )
    assert make_toy("http://127.0.0.1:9", priority=3).priority == 3


async def test_models_are_asked_for_and_known_ones_stand_in() -> None:
    """The service's list is taken; without it, or with one that cannot be read, those of the catalogue."""
    async with serving(paths={"/models": json_answer({"models": ["toy-1"]})}) as server:
        provider = make_toy(server.url)
        assert [model.id for model in await provider.list_models()] == ["toy-1"]
        server.paths["/models"] = json_answer({"strange": 1})
        assert [model.id for model in await provider.list_models()] == ["toy-2", "gpt-6-luna"]
        await provider.close()


async def test_a_service_that_cannot_list_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    """The warning says why; a vendor without a list has only the known ones and says nothing."""
    provider = make_toy("http://127.0.0.1:9", filtered=False)
    with caplog.at_level(logging.WARNING):
        assert [model.id for model in await provider.list_models()] == ["toy-2", "toy-1", "gpt-6-luna"]
    assert "toy cannot list its models, so the known ones are: toy: the connection failed" in caplog.text
    await provider.close()
    caplog.clear()
    silent = make_toy("http://127.0.0.1:9", vendor=replace(TOY, models_path=None))
    assert len(await silent.list_models()) == 2
    assert caplog.text == ""


async def test_what_goes_over_the_wire_is_told_on_demand() -> None:
    """With ``raw`` both events carry it, and never the key."""
    async with serving(answer("x")) as server:
        told = Told()
        provider = make_toy(server.url, told.hooks, raw=True)
        await provider.complete(question())
        await provider.close()
    assert told.of(LLM_REQUEST)[0]["raw"]["texts"] == ["user: hello"]
    assert told.of(LLM_RESPONSE)[0]["raw"]["content"][0]["text"] == "x"
    assert KEY not in f"{told.events} {provider!r} {provider.settings!r}"


async def test_an_instance_is_told_by_the_name_it_is_mounted_under() -> None:
    """A plan may have several of one module."""
    mounted: dict[str, Any] = {"other": object()}
    async with serving(answer()) as server:
        told = Told()
        provider = make_toy(server.url, told.hooks, mounted=lambda: mounted)
        assert provider.instance_id == "toy"
        mounted["toy-fast"] = provider
        await provider.complete(question())
        await provider.close()
    assert (provider.name, provider.instance_id) == ("toy", "toy-fast")
    assert {data["provider"] for _, data in told.events} == {"toy-fast"}
