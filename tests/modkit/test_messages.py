"""Messages as plain data, in every form in which they occur."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_core.message_models import TextBlock, ToolCallBlock
from amplifier_modkit.messages import (
    CALL_BLOCKS,
    CallRef,
    blocks_of,
    calls_in,
    has_blocks,
    links_in,
    plain,
    results_in,
    text_of,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=20,
)


@pytest.mark.slow
@given(JSON)
def test_plain_data_is_copied_as_it_is(value: Any) -> None:
    """A copy equals what it was made from and shares nothing that can change."""
    copy = plain(value)
    assert copy == value
    assert not isinstance(value, list | dict) or copy is not value


def test_models_and_other_things_become_data() -> None:
    """Models lose their empty fields, tuples become lists, keys text, and the rest what JSON makes of it."""
    block = ToolCallBlock(id="c", name="bash", input={"a": (1, 2)})
    assert plain([block, {"first": {}, 1: TextBlock(text="x")}]) == [
        {"type": "tool_call", "id": "c", "name": "bash", "input": {"a": [1, 2]}},
        {"first": {}, "1": {"type": "text", "text": "x"}},
    ]
    assert plain(datetime(2025, 1, 1, tzinfo=UTC)) == "2025-01-01T00:00:00+00:00"
    assert plain(TextBlock) == str(TextBlock)


def test_blocks_are_the_dicts_of_a_list() -> None:
    """Text has no blocks, and what is no dict is none."""
    assert (blocks_of("text"), blocks_of(None), blocks_of([1, {"type": "text"}])) == ([], [], [{"type": "text"}])


def test_blocks_are_told_by_their_type() -> None:
    """Whatever else is in a list, and whatever somebody gave for a type, is no block of that kind."""
    odd: list[Any] = ["tool_call", 5, {}, {"type": ["tool_call"]}]
    assert [has_blocks(each, CALL_BLOCKS) for each in ([*odd, {"type": "tool_use"}], odd, "tool_call", None)] == [
        True,
        False,
        False,
        False,
    ]


def test_the_text_of_neighbours_belongs_together() -> None:
    """Text blocks next to each other are one text; something in between sets them apart."""
    blocks: list[Any] = [{"type": "text", "text": text} for text in ("Hel", "", "lo")]
    assert text_of("plain") == "plain"
    assert text_of([*blocks, {"type": "image"}, {"type": "text", "text": "there"}]) == "Hello\n\nthere"
    assert text_of([{"type": "text", "text": None}, {"type": "image"}]) == ""


def test_a_call_is_found_in_every_form_and_once() -> None:
    """Blocks, flat entries and entries with a function are calls; one id is one call."""
    message = {
        "content": [{"type": "tool_use", "id": "a", "name": "read"}, {"type": "text", "text": "x"}],
        "tool_calls": [
            {"id": "a", "name": "read"},
            {"id": 7, "tool": "write"},
            {"id": "c", "function": {"name": "bash"}},
            {"id": "d", "name": 5},
            {"name": "without an id"},
            None,
        ],
    }
    assert calls_in(message) == [CallRef("a", "read"), CallRef("7", "write"), CallRef("c", "bash"), CallRef("d", "")]
    assert calls_in({"role": "user", "content": "x"}) == []


def test_a_result_is_found_in_every_form_and_once() -> None:
    """A tool's message and result blocks, with either name of the id, answer calls."""
    blocks = [{"type": "tool_result", "tool_call_id": "a"}, {"type": "tool_result", "tool_use_id": "b"}]
    assert results_in({"role": "tool", "tool_call_id": "a", "content": "x"}) == ["a"]
    assert results_in({"role": "tool", "tool_call_id": "a", "content": blocks}) == ["a", "b"]
    assert results_in({"role": "user", "tool_call_id": "a", "content": [{"type": "tool_result"}]}) == []


def test_links_are_the_ids_of_calls_and_results() -> None:
    """One look finds both, in every form; a message of plain text has none, whatever it says."""
    blocks: list[Any] = [
        {"type": "tool_use", "id": "a"},
        {"type": "tool_result", "tool_use_id": 9},
        {"type": "tool_result", "tool_call_id": None},
        {"type": "text", "id": "c"},
        "loose",
    ]
    listed = [{"id": "a"}, {"id": 7, "name": "write"}, {"name": "without an id"}, None]
    assert links_in({"role": "assistant", "content": blocks, "tool_calls": listed}) == (["a", "7"], ["9"])
    assert links_in({"role": "tool", "content": None}) == ([], [])
    assert links_in({"role": "user", "content": "a", "tool_call_id": "a"}) == ([], [])
