"""Errors told in text."""

from __future__ import annotations

from amplifier_core._error_text import describe_error, error_text


def test_an_error_is_described_by_type_and_message() -> None:
    """An empty message leaves the type."""
    assert describe_error(ValueError("bad")) == "ValueError: bad"
    assert describe_error(KeyboardInterrupt()) == "KeyboardInterrupt: "


def test_a_message_that_cannot_be_read_is_replaced_by_the_repr() -> None:
    """Its own ``__str__`` is foreign code, too."""

    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no message")

    assert error_text(Unspeakable("x")) == "Unspeakable('x')"


def test_an_error_without_message_and_repr_is_still_told() -> None:
    """Nothing that an exception does can break the telling."""

    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no message")

        def __repr__(self) -> str:
            raise RuntimeError("no repr")

    assert describe_error(Mute()) == "Mute: (its message cannot be read)"
