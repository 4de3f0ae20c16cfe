"""File checkpoints of a session: what files were before the agent changed them, and how they come back.

Nobody's work is lost: what is there when a file is brought back is kept first, and a file that somebody else has
changed since is left alone unless it is said otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Literal, Self
from uuid import uuid4

from amplifier.problems import StorageProblem
from amplifier.store.checkpoint_blobs import MOST_BYTES, Blobs, digest_of
from amplifier.store.checkpoint_journal import Entry, History, Kind, State, append_entries, read_entries, until
from amplifier.store.unlinked import Present, RefusedError, look, put, remove

FOLDER = "checkpoints"
_JOURNAL, _BLOBS = "journal.jsonl", "blobs"
MOST_FILE_BYTES = 8 << 20
"""A larger file is not kept."""
_USUAL_MODE = 0o644

Standing = Literal["ready", "same", "changed", "lost", "refused", "failed"]
"""``ready``: can be brought back; ``same``: is so already; ``changed``: by somebody else since; ``lost``: not kept;
``refused``: is no plain file any more; ``failed``: could not be done now, and can be tried again."""
_LEFT = ("changed", "lost", "refused")


@dataclass(frozen=True, slots=True)
class Step:
    """One file that is to be what it was."""

    kind: Literal["undo", "redo"]
    turn: int
    path: Path
    target: State | None
    of: tuple[str, ...]
    standing: Standing = "ready"
    why: str = ""
    """Why it cannot be, where it cannot."""
    added: int | None = None
    """Lines that come; ``None`` where the file is no text."""
    removed: int | None = None


@dataclass(frozen=True, slots=True)
class _Seen:
    step: Step
    present: Present | None = None
    data: bytes | None = None
    """What the file is to hold."""


class Checkpoints:
    """The checkpoints in the folder of one session; several threads may use it."""

    def __init__(
        self, session_folder: Path, most_bytes: int = MOST_BYTES, most_file_bytes: int = MOST_FILE_BYTES
    ) -> None:
        folder = session_folder / FOLDER
        self._journal = folder / _JOURNAL
        self._blobs = Blobs(folder / _BLOBS, most_bytes)
        self._most_file_bytes = most_file_bytes
        self._lock = Lock()
        self._turn, self._group = 0, uuid4().hex
        self._unwritten: list[Entry] = []
        """Changes that could not be written down; at least this process knows of them."""

    def begin_turn(self, turn: int) -> None:
        """Has the changes that follow count to a turn of the conversation."""
        self._turn, self._group = turn, uuid4().hex

    def keep(self, path: str, before: bytes | None, after: bytes | None, mode: int | None) -> str | None:
        """Keeps what a file is before it is changed; gives, in words, what could not be kept or had to go.

        Without ``mode`` there is no file yet; without ``before`` there is one that nobody has read.
        """
        was = None if mode is None else State(None if before is None else digest_of(before), mode)
        becomes = None if after is None else State(digest_of(after), mode or _USUAL_MODE)
        with self._lock:
            told = self._keep_content(before, mode)
            entry = Entry("change", self._turn, path, was, becomes, step=self._group)
            try:
                append_entries(self._journal, [entry])
            except OSError as error:
                self._unwritten.append(entry)
                return f"checkpoints cannot be written: {error.strerror}"
        return told

    def _keep_content(self, before: bytes | None, mode: int | None) -> str | None:
        if mode is None:
            return None
        if before is None or len(before) > self._most_file_bytes:
            return f"files larger than {self._most_file_bytes >> 20} MB have no checkpoint"
        try:
            dropped = self._blobs.put(before)
        except OSError as error:
            return f"checkpoints cannot be written: {error.strerror}"
        return "the oldest checkpoints had to go, to make room" if dropped else None

    def since(self, turn: int) -> list[Step]:
        """What takes back every change that was made in a turn or after it."""
        history = self._history()
        return self._back(history, [entry for entry in history.changes if entry.turn >= turn])

    def last(self) -> list[Step]:
        """What takes back the changes of the last turn of which any are left.

        Turns are told apart as they were made: a conversation that was taken back may count them differently by now.
        """
        history = self._history()
        changes = history.changes
        return self._back(history, [entry for entry in changes if entry.step == changes[-1].step])

    def _back(self, history: History, changes: Iterable[Entry]) -> list[Step]:
        first: dict[str, Entry] = {}
        ids: dict[str, list[str]] = {}
        for entry in changes:
            first.setdefault(entry.path, entry)
            ids.setdefault(entry.path, []).append(entry.id)
        steps = [Step("undo", each.turn, Path(path), each.before, tuple(ids[path])) for path, each in first.items()]
        return [self._seen(step, history).step for step in steps]

    def taken_back(self) -> list[Step]:
        """What brings back what was taken back last."""
        history = self._history()
        steps: list[Step] = []
        for each in history.last_step:
            step = Step("redo", each.turn, Path(each.path), each.before, (each.id,))
            # Of a file that was left alone nothing has to come back; it only counts as changed again.
            is_left = each.kind == "skip"
            steps.append(replace(step, standing="same") if is_left else self._seen(step, history).step)
        return steps

    def contents(self, step: Step) -> tuple[bytes, bytes]:
        """What a file is to hold, and what it holds now; nothing where there is no file, or nobody knows."""
        seen = self._seen(step, self._history())
        return seen.data or b"", b"" if seen.present is None else seen.present.data or b""

    def carry_out(self, steps: Iterable[Step], *, may_overwrite: bool = False) -> list[Step]:
        """Brings files back, and gives how each stood: what was ``ready`` or the ``same`` is as it was to be.

        Raises ``StorageProblem`` where that cannot be written down, before anything more is done.
        """
        wanted, name, history = list(steps), uuid4().hex, self._history()
        spared = {step.target.digest for step in wanted if step.target is not None and step.target.digest}
        ended: list[Step] = []
        for step in wanted:
            is_left = step.kind == "redo" and step.standing == "same"
            seen = _Seen(step) if is_left else self._seen(step, history)
            if seen.step.standing == "changed" and may_overwrite:
                seen = replace(seen, step=replace(seen.step, standing="ready", why=""))
            ended.append(self._carry_out(seen, name, spared, is_left=is_left))
        return ended

    def take_over(self, other: Self, until_turn: int | None) -> None:
        """Has what another session knows of files as well, for a conversation that is its copy up to a turn."""
        entries = until(other._entries(), until_turn)
        if not entries:
            return
        states = [state for entry in entries for state in (entry.before, entry.after) if state is not None]
        self._blobs.take_over(other._blobs, {state.digest for state in states if state.digest})
        self._write(entries)

    def _carry_out(self, seen: _Seen, name: str, spared: set[str], *, is_left: bool) -> Step:
        step, present = seen.step, seen.present
        if is_left or step.standing in _LEFT:
            left: Kind = "skip" if step.kind == "undo" else "stay"
            self._write([Entry(left, step.turn, str(step.path), None, None, step.of, name)])
            return step
        content = b"" if present is None else present.data or b""
        if step.standing == "ready" and present is not None:
            # Kept first, so that this can be taken back in its turn.
            spared.add(digest_of(content))
            try:
                self._blobs.put(content, spared)
            except OSError as error:
                return replace(step, standing="failed", why=f"cannot be kept as it is now: {error.strerror}")
        before = None if present is None else State(digest_of(content), present.mode)
        entry = Entry(step.kind, step.turn, str(step.path), before, step.target, step.of, name)
        self._write([entry])
        return step if step.standing == "same" else self._made(seen, entry)

    def _made(self, seen: _Seen, entry: Entry) -> Step:
        step = seen.step
        try:
            if step.target is None:
                remove(step.path, seen.present)
            else:
                put(step.path, seen.data or b"", step.target.mode, seen.present)
        except (OSError, RefusedError) as error:
            self._write([Entry("void", step.turn, str(step.path), None, None, (entry.id,), entry.step)])
            return replace(step, standing="failed", why=_reason(error))
        return step

    def _seen(self, step: Step, history: History) -> _Seen:
        """How a file stands by now."""
        try:
            present = look(step.path, self._most_file_bytes)
        except (OSError, RefusedError) as error:
            return _Seen(replace(step, standing="refused", why=_reason(error)))
        if present is not None and present.data is None:
            return _Seen(replace(step, standing="refused", why="is too large to be kept"))
        digest = None if present is None else digest_of(present.data or b"")
        if _is_at(step.target, digest, present):
            return _Seen(replace(step, standing="same", added=0, removed=0), present)
        target = step.target
        data = b"" if target is None else None if target.digest is None else self._blobs.get(target.digest)
        if data is None:
            return _Seen(replace(step, standing="lost", why="was not kept"), present)
        standing: Standing = "ready" if _is_expected(history.latest[str(step.path)], digest) else "changed"
        why = "was changed since by somebody else" if standing == "changed" else ""
        added, removed = _counts(b"" if present is None else present.data or b"", data)
        step = replace(step, standing=standing, why=why, added=added, removed=removed)
        return _Seen(step, present, data)

    def _history(self) -> History:
        return History(self._entries())

    def _entries(self) -> Sequence[Entry]:
        try:
            return [*read_entries(self._journal), *self._unwritten]
        except OSError as error:
            raise StorageProblem(
                f"{self._journal} cannot be read: {error.strerror}.", "Check who may read it."
            ) from None

    def _write(self, entries: Sequence[Entry]) -> None:
        try:
            append_entries(self._journal, entries)
        except OSError as error:
            raise StorageProblem(
                f"{self._journal} cannot be written: {error.strerror}.", "Make room on the disk."
            ) from None


def _is_at(target: State | None, digest: str | None, present: Present | None) -> bool:
    if target is None or present is None:
        return target is None and present is None
    return (target.digest, target.mode) == (digest, present.mode)


def _is_expected(latest: Entry, digest: str | None) -> bool:
    """Whether a file is what was last made of it here, or still what it was before that."""
    return any(_has(state, digest) for state in (latest.after, latest.before))


def _has(state: State | None, digest: str | None) -> bool:
    return digest is None if state is None else state.digest is not None and state.digest == digest


def _counts(before: bytes, after: bytes) -> tuple[int | None, int | None]:
    """How many lines come and go."""
    if b"\0" in before or b"\0" in after:
        return None, None
    old, new = Counter(before.splitlines()), Counter(after.splitlines())
    return (new - old).total(), (old - new).total()


def _reason(error: OSError | RefusedError) -> str:
    return f"cannot be used: {error.strerror}" if isinstance(error, OSError) else str(error)
