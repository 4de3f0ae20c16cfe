"""Requests of chat completions: messages, tools and settings as servers read them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.modkit.chat_world import request_of, sent, wire_of

from amplifier_core.message_models import (
    ChatRequest,
    Degradation,
    ImageBlock,
    Message,
    ReasoningBlock,
    RedactedThinkingBlock,
    ResponseFormatJson,
    ResponseFormatJsonSchema,
    ResponseFormatText,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolSpec,
)
from amplifier_modkit.llm_chat.dialect import Dialect
from amplifier_modkit.llm_chat.options import Defaults
from amplifier_modkit.llm_chat.outgoing import short_id

PICTURE = ImageBlock(source={"type": "base64", "media_type": "image/jpeg", "data": "QUJD"})


def call_block(call_id: str = "c1", name: str = "add", **arguments: Any) -> ToolCallBlock:
    """A tool call."""
    return ToolCallBlock(id=call_id, name=name, input=arguments)


def result(content: Any, call_id: str = "c1") -> Message:
    """A tool result."""
    return Message(role="tool", tool_call_id=call_id, content=content)


def test_a_conversation_with_a_tool_call_goes_out_in_the_common_form() -> None:
    """Instructions at the beginning are one message, calls have their arguments as JSON text."""
    assert sent(
        Message(role="system", content="Be brief."),
        Message(role="developer", content=[TextBlock(text="Count well.")]),
        Message(role="user", content="2 + 3?", name="ann"),
        Message(role="assistant", content=[TextBlock(text="Let me see."), call_block(a=2, b="größer")]),
        result("5"),
        Message(role="assistant", content="5"),
    ) == [
        {"role": "system", "content": "Be brief.\n\nCount well."},
        {"role": "user", "content": "2 + 3?", "name": "ann"},
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2, "b": "größer"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "5"},
        {"role": "assistant", "content": "5"},
    ]


def test_instructions_go_where_a_server_takes_them() -> None:
    """Later ones are wrapped for the user unless the server takes them anywhere; some know no such role at all."""
    talk = [Message(role="system", content="First."), "hi", Message(role="developer", content="Later.")]
    later = {"role": "user", "content": "<system-reminder>\nLater.\n</system-reminder>"}
    hi = {"role": "user", "content": "hi"}
    assert sent(*talk) == [{"role": "system", "content": "First."}, hi, later]
    assert sent(*talk, dialect=Dialect(system_role="developer", system_anywhere=True)) == [
        {"role": "developer", "content": "First."},
        hi,
        {"role": "system", "content": "Later."},
    ]
    wrapped = {"role": "user", "content": "<system-reminder>\nFirst.\n</system-reminder>"}
    assert sent(*talk, dialect=Dialect(system_role="user")) == [wrapped, hi, later]
    assert sent(Message(role="function", content="old", name="f")) == [
        {"role": "user", "content": "<system-reminder>\nold\n</system-reminder>"}
    ]


def test_images_and_other_parts_of_a_user_go_out_as_parts() -> None:
    """Bytes become a data URL, addresses and parts of the protocol stay, plain texts become one text."""
    linked = ImageBlock.model_validate({"source": {"type": "url", "url": "http://x/y.png"}, "detail": "low"})
    audio = {"type": "input_audio", "input_audio": {"data": "QQ==", "format": "wav"}}
    mixed = Message.model_construct(role="user", content=[TextBlock(text="see"), PICTURE, linked, audio])
    assert sent(mixed, Message(role="user", content=[TextBlock(text="a"), TextBlock(text="b")])) == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,QUJD"}},
                {"type": "image_url", "image_url": {"url": "http://x/y.png", "detail": "low"}},
                audio,
            ],
        },
        {"role": "user", "content": "a\nb"},
    ]


def test_what_has_no_form_is_said_as_text_and_told() -> None:
    """An image without bytes and address, and a block nobody knows, do not get lost in silence."""
    odd = Message.model_construct(
        role="user",
        content=[ImageBlock(source={"file_id": "f"}), {"type": "image", "source": None}, {"type": "riddle", "x": 1}],
    )
    call = wire_of().to_call(request_of(odd), "m", stream=False)
    gone = "[an image that could not be sent]"
    assert call.body["messages"] == [{"role": "user", "content": f'{gone}\n{gone}\n{{"type": "riddle", "x": 1}}'}]
    image = Degradation(
        requested="an image", actual="a note in its place", reason="its source has neither data nor a URL"
    )
    block = Degradation(requested="a block of type 'riddle'", actual="its JSON as text", reason="no such part")
    assert list(call.degradations) == [image, image, block]


def test_what_tools_show_follows_after_all_results_of_a_round() -> None:
    """Only a user may show images, and a result must stand right behind its call."""
    round_of_two = Message(role="assistant", content=[call_block("c1"), call_block("c2")])
    assert sent(round_of_two, result([TextBlock(text="ok"), PICTURE]), result("no", "c2"), "go on")[1:] == [
        {"role": "tool", "tool_call_id": "c1", "content": "ok\n[what this tool shows follows in the next message]"},
        {"role": "tool", "tool_call_id": "c2", "content": "no"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What the tool call c1 shows:"},
                {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,QUJD"}},
            ],
        },
        {"role": "user", "content": "go on"},
    ]
    assert [each["role"] for each in sent(round_of_two, result([PICTURE]))] == ["assistant", "tool", "user"]
    later = sent(round_of_two, result([PICTURE]), Message(role="assistant", content="seen"))
    assert [each["role"] for each in later] == ["assistant", "tool", "user", "assistant"]


def test_what_an_assistant_shows_is_shown_by_the_user_after_the_round() -> None:
    """No server takes an image from an assistant."""
    shows = Message(role="assistant", content=[PICTURE, call_block()])
    asked, answered, shown = sent(shows, result("ok"))
    assert (len(asked["tool_calls"]), answered["content"]) == (1, "ok")
    assert [part.get("text", "image") for part in shown["content"]] == ["What the assistant shows:", "image"]
    assert [each["role"] for each in sent(Message(role="assistant", content=[PICTURE]))] == ["user"]


def test_results_inside_a_user_message_become_results() -> None:
    """Some histories have them there; what the user says besides comes after them."""
    parts = ToolResultBlock(tool_call_id="c2", output=[{"type": "text", "text": "seen"}])
    inside = Message(
        role="user", content=[ToolResultBlock(tool_call_id="c1", output={"a": 1}), parts, TextBlock(text="so?")]
    )
    only = Message(role="user", content=[ToolResultBlock(tool_call_id="c3", output=[1, 2])])
    assert sent(inside, only) == [
        {"role": "tool", "tool_call_id": "c1", "content": '{"a": 1}'},
        {"role": "tool", "tool_call_id": "c2", "content": "seen"},
        {"role": "user", "content": "so?"},
        {"role": "tool", "tool_call_id": "c3", "content": "[1, 2]"},
    ]
    assert sent(Message(role="function", tool_call_id="c1", content="x")) == [
        {"role": "tool", "tool_call_id": "c1", "content": "x"}
    ]


def thought(text: str, **chat: Any) -> ThinkingBlock:
    """Reasoning as this protocol keeps it."""
    return ThinkingBlock.model_validate({"thinking": text, "vendor": "chat-completions", "chat": chat})


def test_reasoning_goes_back_where_it_came_from_with_tool_calls_only() -> None:
    """Servers want it with calls, also empty, and ignore or refuse it elsewhere; a policy may say otherwise."""
    talk = [
        Message(role="assistant", content=[thought("hm", field="reasoning_content"), TextBlock(text="a")]),
        Message(role="assistant", content=[thought("so", field="reasoning_content"), call_block()]),
        Message(role="assistant", content=[call_block("c2")]),
    ]

    def reasoning(policy: Any) -> list[Any]:
        return [each.get("reasoning_content") for each in sent(*talk, dialect=Dialect(reasoning=policy))]

    assert reasoning("auto") == [None, "so", ""]
    assert reasoning("always") == ["hm", "so", ""]
    assert reasoning("never") == [None, None, None]


def test_reasoning_details_go_back_byte_by_byte_and_foreign_reasoning_goes_nowhere() -> None:
    """Encrypted reasoning of a router is the server's; what another vendor thought is not."""
    details = [{"type": "reasoning.encrypted", "data": "b64==", "index": 0}]
    foreign = [ThinkingBlock(thinking="x", signature="s"), RedactedThinkingBlock(data="d")]
    own = thought("t", field="reasoning", details=details)
    other = ReasoningBlock(content=[], summary=[])
    assert sent(Message(role="assistant", content=[own, *foreign, other, TextBlock(text="a")])) == [
        {"role": "assistant", "content": "a", "reasoning_details": details}
    ]
    assert sent(Message(role="assistant", content=[*foreign])) == []
    assert sent(Message(role="assistant", content="")) == []


