"""The record of an event: data in, data out."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_core.events import CONTEXT_PRE_COMPACT, LLM_REQUEST, PROVIDER_REQUEST, TOOL_ERROR, TOOL_POST
from amplifier_core.models import ToolResult
from amplifier_modkit.jsonl import to_line
from amplifier_module_hooks_logging.records import to_record
from amplifier_module_hooks_logging.shortening import MOST_ENTRIES, shortened

LEFT_OUT = "[... left out: the record is too large ...]"


def record_of(event: str, data: dict[Any, Any], *, strips_raw: bool = True, chars: int = 1_000) -> dict[str, Any]:
    """The record as the module makes it."""
    return to_record(event, data, "s-1", strips_raw=strips_raw, max_value_chars=chars)


def test_known_fields_stand_at_the_top_and_all_others_under_data() -> None:
    """The form is fixed: order, names, and what is left out because it is not there."""
    data = {
        "timestamp": "2026-01-02T03:04:05+00:00",
        "session_id": "s-2",
        "parent_id": "s-1",
        "tool_name": "bash",
        "tool_result": ToolResult(output={"lines": ["x"]}),
        "duration_ms": 1.5,
        "request_id": None,
        "redaction": {"applied": True},
        "status": "ok",
        "span_id": "a",
        "parent_span_id": "b",
        "module": "tool-bash",
        "component": "shell",
    }
    record = record_of(TOOL_POST, data)
    assert list(record.items()) == [
        ("ts", "2026-01-02T03:04:05+00:00"),
        ("lvl", "INFO"),
        ("schema", {"name": "amplifier.log", "ver": "1.0.0"}),
        ("event", "tool:post"),
        ("session_id", "s-2"),
        ("status", "ok"),
        ("duration_ms", 1.5),
        ("module", "tool-bash"),
        ("component", "shell"),
        ("span_id", "a"),
        ("parent_span_id", "b"),
        ("redaction", {"applied": True}),
        (
            "data",
            {
                "parent_id": "s-1",
                "tool_name": "bash",
                "tool_result": {"success": True, "output": {"lines": ["x"]}, "error": None},
            },
        ),
    ]


def test_an_event_without_fields_has_a_record() -> None:
    """Time and session come from the log itself."""
    record = record_of("x:y", {1: "odd key"})
    assert datetime.fromisoformat(record.pop("ts")).tzinfo is not None
    assert record == {
        "lvl": "INFO",
        "schema": {"name": "amplifier.log", "ver": "1.0.0"},
        "event": "x:y",
        "session_id": "s-1",
        "data": {"1": "odd key"},
    }


@pytest.mark.parametrize(
    ("event", "data", "level"),
    [
        ("x:y", {}, "INFO"),
        ("x:y", {"lvl": "debug"}, "DEBUG"),
        ("user:notification", {"level": "warning"}, "WARNING"),
        ("x:y", {"lvl": "loud"}, "INFO"),
        ("x:y", {"lvl": 3, "level": None}, "INFO"),
        ("x:y", {"lvl": "DEBUG", "error": {"type": "ValueError", "msg": "no"}}, "ERROR"),
        ("x:y", {"error": None}, "INFO"),
        (TOOL_ERROR, {}, "ERROR"),
        ("module:load_failed", {}, "ERROR"),
    ],
)
def test_the_level_is_that_of_the_data_and_an_error_is_an_error(event: str, data: dict[str, Any], level: str) -> None:
    """A level that is none counts as INFO."""
    assert record_of(event, data)["lvl"] == level


@pytest.mark.parametrize(
    ("event", "data", "kept"),
    [
        (LLM_REQUEST, {"raw": {"messages": ["…"]}, "model": "m"}, {"model": "m"}),
        (PROVIDER_REQUEST, {"messages": ["a", "b"], "provider": "p"}, {"provider": "p", "message_count": 2}),
        (CONTEXT_PRE_COMPACT, {"messages": ["a"], "message_count": 7}, {"message_count": 7}),
        (PROVIDER_REQUEST, {"messages": "none"}, {"messages": "none"}),
        ("x:y", {"messages": ["a"]}, {"messages": ["a"]}),
    ],
)
def test_raw_payloads_are_left_out(event: str, data: dict[str, Any], kept: dict[str, Any]) -> None:
    """What goes over the wire, and the conversation that every request repeats, are not in the log unless asked for."""
    assert record_of(event, data)["data"] == kept
    assert record_of(event, data, strips_raw=False)["data"] == data


def test_long_texts_are_cut_with_a_note() -> None:
    """Head and tail stay; the note tells how much is missing."""
    record = record_of("x:y", {"text": "a" * 600 + "b" * 600, "error": "c" * 2_000}, chars=300)
    text = record["data"]["text"]
    assert (len(text) <= 300, text[:10], text[-10:]) == (True, "a" * 10, "b" * 10)
    assert "characters left out" in text
    assert len(record["error"]) <= 300


def test_long_lists_keep_their_end_and_long_objects_their_beginning() -> None:
    """Each tells how many entries are missing."""
    assert shortened(list(range(MOST_ENTRIES + 5)), 1_000) == [
        "[... 5 entries left out ...]",
        *range(5, MOST_ENTRIES + 5),
    ]
    entries = {str(number): number for number in range(1_500)}
    told = shortened({"entries": entries}, 1_000)["entries"]
    assert list(told) == [*list(entries)[:MOST_ENTRIES], "..."]
    assert told["..."] == "[... 1,300 entries left out ...]"


def test_a_record_has_a_limit_as_a_whole() -> None:
    """However many texts and values an event carries, short words stay and the rest is replaced by notes."""
    told = shortened([{"role": "user", "content": "x" * 8_000} for _ in range(100)], 8_000)
    assert [message["role"] for message in told] == ["user"] * 100
    assert told[-1]["content"] == LEFT_OUT
    nested: Any = "x"
    for _ in range(6):
        nested = [nested] * 50
    assert len(to_line({"data": shortened(nested, 1_000)})) < 1 << 20


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
        max_leaves=10,
    )
)
def test_shortening_twice_changes_nothing_more(value: Any) -> None:
    """What is short enough is told as it is, and what was shortened is short enough."""
    once = shortened(value, 200)
    assert shortened(once, 200) == once
    json.dumps(once, allow_nan=False)
