"""A request put in order before a vendor sees it."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier_core.message_models import ChatRequest, Message, ToolSpec
from amplifier_modkit.llm.blocks import blocks_in, carry, text_in
from amplifier_modkit.llm.names import safe_name
from amplifier_modkit.llm.repair import NO_RESULT, repair
from amplifier_modkit.turns.requests import to_model


def user(text: str) -> dict[str, Any]:
    """What the user says."""
    return {"role": "user", "content": text}


def calls(*ids: str, name: str = "read") -> dict[str, Any]:
    """An answer with calls."""
    blocks = [{"type": "tool_call", "id": each, "name": name, "input": {"n": each}} for each in ids]
    listed = [{"id": each, "name": name, "tool": name, "arguments": {"n": each}} for each in ids]
    return {"role": "assistant", "content": blocks, "tool_calls": listed}


def result(call_id: str, content: Any = "done") -> dict[str, Any]:
    """A result as loops store it."""
    return {"role": "tool", "tool_call_id": call_id, "name": "read", "content": content}


def repaired(*messages: dict[str, Any], **fields: Any) -> tuple[list[Message], list[dict[str, Any]]]:
    """Messages and repairs of a request with these messages."""
    request = ChatRequest.model_construct(messages=[to_model(each) for each in messages], tools=None, **fields)
    found = repair(request, "toy")
    return found.request.messages, found.repairs


def told(messages: list[Message]) -> list[str]:
    """The messages in short: who says what, with the calls made and answered."""
    short: list[str] = []
    for message in messages:
        made = [block["id"] for block in blocks_in(message) if block.get("type") == "tool_call"]
        said = ",".join(made) or message.tool_call_id or text_in(message)
        short.append(f"{message.role} {said}")
    return short


def test_a_history_in_order_stays_as_it_is() -> None:
    """The very same messages go on, and nothing is told."""
    given_messages = [to_model(each) for each in (user("a"), calls("1", "2"), result("1"), result("2"), user("b"))]
    found = repair(ChatRequest(messages=given_messages), "toy")
    assert found.repairs == []
    assert all(sent is given for sent, given in zip(found.request.messages, given_messages, strict=True))


def test_a_call_without_result_gets_one_that_says_so() -> None:
    """It stands right behind the call, is a failure, and is told."""
    messages, repairs = repaired(calls("1", "2"), result("2"), user("b"))
    assert told(messages) == ["assistant 1,2", "tool 1", "tool 2", "user b"]
    assert (messages[1].content, messages[1].metadata) == (NO_RESULT, {"is_error": True})
    assert repairs == [{"kind": "missing_result", "tool_call_id": "1", "tool_name": "read"}]


def test_a_late_result_moves_to_its_call() -> None:
    """What came in between follows it."""
    messages, repairs = repaired(calls("1"), user("well?"), result("1"))
    assert told(messages) == ["assistant 1", "tool 1", "user well?"]
    assert repairs == [{"kind": "late_result", "tool_call_id": "1", "tool_name": "read"}]


def test_a_result_without_call_is_told_by_the_user() -> None:
    """Nothing of what it says is lost."""
    messages, repairs = repaired(user("a"), result("9", "late news"), result("8", [{"type": "text", "text": "more"}]))
    assert [message.role for message in messages] == ["user"] * 3
    assert text_in(messages[1]).endswith(":\nlate news")
    assert text_in(messages[2]).endswith(":\nmore")
    assert [each["kind"] for each in repairs] == ["orphan_result"] * 2


def test_a_result_before_its_call_is_not_its_result() -> None:
    """Results come after calls."""
    messages, _ = repaired(result("1"), calls("1"))
    assert told(messages)[1:] == ["assistant 1", "tool 1"]
    assert messages[2].content == NO_RESULT


def test_calls_that_are_only_listed_become_blocks() -> None:
    """The forms of other histories are read: flat, nested, with arguments as text."""
    nested = {"id": "1", "type": "function", "function": {"name": "read", "arguments": '{"n": 1}'}}
    flat = {"id": "2", "tool": "read", "arguments": {"n": 2}}
    broken = {"id": "3", "name": "read", "input": '{"n": '}
    message = {"role": "assistant", "content": "hm", "tool_calls": [nested, flat, broken, "nonsense"]}
    messages, _ = repaired(message, result("1"), result("2"), result("3"))
    assert blocks_in(messages[0]) == [
        {"type": "text", "text": "hm"},
        {"type": "tool_call", "id": "1", "name": "read", "input": {"n": 1}},
        {"type": "tool_call", "id": "2", "name": "read", "input": {"n": 2}},
        {"type": "tool_call", "id": "3", "name": "read", "input": {}},
    ]
    assert told(messages)[1:] == ["tool 1", "tool 2", "tool 3"]


def test_results_inside_other_messages_become_messages() -> None:
    """Blocks of a user or a tool message are results like any other; an image stays an image."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "x"}}
    by_user = {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "1", "content": [image], "is_error": True},
            {"type": "text", "text": "and?"},
        ],
    }
    by_tool = {"role": "tool", "content": [{"type": "tool_result", "tool_call_id": "2", "output": {"a": 1}}]}
    messages, repairs = repaired(calls("1", "2"), by_tool, by_user)
    assert told(messages) == ["assistant 1,2", "tool 1", "tool 2", "user and?"]
    assert (messages[1].content, messages[1].metadata) == ([image], {"is_error": True})
    assert (messages[2].content, messages[2].metadata) == ('{"a": 1}', None)
    assert repairs == []


