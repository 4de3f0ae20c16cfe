"""Answers of chat completions, whole and streamed, with the habits of the servers that give them."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from tests.modkit.chat_world import USAGE, answer, blocks, chunk, sent, streamed, told, wire_of

from amplifier_core.message_models import Message
from amplifier_core.models import Pricing
from amplifier_modkit.llm.wire import WireError
from amplifier_modkit.llm_chat.dialect import Dialect
from amplifier_modkit.llm_chat.models import Windows, read_models
from amplifier_modkit.llm_chat.streams import END_OF_STREAM
from amplifier_modkit.llm_chat.usage import estimate_usage, read_usage
from amplifier_modkit.llm_chat.wire import new_call_id


def text_of(response: Any) -> str:
    """All text of a response."""
    return "".join(block.get("text", "") for block in blocks(response))


def test_a_whole_answer_is_read_with_everything_in_it() -> None:
    """Reasoning, text and calls are blocks in this order; calls stand beside the content as well."""
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2}'}}
    message = {"role": "assistant", "reasoning_content": "hm", "content": "Let me see.", "tool_calls": [call]}
    response = wire_of().read_answer(answer(message, "tool_calls", id="x", model="m-1", object="chat.completion"))
    assert blocks(response) == [
        {
            "type": "thinking",
            "thinking": "hm",
            "vendor": "chat-completions",
            "chat": {"field": "reasoning_content"},
        },
        {"type": "text", "text": "Let me see."},
        {"type": "tool_call", "id": "c1", "name": "add", "input": {"a": 2}},
    ]
    assert [(each.id, each.name, each.arguments) for each in response.tool_calls or ()] == [("c1", "add", {"a": 2})]
    assert response.finish_reason == "tool_calls"
    assert response.metadata == {"id": "x", "model": "m-1", "stop_reason": "tool_calls"}
    assert response.usage is not None
    assert response.usage.model_dump(exclude_none=True) == {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12}


def test_a_stream_gives_the_same_and_tells_it_on_the_way() -> None:
    """Each block begins, grows and ends; what was counted comes after the end."""
    response, pieces = streamed(
        [
            chunk({"role": "assistant", "content": ""}, id="x", object="chat.completion.chunk"),
            chunk({"reasoning": "h"}),
            chunk({"reasoning": "m"}),
            chunk({"content": "Le"}),
            chunk({"content": "t."}),
            chunk(
                {
                    "tool_calls": [
                        {"index": 0, "id": "c1", "type": "function", "function": {"name": "add", "arguments": ""}}
                    ]
                }
            ),
            chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"a"'}}]}),
            chunk({"tool_calls": [{"index": 0, "function": {"arguments": ": 2}"}}]}),
            chunk({}, "tool_calls"),
            {"choices": [], "usage": USAGE},
            "[DONE]",
        ]
    )
    assert told(pieces) == [
        ("start", 0, "thinking"),
        ("delta", 0, "thinking", "h"),
        ("delta", 0, "thinking", "m"),
        ("end", 0, "thinking"),
        ("start", 1, "text"),
        ("delta", 1, "text", "Le"),
        ("delta", 1, "text", "t."),
        ("end", 1, "text"),
        ("start", 2, "tool_use", "add"),
        ("delta", 2, "tool_use", '{"a"', "add"),
        ("delta", 2, "tool_use", ": 2}", "add"),
        ("end", 2, "tool_use", "add"),
    ]
    assert [each["type"] for each in blocks(response)] == ["thinking", "text", "tool_call"]
    assert [(each.id, each.name, each.arguments) for each in response.tool_calls or ()] == [("c1", "add", {"a": 2})]
    assert response.usage is not None
    assert (response.usage.input_tokens, response.finish_reason) == (9, "tool_calls")


def test_an_answer_that_said_how_it_ended_is_whole_without_a_last_word() -> None:
    """Without both, it is not."""
    reader = wire_of().open_stream()
    reader.feed("message", json.dumps(chunk({"content": "a"})))
    reader.feed(END_OF_STREAM, "")
    assert not reader.is_complete
    reader.feed("message", json.dumps(chunk({}, "stop")))
    assert not reader.is_complete
    reader.feed(END_OF_STREAM, "")
    assert reader.is_complete


def test_a_last_word_alone_ends_an_answer_too() -> None:
    """Some servers never say why they stop, and some say nothing at all."""
    response, pieces = streamed([chunk({"content": "a"}), "[DONE]", " [DONE]"])
    assert (text_of(response), response.finish_reason, told(pieces)[-1]) == ("a", "stop", ("end", 0, "text"))
    empty, none = streamed(["[DONE]"])
    assert (empty.content, empty.finish_reason, empty.usage, none) == ([], "stop", None, [])


def test_odd_frames_are_read() -> None:
    """No empty line between chunks, empty data, no choices, choices of nothing, an end that comes twice."""
    lines = "\n".join(json.dumps(chunk({"content": text})) for text in "ab")
    odd = [lines, "", {"choices": None}, {"choices": [None]}, {}, {"choices": [{"delta": None}]}]
    response, pieces = streamed([*odd, chunk({"content": None, "tool_calls": None}, "stop"), chunk({}, "stop")])
    assert (text_of(response), [piece.kind for piece in pieces]) == ("ab", ["start", "delta", "delta", "end"])


def test_data_that_is_no_chunk_is_refused() -> None:
    """With words that say what came."""
    reader = wire_of().open_stream()
    with pytest.raises(ValueError, match="Expecting"):
        reader.feed("message", "{oops")
    with pytest.raises(ValueError, match=r"A chunk must be a JSON object, got '\[1\]'"):
        reader.feed("message", "[1]")


@pytest.mark.parametrize(
    ("event", "data", "expected"),
    [
        ("message", {"error": {"message": "slow down", "code": 429}}, ("slow down", 429, None)),
        ("message", {"error": {"message": "no", "type": "overloaded", "code": "503"}}, ("no", 503, "overloaded")),
        ("message", {"error": "plain"}, ("plain", None, None)),
        ("message", {"error": {"status_code": 500, "detail": "d"}}, ("d", 500, None)),
        ("message", {"error": {"odd": 1}}, ('{"odd": 1}', None, None)),
        (
            "message",
            {"object": "error", "message": "bad", "type": "BadRequestError", "code": 400},
            ("bad", 400, "BadRequestError"),
        ),
        ("error", {"message": "gone"}, ("gone", None, None)),
        (
            "message",
            chunk({}, "error"),
            ("The server ended its answer with an error and did not say which", None, None),
        ),
    ],
)
def test_an_error_inside_a_stream_is_one(event: str, data: Any, expected: tuple[Any, ...]) -> None:
    """In every form that servers have for it."""
    reader = wire_of().open_stream()
    with pytest.raises(WireError) as caught:
        reader.feed(event, json.dumps(data))
    assert (caught.value.message, caught.value.status, caught.value.code) == expected


def test_an_error_or_nothing_in_the_place_of_an_answer_is_refused() -> None:
    """The one with the server's words, the other with what came."""
    with pytest.raises(WireError, match="no credit"):
        wire_of().read_answer({"error": {"message": "no credit", "code": 402}})
    with pytest.raises(ValueError, match=r"An answer needs 'choices', got the keys \['id'\]"):
        wire_of().read_answer({"id": "x"})


