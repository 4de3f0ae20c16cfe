"""All stored sessions of a user: made, found from any directory, listed, searched, forked, moved and cleared away."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from amplifier.paths import Places
from amplifier.problems import SessionProblem, StorageProblem
from amplifier.store.checkpoints import Checkpoints
from amplifier.store.exporting import read_document
from amplifier.store.index import Hit, Index, is_locked
from amplifier.store.metadata import Metadata
from amplifier.store.stored import StoredSession
from amplifier.store.transcript import append_missing, header_line, lines_of, turn_count

_Answer = TypeVar("_Answer")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_SHOWN_CANDIDATES = 5
_LIST_HINT = "amplifier session list shows what there is."


class SessionStore:
    """The sessions below one home; the folders are the truth, the index is only quick."""

    def __init__(self, places: Places, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._places = places
        self._clock = clock
        self._index = Index(places.home / "index.db")

    def create(self, session_id: str | None = None, **about: Any) -> StoredSession:
        """Makes the folder of a session; ``about`` are keys of its metadata.

        Raises ``SessionProblem`` for an id that is taken or cannot be one.
        """
        if session_id is not None:
            self._require_free(session_id)
        session = StoredSession(self._sessions_dir() / (session_id or str(uuid4())))
        now = self.now()
        working_dir = str(self._places.working_dir)
        session.update(**{"created": now, "updated": now, "working_dir": working_dir, **about})
        self.refresh(session)
        return session

    def find(self, wanted: str) -> StoredSession:
        """The session with this id, beginning of an id, or name, from any directory.

        Raises ``SessionProblem`` if there is none, or more than one.
        """
        found = self._named(wanted)
        exact = [session for session in found if session.id == wanted]
        if len(exact or found) == 1:
            return (exact or found)[0]
        if not found:
            raise SessionProblem(f"There is no session '{wanted}'.", _LIST_HINT)
        shown = ", ".join(_told(session) for session in found[:_SHOWN_CANDIDATES])
        more = f" and {len(found) - _SHOWN_CANDIDATES} more" if len(found) > _SHOWN_CANDIDATES else ""
        raise SessionProblem(f"'{wanted}' fits {len(found)} sessions: {shown}{more}.", "Give more of the id.")

    def latest(self, working_dir: Path | None = None) -> StoredSession:
        """The session that was used last, in a directory or anywhere; raises ``SessionProblem`` if there is none."""
        found = self.list(1, working_dir=working_dir)
        if not found:
            where = "" if working_dir is None else f" in {working_dir}"
            raise SessionProblem(f"There is no session{where} yet.", 'Begin one: amplifier run "…"')
        return found[0]

    def list(
        self, limit: int | None = None, *, working_dir: Path | None = None, with_children: bool = False
    ) -> list[StoredSession]:
        """The sessions, the last used first; child sessions only if asked for."""
        place = None if working_dir is None else str(working_dir)
        self._sync(look_inside=False)
        found = self._ask(lambda: self._index.latest(limit, working_dir=place, with_children=with_children))
        return [session for session in found if session.folder.is_dir()]

    def search(self, text: str, limit: int = 20) -> list[Hit]:
        """The sessions whose conversation has all the words."""
        self._sync(look_inside=True)
        return self._ask(lambda: self._index.search(text, limit))

    def fork(self, session: StoredSession, at_turn: int | None = None, session_id: str | None = None) -> StoredSession:
        """A new session that has the conversation up to and with a turn, all of it without one, and file checkpoints.

        Raises ``SessionProblem`` for a turn that there is not.
        """
        lines = _lines_until(session, at_turn)
        about = session.metadata()
        kept = {key: getattr(about, key) for key in ("bundle", "provider", "model", "working_dir", "overrides")}
        name = f"{about.name} (fork)" if about.name else None
        made = self.create(session_id, name=name, **kept, extra={"forked_from": session.id, "forked_at": at_turn})
        facts = {"forked_from": session.id}
        _write(made.transcript, header_line(made.id, made.metadata().created, **facts) + b"".join(lines))
        Checkpoints(made.folder).take_over(Checkpoints(session.folder), at_turn)
        made.update(turn_count=turn_count(made.messages()))
        self.refresh(made)
        return made

    def rename(self, session: StoredSession, name: str) -> None:
        """Gives a session another name."""
        session.update(name=name.strip() or None)
        self.refresh(session)

    def delete(self, session: StoredSession) -> None:
        """Removes a session with everything in its folder."""
        try:
            shutil.rmtree(session.folder)
        except OSError as error:
            raise StorageProblem(
                f"{session.folder} cannot be removed: {error.strerror}.", "Check who may write there."
            ) from None
        self.refresh(session)

    def import_document(self, text: str, source: str, session_id: str | None = None) -> StoredSession:
        """Takes in an exported session, under its own id if that is free, else under another one."""
        about, messages = read_document(text, source)
        chosen = session_id or about.session_id or None
        if session_id is None and chosen is not None and (not _ID.fullmatch(chosen) or self._named(chosen)):
            chosen = None
        kept = {
            key: getattr(about, key)
            for key in ("name", "bundle", "provider", "model", "created")
            if getattr(about, key)
        }
        session = self.create(chosen, **kept, extra={"imported_from": about.session_id or source})
        append_missing(session.transcript, session.id, session.metadata().created, messages)
        session.update(turn_count=turn_count(messages))
        self.refresh(session)
        return session

    def expired(self, older_than_days: float) -> list[StoredSession]:
        """The sessions that were not used for so many days, children included."""
        limit = (self._clock() - timedelta(days=older_than_days)).isoformat()
        sessions = self.list(with_children=True)
        return [each for each in sessions if (each.metadata().updated or "9999") < limit]

    def refresh(self, *sessions: StoredSession) -> None:
        """Has the index take in sessions that have changed. An index that cannot be written is left behind: the next
        look finds what has changed."""
        try:
            self._index.take(sessions)
        except (sqlite3.Error, OSError):
            return

    def reindex(self) -> int:
        """Makes the index anew; gives how many sessions there are."""
        try:
            self._index.clear()
        except OSError as error:
            raise StorageProblem(f"The index cannot be made anew: {error}.", "Check who may write there.") from None
        return len(self.list(with_children=True))

    def now(self) -> str:
        """The time as it stands in metadata."""
        return self._clock().isoformat(timespec="milliseconds")

    def _named(self, wanted: str) -> list[StoredSession]:
        self._sync(look_inside=False)
        found = self._ask(lambda: self._index.named(wanted)) if wanted else []
        return [session for session in found if session.folder.is_dir()]

    def _require_free(self, session_id: str) -> None:
        if _ID.fullmatch(session_id) is None:
            raise SessionProblem(
                f"{session_id[:80]!r} cannot be the id of a session: expected letters, digits, '.', '_' and '-', "
                "at most 200 of them, the first a letter or a digit.",
                "Leave --session-id out for one that is made up.",
            )
        if any(each.id == session_id for each in self._named(session_id)):
            raise SessionProblem(
                f"There is a session '{session_id}' already.", f"Go on with it: amplifier resume {session_id}"
            )

    def _sessions_dir(self) -> Path:
        return self._places.sessions_root / self._places.project_slug / "sessions"

    def _projects(self) -> Iterator[Path]:
        root = self._places.sessions_root
        if root.is_dir():
            yield from (each / "sessions" for each in root.iterdir() if (each / "sessions").is_dir())

    def _sync(self, *, look_inside: bool) -> None:
        self._ask(lambda: self._index.sync(self._projects(), look_inside=look_inside))

    def _ask(self, question: Callable[[], _Answer]) -> _Answer:
        try:
            return question()
        except (sqlite3.Error, OSError) as error:
            if not is_locked(error) and not self._index.is_in_memory:
                return self._ask_in_memory(question)
            raise StorageProblem(
                f"The index of sessions, {self._places.home / 'index.db'}, cannot be used: {error}.",
                "Check the folder's permissions and the room on the disk; the file can be deleted at any time.",
            ) from None

    def _ask_in_memory(self, question: Callable[[], _Answer]) -> _Answer:
        """Asks an index for this process alone: a home that is full or read-only can still be looked at."""
        self._index = Index(None)
        self._sync(look_inside=True)
        return self._ask(question)


def _told(session: StoredSession) -> str:
    about: Metadata = session.metadata()
    return f"{session.id} ({about.name or about.working_dir or 'no name'})"


def _lines_until(session: StoredSession, at_turn: int | None) -> list[bytes]:
    """The lines of the journal, without its header, up to the end of a turn of the conversation as it is now."""
    lines = [line for line in lines_of(session.transcript) if not line.is_header]
    now_from = max((place for place, line in enumerate(lines) if line.is_clear), default=-1) + 1
    begins = [place for place in range(now_from, len(lines)) if lines[place].begins_turn]
    if at_turn is not None and not 1 <= at_turn <= len(begins):
        raise SessionProblem(
            f"Session {session.id} has {len(begins)} turns; there is no turn {at_turn}.", "Turns count from 1."
        )
    end = len(lines) if at_turn is None or at_turn == len(begins) else begins[at_turn]
    return [_whole(line.raw) for line in lines[:end]]


def _whole(raw: bytes) -> bytes:
    return raw if raw.endswith(b"\n") else raw + b"\n"


def _write(path: Path, data: bytes) -> None:
    try:
        path.touch(mode=0o600)
        path.write_bytes(data)
    except OSError as error:
        raise StorageProblem(f"{path} cannot be written: {error.strerror}.", "Make room on the disk.") from None
