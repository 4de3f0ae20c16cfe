"""What a call to Gemini took: thoughts are paid for as output, and the input counts what the cache gave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amplifier_core.message_models import Usage

_KNOWN = frozenset(
    {
        "promptTokenCount",
        "toolUsePromptTokenCount",
        "candidatesTokenCount",
        "thoughtsTokenCount",
        "cachedContentTokenCount",
        "totalTokenCount",
    }
)
_COUNTS = ("input_tokens", "output_tokens", "total_tokens")
_OPTIONAL_COUNTS = ("reasoning_tokens", "cache_read_tokens")


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """The tokens of a call; what the service says besides is kept under its names."""
    sent = (usage.get("promptTokenCount") or 0) + (usage.get("toolUsePromptTokenCount") or 0)
    thoughts: int | None = usage.get("thoughtsTokenCount")
    got = (usage.get("candidatesTokenCount") or 0) + (thoughts or 0)
    extras = {key: value for key, value in usage.items() if key not in _KNOWN and value is not None}
    return Usage(
        input_tokens=sent,
        output_tokens=got,
        total_tokens=sent + got,
        reasoning_tokens=thoughts,
        cache_read_tokens=usage.get("cachedContentTokenCount"),
        **extras,
    )


def sum_of(first: Usage | None, rest: Usage | None) -> Usage | None:
    """What two calls took together."""
    if first is None or rest is None:
        return first or rest
    counts = {name: getattr(first, name) + getattr(rest, name) for name in _COUNTS}
    found = {name: [getattr(each, name) for each in (first, rest)] for name in _OPTIONAL_COUNTS}
    others = {name: sum(each or 0 for each in both) for name, both in found.items() if both != [None, None]}
    return rest.model_copy(update={**counts, **others})