def calls_from(*deltas: Any, message: bool = False) -> list[tuple[str, str, Any]]:
    """The calls that a stream with those pieces makes."""
    response, _ = streamed(
        [*(chunk({"tool_calls": delta if isinstance(delta, list) else [delta]}) for delta in deltas), "[DONE]"]
    )
    return [(call.id, call.name, call.arguments) for call in response.tool_calls or ()]


def piece(arguments: Any = None, *, name: str | None = None, **others: Any) -> dict[str, Any]:
    """A piece of a call."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {**others, "function": function}


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        # No index and no id: a name begins the next call once the one before is whole.
        ([piece('{"a":', name="f"), piece("1}"), piece("{}", name="g")], [("id1", "f", {"a": 1}), ("id2", "g", {})]),
        ([piece("{}", name="f"), piece("{}", name="f")], [("id1", "f", {}), ("id2", "f", {})]),
        # The name again with every piece.
        ([piece('{"a":', name="f"), piece("1}", name="f")], [("id1", "f", {"a": 1})]),
        ([piece('{"a":', name="f", index=0), piece("1}", name="f", index=0)], [("id1", "f", {"a": 1})]),
        # Ids without indexes.
        ([piece("{", name="f", id="x"), piece("{", name="g", id="y"), piece("}", id="x"), piece("}", id="y")],
         [("x", "f", {}), ("y", "g", {})]),
        # One index for all.
        ([piece('{"p": 1}', name="f", id="x", index=0), piece('{"p": 2}', name="f", id="y", index=0)],
         [("x", "f", {"p": 1}), ("y", "f", {"p": 2})]),
        ([piece('{"p": 1}', name="f", index=0), piece('{"p": 2}', name="g", index=0)],
         [("id1", "f", {"p": 1}), ("id2", "g", {"p": 2})]),
        # The head of the second call under the index of the first, its tail under its own.
        ([piece('{"p": 1}', name="f", id="x", index=0), piece("", name="g", id="y", index=0), piece("{}", index=1)],
         [("x", "f", {"p": 1}), ("y", "g", {})]),
        # One call under several indexes.
        ([piece("{}", name="f", id="x", index=0), piece("{}", name="f", id="x", index=1)], [("x", "f", {})]),
        # An id that comes later, and a name in pieces.
        ([piece("", name="get_", index=0), piece("{}", name="time", index=0, id="x")], [("x", "get_time", {})]),
        ([piece("", name="get_", index=0), piece("{}", name="get_time", index=0)], [("id1", "get_time", {})]),
        # Two pieces of one call in one chunk, and interleaved calls.
        ([[piece(name="f", id="x", index=0), piece('{"', index=0)], piece('a": 1}', index=0)], [("x", "f", {"a": 1})]),
        ([piece("{", name="f", index=0), piece("{", name="g", index=1), piece("}", index=0), piece("}", index=1)],
         [("id1", "f", {}), ("id2", "g", {})]),
        # Arguments as an object, from the beginning each time, after a placeholder, twice encoded, empty, null.
        ([piece({"a": 1}, name="f", index=0)], [("id1", "f", {"a": 1})]),
        ([piece('{"a"', name="f", index=0), piece('{"a": 1}', index=0)], [("id1", "f", {"a": 1})]),
        ([piece("{}", name="f", index=0), piece('{"a"', index=0), piece(": 1}", index=0)], [("id1", "f", {"a": 1})]),
        ([piece('"{\\"a\\": 1}"', name="f", index=0)], [("id1", "f", {"a": 1})]),
        ([piece(name="f", index=0)], [("id1", "f", {})]),
        ([piece("null", name="f", index=0)], [("id1", "f", {})]),
        # Broken ones stay as they are, for the loop to tell the model.
        ([piece('{"a": ', name="f", index=0)], [("id1", "f", '{"a": ')]),
        ([piece('"text"', name="f", index=0)], [("id1", "f", '"text"')]),
        ([piece('"open', name="f", index=0)], [("id1", "f", '"open')]),
        # What is unknown and empty.
        ([piece("{}", name="f", id="x", odd=None)], [("x", "f", {})]),
        # Without the level of the function, and a single call that is no list.
        ([{"name": "f", "arguments": "{}", "id": "x"}], [("x", "f", {})]),
        ([[None, piece("{}", name="f", id="x")]], [("x", "f", {})]),
    ],
)  # fmt: skip
def test_pieces_of_calls_find_each_other(deltas: list[Any], expected: list[tuple[str, str, Any]]) -> None:
    """With and without indexes and ids, in every order that servers were seen to send them."""
    assert calls_from(*deltas) == expected


def test_a_call_that_cannot_be_read_keeps_its_text_and_goes_back_as_an_object() -> None:
    """A server would refuse broken JSON in the history."""
    call = {"id": "c1", "function": {"name": "f", "arguments": "{oops"}, "type": "function"}
    response = wire_of().read_answer(answer({"tool_calls": call, "content": None}))
    assert blocks(response) == [{"type": "tool_call", "id": "c1", "name": "f", "input": {}, "raw_arguments": "{oops"}]
    assert [each.arguments for each in response.tool_calls or ()] == ["{oops"]
    (back,) = sent(Message(role="assistant", content=response.content))
    assert back["tool_calls"][0]["function"]["arguments"] == "{}"


def test_a_call_in_the_oldest_form_and_one_without_a_name_are_told() -> None:
    """A call begins with its name, and at the latest when nothing more comes."""
    response, pieces = streamed(
        [chunk({"function_call": {"name": "f", "arguments": "{}"}}), chunk({}, "function_call")]
    )
    assert ([call.name for call in response.tool_calls or ()], response.finish_reason) == (["f"], "tool_calls")
    assert told(pieces)[0] == ("start", 0, "tool_use", "f")
    nameless, late = streamed([chunk({"tool_calls": [piece("{}", index=0)]}), chunk({}, "stop")])
    assert told(late) == [("start", 0, "tool_use"), ("delta", 0, "tool_use", "{}"), ("end", 0, "tool_use")]
    assert [call.name for call in nameless.tool_calls or ()] == [""]


def test_repeated_arguments_are_told_once() -> None:
    """A piece that begins with all before it adds only its rest."""
    _, pieces = streamed(
        [chunk({"tool_calls": [piece(text, name="f", index=0)]}) for text in ('{"a', '{"a": 1}')] + ["[DONE]"]
    )
    assert [each.text for each in pieces if each.kind == "delta"] == ['{"a', '": 1}']


def test_unknown_keys_of_a_call_come_back_with_it() -> None:
    """Read from a stream and sent again, they are the same."""
    extra = {"google": {"thought_signature": "s"}}
    response, _ = streamed(
        [
            chunk({"tool_calls": [{**piece("{}", name="f", index=0, id="x"), "extra_content": extra, "odd": None}]}),
            "[DONE]",
        ]
    )
    (back,) = sent(Message(role="assistant", content=response.content))
    assert back["tool_calls"][0]["extra_content"] == extra
    assert blocks(response)[0]["vendor"] == "chat-completions"


@pytest.mark.parametrize(
    ("said", "has_calls", "expected"),
    [
        ("stop", False, "stop"),
        ("stop", True, "tool_calls"),
        (None, True, "tool_calls"),
        ("tool_calls", False, "stop"),
        ("eos", False, "stop"),
        ("MAX_TOKENS", False, "length"),
        ("length", True, "length"),
        ("content_filter", False, "content_filter"),
        ("insufficient_system_resource", False, "other"),
    ],
)
def test_the_end_of_an_answer_has_few_names(said: str | None, has_calls: bool, expected: str) -> None:
    """The calls decide where servers disagree; the server's own word is kept."""
    calls = [{"id": "x", "function": {"name": "f"}}] if has_calls else None
    response = wire_of().read_answer(answer({"content": "a", "tool_calls": calls}, said))
    assert response.finish_reason == expected
    assert response.metadata == (None if said is None else {"stop_reason": said})


