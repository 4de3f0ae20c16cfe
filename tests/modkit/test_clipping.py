"""Clipping: what stays of a long text, and how the rest is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_modkit.clipping import byte_length, clip_bytes, clip_chars

ANY_TEXT = st.text(max_size=400)


def test_a_text_within_the_limit_stays() -> None:
    """Nothing is told where nothing is left out."""
    assert (clip_chars("short", 5), clip_bytes("short", 5), clip_bytes("äöü", 6)) == ("short", "short", "äöü")
    assert clip_bytes("short", 500) == "short"


def test_head_and_tail_stay_and_the_rest_is_counted() -> None:
    """Two thirds of the room are the head's; the note tells how many characters are missing."""
    text = "a" * 500 + "z" * 500
    assert clip_chars(text, 100) == "a" * 42 + "\n[... 937 characters left out ...]\n" + "z" * 21


def test_bytes_are_counted_and_no_character_is_cut_in_two() -> None:
    """A limit inside a character gives that character up; the note counts bytes."""
    assert clip_bytes("ä" * 500, 91) == "ä" * 19 + "\n[... 942 bytes left out ...]\n" + "ä" * 10
    assert clip_bytes("日" * 500, 91) == "日" * 13 + "\n[... 1,443 bytes left out ...]\n" + "日" * 6


@pytest.mark.parametrize("clip", [clip_chars, clip_bytes])
def test_without_room_the_note_is_all(clip: object) -> None:
    """A limit below the length of the note gives the note; a text shorter than that stays."""
    assert callable(clip)
    unit = "bytes" if clip is clip_bytes else "characters"
    assert clip("a" * 100, 3) == f"\n[... 100 {unit} left out ...]\n"
    assert clip("a" * 20, 3) == "a" * 20


def test_lone_surrogates_are_text_like_any_other() -> None:
    """What no encoding knows is neither refused nor lost."""
    assert byte_length("\ud800ab") == 5
    clipped = clip_bytes("\ud800" * 100, 90)
    assert (clipped[0], clipped[-1], byte_length(clipped) <= 90) == ("\ud800", "\ud800", True)


@given(ANY_TEXT, st.integers(50, 300))
def test_a_clipped_text_fits_and_is_not_clipped_again(text: str, limit: int) -> None:
    """Clipping twice is clipping once, and what stays is head and tail of the text."""
    for clip, measure in ((clip_chars, len), (clip_bytes, byte_length)):
        clipped = clip(text, limit)
        assert measure(clipped) <= limit
        assert clip(clipped, limit) == clipped
        if clipped != text:
            head, _, rest = clipped.partition("\n[... ")
            tail = rest.partition(" ...]\n")[2]
            assert text.startswith(head)
            assert text.endswith(tail)
