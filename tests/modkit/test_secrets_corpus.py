"""The redaction of texts, measured on a labelled corpus: nothing is missed, and nothing else is touched."""

from __future__ import annotations

import random

import pytest
from tests.modkit.secret_corpus import NAMED, PLACES, TOKENS, benign_texts, secret_samples

from amplifier_modkit.secrets import StreamRedactor, redact_text, redact_value

SAMPLES = secret_samples()


def test_the_corpus_is_large_and_odd() -> None:
    """There are many kinds of secrets, each in many places, and every sample has a name of its own."""
    assert len(TOKENS) >= 40
    assert len(PLACES) + len(NAMED) >= 80
    assert len({sample.id for sample in SAMPLES}) == len(SAMPLES) >= 1500


@pytest.mark.slow
def test_every_secret_of_the_corpus_is_masked() -> None:
    """Recall is 100 %: no sample keeps any of its secrets."""
    missed = [sample.id for sample in SAMPLES if _leaks(sample.secrets, redact_text(sample.text)[0])]
    unnoticed = [sample.id for sample in SAMPLES if not redact_text(sample.text)[1]]
    print(f"\nredaction: recall {1 - len(missed) / len(SAMPLES):.2%} of {len(SAMPLES)} samples")  # noqa: T201 - the figures are the proof
    assert (missed, unnoticed) == ([], [])


@pytest.mark.slow
def test_nothing_harmless_is_touched() -> None:
    """There are no false positives among thousands of ids, dates, numbers, hashes, code and prose."""
    texts = benign_texts()
    touched = [(text, redact_text(text)[0]) for text in texts if redact_text(text)[0] != text]
    print(f"\nredaction: {len(touched)} false positives in {len(texts)} harmless texts")  # noqa: T201 - the figures are the proof
    assert touched == []


@pytest.mark.slow
def test_redacting_twice_changes_nothing_more() -> None:
    """What is masked once stays as it is."""
    once = [redact_text(sample.text)[0] for sample in SAMPLES]
    assert [redact_text(text) for text in once] == [(text, {}) for text in once]


@pytest.mark.slow
def test_secrets_inside_data_are_masked_as_well() -> None:
    """A text of the corpus keeps no secret as a value, a key, an item or bytes."""
    missed = [
        sample.id
        for sample in SAMPLES
        if _leaks(
            sample.secrets, str(redact_value({"a": [sample.text, {sample.text: 1}], "b": sample.text.encode()})[0])
        )
        and sample.text.isascii()
    ]
    assert missed == []


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 3, 16])
def test_no_secret_leaks_from_a_stream(size: int) -> None:
    """However a text is cut into pieces, what goes on holds no secret, piece by piece and together."""
    missed: list[str] = []
    for sample in SAMPLES[:: 1 if size == 16 else 4]:
        pieces = [sample.text[start : start + size] for start in range(0, len(sample.text), size)]
        if _leaks(sample.secrets, _streamed(pieces)):
            missed.append(sample.id)
    assert missed == []


@pytest.mark.slow
def test_a_stream_without_secrets_comes_through_unchanged() -> None:
    """Whatever was held back on the way is there in the end."""
    source = random.Random(4)
    for text in benign_texts(count=500):
        pieces: list[str] = []
        rest = text
        while rest:
            size = source.randint(1, 20)
            pieces.append(rest[:size])
            rest = rest[size:]
        assert _streamed(pieces) == text


def _leaks(secrets: tuple[str, ...], text: str) -> bool:
    return any(secret in text for secret in secrets)


def _streamed(pieces: list[str]) -> str:
    stream = StreamRedactor()
    return "".join([*map(stream.feed, pieces), stream.finish()])