def test_a_refusal_is_seen_and_said() -> None:
    """It is text to the reader, and ends the answer as a filter does."""
    whole = wire_of().read_answer(answer({"content": None, "refusal": "I won't."}))
    assert (blocks(whole), whole.finish_reason) == (
        [{"type": "text", "text": "I won't.", "vendor": "chat-completions", "chat": {"refusal": True}}],
        "content_filter",
    )
    streamed_one, pieces = streamed([chunk({"refusal": "I "}), chunk({"refusal": "won't."}), chunk({}, "stop")])
    assert blocks(streamed_one) == blocks(whole)
    assert told(pieces)[0] == ("start", 0, "text")
    part, _ = streamed([chunk({"content": [{"type": "refusal", "refusal": "No."}]}), chunk({}, "stop")])
    assert part.finish_reason == "content_filter"


def test_content_in_parts_is_read_part_by_part() -> None:
    """Texts, reasoning in both forms, and parts nobody knows, which come back as they were."""
    odd = {"type": "reference", "ids": [1]}
    content = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "h"}, {"type": "text", "text": "m"}]},
        {"type": "thinking", "thinking": "!"},
        {"type": "text", "text": "see "},
        "this",
        odd,
        {"text": "."},
    ]
    response = wire_of().read_answer(answer({"content": content}))
    assert [(each["type"], each.get("thinking", each.get("text"))) for each in blocks(response)] == [
        ("thinking", "hm!"),
        ("text", "see this"),
        ("text", ""),
        ("text", "."),
    ]
    (back,) = sent(Message(role="assistant", content=response.content))
    assert back["content"][1:] == [{"type": "text", "text": "see this"}, odd, {"type": "text", "text": "."}]


