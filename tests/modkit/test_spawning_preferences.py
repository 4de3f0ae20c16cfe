"""Provider preferences: the first that fits is promoted, with its newest model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from amplifier_core.models import ModelInfo
from amplifier_modkit.spawning import preferences as module
from amplifier_modkit.spawning.preferences import Choice, Preference, choose, promoted, read_preferences

ENTRIES = [
    {"module": "provider-anthropic", "config": {"priority": 5}},
    {"module": "provider-openai", "instance_id": "big"},
    {"module": "provider-mock", "config": {"name": "fake", "model": "m-1"}},
]


class Listing:
    """A provider that lists models."""

    def __init__(self, *ids: str) -> None:
        self._ids = ids

    async def list_models(self) -> list[ModelInfo]:
        return [ModelInfo(id=each, display_name=each, context_window=1, max_output_tokens=1) for each in self._ids]


class Broken:
    """A provider that cannot list models."""

    async def list_models(self) -> list[ModelInfo]:
        raise OSError("no network")


MOUNTED: dict[str, Any] = {
    "anthropic": Listing("sonnet-4-5", "sonnet-4-10", "Opus-4", "sonnet"),
    "big": Listing("gpt-5.9", "gpt-5.10"),
    "fake": Broken(),
}


def test_preferences_come_as_dicts_or_as_objects() -> None:
    """Anything else, and a preference for nobody, is left out."""

    class Wish:
        provider, model = "x", "y"

    given = [{"provider": "a", "model": "b"}, {"provider": "c"}, Wish(), {"model": "d"}, {"provider": 3}, 7]
    assert read_preferences(given) == [("a", "b"), ("c", None), ("x", "y")]
    assert read_preferences(None) == read_preferences("a") == []


@pytest.mark.parametrize(
    ("wanted", "choice"),
    [
        ([("anthropic", None)], Choice(0, "anthropic", None)),
        ([("provider-anthropic", "any-model")], Choice(0, "anthropic", "any-model")),
        ([("ANTHROPIC", "sonnet-*")], Choice(0, "anthropic", "sonnet-4-10")),
        ([("anthropic", "opus-?")], Choice(0, "anthropic", "Opus-4")),
        ([("openai", "gpt-5.*")], Choice(1, "big", "gpt-5.10")),
        ([("big", None)], Choice(1, "big", None)),
        ([("f*", None)], Choice(2, "fake", None)),
        ([("nobody", None), ("mock", "m-2")], Choice(2, "fake", "m-2")),
        ([("anthropic", "gpt-*"), ("*", "gpt-*")], Choice(1, "big", "gpt-5.10")),
        ([("mock", "m-*"), ("anthropic", None)], Choice(0, "anthropic", None)),
    ],
)
async def test_the_first_preference_that_fits_counts(wanted: list[Any], choice: Choice) -> None:
    """Providers by any name, models by id or pattern, of which the newest; who cannot list them fits no pattern."""
    assert await choose([Preference(*each) for each in wanted], ENTRIES, MOUNTED) == choice


async def test_when_no_preference_fits_the_plan_stays_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    """It is told in the log; no preference at all is nothing to tell."""
    assert (
        await choose([Preference("nobody"), Preference("new", "x-*")], [*ENTRIES, {"module": "new"}], MOUNTED) is None
    )
    [warning] = caplog.messages
    assert warning.startswith("No provider of the plan fits any of the preferences")
    assert await choose([], ENTRIES, MOUNTED) is None
    assert len(caplog.messages) == 1


async def test_a_provider_that_never_lists_its_models_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """After its time it counts as one without models."""

    class Hanging:
        async def list_models(self) -> None:
            await asyncio.Event().wait()

    monkeypatch.setattr(module, "_LISTING_LIMIT_S", 0.0)
    wanted = [Preference("anthropic", "s*"), Preference("big")]
    assert await choose(wanted, ENTRIES, {**MOUNTED, "anthropic": Hanging()}) == Choice(1, "big", None)


def test_the_chosen_provider_comes_first_in_every_way() -> None:
    """In the list and by priority, with its model under the key that it has, else the usual one; entries stay."""
    assert promoted(ENTRIES, Choice(1, "big", "gpt-5.10")) == [
        {"module": "provider-openai", "instance_id": "big", "config": {"priority": 0, "default_model": "gpt-5.10"}},
        ENTRIES[0],
        ENTRIES[2],
    ]
    others = [{"module": "a", "config": {"priority": -7}}, {"module": "b", "config": {"priority": "x"}}]
    assert promoted([*others, ENTRIES[2]], Choice(2, "fake", "m-2"))[0]["config"] == {
        "name": "fake",
        "model": "m-2",
        "priority": -7,
    }
    assert promoted(ENTRIES, Choice(0, "anthropic", None))[0]["config"] == {"priority": 0}
    assert "config" not in ENTRIES[1]
