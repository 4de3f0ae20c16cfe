"""The record of an event: what stands at its top, and what under ``data``. Data in, data out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from amplifier_core.events import CONTEXT_PRE_COMPACT, PROVIDER_REQUEST
from amplifier_module_hooks_logging.shortening import shortened

SCHEMA = {"name": "amplifier.log", "ver": "1.0.0"}
"""Name and version of the form that records have."""

_AT_THE_TOP = (
    "status",
    "duration_ms",
    "module",
    "component",
    "error",
    "request_id",
    "span_id",
    "parent_span_id",
    "redaction",
)
_TAKEN = frozenset({"timestamp", "session_id", "lvl", *_AT_THE_TOP})
_RAW = "raw"
# Each request repeats the whole conversation, which the transcript has once.
_WITH_MESSAGES = frozenset({PROVIDER_REQUEST, CONTEXT_PRE_COMPACT})
_LEVELS = {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}
_FAILED = (":error", "_failed")


def to_record(
    event: str, data: Mapping[Any, Any], session_id: str, *, strips_raw: bool, max_value_chars: int
) -> dict[str, Any]:
    """The record of ``event``, which belongs to ``session_id`` unless its data say otherwise."""
    if strips_raw:
        data = _without_raw(event, data)
    facts: dict[Any, Any] = {key: data[key] for key in _AT_THE_TOP if data.get(key) is not None}
    facts["data"] = {key: value for key, value in data.items() if key not in _TAKEN}
    told: dict[str, Any] = shortened(facts, max_value_chars)
    return {
        "ts": _text(data.get("timestamp")) or datetime.now(UTC).isoformat(),
        "lvl": _level(event, data),
        "schema": SCHEMA,
        "event": event,
        "session_id": _text(data.get("session_id")) or session_id,
        **told,
    }


def _without_raw(event: str, data: Mapping[Any, Any]) -> dict[Any, Any]:
    kept = {key: value for key, value in data.items() if key != _RAW}
    if event in _WITH_MESSAGES and isinstance(kept.get("messages"), list):
        kept.setdefault("message_count", len(kept.pop("messages")))
    return kept


def _level(event: str, data: Mapping[Any, Any]) -> str:
    if data.get("error") or event.endswith(_FAILED):
        return "ERROR"
    given = (_text(data.get("lvl")) or _text(data.get("level"))).upper()
    return given if given in _LEVELS else "INFO"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