def test_reasoning_in_both_fields_is_one() -> None:
    """Some servers fill the old and the new name with the same."""
    response = wire_of().read_answer(answer({"reasoning_content": "hm", "reasoning": "hm", "content": "a"}))
    assert [each.get("thinking") for each in blocks(response)] == ["hm", None]
    odd = wire_of().read_answer(answer({"reasoning": {"summary": []}, "content": "a"}))
    assert [each["type"] for each in blocks(odd)] == ["text"]


def test_reasoning_details_are_put_together_and_survive_the_way_back() -> None:
    """Pieces of a text under one index are one; encrypted ones are never joined."""
    response, pieces = streamed(
        [
            chunk({"reasoning": "a", "reasoning_details": [{"type": "reasoning.text", "text": "a", "index": 0}]}),
            chunk({"reasoning": "b", "reasoning_details": [{"type": "reasoning.text", "text": "b", "index": 0}]}),
            chunk({"reasoning_details": [{"type": "reasoning.text", "text": None, "signature": "s", "index": 0}, 1]}),
            chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "index": 1}]}),
            chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": "y", "index": 1}]}),
            chunk({"content": "c", "reasoning_details": "odd"}, "stop"),
        ]
    )
    details = [
        {"type": "reasoning.text", "text": "ab", "signature": "s", "index": 0},
        {"type": "reasoning.encrypted", "data": "x", "index": 1},
        {"type": "reasoning.encrypted", "data": "y", "index": 1},
    ]
    (back,) = sent(Message(role="assistant", content=response.content))
    assert back == {"role": "assistant", "content": "c", "reasoning_details": details}
    assert len(told(pieces)) == 7
    only, silent = streamed([chunk({"reasoning_details": details[1:2]}), chunk({}, "stop")])
    assert blocks(only)[0]["chat"] == {"details": details[1:2]}
    assert told(silent) == [("start", 0, "thinking"), ("end", 0, "thinking")]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["<think>\nhm\n</think>\n\nyes"], [("thinking", "hm"), ("text", "yes")]),
        (list("<think>hm</think>yes"), [("thinking", "hm"), ("text", "yes")]),
        (["\n<thi", "nk>h", "m\n", "\n</", "think>\n", "\ny"], [("thinking", "hm"), ("text", "y")]),
        (["<think>h\n", "m"], [("thinking", "h\nm")]),
        (["<think>h</thi"], [("thinking", "h</thi")]),
        (["<think></think>a"], [("text", "a")]),
        (["<think>h</think>"], [("thinking", "h")]),
        (["<thinking> is a tag"], [("text", "<thinking> is a tag")]),
        (["<th"], [("text", "<th")]),
        (["a <think>b</think>"], [("text", "a <think>b</think>")]),
        ([" ", "a"], [("text", " a")]),
    ],
)
def test_reasoning_between_tags_is_told_from_text(texts: list[str], expected: list[tuple[str, str]]) -> None:
    """Only at the beginning of an answer, and wherever the tags are cut."""
    response, _ = streamed([*(chunk({"content": text}) for text in texts), chunk({}, "stop")])
    assert [(each["type"], each.get("thinking", each.get("text"))) for each in blocks(response)] == expected
    whole = wire_of().read_answer(answer({"content": "".join(texts)}))
    assert blocks(whole) == blocks(response)


