"""Shorter forms of single messages: clipped on entry, cut in a view, reduced to a stand-in."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_modkit.memory.shapes import (
    all_text,
    clip_result,
    cut,
    is_real_user,
    is_result,
    is_system,
    remark,
    source_of,
    stub,
    text_length,
    water_level,
)
from amplifier_modkit.messages import calls_in, results_in

IMAGE = {"type": "image", "source": {"type": "base64", "data": "AAAA"}}


def text(words: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": words}


def test_roles_and_sources_tell_who_speaks() -> None:
    """What a hook, the context or a tool says in the user's role is not the user's word."""
    hook = {"role": "user", "content": "x", "metadata": {"source": "hook"}}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]}
    assert [source_of(each) for each in (hook, result, {"metadata": {"source": 5}}, {"metadata": "x"})] == [
        "hook",
        None,
        None,
        None,
    ]
    plain_user = {"role": "user", "content": "x", "metadata": {"source": "terminal"}}
    assert [is_real_user(each) for each in (plain_user, hook, result, {"role": "tool"})] == [True, False, False, False]
    assert [is_result(each) for each in (plain_user, result, {"role": "tool"})] == [False, True, True]
    assert [is_system({"role": role}) for role in ("system", "developer", "user", None)] == [True, True, False, False]


def test_a_remark_is_marked_as_the_contexts_own() -> None:
    """The model reads it as a reminder, and everybody else sees where it comes from."""
    assert remark("Mind the gap.", "notice") == {
        "role": "user",
        "content": "<system-reminder>\nMind the gap.\n</system-reminder>",
        "metadata": {"source": "context", "kind": "notice"},
    }


def test_a_stand_in_tells_how_a_message_began() -> None:
    """Long texts give their first words on one line; short ones stay, and pictures are only mentioned."""
    short = {"role": "user", "content": "hello"}
    assert stub(short) is short
    long = stub({"role": "user", "content": "word \n" * 100, "name": "Ann"})
    assert long == {
        "role": "user",
        "content": f"[Shortened: {'word ' * 16}... and 419 characters more]",
        "name": "Ann",
    }
    assert stub({"role": "user", "content": [text("look"), IMAGE, IMAGE]})["content"] == "look [2 images left out]"


def test_a_cut_text_keeps_head_and_tail() -> None:
    """A plain result, one of blocks and one that is neither are cut alike."""
    clipped = "aaaaaaaaaaaaaaaa\n[... 75 characters left out ...]\nzzzzzzzzz"
    message = {"role": "tool", "tool_call_id": "a", "content": "a" * 50 + "z" * 50}
    assert cut(message, 60) == {**message, "content": clipped}
    as_blocks = {**message, "content": [text("a" * 50 + "z" * 48)]}
    assert cut(as_blocks, 60)["content"] == [text("a" + clipped.replace("75", "72"))]
    data = {**message, "content": {"rows": ["r" * 100]}}
    assert cut(data, 60)["content"].startswith('{"rows": ["rrrr')
    assert cut({"role": "assistant", "content": None}, 10) == {"role": "assistant", "content": None}


def test_what_is_no_text_goes_when_a_message_is_cut() -> None:
    """Images are mentioned, thinking is gone, and many small texts become one."""
    thinking = {"type": "thinking", "thinking": "hm" * 500}
    blocks = [thinking, IMAGE, *[text("x" * 30)] * 10, "loose text", 5]
    cut_down = cut({"role": "user", "content": blocks}, 200)["content"]
    assert [block["type"] for block in cut_down] == ["text"]
    assert len(cut_down[0]["text"]) == 200
    assert cut_down[0]["text"].endswith("loose text\n\n[1 image left out]")
    assert cut({"role": "user", "content": [thinking]}, 9)["content"] == [text("")]


@pytest.mark.parametrize("form", ["input", "arguments", "json", "broken json"])
def test_cut_calls_keep_their_shape(form: str) -> None:
    """Ids and names stay, long values lose their middle, and JSON stays JSON."""
    values = {"path": "a.txt", "content": "c" * 5_000, "lines": ["l" * 3_000, 7]}
    if form == "input":
        message = {"role": "assistant", "content": [{"type": "tool_call", "id": "i", "name": "w", "input": values}]}
        shorter = cut(message, 200)["content"][0]["input"]
    else:
        arguments: Any = values if form == "arguments" else json.dumps(values)[: -3 if form == "broken json" else None]
        call: dict[str, Any] = {"id": "i", "name": "w", "arguments": arguments}
        if form != "arguments":
            call = {"id": "i", "function": {"name": "w", "arguments": arguments}}
        message = {"role": "assistant", "content": "Writing.", "tool_calls": [call]}
        cut_call = cut(message, 200)["tool_calls"][0]
        shorter = cut_call.get("function", cut_call)["arguments"]
        shorter = json.loads(shorter) if form != "arguments" else shorter
    assert calls_in(cut(message, 200)) == calls_in(message)
    if form == "broken json":
        assert list(shorter) == ["text"]
        assert len(shorter["text"]) <= 200
    else:
        assert (shorter["path"], shorter["lines"][1]) == ("a.txt", 7)
        assert len(shorter["content"]) + len(shorter["lines"][0]) <= 200
    assert text_length(message) > 3_000 > text_length(cut(message, 200))


def test_short_calls_are_left_alone() -> None:
    """Only what is long is cut; entries that are no calls are left out."""
    call = {"type": "tool_call", "id": "i", "name": "w", "input": {"a": 1}}
    message = {
        "role": "assistant",
        "content": [text("t" * 500), call],
        "tool_calls": [{"id": "i", "arguments": {}}, None],
    }
    assert cut(message, 60) == {
        "role": "assistant",
        "content": [text("tttttttttttttttt\n[... 475 characters left out ...]\nttttttttt"), call],
        "tool_calls": [{"id": "i", "arguments": {}}],
    }


def test_cut_results_in_blocks_keep_their_ids() -> None:
    """Results of another form are cut one by one, long ones first."""
    short = {"type": "tool_result", "tool_use_id": "a", "content": "ok"}
    listed = {"type": "tool_result", "tool_call_id": "b", "output": [text("x" * 1_000), IMAGE]}
    message = {"role": "user", "content": [short, listed]}
    shorter = cut(message, 100)
    assert results_in(shorter) == ["a", "b"]
    assert shorter["content"][0] is short
    assert shorter["content"][1]["output"].endswith("x\n\n[1 image left out]")
    assert text_length(shorter) == 98


def test_a_result_is_clipped_on_entry_by_its_bytes() -> None:
    """Plain text, texts of a list, data, and outputs in blocks are held to the limit; images stay."""
    assert len(clip_result({"role": "tool", "content": "ä" * 1_000}, 100)["content"].encode()) <= 100
    listed = clip_result({"role": "tool", "content": [text("x" * 90), IMAGE, text("y" * 90)]}, 100)["content"]
    assert [block["type"] for block in listed] == ["text", "image"]
    assert len(listed[0]["text"]) == 100
    assert clip_result({"role": "tool", "content": {"a": "x" * 500}}, 100)["content"].startswith('{"a": "xx')
    block = {"type": "tool_result", "tool_use_id": "a", "content": "x" * 500}
    clipped = clip_result({"role": "user", "content": [text("t"), block, "loose", 5]}, 100)["content"]
    assert ([clipped[0], *clipped[2:]], len(clipped[1]["content"])) == ([text("t"), "loose", 5], 100)
    both = clip_result({"role": "user", "content": [text("t" * 500), {**block, "content": "short"}]}, 100)["content"]
    assert (len(both[0]["text"]), both[1]["content"]) == (100, "short")


@pytest.mark.parametrize("content", [None, "short", [text("short"), IMAGE], {"a": 1}, 5])
def test_a_short_result_stays_itself(content: Any) -> None:
    """Nothing is copied where nothing has to be clipped."""
    message = {"role": "tool", "tool_call_id": "a", "content": content}
    assert clip_result(message, 100) is message


def test_all_text_is_one_text() -> None:
    """Text is itself, blocks are joined, and data are JSON."""
    assert [all_text(each) for each in ("a", None, [text("a"), text("b")], ["a"], {"ä": 1})] == [
        "a",
        "",
        "a\n\nb",
        '["a"]',
        '{"ä": 1}',
    ]


def test_the_water_level_fills_the_room() -> None:
    """Small ones stay whole, large ones share what is left; without room the level is zero."""
    assert [water_level(sizes, 100) for sizes in ([], [10, 20], [10, 200, 300], [500])] == [100, 70, 45, 100]
    assert water_level([10, 20], -5) == 0


@given(st.lists(st.integers(0, 500), max_size=8), st.integers(0, 1_000))
def test_what_is_cut_to_the_water_level_fits(sizes: list[int], room: int) -> None:
    """All sizes, none above the level, fit together."""
    level = water_level(sizes, room)
    assert sum(min(size, level) for size in sizes) <= room


@given(st.text(max_size=300), st.integers(0, 200))
def test_no_form_changes_the_message_it_is_made_of(words: str, limit: int) -> None:
    """The stored message stays as it was."""
    message = {
        "role": "assistant",
        "content": [text(words), {"type": "tool_call", "id": "a", "name": "w", "input": {"x": [words]}}],
        "tool_calls": [{"id": "a", "function": {"name": "w", "arguments": json.dumps({"x": words})}}],
    }
    before = deepcopy(message)
    made = (stub(message), cut(message, limit), clip_result(message, limit))
    assert (message, len(made)) == (before, 3)
