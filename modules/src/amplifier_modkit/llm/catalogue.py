"""The models of a vendor that are known without asking: windows, limits, abilities, and prices with their date."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from amplifier_core.message_models import Usage
from amplifier_core.models import ModelInfo, Pricing
from amplifier_modkit.pricing import PriceList

# What may follow an id: a date, or a word for the same model. Anything else is another model.
_SAME_MODEL = re.compile(r"[-@:]?(\d{4}-\d{2}-\d{2}|\d{8}|latest|preview(-\d{2}-\d{2,4}){0,2})")


@dataclass(frozen=True, slots=True)
class KnownModel:
    """One model; models of a ``family`` follow each other, the newest is listed first."""

    id: str
    display_name: str
    context_window: int
    max_output_tokens: int
    capabilities: tuple[str, ...] = ()
    family: str = ""


class Catalogue:
    """The known models of one vendor, in the order in which they are to be listed."""

    def __init__(self, models: Iterable[KnownModel], prices: PriceList | None = None) -> None:
        self._by_id = {model.id: model for model in models}
        self._prices = prices or PriceList()

    def find(self, model: str) -> KnownModel | None:
        """The model of that id, also with a date behind it or the name of a service before it."""
        for name in (model, model.rpartition("/")[2]):
            found = self._by_id.get(name) or self._form_of(name)
            if found is not None:
                return found
        return None

    def listed(self, *, only_latest: bool = False) -> list[ModelInfo]:
        """All models, or the newest of each family."""
        models = latest_of_each(list(self._by_id.values())) if only_latest else self._by_id.values()
        return [self.info(model.id) for model in models]

    def info(
        self,
        model: str,
        *,
        display_name: str | None = None,
        context_window: int | None = None,
        max_output_tokens: int | None = None,
        capabilities: Sequence[str] | None = None,
    ) -> ModelInfo:
        """What is to be said about a model: what is given here, else what is known, else the least one may assume."""
        known = self.find(model) or KnownModel(model, display_name or model, 32_768, 4_096)
        price = self._prices.price_of(model)
        return ModelInfo(
            id=model,
            display_name=display_name or known.display_name,
            context_window=context_window or known.context_window,
            max_output_tokens=max_output_tokens or known.max_output_tokens,
            capabilities=list(known.capabilities if capabilities is None else capabilities),
            pricing=None
            if price is None
            else Pricing(
                input_per_million=float(price.input),
                output_per_million=float(price.output),
                cache_read_per_million=_as_float(price.cache_read),
                cache_write_per_million=_as_float(price.cache_write),
            ),
        )

    def cost_of(self, usage: Usage | None, model: str) -> Decimal | None:
        """What a call cost, as far as one can know."""
        return self._prices.cost_of(usage, model)

    def _form_of(self, name: str) -> KnownModel | None:
        fitting = [
            known for known in self._by_id if name.startswith(known) and _SAME_MODEL.fullmatch(name[len(known) :])
        ]
        return self._by_id[max(fitting, key=len)] if fitting else None


def latest_of_each(models: Sequence[KnownModel]) -> list[KnownModel]:
    """The first of each family; a model without a family stands for itself."""
    first: dict[str, KnownModel] = {}
    for model in models:
        first.setdefault(model.family or model.id, model)
    return list(first.values())


def _as_float(amount: Decimal | None) -> float | None:
    return None if amount is None else float(amount)