def test_tags_are_text_where_the_plan_says_so_and_before_a_call() -> None:
    """What is held back comes out before anything else begins."""
    plain, _ = streamed([chunk({"content": "<think>a</think>"}), chunk({}, "stop")], Dialect(think_tags=False))
    assert text_of(plain) == "<think>a</think>"
    held, _ = streamed([chunk({"content": "<t"}), chunk({"tool_calls": [piece("{}", name="f")]}), chunk({}, "stop")])
    assert [each["type"] for each in blocks(held)] == ["text", "tool_call"]


def test_text_that_repeats_from_the_beginning_is_taken_once() -> None:
    """By a switch for pieces, and always for a whole message at the end of a stream."""
    repeated = [chunk({"content": text}) for text in ("a", "ab", "abc", "x")]
    response, _ = streamed([*repeated, chunk({}, "stop")], Dialect(cumulative_text=True))
    assert text_of(response) == "abcx"
    closing = {"choices": [{"message": {"content": "abc", "role": "assistant"}, "finish_reason": "stop"}]}
    ended, pieces = streamed([chunk({"content": "ab"}), closing])
    assert (text_of(ended), [each.text for each in pieces if each.kind == "delta"]) == ("abc", ["ab", "c"])
    legacy, _ = streamed(
        [{"choices": [{"text": "a", "finish_reason": None}]}, {"choices": [{"text": "b", "finish_reason": "stop"}]}]
    )
    assert text_of(legacy) == "ab"


