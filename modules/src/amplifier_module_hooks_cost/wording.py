"""What users and models are told about spending."""

from __future__ import annotations

from decimal import Decimal

from amplifier_modkit.pricing import PRICES_AS_OF
from amplifier_module_hooks_cost.accounts import Standing
from amplifier_module_hooks_cost.estimates import Estimate

_WHOSE = {
    "max_cost_usd": "The spending limit of this session and its children",
    "max_tokens": "The token limit of this session and its children",
    "daily_max_cost_usd": "The spending limit of all sessions of this day",
}
_WAYS_OUT = {
    "max_cost_usd": "Raise it, lower 'reserve_output_tokens', or begin another session.",
    "max_tokens": "Raise it, lower 'reserve_output_tokens', or begin another session.",
    "daily_max_cost_usd": "Raise it, lower 'reserve_output_tokens', or go on tomorrow.",
}


def refusal(standing: Standing, estimate: Estimate, model: str) -> str:
    """Why a call is not made, in numbers, and what to do."""
    call = f"{estimate.tokens.input:,} tokens in, up to {estimate.tokens.output:,} out, {model or 'unknown model'}"
    return (
        f"{_whose(standing)} ('{standing.limit}' of hooks-cost) leaves no room for another model call: "
        f"{_told(standing, standing.spent)} of {_told(standing, standing.of)} are spent, "
        f"{_told(standing, standing.reserved)} are reserved for calls under way, and this call is reckoned at "
        f"{_told(standing, standing.wanted)} ({call}). {_WAYS_OUT[standing.limit]}"
    )


def warning(standing: Standing) -> str:
    """That a limit is near."""
    share = int(100 * standing.spent / standing.of) if standing.of else 100
    return (
        f"{share} % of '{standing.limit}' of hooks-cost are used: {_told(standing, standing.spent)} of "
        f"{_told(standing, standing.of)}. Model calls stop when it is reached."
    )


def unknown_price(model: str) -> str:
    """Why a model without a price is not asked again."""
    return (
        f"Nobody can tell what model '{model}' costs: its provider does not report it, and the table of {PRICES_AS_OF} "
        "has no price for it. A limit on money cannot be kept this way. Set its price in 'prices' of hooks-cost (0 if "
        "it is free), or 'on_unknown_price' to 'allow'."
    )


def day_unknown(error: BaseException) -> str:
    """Why no call is made while the day's total cannot be had."""
    return (
        f"What was spent today cannot be looked up, so 'daily_max_cost_usd' of hooks-cost cannot be kept: "
        f"{str(error) or type(error).__name__}"
    )


def _whose(standing: Standing) -> str:
    told = _WHOSE[standing.limit]
    return told.replace("this session", f"session '{standing.owner}'") if standing.owner else told


def _told(standing: Standing, value: Decimal) -> str:
    return f"{value:,.0f} tokens" if standing.limit == "max_tokens" else f"${value:,.4f}"
