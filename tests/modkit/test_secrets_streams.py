"""Redacting a text that comes in pieces: nothing leaks, little is held back, and all of it comes in the end."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.modkit.secret_corpus import ALNUM, BASE64, benign_texts, draw, jwt, pem, secret_samples

from amplifier_modkit.secrets import StreamRedactor, redact_text
from amplifier_modkit.secrets.streams import MAX_HELD

R = random.Random(6)
TOKEN = "ghp_" + draw(R, ALNUM, 36)


def feed(stream: StreamRedactor, text: str, size: int) -> list[str]:
    """What comes out for each piece of ``text``."""
    return [stream.feed(text[start : start + size]) for start in range(0, len(text), size)]


def test_words_go_on_as_soon_as_they_are_whole() -> None:
    """Only the word that is coming is held back."""
    stream = StreamRedactor()
    out = [stream.feed(piece) for piece in ("Hel", "lo wor", "ld", ", how", " are you?")]
    assert out == ["", "Hello ", "", "world, ", "how are "]
    assert stream.is_holding
    assert stream.finish() == "you?"
    assert not stream.is_holding
    assert stream.take_hits() == {}


def test_a_secret_in_pieces_is_masked_as_a_whole() -> None:
    """However small the pieces, nothing of it is shown, and what stands around it is."""
    stream = StreamRedactor()
    out = "".join([*feed(stream, f"Use {TOKEN} and go on.", 1), stream.finish()])
    assert out == "Use [REDACTED:github-token] and go on."
    assert stream.take_hits() == {"github-token": 1}
    assert stream.take_hits() == {}


def test_a_line_that_speaks_of_secrets_goes_on_as_a_whole() -> None:
    """The value of a name is seen together with it, also if it has blanks."""
    stream = StreamRedactor()
    out = [stream.feed(piece) for piece in ('"password": "correct', ' horse"', " battery\n", "next line")]
    assert out[:2] == ["", ""]
    assert out[2] == '"password": "[REDACTED:password]" battery\n'
    assert out[3] == "next "


def test_a_name_that_has_gone_on_is_remembered() -> None:
    """A value on the line after its name is masked."""
    stream = StreamRedactor()
    out = "".join([*feed(stream, "- name: DB_PASSWORD\n  value: hunter2\n- name: X\n", 5), stream.finish()])
    assert out == "- name: DB_PASSWORD\n  value: [REDACTED:password]\n- name: X\n"


def test_a_private_key_is_held_until_its_end() -> None:
    """The text before it goes on, and the text behind it again."""
    key = pem(R, "RSA ", 12)
    stream = StreamRedactor()
    out = [*feed(stream, f"Look: {key}\nDone it is.", 40), stream.finish()]
    assert "".join(out) == "Look: [REDACTED:private-key]\nDone it is."


def test_a_private_key_too_long_to_hold_is_swallowed() -> None:
    """Beyond the limit a mask goes on and the rest of the key is dropped, up to its end."""
    body = "\n".join(draw(R, BASE64, 64) for _ in range(300))
    stream = StreamRedactor()
    text = f"a\n-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\nb c"
    assert "".join([*feed(stream, text, 100), stream.finish()]) == "a\n[REDACTED:private-key]\nb c"
    endless = StreamRedactor()
    cut = "".join([*feed(endless, f"-----BEGIN PRIVATE KEY-----\n{body}", 100), endless.finish()])
    assert cut == "[REDACTED:private-key]"


def test_a_token_too_long_to_hold_is_swallowed() -> None:
    """What follows the mask is dropped up to the end of the value; then the text goes on."""
    token = jwt(R) + draw(R, ALNUM, 3 * MAX_HELD)
    stream = StreamRedactor()
    assert "".join([*feed(stream, f'x "{token}" y z', 64), stream.finish()]) == 'x "[REDACTED:jwt]" y z'


def test_a_long_text_without_gaps_goes_on_all_the_same() -> None:
    """A text with no blank in it is held up to the limit and comes out unchanged."""
    text = "keyword," * 5000
    stream = StreamRedactor()
    out = feed(stream, text, 64)
    assert any(out)
    assert "".join([*out, stream.finish()]) == text


def test_a_stream_that_ends_gives_the_rest_redacted() -> None:
    """The end may be the end of a secret; an empty stream has none."""
    stream = StreamRedactor()
    assert stream.feed(f"it is {TOKEN}") == "it is "
    assert stream.finish() == "[REDACTED:github-token]"
    assert StreamRedactor().finish() == ""


def test_a_secret_that_grows_over_a_cut_has_one_mask() -> None:
    """The rest of a value of which a part is masked already adds nothing."""
    stream = StreamRedactor()
    value = " ".join(draw(R, ALNUM, 30) for _ in range(2 * MAX_HELD // 30))
    out = "".join([*feed(stream, f"Cookie: sid={value}\nok then", 50), stream.finish()])
    assert out == "Cookie: [REDACTED:cookie]\nok then"


def test_a_value_of_several_lines_is_masked_line_by_line() -> None:
    """What has been masked as far as it had come needs no second mask when it goes on."""
    stream = StreamRedactor()
    out = "".join([*feed(stream, "password: |\n  hunter2\n  and more1\nuser: bob\n", 4), stream.finish()])
    assert out.split() == ["password:", "|", "[REDACTED:password]", "user:", "bob"]


TEXTS = [sample.text for sample in secret_samples()[::31]] + benign_texts(count=100)[::3]


@given(st.sampled_from(TEXTS), st.lists(st.integers(1, 12), min_size=1, max_size=6))
def test_pieces_together_are_the_redacted_whole(text: str, sizes: list[int]) -> None:
    """However a text is cut, what goes on is what redacting it at once gives."""
    stream, out, start, turn = StreamRedactor(), "", 0, 0
    while start < len(text):
        size = sizes[turn % len(sizes)]
        out += stream.feed(text[start : start + size])
        start, turn = start + size, turn + 1
    assert out + stream.finish() == redact_text(text)[0]


@pytest.mark.slow
def test_a_long_stream_takes_time_in_proportion() -> None:
    """A hundred thousand characters in small pieces, suspicious all the way, come through."""
    text = '{"key": "value", "tokens": 12} ' * 3300
    stream = StreamRedactor()
    assert "".join([*feed(stream, text, 16), stream.finish()]) == text
