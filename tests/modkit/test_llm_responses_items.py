"""What an answer of the Responses API says comes back to the service as it was, whatever is in it."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.modkit.responses_world import (
    MODEL,
    ORIGIN,
    USAGE,
    answer,
    answered,
    asked,
    called,
    cut,
    refused,
    said,
    searched,
    thought,
    told,
    wire,
)

from amplifier_core.llm_errors import InvalidRequestError
from amplifier_core.message_models import ChatResponse, ImageBlock, Message, TextBlock, ThinkingBlock, ToolCallBlock
from amplifier_modkit.turns.replies import read_reply

CUSTOM = {"id": "ct_1", "type": "custom_tool_call", "call_id": "call_ct", "name": "sql", "input": "select 1"}
PATCH = {
    "id": "ap_1",
    "type": "apply_patch_call",
    "call_id": "call_ap",
    "status": "completed",
    "operation": {"type": "delete_file", "path": "a"},
}


def sent(*messages: Message | str, **form: Any) -> list[dict[str, Any]]:
    """The items that messages are sent as."""
    return wire(**form).to_call(asked(*messages), MODEL, stream=False).body["input"]


def read(*output: dict[str, Any]) -> ChatResponse:
    """An answer with those items."""
    return wire().read_answer(answer(*output))


def resent(*output: dict[str, Any], **form: Any) -> list[dict[str, Any]]:
    """The items of an answer as they are sent back."""
    return sent("hi", answered(read(*output)), **form)[1:]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=6,
)
texts = st.text(st.characters(codec="utf-8"), max_size=30)
arguments = st.dictionaries(texts, json_values, max_size=3).map(json.dumps) | texts
parts = st.builds(
    lambda text, note: {"type": "output_text", "text": text, "annotations": note}, texts, st.lists(json_values)
)
messages = st.builds(
    lambda content, phase: {**said("", phase=phase), "content": content},
    st.lists(parts, min_size=1, max_size=3),
    st.sampled_from(["commentary", "final_answer"]),
)
hosted = st.dictionaries(st.sampled_from(["action", "results", "x"]), json_values).map(
    lambda more: {**searched(), **more}
)
calls = st.builds(called, arguments)
others = st.builds(lambda text: {**CUSTOM, "input": text}, texts) | st.just(PATCH) | st.just(refused("no"))
reasonings = st.builds(thought, texts, secret=st.text(min_size=1))
outputs = st.lists(messages | hosted | calls | others | reasonings, min_size=1, max_size=6).map(
    lambda items: [{**item, "id": f"id_{place}"} for place, item in enumerate([*items, said("end")])]
)


@pytest.mark.slow
@given(outputs)
def test_an_answer_comes_back_to_the_service_unchanged(output: list[dict[str, Any]]) -> None:
    """Items of every kind are the same after reading, storing as JSON, and sending; so are those of a stream."""
    for place, item in enumerate(output):
        if "call_id" in item:
            item["call_id"] = f"call_{place}"
    assert resent(*output) == output
    assert told(answer(*output))[0] == read(*output)


@pytest.mark.slow
@given(outputs, st.integers(1, 9))
def test_the_pieces_of_a_stream_are_the_texts_of_its_blocks(output: list[dict[str, Any]], size: int) -> None:
    """Each block that is told has the place and the text that it has in the answer."""
    response, pieces = told(answer(*output), size)
    grown: dict[int, str] = {}
    for piece in pieces:
        if piece.kind == "delta":
            grown[piece.index] = grown.get(piece.index, "") + piece.text
    for index, text in grown.items():
        block = response.content[index]
        if isinstance(block, TextBlock | ThinkingBlock):
            assert text == (block.text if isinstance(block, TextBlock) else block.thinking)
        else:
            assert isinstance(block, ToolCallBlock)
    starts = [piece.index for piece in pieces if piece.kind == "start"]
    assert starts == sorted(set(starts)) == sorted(piece.index for piece in pieces if piece.kind == "end")


def test_a_message_of_several_parts_comes_back_as_one() -> None:
    """Its parts are blocks here, and one item again for the service."""
    parts = [{"type": "output_text", "text": text, "annotations": []} for text in ("One. ", "Two.")]
    message = {**said(""), "content": parts}
    assert [block.text for block in read(message).content if isinstance(block, TextBlock)] == ["One. ", "Two."]
    assert resent(message) == [message]


def test_an_answer_that_a_loop_stored_comes_back_unchanged() -> None:
    """The message that our loops keep has all that is needed."""
    output = [thought(), searched(), said("I look."), called('{ "city": "Rome" }'), called('{"b', item_id="fc_2")]
    provider: Any = SimpleNamespace(parse_tool_calls=lambda response: response.tool_calls)
    reply = read_reply(provider, read(*output), lambda: "new")
    assert [call.arguments for call in reply.calls] == [{"city": "Rome"}, '{"b']
    assert sent("hi", Message.model_validate(json.loads(json.dumps(reply.message))))[1:] == output


def test_an_answer_becomes_blocks_calls_and_usage() -> None:
    """Thinking shows the summary; calls are in the content and beside it; tokens from and to the cache count."""
    response = read(thought("let me see"), said("I look."), called())
    assert [block.type for block in response.content] == ["thinking", "text", "tool_call"]
    assert response.content[0].model_dump()["thinking"] == "let me see"
    assert [(call.id, call.name, call.arguments) for call in response.tool_calls or ()] == [
        ("call_fc_1", "weather", {"city": "Paris"})
    ]
    assert response.usage is not None
    assert response.usage.model_dump(exclude_none=True) == {
        "input_tokens": 100,
        "output_tokens": 20,
        "total_tokens": 120,
        "reasoning_tokens": 5,
        "cache_read_tokens": 40,
        "cache_write_tokens": 10,
    }
    assert response.finish_reason == "tool_calls"
    assert response.metadata == {
        "stop_reason": "completed",
        "response_id": "resp_1",
        "model": MODEL,
        "status": "completed",
    }


@pytest.mark.parametrize(
    ("body", "reason", "word"),
    [
        (answer(said("a")), "stop", "completed"),
        (answer(refused("I cannot.")), "content_filter", "refusal"),
        (cut(said("a")), "length", "max_output_tokens"),
        (cut(said("a"), reason="content_filter"), "content_filter", "content_filter"),
        (cut(said("a"), reason="steered"), "other", "steered"),
        ({**cut(said("a")), "incomplete_details": None}, "other", "incomplete"),
        ({"output": []}, "stop", None),
    ],
    ids=["said all", "refused", "too long", "filtered", "steered", "no reason", "no status"],
)
def test_why_an_answer_ended_is_told_in_our_words_and_in_the_services(body: Any, reason: str, word: str | None) -> None:
    """The finish reason is one of a small set; the service's own word stays beside it."""
    response = wire().read_answer(body)
    assert (response.finish_reason, (response.metadata or {})["stop_reason"]) == (reason, word)


