"""The sessions with which one can go on, as a list to choose from: those of a directory, or all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from amplifier.console.plain import one_line
from amplifier.problems import SessionProblem
from amplifier.store import SessionStore, StoredSession
from amplifier.store.transcript import lines_of, text_of
from amplifier.tui.picker import Choice

_MOST_SESSIONS = 500
_MOST_CHARS = 70
_ELSEWHERE = Choice("…", "sessions of other directories")

Choose = Callable[[str, Sequence[Choice]], Awaitable[int | None]]
"""Has the user choose; gives the number of the choice, ``None`` where there is none."""


async def choose_session(
    choose: Choose, store: SessionStore, working_dir: Path, present: StoredSession | None = None
) -> StoredSession | None:
    """The session that the user chooses, last used first; ``None`` where none is.

    Those of the directory come first, all others behind a row of their own. ``present`` is not offered. Raises
    ``SessionProblem`` where there is nothing to choose from.
    """
    here = await asyncio.to_thread(_sessions, store, working_dir, present)
    shown = {each.folder for each in here}
    others = [each for each in await asyncio.to_thread(_sessions, store, None, present) if each.folder not in shown]
    if not here and not others:
        raise SessionProblem("There is no other session to go on with.", "/new begins one.")
    if not here:
        return await _choose_anywhere(choose, store, others)
    title = "Sessions of this directory"
    chosen = await choose(title, [*await _choices(store, here), *([_ELSEWHERE] if others else [])])
    if chosen is None or chosen < len(here):
        return None if chosen is None else here[chosen]
    return await _choose_anywhere(choose, store, others)


async def _choose_anywhere(choose: Choose, store: SessionStore, sessions: list[StoredSession]) -> StoredSession | None:
    chosen = await choose("Sessions of other directories", await _choices(store, sessions, is_anywhere=True))
    return None if chosen is None else sessions[chosen]


async def _choices(store: SessionStore, sessions: list[StoredSession], *, is_anywhere: bool = False) -> list[Choice]:
    now = datetime.fromisoformat(store.now())
    return await asyncio.to_thread(lambda: [_choice(each, now, is_anywhere=is_anywhere) for each in sessions])


def _sessions(store: SessionStore, working_dir: Path | None, present: StoredSession | None) -> list[StoredSession]:
    return [each for each in store.list(_MOST_SESSIONS, working_dir=working_dir) if each != present]


def _choice(session: StoredSession, now: datetime, *, is_anywhere: bool) -> Choice:
    about = session.metadata()
    turns = f"{about.turn_count} turn{'' if about.turn_count == 1 else 's'}"
    where = about.working_dir if is_anywhere else None
    told = (age(about.updated, now), turns if about.turn_count else None, about.model, where, session.short_id)
    label = one_line(about.name or _first_prompt(session), _MOST_CHARS) or "(nothing said)"
    return Choice(label, " · ".join(filter(None, told)))


def age(moment: str, now: datetime) -> str:
    """How long ago a moment was, in the largest unit; nothing for what is no moment."""
    try:
        passed = max(now - datetime.fromisoformat(moment), timedelta(0))
    except (ValueError, TypeError):
        return ""
    for unit, seconds in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if passed.total_seconds() >= seconds:
            return f"{int(passed.total_seconds() // seconds)} {unit} ago"
    return "just now"


def _first_prompt(session: StoredSession) -> str:
    """Read no further than needed: a journal may be long."""
    said = (line.record for line in lines_of(session.transcript) if line.begins_turn)
    return next((text_of(record) for record in said if record is not None), "")
