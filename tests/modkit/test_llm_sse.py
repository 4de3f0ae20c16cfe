"""Server-sent events from bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier_modkit.llm.sse import SseDecoder, SseOverflowError

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\ufeff"), max_size=20)
NAMES = st.sampled_from(["message", "delta", "error"])


def events_in(*chunks: bytes) -> list[tuple[str, str]]:
    """The events of a stream that comes in these chunks."""
    decoder = SseDecoder()
    return [event for chunk in chunks for event in decoder.feed(chunk)]


@settings(max_examples=30)
@given(st.lists(st.tuples(NAMES, TEXTS), max_size=6), st.sampled_from(["\n", "\r\n", "\r"]), st.data())
def test_events_are_the_same_wherever_the_bytes_are_cut(
    events: list[tuple[str, str]], line_end: str, data: st.DataObject
) -> None:
    """Cuts in the middle of characters, lines and frames make no difference, whatever the line ends are."""
    lines = [line for name, text in events for line in (f"event: {name}", f"data: {text}", "")]
    stream = "".join(f"{line}{line_end}" for line in lines).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    chunks = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    # A lone carriage return at the very end may be the first half of a line end, so one more byte settles it.
    assert events_in(*chunks, b":") == events


def test_lines_of_data_belong_together_and_other_fields_do_not_count() -> None:
    """Several data lines are one text; comments, ids, unknown fields and events without data are passed over."""
    stream = b": hi\nid: 7\nretry: 5\ndata: one\ndata:two\nnonsense\n\nevent: ping\n\ndata: x\n\n"
    assert events_in(stream) == [("message", "one\ntwo"), ("message", "x")]


def test_a_mark_at_the_beginning_is_no_text() -> None:
    """A byte order mark is passed over."""
    assert events_in(b"\xef\xbb\xbfdata: a\n\n") == [("message", "a")]


def test_bytes_that_are_no_text_are_replaced() -> None:
    """A broken character does not break the stream."""
    assert events_in(b"data: a\xffb\n\n") == [("message", "a\ufffdb")]


def test_an_event_without_end_is_none() -> None:
    """What is not finished by an empty line is not told."""
    assert events_in(b"data: a\n") == []


@pytest.mark.parametrize("chunks", [[b"data: " + b"x" * 30], [b"data: 12345\n" * 4]])
def test_an_event_may_not_grow_for_ever(chunks: list[bytes]) -> None:
    """One event longer than the limit is an error, be it one line or many."""
    decoder = SseDecoder(max_event_chars=16)
    with pytest.raises(SseOverflowError, match="more than 16 characters"):
        [list(decoder.feed(chunk)) for chunk in chunks]
