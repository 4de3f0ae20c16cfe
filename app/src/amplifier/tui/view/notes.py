"""Events that are worth a short line beside the conversation: retries, compaction, messages, things that went wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from amplifier.tui.view.changes import Level
from amplifier.tui.view.module_events import LLM_STREAM_ABORTED
from amplifier.tui.view.status import thousands
from amplifier_core.events import (
    CONTEXT_COMPACTION,
    POLICY_VIOLATION,
    PROVIDER_RETRY,
    PROVIDER_THROTTLE,
    USER_NOTIFICATION,
)

Told = tuple[str, Level]


def note_of(event: str, data: dict[str, Any]) -> Told | None:
    """The text of an event and how much it matters; ``None`` for events that need no line."""
    maker = _MAKERS.get(event)
    return None if maker is None else maker(data)


def _notification(data: dict[str, Any]) -> Told:
    level = data.get("level")
    return str(data.get("message") or ""), level if level in ("warning", "error") else "info"


def _retry(data: dict[str, Any]) -> Told:
    delay = data.get("delay")
    when = f" in {delay:.1f} s" if isinstance(delay, int | float) else ""
    return f"The model is asked again{when}{_because(data)}", "warning"


def _throttle(data: dict[str, Any]) -> Told:
    return f"Waiting {data.get('delay')} s so as not to run into a rate limit{_because(data)}", "info"


def _aborted(data: dict[str, Any]) -> Told:
    return f"The answer broke off{_because(data)}", "warning"


def _compaction(data: dict[str, Any]) -> Told:
    before, after = data.get("before_tokens"), data.get("after_tokens")
    if not isinstance(before, int) or not isinstance(after, int):
        return "The conversation was compacted", "info"
    return f"The conversation was compacted from {thousands(before)} to {thousands(after)} tokens", "info"


def _violation(data: dict[str, Any]) -> Told:
    return str(data.get("reason") or "A rule was broken"), "warning"


def _because(data: dict[str, Any]) -> str:
    error: Any = data.get("error") or data.get("error_message") or data.get("reason")
    if isinstance(error, dict):
        fields = cast("dict[str, Any]", error)
        error = fields.get("msg") or fields.get("message") or fields.get("type")
    return f": {error}" if error else ""


_MAKERS: dict[str, Callable[[dict[str, Any]], Told]] = {
    USER_NOTIFICATION: _notification,
    PROVIDER_RETRY: _retry,
    PROVIDER_THROTTLE: _throttle,
    LLM_STREAM_ABORTED: _aborted,
    CONTEXT_COMPACTION: _compaction,
    POLICY_VIOLATION: _violation,
}
NOTED = tuple(_MAKERS)
"""Names of the events that have a line."""
