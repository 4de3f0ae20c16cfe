"""What a model answered, in every form that providers give it: text, calls, and the message that keeps both."""

from __future__ import annotations

from typing import Any

import pytest

from amplifier_core.message_models import ChatResponse, TextBlock, ThinkingBlock, ToolCall, ToolCallBlock
from amplifier_core.testing import MockProvider, SequentialIds
from amplifier_modkit.turns.calls import RequestedCall
from amplifier_modkit.turns.replies import Reply, read_reply, without_calls


def read(response: Any) -> Reply:
    """The reply in a response of a provider that keeps its calls in ``tool_calls``."""
    return read_reply(MockProvider(), response, SequentialIds())


def test_a_single_text_is_kept_as_text() -> None:
    """The plainest answer has the plainest message."""
    reply = read(ChatResponse(content=[TextBlock(text="hello")]))
    assert (reply.text, reply.calls, reply.message) == ("hello", [], {"role": "assistant", "content": "hello"})


def test_all_text_blocks_are_the_answer_and_all_blocks_are_kept() -> None:
    """Thinking with its signature, and text before and behind it, stay in order."""
    content = [TextBlock(text="First."), ThinkingBlock(thinking="hm", signature="s"), TextBlock(text="Second.")]
    reply = read(ChatResponse(content=content))
    assert reply.text == "First.\n\nSecond."
    assert reply.message == {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "First."},
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "Second."},
        ],
    }


def test_a_block_with_more_than_its_text_stays_a_block() -> None:
    """Vendor data such as citations survive."""
    block = {"type": "text", "text": "x", "citations": [1]}
    assert read(ChatResponse(content=[block])).message["content"] == [block]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("content", [[], [TextBlock(text="")], "", None])
def test_an_empty_answer_is_an_empty_text(content: Any) -> None:
    """Whatever form nothing has."""
    reply = read(ChatResponse.model_construct(content=content, tool_calls=None, usage=None, finish_reason="stop"))
    assert (reply.text, reply.message) == ("", {"role": "assistant", "content": ""})


def test_a_text_beside_the_content_counts_where_the_content_has_none() -> None:
    """Some providers give ``text`` themselves; one that is no text is ignored."""
    assert read(ChatResponse(content=[], text="beside")).message == {"role": "assistant", "content": "beside"}  # pyright: ignore[reportCallIssue]
    assert read(ChatResponse(content=[TextBlock(text="inside")], text="beside")).text == "inside"  # pyright: ignore[reportCallIssue]
    assert read(ChatResponse(content=[], text=5)).text == ""  # pyright: ignore[reportCallIssue]
    assert read(ChatResponse.model_construct(content="just text", tool_calls=None)).text == "just text"


def test_calls_stand_in_the_blocks_and_in_the_list() -> None:
    """Readers of either form find the same calls."""
    block = ToolCallBlock(id="a", name="t", input={"n": 1})
    call = ToolCall(id="a", name="t", arguments={"n": 1})
    reply = read(ChatResponse(content=[TextBlock(text="look"), block], tool_calls=[call]))
    assert reply.calls == [RequestedCall("a", "t", {"n": 1})]
    assert reply.message == {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "look"},
            {"type": "tool_call", "id": "a", "name": "t", "input": {"n": 1}},
        ],
        "tool_calls": [{"id": "a", "name": "t", "tool": "t", "arguments": {"n": 1}}],
    }


@pytest.mark.parametrize(
    "content", [[], "", [TextBlock(text="")], [ToolCallBlock(id="other", name="t", input={})]], ids=repr
)
def test_blocks_are_made_for_calls_that_the_provider_keeps_elsewhere(content: Any) -> None:
    """What the content says about calls is replaced, and an empty text, which vendors refuse, is dropped."""
    response = ChatResponse.model_construct(content=content, tool_calls=[{"id": "a", "name": "t", "arguments": None}])
    assert read(response).message["content"] == [{"type": "tool_call", "id": "a", "name": "t", "input": {}}]


