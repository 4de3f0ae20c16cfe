"""What became of files in a session, in order: changes by the agent, and what was taken back or brought back of them.

The journal is JSON lines, only ever added to. A line says what a file was before and after; contents are kept elsewhere
under their digests. A line that cannot be read, such as a torn last one, is passed over; so is one that names what no
line of ours does: a digest or a path of another form would lead elsewhere.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self, cast, get_args
from uuid import uuid4

from amplifier.store.appending import append_synced

Kind = Literal["change", "undo", "skip", "redo", "stay", "void"]
"""``skip`` and ``stay``: was to be taken back, or brought back, and was left alone; ``void``: came to nothing."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class State:
    """What a file is: its content by digest, ``None`` where nobody knows, and its permissions."""

    digest: str | None
    mode: int

    @classmethod
    def read(cls, data: Any) -> Self | None:
        """The state in a line; ``None`` for no file."""
        if not isinstance(data, dict):
            return None
        fields = cast("dict[str, Any]", data)
        digest = fields.get("sha256")
        if digest is not None and _DIGEST.fullmatch(digest) is None:
            raise ValueError("is no digest")
        return cls(digest, int(fields["mode"]))


@dataclass(frozen=True, slots=True)
class Entry:
    """One line."""

    kind: Kind
    turn: int
    path: str
    before: State | None
    after: State | None
    of: tuple[str, ...] = ()
    """The lines that it is about."""
    step: str = ""
    """What belongs together has the same."""
    id: str = field(default_factory=lambda: uuid4().hex)

    def to_line(self) -> bytes:
        """The line."""
        named = {"record": self.kind, "id": self.id, "step": self.step, "turn": self.turn, "path": self.path}
        states = {"before": _told(self.before), "after": _told(self.after)}
        return json.dumps({**named, **states, "of": list(self.of)}).encode("ascii") + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Self | None:
        """The entry in a line, if there is one."""
        try:
            data: dict[str, Any] = json.loads(line)
            if data["record"] not in get_args(Kind):
                return None
            states = State.read(data["before"]), State.read(data["after"])
            of, path = tuple(map(str, data["of"])), _whole(data["path"])
            return cls(data["record"], int(data["turn"]), path, *states, of, str(data["step"]), str(data["id"]))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            return None


def read_entries(path: Path) -> list[Entry]:
    """All entries of a journal; none if there is no file. Raises ``OSError`` for one that cannot be read."""
    try:
        lines = path.read_bytes().splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [entry for line in lines if (entry := Entry.read(line)) is not None]


def append_entries(path: Path, entries: Iterable[Entry]) -> None:
    """Adds entries to a journal; raises ``OSError``."""
    append_synced(path, b"".join(entry.to_line() for entry in entries))


def until(entries: Iterable[Entry], turn: int | None) -> list[Entry]:
    """Entries for a conversation that has only the turns up to ``turn``: what came later happened by its end."""
    return [entry if turn is None else replace(entry, turn=min(entry.turn, turn)) for entry in entries]


class History:
    """What the entries come to."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        every = list(entries)
        void = {each for entry in every if entry.kind == "void" for each in entry.of}
        self._changes: dict[str, Entry] = {}
        self._taken_back: set[str] = set()
        self._steps: dict[str, dict[str, Entry]] = {}
        self.latest: dict[str, Entry] = {}
        """By path, what was done to it last."""
        for entry in every:
            if entry.id not in void and entry.kind != "void":
                self._take(entry)

    @property
    def changes(self) -> list[Entry]:
        """The changes of the agent that were not taken back."""
        return [entry for entry in self._changes.values() if entry.id not in self._taken_back]

    @property
    def last_step(self) -> list[Entry]:
        """What was taken back last, and not brought back since."""
        return list(next(reversed(self._steps.values())).values()) if self._steps else []

    def _take(self, entry: Entry) -> None:
        if entry.kind not in ("skip", "stay"):
            self.latest[entry.path] = entry
        if entry.kind == "change":
            self._changes[entry.id] = entry
        elif entry.kind in ("redo", "stay"):
            self._bring_back(entry)
        else:
            self._taken_back.update(entry.of)
            self._steps.setdefault(entry.step, {})[entry.id] = entry

    def _bring_back(self, entry: Entry) -> None:
        for step, lines in list(self._steps.items()):
            for each in entry.of:
                undone = lines.pop(each, None)
                self._taken_back.difference_update(undone.of if undone is not None else ())
            if not lines:
                del self._steps[step]


def _whole(path: str) -> str:
    """``path``, where it is one from the root to a file; raises ``ValueError`` for any other."""
    if b"\0" in os.fsencode(path) or os.path.normpath(path) != path:
        raise ValueError("is no path as it would be written here")
    if not Path(path).is_absolute() or not Path(path).name:
        raise ValueError("does not lead from the root to a file")
    return path


def _told(state: State | None) -> dict[str, Any] | None:
    return None if state is None else {"sha256": state.digest, "mode": state.mode}