def test_a_refusal_is_text_that_one_can_read() -> None:
    """The words of a refusal are a text block, and go back as a refusal."""
    assert read(refused("I cannot.")).content[0].model_dump()["text"] == "I cannot."
    assert resent(refused("I cannot."))[0]["content"] == [{"type": "refusal", "refusal": "I cannot."}]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", {}),
        ("{}", {}),
        ('{"a": 1}', {"a": 1}),
        ('{"a": ', '{"a": '),
        ("[1]", "[1]"),
        ('{"ü": "日本"}', {"ü": "日本"}),
    ],
    ids=["none", "empty", "spaced", "broken", "a list", "unicode"],
)
def test_arguments_are_read_where_they_can_be_and_come_back_as_they_were(arguments: str, expected: Any) -> None:
    """What is no JSON object stays text, for the loop to answer; the service gets its own text again."""
    response = read(called(arguments))
    assert [call.arguments for call in response.tool_calls or ()] == [expected]
    assert resent(called(arguments))[0] == called(arguments)


def test_a_call_that_was_cut_before_its_arguments_is_not_one_without_arguments() -> None:
    """It is unreadable, so that the loop does not run it."""
    response = wire().read_answer(cut(called("", status="incomplete")))
    assert [call.arguments for call in response.tool_calls or ()] == ["{"]


def test_arguments_that_somebody_changed_are_sent_as_they_are_now() -> None:
    """The stored text of a call counts only while it says the same as its block."""
    message = answered(read(called('{"city": "Paris"}')))
    (block,) = message.content
    assert isinstance(block, ToolCallBlock)
    block.input["city"] = "***"
    assert sent(message)[0]["arguments"] == '{"city":"***"}'


