"""Healing: every call gets its result, every name is valid, and what was changed is noted."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from amplifier_modkit.memory.pairing import Pairing, heal
from amplifier_modkit.memory.wording import make_sendable, valid_name

Message = dict[str, Any]

USER: Message = {"role": "user", "content": "Go on."}
ANSWER: Message = {"role": "assistant", "content": "Done."}
HOOK: Message = {"role": "assistant", "content": "Mind the time.", "metadata": {"source": "hook"}}


def calls(*ids: str, name: str = "bash") -> Message:
    """A message that calls tools."""
    return {"role": "assistant", "content": "", "tool_calls": [{"id": each, "name": name} for each in ids]}


def result(call_id: str, content: Any = "ok") -> Message:
    """A tool's message."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def result_block(call_id: str) -> Message:
    """A result as a block."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": "ok"}


def synthetic(call_id: str, name: str = "bash") -> Message:
    """What stands for a result that never came."""
    return {
        "role": "tool",
        "tool_call_id": call_id,
        "name": name,
        "content": "[No result: this tool call was interrupted before its result was stored. "
        "It may or may not have had an effect; check before you repeat it.]",
        "metadata": {"source": "context", "kind": "synthetic_result", "is_error": True},
    }


def no_result(call_id: str) -> str:
    """The note about a synthetic result."""
    return f"Tool call '{call_id}' of 'bash' has no result and gets a synthetic one"


def not_waited_for(call_id: str) -> str:
    """The note about a result without a call."""
    return f"A result of tool call '{call_id}' is left out: no call is waiting for it"


BROKEN: dict[str, tuple[list[Message], list[Message], list[str]]] = {
    "no result at the end": ([calls("a")], [calls("a"), synthetic("a")], [no_result("a")]),
    "one of two results": (
        [calls("a", "b"), result("b"), USER],
        [calls("a", "b"), result("b"), synthetic("a"), USER],
        [no_result("a")],
    ),
    "no call": ([USER, result("a"), ANSWER], [USER, ANSWER], [not_waited_for("a")]),
    "no id": (
        [USER, {"role": "tool", "content": "x"}],
        [USER],
        ["A tool result without 'tool_call_id' is left out: it belongs to no call"],
    ),
    "two results": ([calls("a"), result("a"), result("a")], [calls("a"), result("a")], [not_waited_for("a")]),
    "a hook in between": (
        [calls("a", "b"), result("a"), HOOK, result("b")],
        [calls("a", "b"), result("a"), result("b"), HOOK],
        ["1 messages between a tool call and its result are moved behind"],
    ),
    "the user in between": (
        [calls("a"), USER, USER, result("a")],
        [calls("a"), result("a"), USER, USER],
        ["2 messages between a tool call and its result are moved behind"],
    ),
    "calls one after another": (
        [calls("a"), calls("b"), result("a"), result("b")],
        [calls("a"), result("a"), calls("b"), result("b")],
        ["1 messages between a tool call and its result are moved behind"],
    ),
    "a result after the conversation went on": (
        [calls("a"), USER, ANSWER, result("a")],
        [calls("a"), synthetic("a"), USER, ANSWER],
        [no_result("a"), not_waited_for("a")],
    ),
    "the user's own call, and the model goes on": (
        [{**calls("a"), "role": "user"}, ANSWER, result("a")],
        [{**calls("a"), "role": "user"}, synthetic("a"), ANSWER],
        [no_result("a"), not_waited_for("a")],
    ),
    "the user's own call, and the model calls": (
        [{**calls("a"), "role": "user"}, {"role": "assistant", "content": [result_block("x")]}],
        [{**calls("a"), "role": "user"}, synthetic("a")],
        [no_result("a"), not_waited_for("x")],
    ),
    "a foreign result among those of two calls": (
        [calls("a", "b"), result("a"), result("x"), result("b"), ANSWER],
        [calls("a", "b"), result("a"), result("b"), ANSWER],
        [not_waited_for("x")],
    ),
    "an id used again before its result": (
        [calls("a"), calls("a"), result("a")],
        [calls("a"), synthetic("a"), calls("a"), result("a")],
        [no_result("a")],
    ),
    "blocks that answer two callers": (
        [calls("a"), calls("b"), {"role": "user", "content": [result_block("a"), result_block("b")]}],
        [
            calls("a"),
            {"role": "user", "content": [result_block("a")]},
            calls("b"),
            {"role": "user", "content": [result_block("b")]},
        ],
        ["1 messages between a tool call and its result are moved behind"],
    ),
    "blocks that answer nothing, with a word beside them": (
        [
            calls("a"),
            {"role": "user", "content": [result_block("a"), result_block("x"), {"type": "text", "text": "Hm."}]},
        ],
        [
            calls("a"),
            {"role": "user", "content": [result_block("a")]},
            {"role": "user", "content": [{"type": "text", "text": "Hm."}]},
        ],
        [not_waited_for("x")],
    ),
    "blocks that answer nothing": ([{"role": "user", "content": [result_block("x")]}], [], [not_waited_for("x")]),
    "a tool's message with a block for another call": (
        [calls("b"), {"role": "tool", "tool_call_id": "x", "content": [result_block("b"), 5]}],
        [calls("b"), {"role": "tool", "tool_call_id": "b", "content": [result_block("b")]}],
        [not_waited_for("x")],
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_conversation_is_healed(case: str) -> None:
    """Calls and results come together, nothing is left alone, and the stored messages stay as they were."""
    broken, whole, notes = BROKEN[case]
    before = deepcopy(broken)
    assert heal(broken) == (whole, notes)
    assert broken == before


SOUND: dict[str, list[Message]] = {
    "nothing": [],
    "talk": [{"role": "system", "content": "Be brief."}, USER, ANSWER],
    "calls": [USER, calls("a", "b"), result("b"), result("a"), ANSWER, calls("a"), result("a"), HOOK],
    "blocks": [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "bash", "input": {"n": [1, None]}}]},
        {"role": "user", "content": [result_block("a"), {"type": "text", "text": "And now?"}]},
    ],
    "a call answered in its own message": [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "search"}, result_block("a")]},
        ANSWER,
    ],
}


@pytest.mark.parametrize("case", SOUND)
def test_a_sound_conversation_comes_back_as_it_is(case: str) -> None:
    """The very messages, and no notes."""
    healed, notes = heal(SOUND[case])
    assert ([id(message) for message in healed], notes) == ([id(message) for message in SOUND[case]], [])


def test_a_late_result_takes_the_place_of_the_synthetic_one() -> None:
    """Asked while a tool still runs, there is a stand-in; when the result comes, it is the real one."""
    pairing = Pairing()
    pairing.add(calls("a"))
    assert pairing.healed().messages == [calls("a"), synthetic("a")]
    pairing.add(result("a"))
    assert pairing.healed() == ([calls("a"), result("a")], [])


def test_asking_while_results_are_missing_changes_nothing_later() -> None:
    """A view in the middle of two calls has a stand-in; in the end all is as if nobody had asked."""
    pairing = Pairing()
    for message in (USER, calls("a", "b"), result("b")):
        pairing.add(message)
    assert pairing.healed() == ([USER, calls("a", "b"), result("b"), synthetic("a")], [no_result("a")])
    for message in (result("a"), ANSWER, calls("c"), result("c")):
        pairing.add(message)
    whole = [USER, calls("a", "b"), result("b"), result("a"), ANSWER, calls("c"), result("c")]
    assert pairing.healed() == (whole, [])


def test_each_list_is_the_callers_own() -> None:
    """Emptying a healed list does not empty the next one."""
    pairing = Pairing()
    pairing.add(USER)
    pairing.healed().messages.clear()
    assert pairing.healed().messages == [USER]


def test_invalid_tool_names_are_made_valid_in_call_and_result_alike() -> None:
    """Whatever form the call has, both ends get the same name."""
    long = "n" * 80
    flat = {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "name": "mcp.read", "tool": "mcp.read"}]}
    nested = {"role": "assistant", "content": None, "tool_calls": [{"id": "b", "function": {"name": "ä b"}}]}
    block = {
        "role": "assistant",
        "content": [{"type": "text", "text": "."}, {"type": "tool_call", "id": "c", "name": long}],
    }
    answers = [{**result("a"), "name": "mcp.read"}, {**result("b"), "name": "ä b"}, {**result("c"), "name": long}]
    healed, notes = heal([flat, answers[0], nested, answers[1], block, answers[2]])
    assert healed[0]["tool_calls"] == [{"id": "a", "name": "mcp_read", "tool": "mcp_read"}]
    assert healed[2]["tool_calls"] == [{"id": "b", "function": {"name": "__b"}}]
    assert healed[4]["content"][1]["name"] == "n" * 64
    assert [healed[place]["name"] for place in (1, 3, 5)] == ["mcp_read", "__b", "n" * 64]
    assert notes[0] == "The tool name 'mcp.read' is not valid and is sent as 'mcp_read'"
    assert (valid_name(""), valid_name("good-name_1")) == ("unnamed_tool", "good-name_1")


def test_calls_that_nobody_could_answer_are_left_out() -> None:
    """A call without an id has no result, ever; what else is in a list stays."""
    listed: Message = {"role": "assistant", "content": "x", "tool_calls": [None, {}, {"id": "a", "name": "bash"}]}
    blocks = {
        "role": "assistant",
        "content": ["loose", {"type": "text", "text": "x"}, {"type": "tool_call", "name": "bash"}],
    }
    told = "A tool call without an id is left out: nothing could answer it"
    assert make_sendable(listed) == ({**listed, "tool_calls": [{"id": "a", "name": "bash"}]}, [told, told])
    assert make_sendable(blocks) == ({**blocks, "content": ["loose", {"type": "text", "text": "x"}]}, [told])


def test_nul_characters_are_left_out() -> None:
    """Wherever they stand in what is sent; metadata are not sent."""
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": "a\0b"}, 5],
        "tool_calls": [{"id": "a", "name": "bash", "arguments": {"x": ["\0"]}}],
    }
    assert make_sendable(message) == (
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "ab"}, 5],
            "tool_calls": [{"id": "a", "name": "bash", "arguments": {"x": [""]}}],
        },
        ["NUL characters are left out of a message of role 'assistant'"],
    )
    assert make_sendable({"role": "user", "content": "\0"})[0] == {"role": "user", "content": ""}
    marked = {"role": "user", "content": "x", "metadata": {"raw": "\0"}}
    assert make_sendable(marked)[0] is marked
