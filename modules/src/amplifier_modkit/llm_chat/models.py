"""The models that a server lists, with their windows as far as it tells them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from amplifier_core.capabilities import STREAMING, TOOLS
from amplifier_core.models import ModelInfo, Pricing
from amplifier_modkit.pricing import to_money

CAPABILITIES = (TOOLS, STREAMING)
_WINDOW_KEYS = (
    # What a model is loaded with counts before what it was made for.
    "loaded_context_length",
    "n_ctx",
    "context_window",
    "context_length",
    "max_model_len",
    "max_context_length",
    "n_ctx_train",
)
_OUTPUT_KEYS = ("max_output_tokens", "max_completion_tokens", "max_tokens")
_PER_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Windows:
    """How long requests and answers may be where the server does not tell, for all models and for single ones."""

    context_window: int = 8_192
    max_output_tokens: int = 4_096
    by_model: Mapping[str, int] | None = None

    def window_of(self, model: str, told: int | None = None) -> int:
        """The window of a model: as it is set for it, else as the server tells, else the common one."""
        return (self.by_model or {}).get(model) or told or self.context_window


def read_models(body: Mapping[str, Any], windows: Windows) -> list[ModelInfo]:
    """The models in the answer to ``/models``; what is no model there is passed over."""
    listed: Any = body.get("data") or body.get("models")
    if not isinstance(listed, list):
        return []
    entries = (cast("Mapping[str, Any]", each) for each in cast("list[Any]", listed) if isinstance(each, Mapping))
    return [_to_model(entry, windows) for entry in entries if isinstance(entry.get("id") or entry.get("name"), str)]


def _to_model(entry: Mapping[str, Any], windows: Windows) -> ModelInfo:
    name: str = entry.get("id") or entry["name"]
    places = (entry, _mapping(entry, "meta"), _mapping(entry, "top_provider"))
    window = windows.window_of(name, _number(places, _WINDOW_KEYS))
    shown = entry.get("display_name") or entry.get("name")
    return ModelInfo(
        id=name,
        display_name=shown if isinstance(shown, str) else name,
        context_window=window,
        max_output_tokens=min(_number(places, _OUTPUT_KEYS) or windows.max_output_tokens, window),
        capabilities=list(CAPABILITIES),
        pricing=_pricing(_mapping(entry, "pricing")),
    )


def _pricing(given: Mapping[str, Any]) -> Pricing | None:
    """Prices as routers list them: dollars per token, as text."""
    amounts = [to_money(given.get(key)) for key in ("prompt", "completion", "input_cache_read", "input_cache_write")]
    per_million = [None if amount is None else float(amount * _PER_MILLION) for amount in amounts]
    sent, made, read, written = per_million
    if sent is None or made is None:
        return None
    return Pricing(
        input_per_million=sent,
        output_per_million=made,
        cache_read_per_million=read,
        cache_write_per_million=written,
    )


def _number(places: Iterable[Mapping[str, Any]], keys: Iterable[str]) -> int | None:
    wanted = tuple(keys)
    found = (place.get(key) for place in places for key in wanted)
    return next((value for value in found if type(value) is int and value > 0), None)


def _mapping(holder: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = holder.get(key)
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}