def test_reasoning_goes_back_encrypted_with_what_belongs_to_it() -> None:
    """The item is the same to the letter, and the items after it keep their ids."""
    assert resent(thought(), said("a"), called()) == [thought(), said("a"), called()]


@pytest.mark.parametrize(
    "lost",
    [lambda content: content[1:], lambda content: content[:1], lambda content: [content[0], _foreign(content[1])]],
    ids=["reasoning", "what it led to", "the origin of what it led to"],
)
def test_an_answer_that_is_no_longer_whole_goes_without_ids(lost: Any) -> None:
    """The service refuses ids whose counterpart is missing."""
    content = [block.model_dump() for block in read(thought(), said("a")).content]
    message = Message.model_validate({"role": "assistant", "content": lost(content)})
    items = sent("hi", message)[1:]
    assert items
    assert all("id" not in item for item in items)


def _foreign(block: dict[str, Any]) -> dict[str, Any]:
    return {**block, "vendor": "elsewhere"}


def test_tools_of_the_service_are_left_out_where_the_reasoning_behind_them_is_lost() -> None:
    """They are known by their ids only; what was said stays."""
    content = [block.model_dump() for block in read(thought(), searched(), said("a")).content[1:]]
    message = Message.model_validate({"role": "assistant", "content": content})
    assert [item.get("type") for item in sent("hi", message)[1:]] == ["message"]


def test_reasoning_that_cannot_be_read_again_is_left_out() -> None:
    """Without its encrypted content a reasoning item means something only to a service that stores it."""
    plain = thought(secret=None)
    assert resent(plain, said("a")) == [{key: value for key, value in said("a").items() if key != "id"}]
    assert resent(plain, said("a"), stores=True) == [plain, said("a")]


def test_a_request_can_do_without_reasoning() -> None:
    """Everything else is sent, without ids."""
    request = asked("hi", answered(read(thought(), said("a"))))
    items = wire().to_call(request, MODEL, stream=False, forgets_reasoning=True).body["input"]
    assert [item.get("type", "user") for item in items] == ["user", "message"]
    assert "id" not in items[1]


def test_blocks_of_other_vendors_are_sent_as_what_they_say() -> None:
    """Text and calls become items; thoughts of others and what is empty are left out; the rest is named."""
    message = Message(
        role="assistant",
        content=[
            ThinkingBlock(thinking="hm", signature="s"),
            TextBlock(text=""),
            TextBlock(text="I look."),
            ImageBlock(source={"type": "url", "url": "http://x"}),
            ToolCallBlock(id="toolu_1", name="weather", input={"city": "Köln"}),
        ],
    )
    assert sent(message, Message(role="tool", tool_call_id="toolu_1", content="rain")) == [
        {"role": "assistant", "content": "I look."},
        {"role": "assistant", "content": "[image]"},
        {"type": "function_call", "call_id": "toolu_1", "name": "weather", "arguments": '{"city":"Köln"}'},
        {"type": "function_call_output", "call_id": "toolu_1", "output": "rain"},
    ]


def test_each_kind_of_call_gets_its_kind_of_result() -> None:
    """Custom tools and patches are answered with items of their own."""
    said_so = answered(read(CUSTOM, PATCH))
    failed = Message(role="tool", tool_call_id="call_ap", content=[TextBlock(text="no")], metadata={"is_error": True})
    items = sent("hi", said_so, Message(role="tool", tool_call_id="call_ct", content="1"), failed)[1:]
    assert items == [
        CUSTOM,
        PATCH,
        {"type": "custom_tool_call_output", "call_id": "call_ct", "output": "1"},
        {"type": "apply_patch_call_output", "call_id": "call_ap", "output": "no", "status": "failed"},
    ]
    fine = Message(role="tool", tool_call_id="call_ap", content="done")
    assert sent("hi", answered(read(PATCH)), fine)[-1]["status"] == "completed"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"type": "base64", "media_type": "image/jpeg", "data": "AA=="}, {"image_url": "data:image/jpeg;base64,AA=="}),
        ({"type": "base64", "data": "AA=="}, {"image_url": "data:image/png;base64,AA=="}),
        ({"type": "url", "url": "http://x/y.png"}, {"image_url": "http://x/y.png"}),
        ({"type": "file", "file_id": "file_1"}, {"file_id": "file_1"}),
    ],
    ids=["bytes", "bytes of no type", "address", "file"],
)
def test_images_of_users_and_of_tools_are_sent(source: dict[str, Any], expected: dict[str, Any]) -> None:
    """An image stands beside the text, in a message and in the result of a tool."""
    blocks = [TextBlock(text="see"), ImageBlock(source=source)]
    content = [{"type": "input_text", "text": "see"}, {"type": "input_image", "detail": "auto", **expected}]
    assert sent(Message(role="user", content=blocks)) == [{"role": "user", "content": content}]
    assert sent(Message(role="tool", tool_call_id="c", content=blocks))[0]["output"] == content