def test_reasoning_and_parts_that_came_inside_the_content_go_back_there() -> None:
    """The content is a list again, in its order."""
    part = {"type": "reference", "ids": [1]}
    carried = TextBlock.model_validate({"text": "", "vendor": "chat-completions", "vendor_block": part})
    kept = [thought("hm", field="content"), TextBlock(text="see"), carried, TextBlock(text="!")]
    assert sent(Message(role="assistant", content=kept))[0]["content"] == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "see"},
        part,
        {"type": "text", "text": "!"},
    ]


def test_texts_of_an_assistant_are_set_apart_where_something_was_between() -> None:
    """Texts next to each other belong together."""
    split = [TextBlock(text="a"), TextBlock(text="b"), call_block(), TextBlock(text="c")]
    assert sent(Message(role="assistant", content=split))[0]["content"] == "ab\n\nc"


def test_a_refusal_goes_back_as_one() -> None:
    """It is no text of the answer."""
    refused = TextBlock.model_validate({"text": "I won't.", "chat": {"refusal": True}})
    assert sent(Message(role="assistant", content=[refused])) == [
        {"role": "assistant", "content": None, "refusal": "I won't."}
    ]


def test_what_a_server_added_to_a_call_goes_back_with_it() -> None:
    """Signatures of thoughts hang there on some servers."""
    kept = {"call": {"extra_content": {"google": {"thought_signature": "s"}}}, "function": {"strict": True}}
    block = ToolCallBlock.model_validate({"id": "c1", "name": "f", "input": {}, "chat": kept})
    assert sent(Message(role="assistant", content=[block]))[0]["tool_calls"] == [
        {
            "extra_content": {"google": {"thought_signature": "s"}},
            "id": "c1",
            "type": "function",
            "function": {"strict": True, "name": "f", "arguments": "{}"},
        }
    ]


