"""Usage becomes money by what is reported, by what a config says, else by the table; and never by a guess."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_core.message_models import Usage
from amplifier_modkit import pricing
from amplifier_modkit.pricing import LongInput, Price, PriceList, Tokens, contributed_cost, reported_cost, to_money

SOME = Price.of("1", "10", "0.1", "2")


def usage(input_tokens: int, output_tokens: int, **further: Any) -> Usage:
    """A usage as providers report it."""
    return Usage(
        input_tokens=input_tokens, output_tokens=output_tokens, total_tokens=input_tokens + output_tokens, **further
    )


@pytest.mark.parametrize(
    ("price", "used", "cost"),
    [
        pytest.param(SOME, usage(1_000_000, 100_000), "2", id="input and output"),
        pytest.param(SOME, usage(1_000_000, 0, cache_read_tokens=900_000), "0.19", id="cache read"),
        pytest.param(SOME, usage(1_000_000, 0, cache_write_tokens=500_000), "1.5", id="cache write"),
        pytest.param(
            SOME, usage(1_000_000, 0, cache_read_tokens=600_000, cache_write_tokens=400_000), "0.86", id="both"
        ),
        pytest.param(SOME, usage(100, 0, cache_read_tokens=500, cache_write_tokens=500), "0.00001", id="more than all"),
        pytest.param(Price.of("1", "10"), usage(1_000_000, 0, cache_read_tokens=1_000_000), "1", id="no cache price"),
        pytest.param(Price.of("1", "10"), usage(1_000_000, 0, cache_write_tokens=9), "1", id="no price for writing"),
        pytest.param(Price.of("0", "0"), usage(10, 10), "0", id="free"),
    ],
)
def test_each_kind_of_token_has_its_price(price: Price, used: Usage, cost: str) -> None:
    """Input has the cached tokens in it, and each is paid once."""
    assert price.cost(Tokens.of(used)) == Decimal(cost)


def test_a_long_input_makes_the_whole_call_dearer() -> None:
    """Beyond the limit, and not at it, another price holds for all of the call."""
    price = Price.of("1", "10", long_input=LongInput(200_000, Price.of("2", "20")))
    assert price.cost(Tokens(200_000, 100_000)) == Decimal("1.2")
    assert price.cost(Tokens(200_001, 100_000)) == Decimal("2.400002")


@pytest.mark.parametrize(
    ("model", "as_model"),
    [
        ("claude-opus-5-5", "claude-opus-5-5"),
        ("claude-opus-5-5-20261003", "claude-opus-5-5"),
        ("claude-opus-5-20260724", "claude-opus-5"),
        ("claude-sonnet-5-5@20261003", "claude-sonnet-5-5"),
        ("anthropic/claude-haiku-5-5", "claude-haiku-5-5"),
        ("models/gemini-3.8-flash-001", "gemini-3.8-flash"),
        ("gpt-6-luna-2026-09-22", "gpt-6-luna"),
        ("gpt-6.1-sol-latest", "gpt-6.1-sol"),
        ("gemini-3.8-flash-preview-09-2026", "gemini-3.8-flash"),
        ("claude-opus-5-7", None),
        ("claude-opus-5-fast", None),
        ("gpt-6-astra-pro", None),
        ("gpt-6", None),
        ("gemini-3.8-flash-lite", None),
        ("gpt-6-luna:free", None),
        ("my-own", None),
        ("", None),
        (None, None),
    ],
)
def test_a_model_is_found_by_its_id_or_as_a_form_of_it(model: str | None, as_model: str | None) -> None:
    """A dated or otherwise named form costs the same; a model that only resembles another has no price."""
    prices = PriceList()
    assert prices.price_of(model) == (None if as_model is None else pricing._TABLE[as_model])
    assert prices.price_of(model) is prices.price_of(model)


def test_a_config_overrides_the_table() -> None:
    """Own prices count first: by id, and with a star for every ending; the longest one that fits."""
    free, cheap, own = Price.of("0", "0"), Price.of("1", "1"), Price.of("7", "7")
    prices = PriceList({"llama*": free, "llama-large*": cheap, "claude-opus-5-5": own})
    assert [prices.price_of(model) for model in ("llama3:8b", "llama-large-2", "local/llama3")] == [free, cheap, free]
    assert prices.price_of("claude-opus-5-5-20261003") == own
    assert prices.price_of("claude-opus-5") == pricing._TABLE["claude-opus-5"]


@pytest.mark.parametrize(
    ("used", "model", "cost"),
    [
        pytest.param(usage(10, 10, cost_usd="0.5"), "gpt-6-astra", "0.5", id="reported"),
        pytest.param({"input_tokens": 10, "cost_usd": "0"}, "gpt-6-astra", "0", id="reported as free"),
        pytest.param(usage(1_000_000, 0), "gpt-6-luna", "0.20", id="by the table"),
        pytest.param({"input_tokens": 1_000, "output_tokens": None}, "gpt-6-luna", "0.0001", id="as events carry it"),
        pytest.param(usage(10, 10), "unheard-of", None, id="unknown model"),
        pytest.param(None, "gpt-6-luna", None, id="no usage"),
        pytest.param({"input_tokens": "many", "output_tokens": -3}, "gpt-6-luna", "0", id="nonsense"),
    ],
)
def test_a_reported_cost_goes_before_the_table(used: Any, model: str, cost: str | None) -> None:
    """Nobody knows better than the provider; without it the price of the model counts, and without that nothing."""
    assert PriceList().cost_of(used, model) == (None if cost is None else Decimal(cost))


@pytest.mark.parametrize(
    ("value", "amount"),
    [
        ("0.10", "0.10"),
        (0.1, "0.1"),
        (Decimal("1.5"), "1.5"),
        (2, "2"),
        (True, None),
        ("free", None),
        ("NaN", None),
        ("Infinity", None),
        (-1, None),
        (None, None),
        ([], None),
    ],
)
def test_money_is_what_reads_as_an_amount(value: Any, amount: str | None) -> None:
    """Texts and numbers are amounts unless they are negative, endless or none."""
    assert to_money(value) == (None if amount is None else Decimal(amount))
    assert reported_cost({"cost_usd": value}) == to_money(value)


def test_contributions_are_added_up() -> None:
    """The channel takes amounts and mappings with one; what is neither is passed over."""
    assert contributed_cost([{"cost_usd": "0.10"}, 0.2, None, {"unit": "USD"}, {"cost_usd": "?"}]) == Decimal("0.30")
    assert contributed_cost([{"unit": "USD"}]) is None


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**7))
def test_a_cost_is_exact_and_grows_with_its_tokens(sent: int, received: int, read: int, written: int) -> None:
    """More tokens never cost less, whatever was cached."""
    tokens = Tokens(sent, received, read, written)
    assert SOME.cost(tokens) >= 0
    assert SOME.cost(Tokens(sent + 1, received, read, written)) >= SOME.cost(tokens)
    assert SOME.cost(Tokens(sent, received + 1, read, written)) == SOME.cost(tokens) + Decimal("0.00001")
    assert tokens.total == sent + received


def test_the_table_is_small_dated_and_plausible() -> None:
    """It has a date, and every price is one: output costs more than input, and reading a cache less."""
    assert date(2026, 1, 1) < pricing.PRICES_AS_OF
    assert len(pricing._TABLE) < 40
    for model, price in pricing._TABLE.items():
        assert re.fullmatch(r"[a-z0-9.-]+", model)
        for each in (price, *([price.long_input.price] if price.long_input else [])):
            assert 0 < each.input < each.output
            assert each.cache_read is not None
            assert 0 < each.cache_read < each.input
            assert each.cache_write is None or each.input < each.cache_write <= 2 * each.input
