"""What is known about models without asking."""

from __future__ import annotations

from decimal import Decimal

import pytest
from tests.modkit.llm_world import CATALOGUE

from amplifier_core.message_models import Usage
from amplifier_core.models import ModelInfo, Pricing


@pytest.mark.parametrize("name", ["toy-2", "toy-2-20261101", "toy-2-latest", "vendor/toy-2", "models/toy-2@20261101"])
def test_a_model_is_found_under_all_its_names(name: str) -> None:
    """A date behind an id, or a service before it, is the same model."""
    found = CATALOGUE.find(name)
    assert found is not None
    assert found.id == "toy-2"


@pytest.mark.parametrize("name", ["toy-2-mini", "toy", "toy-22", ""])
def test_a_similar_name_is_another_model(name: str) -> None:
    """Nothing is guessed from a beginning."""
    assert CATALOGUE.find(name) is None


def test_models_are_listed_all_or_by_family() -> None:
    """The first of a family is its newest; one without family stands for itself."""
    assert [model.id for model in CATALOGUE.listed()] == ["toy-2", "toy-1", "gpt-6-luna"]
    assert [model.id for model in CATALOGUE.listed(only_latest=True)] == ["toy-2", "gpt-6-luna"]


def test_a_model_is_described_with_its_price() -> None:
    """Windows and abilities are those of the catalogue, prices those of the price list."""
    assert CATALOGUE.info("gpt-6-luna") == ModelInfo(
        id="gpt-6-luna",
        display_name="Luna",
        context_window=8_000,
        max_output_tokens=800,
        pricing=Pricing(
            input_per_million=0.10, output_per_million=0.50, cache_read_per_million=0.01, cache_write_per_million=0.125
        ),
    )


def test_what_the_service_says_goes_before_what_is_known() -> None:
    """An unknown model gets the least that one may assume; a price without cache has none for it."""
    assert CATALOGUE.info("unknown", display_name="U", context_window=7) == ModelInfo(
        id="unknown", display_name="U", context_window=7, max_output_tokens=4_096
    )
    assert CATALOGUE.info("toy-2", capabilities=["vision"]).capabilities == ["vision"]
    priced = CATALOGUE.info("gemini-4-argon").pricing
    assert priced is not None
    assert priced.cache_write_per_million is None


def test_a_call_costs_what_its_model_costs() -> None:
    """A model without a price has no cost."""
    usage = Usage(input_tokens=1_000_000, output_tokens=0, total_tokens=1_000_000)
    assert CATALOGUE.cost_of(usage, "gemini-3.1-flash-lite") == Decimal("0.25")
    assert CATALOGUE.cost_of(usage, "toy-2") is None