def test_neighbours_of_one_role_are_merged_for_servers_that_want_turns() -> None:
    """Texts become paragraphs, parts a longer list; a message with calls stays by itself."""
    asks = Message(role="assistant", content=[TextBlock(text="x"), call_block()])
    talk = [
        "a",
        "b",
        Message(role="user", content=[TextBlock(text="see"), PICTURE]),
        Message(role="assistant", content="c"),
        asks,
        result("r1"),
        Message(role="assistant", content="d"),
    ]
    merged = sent(*talk, dialect=Dialect(alternates=True))
    assert [each["role"] for each in merged] == ["user", "assistant", "tool", "assistant"]
    assert [part["type"] for part in merged[0]["content"]] == ["text", "text", "image_url"]
    assert (merged[1]["content"], len(merged[1]["tool_calls"])) == ("c\n\nx", 1)
    alone = sent(asks, Message(role="assistant", content=[call_block("c2")]), dialect=Dialect(alternates=True))
    assert len(alone) == 2
    silent = sent(
        Message(role="assistant", content="c"),
        Message(role="assistant", content=[call_block()]),
        dialect=Dialect(alternates=True),
    )
    assert [(each["content"], "tool_calls" in each) for each in silent] == [("c", True)]


def test_ids_are_shortened_alike_in_calls_and_results() -> None:
    """Nine letters and digits; an id of that form stays."""
    talk = [Message(role="assistant", content=[call_block("call-1"), call_block("abcDEF123")]), result("x", "call-1")]
    asked, answered = sent(*talk, dialect=Dialect(short_call_ids=True))
    ids = [call["id"] for call in asked["tool_calls"]]
    assert ids == [short_id("call-1"), "abcDEF123"]
    assert answered["tool_call_id"] == ids[0]
    assert (len(ids[0]), ids[0].isalnum()) == (9, True)


def test_all_wishes_of_a_request_go_out() -> None:
    """A temperature of nought is one; extras that the protocol knows pass; without tools there is no choice."""
    wishes: dict[str, Any] = {
        "temperature": 0.0,
        "top_p": 0.5,
        "max_output_tokens": 7,
        "stop": ["END"],
        "reasoning_effort": "low",
        "tool_choice": "auto",
        "seed": 3,
        "whatever": 1,
    }
    body = wire_of().to_call(request_of("hi", **wishes), "m", stream=False).body
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 7,
        "temperature": 0.0,
        "top_p": 0.5,
        "stop": ["END"],
        "reasoning_effort": "low",
        "seed": 3,
    }


