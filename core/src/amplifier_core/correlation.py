"""Gives the events of one LLM call a shared ``request_id``.

A context variable holds the id of the call in flight, so that concurrent tasks keep theirs apart.
"""

from __future__ import annotations

from contextvars import ContextVar

from amplifier_core._ids import random_id
from amplifier_core.events import LLM_REQUEST, LLM_RESPONSE, PROVIDER_ERROR, PROVIDER_RETRY, PROVIDER_THROTTLE

REQUEST_ID_FIELD = "request_id"

REQUEST_EVENTS: frozenset[str] = frozenset({LLM_REQUEST})
TERMINAL_EVENTS: frozenset[str] = frozenset({LLM_RESPONSE, PROVIDER_ERROR})
INTERIM_EVENTS: frozenset[str] = frozenset({PROVIDER_RETRY, PROVIDER_THROTTLE})
CORRELATED_EVENTS: frozenset[str] = REQUEST_EVENTS | TERMINAL_EVENTS | INTERIM_EVENTS

_request_id: ContextVar[str | None] = ContextVar("amplifier_core_request_id", default=None)


def new_request_id() -> str:
    """A fresh random id."""
    return random_id()


def current_request_id() -> str | None:
    """The id of the call in flight in this context, if any."""
    return _request_id.get()


def reset_request_id() -> None:
    """Forgets the call in flight in this context."""
    _request_id.set(None)


def resolve_request_id(event: str, explicit: object = None) -> str | None:
    """The id that belongs on ``event``, or ``None``; opens and closes the call on the way.

    A request opens a call, under ``explicit`` or a new id. A terminal event closes it. An interim event keeps it, or
    opens the call that ``explicit`` names. ``explicit`` counts only if it is a non-empty string.
    """
    if event not in CORRELATED_EVENTS:
        return None
    given = explicit if isinstance(explicit, str) and explicit else None
    if event in REQUEST_EVENTS:
        return _open(given or new_request_id())
    if event in INTERIM_EVENTS:
        return _open(given) if given else current_request_id()
    request_id = given or current_request_id()
    reset_request_id()
    return request_id


def _open(request_id: str) -> str:
    _request_id.set(request_id)
    return request_id
