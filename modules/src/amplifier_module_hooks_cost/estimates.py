"""How large the coming call will be: its input by what the last one had, its output at a set length; and its cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import ceil
from typing import Any, cast

from amplifier_modkit.memory.tokens import TokenMeter, estimate, estimate_text
from amplifier_modkit.pricing import PriceList, Tokens, reported_cost


@dataclass(frozen=True, slots=True)
class Estimate:
    """The tokens that a call will have, the weight of its messages, and its cost, ``None`` where nobody can tell."""

    tokens: Tokens
    weight: float
    cost: Decimal | None

    @property
    def usage(self) -> dict[str, int]:
        """The estimate in the form of a usage."""
        return {"input_tokens": self.tokens.input, "output_tokens": self.tokens.output}


class Estimator:
    """Reckons the calls of some sessions, and learns from each how many tokens and how much money it really took."""

    def __init__(self, prices: PriceList, output_tokens: int) -> None:
        self._prices = prices
        self._output_tokens = output_tokens
        self._sessions: dict[str, _Scale] = {}
        self._reported: dict[str, tuple[Decimal, int]] = {}
        # A provider may choose the model itself; which one it was is known from its last answer.
        self._answered_by: dict[str, str] = {}

    def estimate(self, session_id: str, messages: Any, model: str) -> Estimate:
        """What the next call of a session will take; ``model`` names what answers, whether or not it has a price."""
        scale = self._sessions.setdefault(session_id, _Scale())
        weight = scale.weigh(messages)
        tokens = Tokens(ceil(scale.meter.tokens(weight)), self._output_tokens)
        return Estimate(tokens, weight, self._cost(tokens, model))

    def learn(self, session_id: str, asked: tuple[str, float], usage: Any, model: str) -> None:
        """Takes what a call really took: ``asked`` are its name for the model and the weight of its messages."""
        name, weight = asked
        tokens, reported = Tokens.of(usage), reported_cost(usage)
        scale = self._sessions.get(session_id)
        if scale is not None and weight:
            scale.meter.report(tokens.input, weight)
        self._answered_by[name] = model
        if reported is not None:
            self._reported[model] = reported, tokens.input

    def forget(self, session_id: str) -> None:
        """Forgets a session that has ended."""
        self._sessions.pop(session_id, None)

    def _cost(self, tokens: Tokens, model: str) -> Decimal | None:
        model = self._answered_by.get(model, model)
        price = self._prices.price_of(model)
        if price is not None:
            return price.cost(tokens)
        if model not in self._reported:
            return None
        cost, input_tokens = self._reported[model]
        return cost * max(1, Decimal(tokens.input) / max(1, input_tokens))


class _Scale:
    """Weighs the messages of one session; those of the request before are known, since they are the same objects.

    The memory holds on to the messages, so an id can never come to mean another one.
    """

    def __init__(self) -> None:
        self.meter = TokenMeter()
        self._known: dict[int, tuple[Any, int]] = {}

    def weigh(self, messages: Any) -> float:
        """The estimated tokens of all messages."""
        found = cast("list[Any]", messages) if isinstance(messages, list) else []
        weighed = {id(message): self._known.get(id(message)) or (message, _weight(message)) for message in found}
        self._known = weighed
        return float(sum(weighed[id(message)][1] for message in found))


def _weight(message: Any) -> int:
    dump = getattr(message, "model_dump", None)
    try:
        fields = dump() if callable(dump) else message
        return (
            estimate(cast("Mapping[str, Any]", fields)) if isinstance(fields, Mapping) else estimate_text(str(fields))
        )
    except Exception:
        return estimate_text(repr(message))  # odd keys and odd models are sent as well, and cost about as much
