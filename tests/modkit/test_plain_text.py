"""Text of others is shown without its control characters: nothing moves the cursor, nothing is hidden."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_modkit.plain_text import on_one_line, without_controls


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain", "plain", id="plain"),
        pytest.param("a\tb\r\nc\rd\x85e\u2028f", "a    b\nc\nd\ne\nf", id="white space"),
        pytest.param("\x1b[31mred\x1b[0m \x9b1mbold\x9b0m", "red bold", id="colours"),
        pytest.param("a\x1b[2J\x1b[Hb", "ab", id="clear screen"),
        pytest.param("a\x1b]0;title\x07b", "a␛]0;title␇b", id="window title"),
        pytest.param("\x1b]52;c;ZXZpbA==\x1b\\", "␛]52;c;ZXZpbA==␛\\", id="clipboard"),
        pytest.param("\x1b]8;;http://x\x1b\\link", "␛]8;;http://x␛\\link", id="hyperlink"),
        pytest.param("\x1bPq#0\x1b\\", "␛Pq#0␛\\", id="device control"),
        pytest.param("\x1b[31", "␛[31", id="unfinished"),
        pytest.param("\x1b\x1b[31m[32mx", "␛[32mx", id="sequence inside a sequence"),
        pytest.param("a\x08\x08b\x00c\x7f\x90", "a␈␈b␀c␡\ufffd", id="other controls"),
        pytest.param("a\u202egpj.exe\u200b\u2066b", "agpj.exeb", id="reordering and zero width"),
        pytest.param("\U000e0041tag", "tag", id="tag characters"),
        pytest.param("\ud800\ue000\u0378", "\ufffd" * 3, id="surrogate, private, unassigned"),
        pytest.param("a\u00a0b é 漢 👍", "a b é 漢 👍", id="other scripts"),
    ],
)
def test_control_characters_are_taken_out_or_made_visible(text: str, shown: str) -> None:
    """Colours and reordering go, line ends are made equal, everything else that controls a terminal is shown."""
    assert without_controls(text) == shown


@given(st.text())
def test_what_is_shown_holds_nothing_that_controls(text: str) -> None:
    """Whatever comes in, what comes out is visible, and doing it again changes nothing."""
    shown = without_controls(text)
    assert all(char == "\n" or (char.isprintable() and unicodedata.category(char) != "Cf") for char in shown)
    assert without_controls(shown) == shown


def test_a_text_can_be_put_on_one_line() -> None:
    """White space of any kind becomes single spaces."""
    assert on_one_line(" a\n\n\tb\x1b[1m c ") == "a b c"
