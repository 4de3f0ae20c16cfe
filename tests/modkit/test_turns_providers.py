"""Which provider is asked, in which order, and why."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from amplifier_core.testing import MockProvider
from amplifier_modkit.turns.providers import model_of, priority_of, rank


def with_priority(priority: Any) -> Any:
    """A provider that declares a priority."""
    return SimpleNamespace(priority=priority)


def told(*args: Any) -> list[tuple[str, str]]:
    """The order of ``rank`` as pairs of name and reason."""
    return [(candidate.name, candidate.reason) for candidate in rank(*args)]


PROVIDERS: dict[str, Any] = {"late": with_priority(200), "plain": object(), "early": with_priority(1)}


def test_the_lowest_priority_comes_first() -> None:
    """Providers without a priority count as 100; equal ones stay in the order of mounting."""
    assert told({**PROVIDERS, "other": object()}) == [
        ("early", "by priority"),
        ("plain", "by priority"),
        ("other", "by priority"),
        ("late", "by priority"),
    ]
    (first, *_) = rank(PROVIDERS)
    assert first.provider is PROVIDERS["early"]


def test_who_is_asked_for_goes_before_the_default_and_the_default_before_the_rest() -> None:
    """The others stay behind as a reserve, by priority."""
    rest = [("early", "by priority"), ("plain", "by priority")]
    assert told(PROVIDERS, "late", "plain") == [("late", "asked for"), *rest]
    assert told(PROVIDERS, None, "late") == [("late", "the default"), *rest]


def test_a_default_that_is_not_mounted_is_only_remarked_on() -> None:
    """A plan may name a provider whose key is missing on this machine."""
    assert told({"one": object()}, None, "gone") == [("one", "by priority; 'gone', the default, is not mounted")]


def test_who_is_asked_for_must_be_there() -> None:
    """A name that nobody has is an error that says who is there."""
    with pytest.raises(RuntimeError) as missing:
        rank({"one": MockProvider(), "two": MockProvider()}, "gone")
    assert str(missing.value) == "No provider 'gone' is mounted; there is: one, two"


def test_without_providers_there_is_a_clear_error() -> None:
    """Nobody can answer, and the message says what to do."""
    with pytest.raises(RuntimeError) as missing:
        rank({})
    assert str(missing.value) == (
        "No provider is mounted, so nobody can answer; add one to 'providers' in the mount plan"
    )


@pytest.mark.parametrize(
    ("provider", "priority"),
    [
        (with_priority(5), 5),
        (with_priority(0.5), 0.5),
        (SimpleNamespace(config={"priority": 7}), 7),
        (SimpleNamespace(priority=None, config={"priority": 7}), 7),
        (SimpleNamespace(priority=3, config={"priority": 7}), 3),
        (with_priority(True), 100),
        (with_priority("1"), 100),
        (SimpleNamespace(config="priority"), 100),
        (object(), 100),
    ],
)
def test_a_priority_is_a_number_on_the_provider_or_in_its_config(provider: Any, priority: float) -> None:
    """Anything else counts as none."""
    assert priority_of(provider) == priority


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        (SimpleNamespace(default_model="own"), "own"),
        (MockProvider(model="told"), "told"),
        (SimpleNamespace(default_model=5, get_info=lambda: SimpleNamespace(defaults={"model": 5})), None),
        (object(), None),
    ],
)
def test_the_model_is_what_the_provider_says_it_uses(provider: Any, model: str | None) -> None:
    """It is only told to observers, so a provider that does not say is fine."""
    assert model_of(provider) == model
