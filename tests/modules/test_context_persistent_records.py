"""The lines of a journal: what goes out comes back, and what is no record is told from what is one."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent.records import Transcript, clear, compaction, from_line, header, to_line

# Two halves of a character beside each other become the character: that is what they mean in JSON.
TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.text("ab\ud800", max_size=5)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=10,
)
MESSAGES = st.builds(
    lambda role, content, more: {**more, "role": role, "content": content},
    st.sampled_from(["system", "user", "assistant", "tool"]),
    VALUES,
    st.dictionaries(TEXTS, VALUES, max_size=3),
)


def read(*lines: bytes) -> Transcript:
    """The conversation in some lines."""
    transcript = Transcript()
    for line in lines:
        transcript.take(line)
    return transcript


@pytest.mark.slow
@settings(max_examples=50)
@given(st.lists(MESSAGES, max_size=5))
def test_messages_come_back_as_they_were_written(messages: list[dict[str, Any]]) -> None:
    """Any list of messages is equal to itself after it was written and read, and no line has an end inside."""
    lines = [to_line(message) for message in messages]
    assert read(*lines) == Transcript(messages, line_count=len(messages))
    assert [line.decode().splitlines(keepends=True) for line in lines] == [[line.decode()] for line in lines]


def test_a_line_is_compact_readable_utf_8() -> None:
    """Characters stand for themselves; what some readers take for a line end, and half characters, are escaped."""
    line = to_line({"role": "user", "content": "für\u2028\u2029\u0085\n\x00\ud800😀"})
    assert line.decode() == '{"role":"user","content":"für\\u2028\\u2029\\u0085\\n\\u0000\\ud800😀"}\n'


def test_what_json_cannot_say_becomes_text() -> None:
    """Numbers that are not finite, huge ones, objects, cycles and endless depth are written as text, never refused."""
    cycle: list[Any] = []
    cycle.append(cycle)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    strange = {"nan": float("nan"), "huge": 10**5_000, "object": datetime(2026, 1, 2, tzinfo=UTC), "cycle": cycle}
    read_back = from_line(to_line({"role": "user", "content": strange}))
    assert read_back == {
        "role": "user",
        "content": {
            "nan": "NaN",
            "huge": hex(10**5_000),
            "object": "2026-01-02T00:00:00+00:00",
            "cycle": ["[cyclic reference]"],
        },
    }
    assert from_line(to_line({"role": "user", "content": deep})) is not None


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"garbage",
        b"\x00\x00\x00",
        b"\xff\xfe",
        b"1",
        b"[]",
        b'"role"',
        b"{}",
        b'{"content":"no role"}',
        b'{"role":null}',
        b'{"role":1,"record":"clear"}',
        b'{"record":1}',
        b"1" * 5_000,
        b'{"role":' + b"[" * 200_000,
    ],
    ids=lambda line: repr(line[:30]),
)
def test_what_is_no_record_is_none(line: bytes) -> None:
    """Garbage, other JSON, and objects that name neither a role nor a record are not taken for records."""
    assert from_line(line) is None


def test_a_conversation_notes_what_it_cannot_read() -> None:
    """Unreadable lines are left out and counted with their numbers; empty ones are nothing to speak of."""
    transcript = read(
        b'\xef\xbb\xbf{"role":"user","content":"first"}\r\n',
        b"\n",
        b"  \n",
        b"\x00\x00\n",
        b'{"role":"user"}\n',
        b"{}\n",
    )
    assert transcript == Transcript(
        [{"role": "user", "content": "first"}, {"role": "user"}], unreadable=[4, 6], line_count=6
    )


def test_a_conversation_begins_after_the_last_clear() -> None:
    """Messages before a clear, and the plan for them, are no longer part of it; unknown records are passed over."""
    first, second = ({"role": "user", "content": text} for text in ("first", "second"))
    records = [header("s", "2026-01-02"), first, compaction({"a": 1}, 1), clear(), second]
    assert read(*map(to_line, [*records, {"record": "from the future"}])) == Transcript(
        [second], version=1, line_count=6
    )


def test_the_records_look_as_documented() -> None:
    """The records beside messages, as they stand in the file."""
    made = [header("s-1", "2026-01-02T00:00:00+00:00"), clear(), compaction({"kept": 3}, 12)]
    assert [json.loads(to_line(record)) for record in made] == [
        {"record": "header", "version": 1, "session_id": "s-1", "created": "2026-01-02T00:00:00+00:00"},
        {"record": "clear"},
        {"record": "compaction", "messages": 12, "plan": {"kept": 3}},
    ]


@pytest.mark.parametrize(
    ("record", "plan"),
    [
        (compaction({"a": 1}, 2), {"a": 1}),
        (compaction({"a": 1}, 3), None),
        ({"record": "compaction", "plan": {"a": 1}}, None),
        ({"record": "compaction", "plan": 1, "messages": 2}, None),
    ],
    ids=["of these messages", "of other messages", "of unknown messages", "no plan"],
)
def test_a_plan_counts_for_the_messages_it_was_made_of(record: dict[str, Any], plan: dict[str, Any] | None) -> None:
    """A plan names messages by number, so it is dropped when the number of messages before it is another one."""
    message = to_line({"role": "user", "content": "x"})
    earlier = to_line(compaction({"earlier": 1}, 2))
    assert read(message, message, earlier, to_line(record)).plan == plan


def test_a_header_without_a_number_is_of_the_first_format() -> None:
    """A version that is no number does not keep anybody from reading."""
    assert read(b'{"record":"header","version":"one"}\n').version == 1
