"""Answers of Gemini as data, whole and streamed, and what goes back of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.modules.gemini_world import (
    MODEL,
    USER,
    answer,
    frames_of,
    sent,
    sent_back,
    streamed,
)

from amplifier_core.message_models import ChatResponse, ImageBlock, TextBlock, ThinkingBlock
from amplifier_modkit.llm.wire import FINISH_REASONS, WireError
from amplifier_module_provider_gemini.answers import joined
from amplifier_module_provider_gemini.parts import answer_parts
from amplifier_module_provider_gemini.wire import GeminiWire

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}


INLINE = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}


def read(*parts: dict[str, Any], **named: Any) -> ChatResponse:
    """The response for a whole answer."""
    return GeminiWire().read_answer(answer(*parts, **named))


def test_a_part_that_is_unknown_goes_back_as_it_came() -> None:
    """It is carried in a block that says nothing to others."""
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    (carried,) = read(code).content
    assert list(answer_parts(carried.model_dump())) == [code]


def test_an_answer_is_read_whole() -> None:
    """Thoughts, text, calls and images are blocks; the call with a signature keeps it; what is unknown is carried."""
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    response = read(
        {"text": "hm", "thought": True, "thoughtSignature": "s1"},
        {"text": "Grüße"},
        {"functionCall": {"id": "c1", "name": "read", "args": {"path": "ä"}}, "thoughtSignature": "s2"},
        {"functionCall": {"name": "fn__7zip"}},
        INLINE,
        code,
        usageMetadata={
            "promptTokenCount": 100,
            "cachedContentTokenCount": 60,
            "toolUsePromptTokenCount": 7,
            "candidatesTokenCount": 5,
            "thoughtsTokenCount": 30,
            "totalTokenCount": 142,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 100}],
        },
    )
    thinking, text, first, second, image, carried = response.content
    assert isinstance(thinking, ThinkingBlock)
    assert (thinking.thinking, thinking.signature) == ("hm", "s1")
    assert text == TextBlock(text="Grüße")
    calls = [(call.id, call.name, call.arguments) for call in response.tool_calls or ()]
    assert calls[0] == ("c1", "read", {"path": "ä"})
    assert calls[1][1:] == ("7zip", {})
    assert calls[1][0].startswith("call_")
    assert image == ImageBlock.model_validate(IMAGE)
    assert carried.type == "text"
    assert response.finish_reason == "tool_calls"
    assert response.usage is not None
    assert response.usage.model_dump(exclude_none=True) == {
        "input_tokens": 107,
        "output_tokens": 35,
        "total_tokens": 142,
        "reasoning_tokens": 30,
        "cache_read_tokens": 60,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 100}],
    }
    assert response.metadata == {"model": MODEL, "stop_reason": "STOP", "responseId": "r1", "index": 0}
    assert [first.type, second.type] == ["tool_call", "tool_call"]


PARTS = st.one_of(
    st.fixed_dictionaries(
        {"text": st.text(max_size=8)},
        optional={"thoughtSignature": st.text(min_size=1, max_size=4), "thought": st.just(True)},
    ),
    st.fixed_dictionaries(
        {
            "functionCall": st.fixed_dictionaries(
                {
                    "name": st.sampled_from(["read", "fn__7zip"]),
                    "args": st.dictionaries(st.text(max_size=3), st.text()),
                },
                optional={"willContinue": st.just(True)},
            ),
            "thoughtSignature": st.text(min_size=1, max_size=4),
        },
        optional={"partMetadata": st.just({"a": 1})},
    ),
    st.fixed_dictionaries(
        {"inlineData": st.just(INLINE["inlineData"])}, optional={"thoughtSignature": st.text(min_size=1, max_size=4)}
    ),
    st.just({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}),
    st.just({"inlineData": {"mimeType": "audio/wav", "data": "eA=="}}),
)


def as_one(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The parts with texts put together that nothing keeps apart, and without those that say nothing."""
    joined_parts: list[dict[str, Any]] = []
    for part in parts:
        plain = set(part) <= {"text", "thought"}
        if plain and not part["text"]:
            continue
        last = joined_parts[-1] if joined_parts else {}
        if plain and set(last) == set(part):
            joined_parts[-1] = {**last, "text": last["text"] + part["text"]}
        else:
            joined_parts.append(part)
    return joined_parts


