"""The index of all stored sessions: an SQLite file that makes lists and searches quick, and can always be made anew.

The folders are the truth. The index believes what it has about a session as long as the sizes and times of the
session's files are the ones it saw.
"""

from __future__ import annotations

import re
import sqlite3
import weakref
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from amplifier.store.metadata import Metadata
from amplifier.store.stored import StoredSession
from amplifier.store.transcript import begins_turn, text_of

VERSION = 1
_BUSY_S = 5.0
_WORD = re.compile(r"[\w]+", re.UNICODE)
_MOST_TEXT = 200_000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS sessions (
    key INTEGER PRIMARY KEY, folder TEXT NOT NULL UNIQUE, id TEXT NOT NULL, name TEXT, updated TEXT NOT NULL,
    working_dir TEXT, parent_id TEXT, seen TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS sessions_by_time ON sessions (updated DESC);
CREATE INDEX IF NOT EXISTS sessions_by_id ON sessions (id);
CREATE INDEX IF NOT EXISTS sessions_by_name ON sessions (name);
CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5 (text, tokenize = 'unicode61');
CREATE TABLE IF NOT EXISTS projects (folder TEXT PRIMARY KEY, seen INTEGER NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class Hit:
    """A session that a search has found, and the words around the place."""

    session: StoredSession
    excerpt: str


class Index:
    """The index file of one home; opened for each use, so that processes do not stand in each other's way.

    Without a path it is held in memory, for a home that cannot be written: right, and slow to make.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._held: sqlite3.Connection | None = None

    @property
    def is_in_memory(self) -> bool:
        """Whether nothing of it is left when it is closed."""
        return self._path is None

    def latest(
        self, limit: int | None, *, working_dir: str | None = None, with_children: bool = False
    ) -> list[StoredSession]:
        """The sessions, the last used first."""
        wanted = ["1"] if with_children else ["parent_id IS NULL"]
        values: list[object] = []
        if working_dir is not None:
            wanted.append("working_dir = ?")
            values.append(_storable(working_dir))
        query = f"SELECT folder FROM sessions WHERE {' AND '.join(wanted)} ORDER BY updated DESC, id LIMIT ?"
        with self._opened() as database:
            rows = database.execute(query, [*values, -1 if limit is None else limit]).fetchall()
        return [StoredSession(Path(folder)) for (folder,) in rows]

    def named(self, text: str) -> list[StoredSession]:
        """The sessions whose id begins with ``text``, or whose name it is."""
        escaped = text.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
        query = r"SELECT folder FROM sessions WHERE id LIKE ? ESCAPE '\' OR name = ? ORDER BY updated DESC"
        with self._opened() as database:
            rows = database.execute(query, [_storable(f"{escaped}%"), _storable(text)]).fetchall()
        return [StoredSession(Path(folder)) for (folder,) in rows]

    def search(self, text: str, limit: int) -> list[Hit]:
        """The sessions whose conversation has all the words, the best first; the last word may be a beginning."""
        words = _WORD.findall(text)
        if not words:
            return []
        # Every word in quotes: nothing in it means anything to the search.
        query = " ".join(f'"{word}"' for word in words) + "*"
        with self._opened() as database:
            rows = database.execute(
                "SELECT folder, snippet(texts, 0, '', '', '…', 12) FROM texts JOIN sessions ON key = texts.rowid "
                "WHERE texts MATCH ? ORDER BY rank LIMIT ?",
                [query, limit],
            ).fetchall()
        return [Hit(StoredSession(Path(folder)), excerpt) for folder, excerpt in rows]

    def sync(self, projects: Iterable[Path], *, look_inside: bool) -> None:
        """Takes in what was added and forgets what is gone; with ``look_inside``, also what has changed.

        Without, a project is passed over whose folder of sessions has the time it had.
        """
        with self._opened() as database:
            times = dict(database.execute("SELECT folder, seen FROM projects").fetchall())
            found = {str(project): project.stat().st_mtime_ns for project in projects}
            for folder in times.keys() - found.keys():
                self._forget_below(database, folder)
            for folder, time_ns in found.items():
                if look_inside or times.get(folder) != time_ns:
                    self._sync_project(database, Path(folder))
                    database.execute("INSERT OR REPLACE INTO projects VALUES (?, ?)", [folder, time_ns])

    def take(self, sessions: Sequence[StoredSession]) -> None:
        """Takes in these sessions as they are now; those that are gone are forgotten."""
        with self._opened() as database:
            for session in sessions:
                _take(database, session)

    def clear(self) -> None:
        """Forgets everything; the next look makes it anew."""
        if self._path is not None:
            for path in self._path.parent.glob(f"{self._path.name}*"):
                path.unlink(missing_ok=True)

    def _sync_project(self, database: sqlite3.Connection, project: Path) -> None:
        begin = f"{project}/"
        query = "SELECT folder, seen FROM sessions WHERE substr(folder, 1, ?) = ?"
        known = dict(database.execute(query, [len(begin), begin]).fetchall())
        present = {str(each): each for each in project.iterdir() if each.is_dir()}
        for folder in known.keys() - present.keys():
            _forget(database, folder)
        for folder, path in present.items():
            session = StoredSession(path)
            if known.get(folder) != _state_of(session):
                _take(database, session)

    def _forget_below(self, database: sqlite3.Connection, project: str) -> None:
        begin = f"{project}/"
        query = "SELECT folder FROM sessions WHERE substr(folder, 1, ?) = ?"
        for (folder,) in database.execute(query, [len(begin), begin]).fetchall():
            _forget(database, folder)
        database.execute("DELETE FROM projects WHERE folder = ?", [project])

    @contextmanager
    def _opened(self) -> Generator[sqlite3.Connection]:
        database = self._connect()
        try:
            with database:
                yield database
        finally:
            if database is not self._held:
                database.close()

    def _connect(self) -> sqlite3.Connection:
        """The database with its tables; one that is broken, or of another version, is made anew."""
        if self._path is None:
            if self._held is None:
                self._held = sqlite3.connect(":memory:")
                weakref.finalize(self, self._held.close)
                self._held.executescript(_SCHEMA)
            return self._held
        try:
            return _prepared(self._path)
        except sqlite3.DatabaseError as error:
            if is_locked(error):
                raise
            self.clear()
            return _prepared(self._path)


def is_locked(error: Exception) -> bool:
    """Whether another process holds the index; it is whole, and free again soon."""
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


def _prepared(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    database = sqlite3.connect(path, timeout=_BUSY_S)
    try:
        with suppress(OSError):
            path.chmod(0o600)
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version not in (0, VERSION):
            raise sqlite3.DatabaseError(f"version {version}")
        if version == 0:
            database.execute("PRAGMA journal_mode = WAL")
            database.executescript(_SCHEMA)
            database.execute(f"PRAGMA user_version = {VERSION}")
    except BaseException:
        database.close()
        raise
    return database


def _take(database: sqlite3.Connection, session: StoredSession) -> None:
    folder = str(session.folder)
    _forget(database, folder)
    state = _state_of(session)
    if state is None:
        return
    about = session.metadata()
    told = (session.id, about.name, about.updated or about.created, about.working_dir, about.parent_id)
    row = [folder, *(None if each is None else _storable(each) for each in told), state]
    key = database.execute("INSERT INTO sessions VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", row).lastrowid
    database.execute("INSERT INTO texts (rowid, text) VALUES (?, ?)", [key, _storable(_text_of(session, about))])


def _storable(text: str) -> str:
    """``text`` as the database takes it: names of files, and models, may have what is no text."""
    return text.encode("utf-8", "backslashreplace").decode()


def _forget(database: sqlite3.Connection, folder: str) -> None:
    for (key,) in database.execute("SELECT key FROM sessions WHERE folder = ?", [folder]).fetchall():
        database.execute("DELETE FROM texts WHERE rowid = ?", [key])
        database.execute("DELETE FROM sessions WHERE key = ?", [key])


def _text_of(session: StoredSession, about: Metadata) -> str:
    """What can be searched for: the name, and what user and model have said."""
    said = (text_of(each) for each in session.messages() if begins_turn(each) or each.get("role") == "assistant")
    return "\n".join(filter(None, [about.name, *said]))[:_MOST_TEXT]


def _state_of(session: StoredSession) -> str | None:
    """Sizes and times of the session's files; ``None`` for a folder that is no session."""
    states: list[str] = []
    for path in (session.transcript, session.metadata_path):
        try:
            found = path.stat()
        except OSError:
            continue
        states.append(f"{path.name}:{found.st_size}:{found.st_mtime_ns}")
    return " ".join(states) or None
