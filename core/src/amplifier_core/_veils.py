"""What watchers see of an event: its data as the veils of a registry show them, while the operation keeps the data."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

logger = logging.getLogger("amplifier_core.hooks")

View = Callable[[str, dict[str, Any]], dict[str, Any]]

# All that is shown of an event when a veil fails: where it belongs, nothing of what it says.
_ALWAYS_SHOWN = ("session_id", "parent_id", "timestamp")


class Sight:
    """The data of one event as watchers see them; made for one emit, and asked by every watcher."""

    __slots__ = ("_data", "_event", "_shown", "_views")

    def __init__(self, event: str, views: Sequence[View]) -> None:
        self._event = event
        self._views = views
        self._data: dict[str, Any] | None = None
        self._shown: dict[str, Any] = {}

    def of(self, data: dict[str, Any]) -> dict[str, Any]:
        """``data`` through all veils; looked at once as long as nobody changes them."""
        if data is not self._data:
            self._data, self._shown = data, _through(self._views, self._event, data)
        return self._shown

    def lifted(self, answered: dict[str, Any]) -> dict[str, Any]:
        """The data that a watcher answers with, with the originals in the place of what a veil had put there."""
        shown, data = self._shown, self._data or {}
        own = {key: value for key, value in answered.items() if key not in shown or value is not shown[key]}
        return {key: data[key] for key in answered if key in data and key not in own} | own


def _through(views: Sequence[View], event: str, data: dict[str, Any]) -> dict[str, Any]:
    shown = data
    for view in views:
        try:
            shown = view(event, shown)
            if type(shown) is not dict:
                raise TypeError(f"a veil must show a dict, got {type(shown).__name__}")
        except Exception:
            logger.exception("A veil failed on event '%s': watchers are shown nothing of it", event)
            return {key: data[key] for key in _ALWAYS_SHOWN if key in data}
    return shown
