"""The config of the module: limits, when to warn, and prices.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, field_validator

from amplifier_core.models import Pricing
from amplifier_modkit.module_config import ModuleConfig
from amplifier_modkit.pricing import Price, PriceList

Money = Annotated[Decimal, Field(ge=0, allow_inf_nan=False)]


class CostConfig(ModuleConfig):
    """What a plan may say about spending; a limit that is not set does not exist."""

    max_cost_usd: Money | None = None
    """What a session and its children may spend together."""
    max_tokens: int | None = Field(default=None, ge=0)
    """Tokens, sent and received, that a session and its children may use together."""
    daily_max_cost_usd: Money | None = None
    """What all sessions of this user may spend on one day."""
    warn_at: float = Field(default=0.8, gt=0, le=1)
    """The share of a limit at which there is a warning."""
    reserve_output_tokens: int = Field(default=8_192, ge=0)
    """The length at which an answer that is still to come is reckoned."""
    on_unknown_price: Literal["deny", "allow"] = "deny"
    """What happens, where money is limited, to a model of which nobody can tell what it costs."""
    prices: dict[str, Pricing] = Field(default_factory=dict[str, Pricing])
    """Prices that go before those known here, by model; an id may end in ``*``."""
    priority: int = -5

    @field_validator("prices")
    @classmethod
    def _require_dollars(cls, prices: dict[str, Pricing]) -> dict[str, Pricing]:
        for model, pricing in prices.items():
            if pricing.currency != "USD":
                raise ValueError(f"the price of {model!r} is in {pricing.currency}; only USD can be added up")
        return prices

    @property
    def limits_money(self) -> bool:
        """Whether there is a limit that needs to know what calls cost."""
        return self.max_cost_usd is not None or self.daily_max_cost_usd is not None

    def price_list(self) -> PriceList:
        """The prices of this config, then those known here."""
        return PriceList({model: _price(pricing) for model, pricing in self.prices.items()})


def _price(pricing: Pricing) -> Price:
    read, write = pricing.cache_read_per_million, pricing.cache_write_per_million
    return Price(
        _exact(pricing.input_per_million),
        _exact(pricing.output_per_million),
        None if read is None else _exact(read),
        None if write is None else _exact(write),
    )


def _exact(amount: float) -> Decimal:
    # A float is taken for the digits one reads.
    return Decimal(str(amount))