@pytest.mark.slow
@settings(max_examples=100)
@given(st.lists(PARTS, min_size=1, max_size=6), st.integers(1, 5))
def test_what_came_goes_back_as_it_was(parts: list[dict[str, Any]], pieces: int) -> None:
    """Every part with its signature, whole or streamed; only texts that nothing keeps apart are one."""
    parts = [{"text": "a"}, *parts]
    assert sent_back(read(*parts)) == as_one(parts)
    frames = frames_of(answer(*parts), pieces)
    came = [part for _, data in frames for part in data["candidates"][0]["content"]["parts"]]
    assert sent_back(streamed(frames)[0]) == as_one(came)


def test_a_part_that_says_nothing_is_left_out() -> None:
    """Neither an empty text nor an empty thought goes back, wherever it stood."""
    said = [{"text": "a", "thoughtSignature": "s"}, {"text": "b"}]
    assert sent_back(read({"text": ""}, said[0], {"text": ""}, said[1])) == said


def test_the_same_comes_of_a_stream() -> None:
    """Content, ids, usage and end are those of the whole; the pieces tell each block from beginning to end."""
    whole = answer(
        {"text": "hmm", "thought": True},
        {"text": "Hello"},
        {"functionCall": {"name": "read", "args": {"a": 1}}, "thoughtSignature": "s"},
    )
    response, pieces = streamed(frames_of(whole, 2))
    assert response == GeminiWire().read_answer(whole)
    assert [(piece.kind, piece.index, piece.block_type, piece.text, piece.name) for piece in pieces] == [
        ("start", 0, "thinking", "", None),
        ("delta", 0, "thinking", "hm", None),
        ("delta", 0, "thinking", "m", None),
        ("end", 0, "thinking", "", None),
        ("start", 1, "text", "", None),
        ("delta", 1, "text", "Hel", None),
        ("delta", 1, "text", "lo", None),
        ("end", 1, "text", "", None),
        ("start", 2, "tool_use", "", "read"),
        ("delta", 2, "tool_use", '{"a": 1}', None),
        ("end", 2, "tool_use", "", None),
    ]


def test_a_signature_that_comes_alone_is_kept() -> None:
    """At the end of a stream it comes with an empty text, which nobody is told about; it goes back where it was."""
    frames = [(None, answer({"text": "Hel"}, reason=None)), (None, answer({"text": "lo"}, reason=None))]
    end = (None, answer({"text": "", "thoughtSignature": "s"}))
    response, pieces = streamed([*frames, end])
    assert [piece.text for piece in pieces] == ["", "Hel", "lo", ""]
    (block,) = response.content
    assert isinstance(block, TextBlock)
    assert block.text == "Hello"
    assert sent_back(response) == [{"text": "Hello"}, {"text": "", "thoughtSignature": "s"}]
    block.text = "changed"
    assert sent_back(response) == [{"text": "changed"}]
    alone, silent = streamed([end])
    assert (silent, sent_back(alone)) == ([], [{"text": "", "thoughtSignature": "s"}])


def test_calls_without_ids_get_some_and_go_back_without() -> None:
    """The same for the same answer, others for other answers; the result has none either."""
    parts = [
        {"functionCall": {"name": "read", "args": {}}, "thoughtSignature": "s"},
        {"functionCall": {"name": "read"}},
    ]
    ids = [[call.id for call in read(*parts, responseId=each).tool_calls or ()] for each in ("r1", "r1", "r2", None)]
    assert ids[0] == ids[1]
    assert len({each for some in (ids[0], *ids[2:]) for each in some}) == 6
    response = read(*parts)
    stored = {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in response.content]}
    results = [{"role": "tool", "tool_call_id": each, "content": "x"} for each in ids[0]]
    _, model, user = sent(USER, stored, *results)
    assert model["parts"] == [parts[0], {"functionCall": {"name": "read", "args": {}}}]
    assert user["parts"] == [{"functionResponse": {"name": "read", "response": {"output": "x"}}}] * 2


