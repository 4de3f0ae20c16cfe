"""The one source of random ids: for sessions, model calls and handlers without a name."""

from __future__ import annotations


def random_id() -> str:
    """A new id that nobody else has."""
    from uuid import uuid4  # not needed to start up, and slow to import

    return str(uuid4())
