"""The session of a chat where it is kept, for the commands that need it on the disk."""

from __future__ import annotations

from amplifier.problems import SessionProblem
from amplifier.store import SessionStore, StoredSession
from amplifier.tui.commands.command import Desk


def kept(desk: Desk) -> tuple[SessionStore, StoredSession]:
    """The store and the session in it; raises ``SessionProblem`` where nothing is kept."""
    setting = desk.talk.opening.setting
    if setting.store is None or setting.stored is None:
        raise SessionProblem("This session is not kept, so this cannot be done.", "Start without --ephemeral.")
    return setting.store, setting.stored
