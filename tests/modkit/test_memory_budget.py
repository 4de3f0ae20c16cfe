"""The budget of a request: whose word counts, and what is done with it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from amplifier_core.models import ModelInfo
from amplifier_core.testing import MockProvider
from amplifier_modkit.memory.budget import Budget
from amplifier_modkit.memory.policy import CompactionPolicy, ContextConfig


class Provider:
    """A provider that tells what it is made with."""

    name = "odd"

    def __init__(self, info: Any, model: Any = None) -> None:
        self._info = info
        if model is not None:
            self.get_model_info = lambda: model

    def get_info(self) -> Any:
        if isinstance(self._info, Exception):
            raise self._info
        return self._info


def defaults(**limits: Any) -> Any:
    """A provider's description of itself, with these limits."""
    return SimpleNamespace(defaults=limits)


async def settled(value: Any) -> Any:
    """An answer that has to be awaited."""
    return value


WINDOW = {"context_window": 10_000, "max_output_tokens": 2_000}
MODEL = ModelInfo(id="m", display_name="M", context_window=50_000, max_output_tokens=9_000)


@pytest.mark.parametrize(
    ("config", "token_budget", "provider", "budget"),
    [
        ({}, None, None, 200_000),
        ({}, 123, Provider(defaults(**WINDOW)), 123),
        ({}, -5, None, 0),
        ({"max_tokens": 100}, 123, None, 123),
        ({}, None, MockProvider(context_window=100_000), 100_000 - 4_096 - 1_000),
        ({}, None, Provider(defaults(**WINDOW)), 7_000),
        ({"output_reserve_fraction": 0.5}, None, Provider(defaults(**WINDOW)), 8_000),
        ({"max_tokens": 5_000}, None, Provider(defaults(**WINDOW)), 5_000),
        ({"max_tokens": 500_000}, None, Provider(defaults(**WINDOW)), 7_000),
        ({}, None, Provider(defaults(**WINDOW), MODEL), 40_000),
        ({}, None, Provider(defaults(**WINDOW), {"context_window": 20_000, "max_output_tokens": 1_000}), 18_000),
        ({}, None, Provider(defaults(**WINDOW), {"context_window": None}), 7_000),
        ({}, None, Provider(defaults(context_window=3_000, max_output_tokens=3_000)), 1_500),
        ({}, None, Provider(defaults(context_window=3_000)), 200_000),
        ({}, None, Provider(SimpleNamespace(defaults=None)), 200_000),
        ({}, None, Provider(None), 200_000),
    ],
)
async def test_the_nearest_word_counts(
    config: dict[str, Any], token_budget: int | None, provider: Any, budget: int
) -> None:
    """The caller's, then the model's, then the provider's, then the setting's, which is a cap if it was made."""
    assert await Budget(ContextConfig.read(config).policy()).tokens(token_budget, provider) == budget


async def test_answers_may_have_to_be_awaited() -> None:
    """A provider that looks its limits up elsewhere may be async."""
    assert await Budget(CompactionPolicy()).tokens(None, Provider(settled(defaults(**WINDOW)))) == 7_000
    assert await Budget(CompactionPolicy()).tokens(None, Provider(None, settled(MODEL))) == 40_000


async def test_a_provider_may_go_over_to_another_model() -> None:
    """What it says is asked for anew with every request, so the budget follows at once."""
    budget, provider = Budget(CompactionPolicy()), Provider(defaults(**WINDOW))
    before = await budget.tokens(None, provider)
    provider._info.defaults["context_window"] = 30_000
    assert (before, await budget.tokens(None, provider)) == (7_000, 27_000)


async def test_a_provider_that_fails_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """The setting takes its place, for every request; one line in the log says why."""
    budget = Budget(CompactionPolicy(max_tokens=500))
    provider = Provider(OSError("no network"))
    assert [await budget.tokens(None, provider) for _ in range(3)] == [500, 500, 500]
    assert caplog.messages == [
        "Provider 'odd' cannot tell its context window (OSError('no network')); max_tokens = 500 is used instead"
    ]