def test_arguments_that_are_no_object_are_left_for_the_loop() -> None:
    """They come as the text that they are."""
    response, pieces = streamed([(None, answer({"functionCall": {"id": "c", "name": "read", "args": "{oops"}}))])
    assert [call.arguments for call in response.tool_calls or ()] == ["{oops"]
    assert [piece.text for piece in pieces] == ["", "{oops", ""]
    assert sent_back(response)[0]["functionCall"] == {"id": "c", "name": "read", "args": {}}


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("CONTINUATION", "pause"),
        ("MALFORMED_FUNCTION_CALL", "other"),
        ("SOMETHING_ELSE", "other"),
    ],
)
def test_the_end_is_explained(reason: str, finish: str) -> None:
    """In the words that all vendors share, and in the service's own."""
    response = read({"text": "x"}, reason=reason)
    assert response.finish_reason == finish
    assert finish in FINISH_REASONS
    assert (response.metadata or {})["stop_reason"] == reason
    with_call = read({"functionCall": {"name": "read"}}, reason=reason)
    assert with_call.finish_reason == ("tool_calls" if finish in ("stop", "other") else finish)


def test_a_blocked_prompt_is_a_refusal_that_can_be_seen() -> None:
    """There is no candidate then, but a reason; streamed and whole."""
    feedback = {"blockReason": "PROHIBITED_CONTENT", "safetyRatings": []}
    body = {"promptFeedback": feedback, "usageMetadata": {"promptTokenCount": 4}, "modelVersion": MODEL}
    for response in (GeminiWire().read_answer(body), streamed([(None, body)])[0]):
        assert (response.content, response.finish_reason) == ([], "content_filter")
        assert response.metadata == {
            "model": MODEL,
            "stop_reason": "PROHIBITED_CONTENT",
            "promptFeedback": feedback,
        }
        assert response.usage is not None
        assert response.usage.input_tokens == 4
    odd = GeminiWire().read_answer({"promptFeedback": {"blockReason": "JAILBREAK"}})
    assert odd.finish_reason == "content_filter"


def test_a_model_that_goes_astray_is_asked_again() -> None:
    """An answer that is nothing but a malformed call is an error that may pass."""
    body = answer(reason="MALFORMED_FUNCTION_CALL")
    body["candidates"][0]["finishMessage"] = "Malformed function call: read("
    with pytest.raises(WireError, match=r"went astray \(MALFORMED_FUNCTION_CALL\): Malformed") as raised:
        GeminiWire().read_answer(body)
    assert (raised.value.status, raised.value.code) == (500, "MALFORMED_FUNCTION_CALL")
    with pytest.raises(WireError, match="nothing came"):
        streamed([(None, answer(reason="MALFORMED_RESPONSE"))])


def test_errors_inside_answers_are_read() -> None:
    """With the status that they have, or would have had."""
    found = []
    for error in ({"code": 503, "message": "busy", "status": "UNAVAILABLE"}, {"status": "RESOURCE_EXHAUSTED"}, "no"):
        with pytest.raises(WireError) as raised:
            GeminiWire().open_stream().feed("message", json.dumps({"error": error}))
        found.append((raised.value.status, raised.value.code, raised.value.message))
    assert found == [
        (503, "UNAVAILABLE", "busy"),
        (429, "RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED"),
        (None, "error", "error"),
    ]


def test_what_is_no_answer_is_said_to_be_none() -> None:
    """Neither a candidate nor a reason why not."""
    with pytest.raises(ValueError, match="neither a candidate nor a reason"):
        GeminiWire().read_answer({"usageMetadata": {}})


def test_parts_of_an_answer_are_joined_where_they_were_cut() -> None:
    """A text or a thought that goes on is one; signatures stay where they were."""
    thought = {"text": "h", "thought": True}
    first = read(thought, {"text": "Hel", "thoughtSignature": "a"})
    content = joined(first, read({"text": "lo"}, {"functionCall": {"id": "1", "name": "x"}}))
    assert [block.type for block in content] == ["thinking", "text", "tool_call"]
    response = ChatResponse(content=content)
    assert sent_back(response)[:3] == [thought, {"text": "Hel", "thoughtSignature": "a"}, {"text": "lo"}]
    thoughts = joined(read(thought), read(thought))
    assert [block.thinking for block in thoughts if isinstance(block, ThinkingBlock)] == ["hh"]
    code = {"executableCode": {"code": "1"}}
    for before, after in (((thought,), ({"text": "x"},)), ((code,), ({"text": "x"},)), ((), ({"text": "x"},))):
        assert len(joined(read(*before), read(*after))) == len(before) + 1
