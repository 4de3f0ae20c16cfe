"""How many tokens a request may have: what the caller says, else what the provider can take, else the setting."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from inspect import isawaitable
from typing import Any, TypeGuard

from amplifier_core.models import ProviderInfo
from amplifier_modkit.memory.policy import CompactionPolicy

logger = logging.getLogger(__name__)

_MARGIN_TOKENS = 1_000
# A dict is a Mapping, but it takes ten times as long to find that out.
_MAPPINGS: Any = (dict, Mapping)


Window = tuple[int, int]
"""The tokens of a model's context window, and those that it gives at most."""


class Budget:
    """Finds the budget of each request of one context."""

    def __init__(self, policy: CompactionPolicy) -> None:
        self._policy = policy
        self._has_told_failure = False

    async def tokens(self, token_budget: int | None, provider: Any) -> int:
        """The tokens that a request to ``provider`` may have."""
        if token_budget is not None:
            return max(0, token_budget)
        window = None
        if provider is not None:
            # Asked anew for every request: a provider may go over to another model at any time.
            try:
                window = await _window_of(provider)
            except Exception as error:
                self._tell_failure(provider, error)
        if window is None:
            return self._policy.max_tokens
        budget = room_in(window, self._policy.output_reserve_fraction)
        return min(budget, self._policy.max_tokens) if self._policy.caps_provider else budget

    def _tell_failure(self, provider: Any, error: Exception) -> None:
        if not self._has_told_failure:
            self._has_told_failure = True
            logger.warning(
                "Provider %r cannot tell its context window (%r); max_tokens = %d is used instead",
                getattr(provider, "name", type(provider).__name__),
                error,
                self._policy.max_tokens,
            )


def room_in(window: Window, output_reserve_fraction: float) -> int:
    """What is left of a window for the input; half of it where the output would take everything."""
    context_window, max_output_tokens = window
    room = context_window - int(max_output_tokens * output_reserve_fraction) - _MARGIN_TOKENS
    return room if room > 0 else context_window // 2


async def _window_of(provider: Any) -> Window | None:
    get_model_info = getattr(provider, "get_model_info", None)
    if callable(get_model_info):
        window = _window_in(await _settled(get_model_info()))
        if window is not None:
            return window
    info = provider.get_info()
    # The usual answer is told apart quickly.
    if not isinstance(info, ProviderInfo):
        info = await _settled(info)
    return _window_in(getattr(info, "defaults", None))


def _window_in(limits: Any) -> Window | None:
    if isinstance(limits, _MAPPINGS):
        window, output = limits.get("context_window"), limits.get("max_output_tokens")
    else:
        window, output = getattr(limits, "context_window", None), getattr(limits, "max_output_tokens", None)
    return (window, output) if _is_count(window) and _is_count(output) else None


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and value > 0


async def _settled(value: Any) -> Any:
    return await value if isawaitable(value) else value