def test_a_stream_is_asked_to_count_unless_the_server_cannot() -> None:
    """The path and the switches of a stream."""
    call = wire_of(extra_body={"provider": {"order": ["x"]}}).to_call(request_of("hi"), "m", stream=True)
    assert call.path == "/chat/completions"
    assert {key: call.body[key] for key in ("stream", "stream_options", "provider")} == {
        "stream": True,
        "stream_options": {"include_usage": True},
        "provider": {"order": ["x"]},
    }
    quiet = wire_of(Dialect(stream_usage=False)).to_call(request_of("hi"), "m", stream=True)
    assert "stream_options" not in quiet.body


def test_defaults_of_the_plan_hold_where_a_request_says_nothing() -> None:
    """What the request says goes first."""
    wire = wire_of(Dialect(max_tokens_key="max_completion_tokens"), defaults=Defaults(100, 0.7))
    plain = wire.to_call(request_of("hi"), "m", stream=False).body
    assert (plain["max_completion_tokens"], plain["temperature"]) == (100, 0.7)
    said = wire.to_call(request_of("hi", max_output_tokens=5, temperature=0), "m", stream=False).body
    assert (said["max_completion_tokens"], said["temperature"]) == (5, 0)


def test_tools_go_out_as_functions_and_those_of_the_server_as_they_are() -> None:
    """A schema that is empty becomes one that servers take; extras such as ``strict`` stay."""
    specs = [
        ToolSpec.model_validate({"name": "f", "description": "F.", "parameters": {}, "strict": True}),
        ToolSpec.model_validate({"name": "search", "parameters": {}, "type": "web_search", "max_uses": 2}),
    ]
    body = wire_of().to_call(request_of("hi", tools=specs, tool_choice="required"), "m", stream=False).body
    empty = {"type": "object", "properties": {}}
    assert body["tools"] == [
        {"type": "function", "function": {"name": "f", "parameters": empty, "description": "F.", "strict": True}},
        {"name": "search", "type": "web_search", "max_uses": 2},
    ]
    assert body["tool_choice"] == "required"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("any", "required"),
        ("none", "none"),
        ("f", {"type": "function", "function": {"name": "f"}}),
        ({"type": "tool", "name": "f"}, {"type": "function", "function": {"name": "f"}}),
        ({"type": "function", "function": {"name": "f"}}, {"type": "function", "function": {"name": "f"}}),
        (None, None),
    ],
)
def test_a_tool_choice_is_read_in_every_spelling(given: Any, wanted: Any) -> None:
    """Words, names, and the objects of other protocols."""
    tools = [ToolSpec(name="f", parameters={"type": "object"})]
    body = wire_of().to_call(request_of("hi", tools=tools, tool_choice=given), "m", stream=False).body
    assert body.get("tool_choice") == wanted


def test_the_form_of_the_answer_is_asked_for() -> None:
    """Some JSON, JSON after a schema, or no word for free text."""

    def form(wanted: Any) -> Any:
        request = ChatRequest(messages=[Message(role="user", content="x")], response_format=wanted)
        return wire_of().to_call(request, "m", stream=False).body.get("response_format")

    assert form(ResponseFormatText()) is None
    assert form(ResponseFormatJson()) == {"type": "json_object"}
    schema = ResponseFormatJsonSchema(json_schema={"type": "object"}, strict=True)
    named = {"name": "answer", "schema": {"type": "object"}}
    assert form(schema) == {"type": "json_schema", "json_schema": {**named, "strict": True}}
    loose = ResponseFormatJsonSchema(json_schema={"type": "object"})
    assert form(loose) == {"type": "json_schema", "json_schema": named}


def test_what_a_server_refuses_is_left_out_and_told() -> None:
    """As a degradation of the answer."""
    wire = wire_of(Dialect(left_out=frozenset({"temperature", "seed"})))
    call = wire.to_call(request_of("hi", temperature=0.5), "m", stream=False)
    assert "temperature" not in call.body
    assert list(call.degradations) == [
        Degradation(requested="temperature=0.5", actual="left out", reason="the server does not take it")
    ]
