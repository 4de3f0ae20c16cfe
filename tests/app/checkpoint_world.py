"""A folder with files, and an agent that changes them turn by turn with checkpoints, as a tool does it."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

from amplifier.store.checkpoints import Checkpoints, Step

Files = dict[str, tuple[bytes, int]]


class FilesWorld:
    """``work`` has the files, ``session`` the checkpoints."""

    def __init__(self, root: Path, **limits: Any) -> None:
        self.work = root.resolve() / "work"
        self.session = root.resolve() / "session"
        self.work.mkdir(parents=True)
        self.checkpoints = Checkpoints(self.session, **limits)
        self._turn = 0
        self.turn = 1

    @property
    def turn(self) -> int:
        """The turn that runs."""
        return self._turn

    @turn.setter
    def turn(self, turn: int) -> None:
        self._turn = turn
        self.checkpoints.begin_turn(turn)

    def change(self, name: str, after: bytes | str | None, mode: int | None = None) -> str | None:
        """The agent writes a file, or removes it; gives what the checkpoints had to say."""
        path = self.work / name
        before = path.read_bytes() if path.exists() else None
        former = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
        data = after.encode() if isinstance(after, str) else after
        told = self.checkpoints.keep(str(path), before, data, former)
        if data is None:
            path.unlink(missing_ok=True)
        else:
            self.put(name, data, mode)
        return told

    def put(self, name: str, data: bytes | str, mode: int | None = None) -> Path:
        """Somebody else writes a file."""
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        if mode is not None:
            path.chmod(mode)
        return path

    def files(self) -> Files:
        """Every file with its content and its mode."""
        found = sorted(each for each in self.work.rglob("*") if each.is_file() and not each.is_symlink())
        return {
            str(each.relative_to(self.work)): (each.read_bytes(), stat.S_IMODE(each.stat().st_mode)) for each in found
        }

    def texts(self) -> dict[str, str]:
        """Every file with its text."""
        return {name: data.decode() for name, (data, _) in self.files().items()}

    def go_on_in_a_copy(self) -> None:
        """From now on, another session has the checkpoints."""
        self.session = self.session.with_name(f"{self.session.name}+")
        copy = Checkpoints(self.session)
        copy.take_over(self.checkpoints, None)
        self.checkpoints = copy
        self.turn = self._turn

    def undo(self, **options: Any) -> list[tuple[str, str, str]]:
        """Takes back the last turn; how each file stood."""
        return self.told(self.checkpoints.carry_out(self.checkpoints.last(), **options))

    def back(self, turn: int, **options: Any) -> list[tuple[str, str, str]]:
        """Takes back everything since a turn; how each file stood."""
        return self.told(self.checkpoints.carry_out(self.checkpoints.since(turn), **options))

    def redo(self, **options: Any) -> list[tuple[str, str, str]]:
        """Brings back what was taken back last; how each file stood."""
        return self.told(self.checkpoints.carry_out(self.checkpoints.taken_back(), **options))

    def told(self, steps: list[Step]) -> list[tuple[str, str, str]]:
        """Steps in short."""
        return [(str(each.path.relative_to(self.work)), each.standing, each.why) for each in steps]
