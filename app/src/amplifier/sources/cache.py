"""What was fetched: folders named by the hash of their content, and which of them a source was last.

Folders are filled elsewhere and moved into place, so that one that is there is whole, whoever was killed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from amplifier.problems import SourceProblem
from amplifier.settings.files import locked, write_atomically
from amplifier.sources.lock_file import Pin

_LEFT_BEHIND_AFTER_S = 3600.0
_WAIT_BEYOND_S = 30.0


class SourceCache:
    """The cache below ``root``; everything in it can be fetched again."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def tree(self, tree_hash: str) -> Path:
        """Where the content of this hash is, if it is there."""
        return self.root / "trees" / tree_hash.removeprefix("sha256:")

    def overlay(self, key: str) -> Path:
        """Where the packages of this key are, if they are there."""
        return self.root / "overlays" / key

    @contextmanager
    def draft(self) -> Generator[Path]:
        """A folder of its own for the block; what killed processes left is cleared away."""
        drafts = self.root / "drafts"
        try:
            drafts.mkdir(parents=True, exist_ok=True)
            _clear(drafts)
            folder = Path(tempfile.mkdtemp(dir=drafts))
        except OSError as error:
            raise _cannot_write(drafts, error) from None
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def adopt(self, folder: Path, place: Path) -> Path:
        """Moves a finished folder to ``place``; if another process was quicker, its folder stays."""
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            folder.rename(place)
        except OSError as error:
            # Another process may have brought the same, which is as good.
            if not place.is_dir():
                raise _cannot_write(place, error) from None
        return place

    def discard(self, place: Path) -> None:
        """Takes a folder away that is not what its name says; in one step, so that nobody sees half of it."""
        with self.draft() as draft, suppress(FileNotFoundError):
            place.rename(draft / "discarded")

    @contextmanager
    def exclusively(self, name: str, timeout_s: float) -> Generator[None]:
        """Holds what ``name`` stands for: of several processes that fetch it at once, one does and the others wait."""
        with locked(self._pin_file(name), timeout_s + _WAIT_BEYOND_S):
            yield

    def pin(self, name: str) -> Pin | None:
        """What the source was when it was last fetched; ``None`` where nothing is known that can be read."""
        try:
            data: Any = json.loads(self._pin_file(name).read_bytes())
            return Pin.from_dict(data["pin"]) if data["source"] == name else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def remember(self, name: str, pin: Pin) -> None:
        """Keeps what a source is now."""
        write_atomically(self._pin_file(name), json.dumps({"source": name, "pin": pin.to_dict()}) + "\n")

    def forget(self, name: str) -> bool:
        """Forgets what a source was; says whether anything was known. Its content stays, for others."""
        try:
            self._pin_file(name).unlink()
        except FileNotFoundError:
            return False
        return True

    def _pin_file(self, name: str) -> Path:
        return self.root / "pins" / f"{hashlib.sha256(name.encode()).hexdigest()}.json"


def _cannot_write(place: Path, error: OSError) -> SourceProblem:
    return SourceProblem(
        f"{place} cannot be written: {error.strerror}.", "Check its permissions and the room on the disk."
    )


def _clear(drafts: Path) -> None:
    before = time.time() - _LEFT_BEHIND_AFTER_S
    with os.scandir(drafts) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                if entry.stat(follow_symlinks=False).st_mtime < before:
                    shutil.rmtree(entry.path, ignore_errors=True)