def test_two_calls_of_one_id_are_kept_with_the_ids_that_their_results_will_have() -> None:
    """Blocks, list and calls agree on the ids, so that each result finds its call."""
    calls = [ToolCall(id="twin", name=name, arguments={}) for name in ("t", "u")]
    blocks: list[Any] = [ToolCallBlock(id=call.id, name=call.name, input={}) for call in calls]
    reply = read(ChatResponse(content=blocks, tool_calls=calls))
    ids = ["twin", "call_id-1"]
    assert [call.id for call in reply.calls] == ids
    assert [block["id"] for block in reply.message["content"]] == ids
    assert [call["id"] for call in reply.message["tool_calls"]] == ids


@pytest.mark.parametrize("arguments", ['{"n": 1', "[1]", [1], 5, None])
def test_arguments_that_are_no_object_are_not_kept(arguments: Any) -> None:
    """Vendors refuse a history with such a call; its result tells the model what was wrong."""
    call = ToolCall.model_construct(id="a", name="t", arguments=arguments)
    reply = read(ChatResponse.model_construct(content=[], tool_calls=[call]))
    assert (reply.calls[0].arguments, reply.message["tool_calls"][0]["arguments"]) == (arguments, {})
    assert reply.message["content"] == [{"type": "tool_call", "id": "a", "name": "t", "input": {}}]


def test_a_block_whose_input_is_no_object_is_not_kept_either() -> None:
    """Even if it has the id of the call: the next request must be one that a model accepts."""
    block = {"type": "tool_use", "id": "a", "name": "t", "input": '{"n": 1'}
    call = ToolCall.model_construct(id="a", name="t", arguments='{"n": 1')
    reply = read(ChatResponse.model_construct(content=[block], tool_calls=[call]))
    assert reply.message["content"] == [{"type": "tool_call", "id": "a", "name": "t", "input": {}}]


def test_the_message_shares_nothing_with_the_response() -> None:
    """Whoever changes the response, or the call, later does not change what is kept."""
    arguments = {"deep": {"n": 1}}
    block = ToolCallBlock(id="a", name="t", input=arguments)
    reply = read(ChatResponse(content=[block], tool_calls=[ToolCall(id="a", name="t", arguments=arguments)]))
    reply.response.content[0].input["deep"]["n"] = 2  # pyright: ignore[reportAttributeAccessIssue]
    assert reply.response.tool_calls is not None
    reply.response.tool_calls[0].arguments["deep"]["n"] = 3
    assert reply.message["content"][0]["input"] == {"deep": {"n": 1}}
    assert reply.message["tool_calls"][0]["arguments"] == {"deep": {"n": 1}}


@pytest.mark.parametrize("reason", ["refusal", "content_filter", "SAFETY", "Recitation", "prohibited_content"])
def test_a_refusal_is_known_by_its_finish_reason(reason: str) -> None:
    """In whatever case the vendor writes it."""
    assert read(ChatResponse(content=[], finish_reason=reason)).is_refusal


@pytest.mark.parametrize("reason", [None, "", "stop", "length", "tool_calls"])
def test_every_other_end_is_no_refusal(reason: str | None) -> None:
    """Also when there is no reason at all."""
    assert not read(ChatResponse(content=[], finish_reason=reason)).is_refusal


def test_calls_that_will_not_be_run_are_left_out_of_the_message() -> None:
    """What was said stays; the response itself is still there to look at."""
    block, call = ToolCallBlock(id="a", name="t", input={}), ToolCall(id="a", name="t", arguments={})
    reply = read(ChatResponse(content=[TextBlock(text="I would look"), block], tool_calls=[call]))
    bare = without_calls(reply)
    assert (bare.calls, bare.text, bare.message) == (
        [],
        "I would look",
        {"role": "assistant", "content": "I would look"},
    )
    assert bare.response is reply.response
    silent = without_calls(read(ChatResponse(content=[block], tool_calls=[call])))
    assert silent.message == {"role": "assistant", "content": ""}


def test_a_reply_without_calls_stays_what_it_is_without_them() -> None:
    """Text content is left alone."""
    reply = read(ChatResponse(content=[TextBlock(text="done")]))
    assert without_calls(reply).message == reply.message


def test_a_provider_that_finds_no_calls_may_say_so_with_none() -> None:
    """Nothing found is an empty list, however it is said."""

    class Sparse(MockProvider):
        def parse_tool_calls(self, response: ChatResponse) -> Any:
            return None

    assert read_reply(Sparse(), ChatResponse(content=[TextBlock(text="x")]), SequentialIds()).calls == []