def test_content_that_only_the_service_knows_is_passed_on_and_other_content_told_as_json() -> None:
    """Nothing that a user says is dropped."""
    file = {"type": "input_file", "file_id": "file_1"}
    message = Message.model_construct(None, role="user", content=[file, {"type": "odd", "x": 1}, "plain"])
    assert sent(message)[0]["content"] == [
        file,
        {"type": "input_text", "text": '{"type": "odd", "x": 1}'},
        {"type": "input_text", "text": "plain"},
    ]


def test_system_messages_at_the_beginning_are_the_instructions() -> None:
    """Later ones, and those of developers, stand where they were said."""
    system = [Message(role="system", content="Be brief."), Message(role="system", content=[TextBlock(text="Be kind.")])]
    later = [Message(role="developer", content="d"), Message(role="system", content="s")]
    body = wire().to_call(asked(*system, "hi", *later), MODEL, stream=False).body
    assert body["instructions"] == "Be brief.\n\nBe kind."
    assert body["input"] == [
        {"role": "user", "content": "hi"},
        {"role": "developer", "content": "d"},
        {"role": "system", "content": "s"},
    ]
    alone = wire().to_call(asked(system[0]), MODEL, stream=False).body
    assert (alone["input"], "instructions" in alone) == ([{"role": "system", "content": "Be brief."}], False)


def test_an_empty_answer_is_no_item() -> None:
    """Text that is empty is not sent back."""
    assert sent("hi", Message(role="assistant", content="")) == [{"role": "user", "content": "hi"}]


def test_a_request_without_messages_is_refused_here() -> None:
    """The error names the model."""
    with pytest.raises(InvalidRequestError, match=f"A request to {MODEL} needs at least one message"):
        wire().to_call(asked().model_copy(update={"messages": []}), MODEL, stream=False)


def test_an_answer_without_numbers_has_a_usage_of_zeros() -> None:
    """Every response has a usage; a total that is missing is the sum."""
    usage = wire().read_answer({"output": []}).usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (0, 0, 0)
    counted = {**USAGE, "total_tokens": None, "input_tokens_details": None}
    usage = wire().read_answer({**answer(said("a")), "usage": counted}).usage
    assert usage is not None
    assert (usage.total_tokens, usage.cache_read_tokens) == (120, None)


def test_odd_items_are_passed_over_or_kept() -> None:
    """What is no object is no item; an unknown one is carried along; a message without parts says nothing."""
    body = {**answer(), "output": ["x", {"type": "later"}, {**said(""), "content": None}]}
    response = wire().read_answer(body)
    assert [block.model_dump()["vendor_block"] for block in response.content] == [{"type": "later"}]
    assert sent("hi", answered(response))[1:] == [{"type": "later"}]
    assert response.content[0].model_dump()["vendor"] == ORIGIN


def test_a_mark_that_somebody_broke_is_no_mark() -> None:
    """The text of the block is sent as any other."""
    block = {"type": "text", "text": "a", "vendor": ORIGIN, "responses_item": "x"}
    assert sent(Message.model_validate({"role": "assistant", "content": [block]})) == [
        {"role": "assistant", "content": "a"}
    ]


def test_the_models_of_a_service_are_listed_newest_first() -> None:
    """Models for other things than text are left out; what is known of the others is told."""
    listed = [{"id": "text-embedding-3"}, {"id": "gpt-4o", "created": 1}, {"id": "gpt-6.1-sol", "created": 2}]
    found = wire().read_models({"data": listed})
    assert [(model.id, model.context_window, model.max_output_tokens) for model in found] == [
        ("gpt-6.1-sol", 1_050_000, 128_000),
        ("gpt-4o", 128_000, 16_384),
    ]
