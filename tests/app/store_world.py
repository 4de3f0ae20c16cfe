"""A home in a temporary folder with a store of sessions in it, and a clock that can be set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from amplifier.paths import Places
from amplifier.store import SessionStore, StoredSession
from amplifier.store.transcript import append_missing

TALK: list[dict[str, Any]] = [
    {"role": "user", "content": "Remember the milk."},
    {"role": "assistant", "content": [{"type": "text", "text": "I will."}]},
    {"role": "user", "content": "And the eggs."},
    {"role": "assistant", "content": "Those too."},
]


class StoreWorld:
    """One user's home; sessions are made in ``work`` unless told otherwise."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.now = datetime(2026, 1, 2, 9, 0, tzinfo=UTC)
        self.places = self.places_in("work")
        self.store = self.store_in("work")

    def places_in(self, folder: str) -> Places:
        """The places of a command that is started in a folder of this world."""
        working_dir = self.root / folder
        working_dir.mkdir(exist_ok=True)
        home = self.root / "home"
        return Places(home=home, cache=home / "cache", working_dir=working_dir, project_dir=working_dir)

    def store_in(self, folder: str) -> SessionStore:
        """The store as it is seen from a folder."""
        return SessionStore(self.places_in(folder), lambda: self.now)

    def wait(self, **time: float) -> None:
        """Lets time pass."""
        self.now += timedelta(**time)

    def talked(
        self, session_id: str | None = None, talk: list[dict[str, Any]] | None = None, **about: Any
    ) -> StoredSession:
        """A session with a conversation."""
        session = self.store.create(session_id, **about)
        append_missing(session.transcript, session.id, self.store.now(), TALK if talk is None else talk)
        self.store.refresh(session)
        return session


def said(session: StoredSession) -> list[Any]:
    """What was said in a session."""
    return [message["content"] for message in session.messages()]