def test_what_only_another_vendor_can_read_is_left_out() -> None:
    """Its thinking and its own kinds of blocks go; its words, and what nobody claims, stay."""
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    content = [
        {**thinking, "vendor": "other"},
        {"type": "redacted_thinking", "data": "x", "vendor": "other"},
        carry("other", {"type": "odd"}).model_dump(exclude_none=True),
        carry("toy", {"type": "odd"}).model_dump(exclude_none=True),
        {"type": "text", "text": "said", "vendor": "other"},
        {**thinking, "vendor": "toy"},
        thinking,
    ]
    foreign_only = {"role": "assistant", "content": content[:1]}
    messages, repairs = repaired({"role": "assistant", "content": content}, user("a"), foreign_only)
    assert [block.get("vendor") for block in blocks_in(messages[0])] == ["toy", "other", "toy", None]
    assert told(messages[1:]) == ["user a"]
    assert repairs == []


def test_ids_are_unique_and_of_a_kind_that_all_take() -> None:
    """A second call of the same id, one without, and one with strange characters get ids of their own."""
    odd = {"role": "assistant", "content": [{"type": "tool_use", "id": None, "name": None, "input": None, "mark": 1}]}
    messages, repairs = repaired(calls("1"), result("1", "a"), calls("1"), result("1", "b"), calls("ü|1"), odd)
    strange = safe_name("ü|1")
    assert told(messages) == [
        "assistant 1",
        "tool 1",
        "assistant 1-2",
        "tool 1-2",
        f"assistant {strange}",
        f"tool {strange}",
        "assistant call",
        "tool call",
    ]
    assert [message.content for message in messages[1:4:2]] == ["a", "b"]
    assert blocks_in(messages[6]) == [
        {"type": "tool_call", "id": "call", "name": safe_name(""), "input": {}, "mark": 1},
    ]
    assert len(repairs) == 2


def test_tools_get_names_that_all_take_and_the_way_back() -> None:
    """An unsafe name is replaced, in the history too; of two tools of one name the first is offered."""
    tools = [ToolSpec(name=name, parameters={}) for name in ("a.b", "read", "read")]
    request = ChatRequest(messages=[to_model(calls("1", name="a.b")), to_model(result("1"))], tools=tools)
    found = repair(request, "toy")
    safe = safe_name("a.b")
    assert [tool.name for tool in found.request.tools or ()] == [safe, "read"]
    assert found.names == {safe: "a.b"}
    assert blocks_in(found.request.messages[0])[0]["name"] == safe
    assert request.tools == tools


def test_content_of_nothing_is_fine() -> None:
    """A message may have none, whatever its role."""
    messages, _ = repaired({"role": "assistant", "content": None}, {"role": "function", "content": None})
    assert [message.role for message in messages] == ["assistant", "user"]


IDS = st.sampled_from(["1", "2", "3", "ä"])
MESSAGES = st.one_of(
    st.builds(user, st.just("hi")),
    st.lists(IDS, min_size=1, max_size=3).map(lambda ids: calls(*ids)),
    st.builds(result, IDS),
)


@settings(max_examples=40)
@given(st.lists(MESSAGES, max_size=8))
def test_afterwards_every_call_is_answered_right_behind_it(history: list[dict[str, Any]]) -> None:
    """Whatever the history, each call has its one result before anything else is said; twice is as good as once."""
    messages, _ = repaired(*history)
    open_calls: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if message.role == "tool":
            assert open_calls.pop(0) == message.tool_call_id
            continue
        assert open_calls == []
        open_calls = [block["id"] for block in blocks_in(message) if block.get("type") == "tool_call"]
        assert not seen.intersection(open_calls)
        seen.update(open_calls)
    assert open_calls == []
    again = repair(ChatRequest(messages=messages), "toy")
    assert again.request.messages == messages
    assert again.repairs == []