def test_what_a_server_says_besides_is_kept() -> None:
    """Lists that come in pieces are put together."""
    response, _ = streamed(
        [
            chunk({"annotations": [1], "content": "a"}, provider="p", citations=["c"]),
            chunk({"annotations": [2]}, system_fingerprint=None, citations=["c"]),
            {"choices": [{"delta": {}, "finish_reason": "stop", "native_finish_reason": "end", "logprobs": None}]},
        ]
    )
    assert response.metadata == {
        "provider": "p",
        "citations": ["c"],
        "annotations": [1, 2],
        "native_finish_reason": "end",
        "stop_reason": "stop",
    }


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}}, (5, 2, 7, None, None, None)),
        (
            {
                "usage": {
                    "prompt_tokens": 5,
                    "completion_tokens": 2,
                    "prompt_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 1},
                    "completion_tokens_details": {"reasoning_tokens": 1},
                }
            },
            (5, 2, 7, 1, 3, 1),
        ),
        (
            {"usage": {"prompt_tokens": 5, "completion_tokens": 2, "prompt_cache_hit_tokens": 4}},
            (5, 2, 7, None, 4, None),
        ),
        ({"x_groq": {"usage": {"prompt_tokens": 5, "completion_tokens": 2}}}, (5, 2, 7, None, None, None)),
        ({"usage": {"total_tokens": 7, "completion_tokens": 2}}, (5, 2, 7, None, None, None)),
        ({"usage": {"total_tokens": 7, "prompt_tokens": 5}}, (5, 2, 7, None, None, None)),
        ({"timings": {"prompt_n": 2, "cache_n": 3, "predicted_n": 4}}, (5, 4, 9, None, 3, None)),
        ({"usage": None}, None),
        ({"usage": {"prompt_tokens": None, "completion_tokens": -1}}, None),
        ({"timings": {"prompt_n": 2}}, None),
    ],
)
def test_tokens_are_counted_in_every_form(body: dict[str, Any], expected: tuple[Any, ...] | None) -> None:
    """Input, output, total, reasoning, read from a cache, written to it."""
    usage = read_usage(body)
    names = (
        "input_tokens",
        "output_tokens",
        "total_tokens",
        "reasoning_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
    )
    assert (None if usage is None else tuple(getattr(usage, name) for name in names)) == expected


def test_a_cost_that_the_server_reports_is_taken_and_an_estimate_says_so() -> None:
    """Money is exact; where nothing is counted, four characters are a token."""
    usage = read_usage({"usage": {"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.0012}})
    assert usage is not None
    assert usage.cost_usd == Decimal("0.0012")
    response = wire_of().read_answer(answer({"content": "x" * 40}))
    estimate = estimate_usage({"messages": [{"role": "user", "content": "y" * 40}]}, response)
    assert estimate.model_dump(exclude_none=True) == {
        "input_tokens": 20,
        "output_tokens": 17,
        "total_tokens": 37,
        "is_estimate": True,
    }


def test_models_are_listed_with_windows_in_every_form() -> None:
    """As vLLM, routers, llama.cpp and others tell them; what the plan sets goes first."""
    body = {
        "data": [
            {"id": "vllm", "max_model_len": 4096},
            {
                "id": "router/x",
                "name": "X",
                "context_length": 200_000,
                "top_provider": {"max_completion_tokens": 9000},
                "pricing": {"prompt": "0.000001", "completion": "0.000002", "input_cache_read": "0.0000001"},
            },
            {"id": "llama", "meta": {"n_ctx_train": 512}},
            {"id": "set", "context_window": 10, "pricing": {"prompt": "?"}},
            {"id": "quiet", "context_window": True},
            {"id": None},
            "odd",
        ]
    }
    windows = Windows(context_window=1000, max_output_tokens=600, by_model={"set": 20})
    found = read_models(body, windows)
    assert [(each.id, each.display_name, each.context_window, each.max_output_tokens) for each in found] == [
        ("vllm", "vllm", 4096, 600),
        ("router/x", "X", 200_000, 9000),
        ("llama", "llama", 512, 512),
        ("set", "set", 20, 20),
        ("quiet", "quiet", 1000, 600),
    ]
    assert found[1].pricing == Pricing(input_per_million=1.0, output_per_million=2.0, cache_read_per_million=0.1)
    assert [each.pricing for each in found if each.id != "router/x"] == [None] * 4
    assert read_models({"models": [{"name": "o"}]}, windows)[0].id == "o"
    assert read_models({}, windows) == []
    assert next(each.id for each in wire_of().read_models(body)) == "vllm"


def test_new_ids_are_nine_letters_and_digits() -> None:
    """The only form that all servers take."""
    ids = {new_call_id() for _ in range(50)}
    assert (len(ids), {len(each) for each in ids}, all(each.isalnum() for each in ids)) == (50, {9}, True)
