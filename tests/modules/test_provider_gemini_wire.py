"""Requests of Gemini as data."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.modules.gemini_world import (
    ARGON,
    MODEL,
    OLD,
    PATH,
    USER,
    call_of,
    sent,
)

from amplifier_core.llm_errors import InvalidRequestError
from amplifier_core.message_models import ChatRequest, ImageBlock
from amplifier_modkit.llm.names import safe_name
from amplifier_modkit.llm.repair import repair
from amplifier_modkit.turns.requests import to_model
from amplifier_module_provider_gemini.parts import UNSIGNED, own_name, wire_name
from amplifier_module_provider_gemini.wire import GeminiWire

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}


INLINE = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}


def called(call_id: str, **fields: Any) -> dict[str, Any]:
    """A call as a history has it."""
    return {"type": "tool_call", "id": call_id, "name": "read", "input": {"path": "x"}, **fields}


def test_a_conversation_becomes_contents() -> None:
    """System text stands apart; results are together, and what is said after them begins a turn."""
    history = [
        {"role": "system", "content": "Be short."},
        {"role": "developer", "content": [{"type": "text", "text": "In English."}]},
        USER,
        {"role": "assistant", "content": [{"type": "text", "text": "I read."}, called("1"), called("2")]},
        {"role": "tool", "tool_call_id": "1", "content": "text"},
        {"role": "tool", "tool_call_id": "2", "content": "gone", "metadata": {"is_error": True}},
        {"role": "system", "content": "Time: noon."},
        {"role": "system", "content": " "},
        {"role": "user", "content": "and?"},
    ]
    call = call_of(*history)
    assert call.path == f"{PATH}:streamGenerateContent?alt=sse"
    assert call.body["systemInstruction"] == {"parts": [{"text": "Be short."}, {"text": "In English."}]}
    one, two = ({"functionCall": {"id": each, "name": "read", "args": {"path": "x"}}} for each in "12")
    assert call.body["contents"] == [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"text": "I read."}, {**one, "thoughtSignature": UNSIGNED}, two]},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "1", "name": "read", "response": {"output": "text"}}},
                {"functionResponse": {"id": "2", "name": "read", "response": {"error": "gone"}}},
            ],
        },
        {
            "role": "user",
            "parts": [{"text": "<system-reminder>\nTime: noon.\n</system-reminder>"}, {"text": "and?"}],
        },
    ]


def test_models_are_named_in_the_path() -> None:
    """With the collection that they are in, and without what would change the path."""
    paths = [call_of(model=model, stream=False).path for model in ("models/x", "tunedModels/y", "a?b")]
    assert paths == [
        "/v1beta/models/x:generateContent",
        "/v1beta/tunedModels/y:generateContent",
        "/v1beta/models/a%3Fb:generateContent",
    ]


def test_images_of_tools_go_where_the_model_looks_for_them() -> None:
    """Into the result; with older models behind all results."""
    history = [
        USER,
        {"role": "assistant", "content": [called("1"), called("2")]},
        {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "see"}, IMAGE]},
        {"role": "tool", "tool_call_id": "2", "content": ""},
    ]
    results = sent(*history)[2]["parts"]
    assert results[0]["functionResponse"]["parts"] == [INLINE]
    assert results[0]["functionResponse"]["response"] == {"output": "see"}
    assert results[1]["functionResponse"] == {"id": "2", "name": "read", "response": {"output": ""}}
    old = sent(*history, model=OLD)
    assert [list(part) for part in old[2]["parts"]] == [["functionResponse"], ["functionResponse"]]
    assert "parts" not in old[2]["parts"][0]["functionResponse"]
    assert old[3] == {"role": "user", "parts": [INLINE]}
    assert "thoughtSignature" not in old[1]["parts"][0]


def test_files_of_the_user_are_passed_on() -> None:
    """By their bytes or their address; a block that is neither is told as text."""
    sources: list[dict[str, Any]] = [
        {"type": "url", "url": "data:image/gif;base64,R0lG"},
        {"type": "url", "url": "data:,x"},
        {"type": "url", "url": "https://example.com/a.jpg?x=1"},
        {"type": "url", "url": "https://example.com/a"},
        {"data": "eA=="},
        {"file_uri": "https://example.com/f", "mime_type": "image/webp"},
        {"type": "file", "file_id": "f1"},
    ]
    blocks = [ImageBlock(source=source).model_dump(exclude_none=True) for source in sources]
    document = {"type": "document", "source": {"media_type": "application/pdf", "data": "cGRm"}}
    unsaid = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": ""}]
    (turn,) = sent({"role": "user", "content": [*blocks, document, {"type": "odd", "x": "ä"}, *unsaid]})
    assert turn["parts"] == [
        {"inlineData": {"mimeType": "image/gif", "data": "R0lG"}},
        {"inlineData": {"mimeType": "image/png", "data": "x"}},
        {"fileData": {"fileUri": "https://example.com/a.jpg?x=1", "mimeType": "image/jpeg"}},
        {"fileData": {"fileUri": "https://example.com/a"}},
        {"inlineData": {"mimeType": "image/png", "data": "eA=="}},
        {"fileData": {"fileUri": "https://example.com/f", "mimeType": "image/webp"}},
        {"text": '{"type": "image", "source": {"type": "file", "file_id": "f1"}}'},
        {"inlineData": {"mimeType": "application/pdf", "data": "cGRm"}},
        {"text": '{"type": "odd", "x": "ä"}'},
    ]


def test_what_others_thought_stays_at_home() -> None:
    """Thinking without our name, and what only others can read, is not sent; what they said is."""
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "theirs"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "reasoning", "content": [], "summary": []},
        {"type": "text", "text": ""},
        {"type": "text", "text": "said", "vendor": "openai", "gemini_part": {"parts": [{"chars": 4, "x": 1}]}},
    ]
    assert sent(USER, {"role": "assistant", "content": content}, USER)[1]["parts"] == [{"text": "said"}]


def test_a_conversation_begins_and_ends_with_the_user() -> None:
    """The model is asked to go on with what it began."""
    turns = sent({"role": "assistant", "content": "one"}, {"role": "assistant", "content": "two"})
    assert [turn["role"] for turn in turns] == ["user", "model", "user"]
    assert turns[1]["parts"] == [{"text": "one"}, {"text": "two"}]


@pytest.mark.parametrize(
    "history", [[], [{"role": "system", "content": "Be short."}], [{"role": "user", "content": " "}]]
)
def test_a_request_that_says_nothing_is_refused_at_home(history: list[dict[str, Any]]) -> None:
    """The error says what is missing."""
    request = ChatRequest(messages=[to_model(each) for each in history])
    with pytest.raises(InvalidRequestError, match="at least one message that says something"):
        GeminiWire().to_call(request, MODEL, stream=False)


def test_a_result_without_its_call_has_a_name_nevertheless() -> None:
    """The service wants one; a history that was not put in order gets the one that is there."""
    results = [
        {"role": "tool", "tool_call_id": "9", "name": "7zip", "content": "x"},
        {"role": "tool", "tool_call_id": "8", "content": "y"},
    ]
    request = ChatRequest(messages=[to_model(each) for each in (USER, *results)])
    contents = GeminiWire().to_call(request, MODEL, stream=False).body["contents"]
    assert [part["functionResponse"]["name"] for part in contents[1]["parts"]] == ["fn__7zip", "unknown"]


@given(st.text(max_size=80).map(safe_name) | st.sampled_from(["fn__7", "fn__fn__x", "-a", "fn__a"]))
def test_names_of_tools_come_back_as_they_were(name: str) -> None:
    """On the wire they begin with a letter, and back here they have their own beginning."""
    assert own_name(wire_name(name)) == name
    assert wire_name(name)[0].isalpha() or wire_name(name)[0] == "_"


def test_a_call_of_another_vendor_is_marked_as_such() -> None:
    """The service wants every call signed; those that it did not make have a word for that."""
    stored = {"role": "assistant", "content": [called("t1", vendor="openai", responses_item={"item": {}})]}
    request = ChatRequest(messages=[to_model(each) for each in (USER, stored)])
    body = GeminiWire().to_call(repair(request, "gemini").request, ARGON, stream=True).body
    assert body["contents"][1]["parts"] == [
        {"functionCall": {"id": "t1", "name": "read", "args": {"path": "x"}}, "thoughtSignature": UNSIGNED}
    ]


def test_the_question_for_tokens_has_all_that_counts() -> None:
    """Contents, system text and tools; no settings of the answer."""
    request = ChatRequest(messages=[to_model({"role": "system", "content": "S"}), to_model(USER)], temperature=0)
    call = GeminiWire().to_count(request, MODEL)
    assert (call.path, call.body) == (
        f"{PATH}:countTokens",
        {
            "generateContentRequest": {
                "model": f"models/{MODEL}",
                "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
                "systemInstruction": {"parts": [{"text": "S"}]},
            }
        },
    )
