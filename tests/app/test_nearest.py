"""The known word that a misspelt one was probably meant to be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier.nearest import nearest

KNOWN = ["model", "modules", "permissions", "session", "run"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("modle", "model"),
        ("sesion", "session"),
        ("sessions", "session"),
        ("permisions", "permissions"),
        ("rnu", "run"),
        ("modul", "model"),
        ("fix", None),
        ("", None),
        ("elephant", None),
    ],
)
def test_a_few_slips_are_forgiven(word: str, meant: str | None) -> None:
    """A letter missing, too many, wrong or swapped; the longer the word the more of them."""
    assert nearest(word, KNOWN) == meant


@given(st.sampled_from(KNOWN))
def test_a_known_word_is_nearest_to_itself(word: str) -> None:
    """Nothing is nearer than the same."""
    assert nearest(word, KNOWN) == word


@given(st.sampled_from(KNOWN), st.integers(0, 20), st.characters())
def test_one_letter_too_many_is_always_forgiven(word: str, place: int, letter: str) -> None:
    """Wherever it stands, and whatever it is."""
    assert nearest(word[:place] + letter + word[place:], [word]) == word
