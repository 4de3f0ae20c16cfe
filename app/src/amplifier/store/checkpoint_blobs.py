"""Contents of files, each kept once under its digest; bounded, so that the oldest go when there are too many."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

MOST_BYTES = 256 << 20
"""What is kept in all."""
_DRAFT = ".tmp"


def digest_of(data: bytes) -> str:
    """The name of a content."""
    import hashlib

    return hashlib.sha256(data).hexdigest()


class Blobs:
    """The contents in one folder."""

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._total: int | None = None

    def get(self, digest: str) -> bytes | None:
        """A content; ``None`` where it is not kept, not whole, or cannot be read."""
        try:
            data = (self._folder / digest).read_bytes()
        except OSError:
            return None
        return data if digest_of(data) == digest else None

    def put(self, data: bytes, spared: Collection[str] = ()) -> int:
        """Keeps a content, and gives how many others had to go; raises ``OSError``. Those that are spared stay."""
        digest = digest_of(data)
        place = self._folder / digest
        with suppress(OSError):
            # What is used again is not old.
            os.utime(place)
            if self.get(digest) is not None:
                return 0
        self._make_folder()
        self._write(place, data)
        self._total = self._measured() if self._total is None else self._total + len(data)
        return self._shrink({digest, *spared}) if self._total > self._most_bytes else 0

    def take_over(self, other: Blobs, digests: Collection[str]) -> None:
        """Has contents of another folder as well: the same files, or copies where links cannot be. What is not there is
        passed over."""
        import shutil

        self._make_folder()
        for digest in digests:
            source, target = other._folder / digest, self._folder / digest
            try:
                os.link(source, target)
            except OSError:
                with suppress(OSError):
                    shutil.copy(source, target)

    def _make_folder(self) -> None:
        for folder in (self._folder.parent, self._folder):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def _write(self, place: Path, data: bytes) -> None:
        draft = place.with_name(f"{os.urandom(8).hex()}{_DRAFT}")
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(place)
        except OSError:
            with suppress(OSError):
                draft.unlink()
            raise

    def _measured(self) -> int:
        total = 0
        for each in self._folder.iterdir():
            if each.suffix == _DRAFT:
                # Left behind by a process that was killed.
                each.unlink(missing_ok=True)
            else:
                total += each.stat().st_size
        return total

    def _shrink(self, spared: Collection[str]) -> int:
        """Drops the oldest until there is room for some more."""
        found = [(each.stat(), each) for each in self._folder.iterdir() if each.name not in spared]
        total, dropped = self._measured(), 0
        for facts, each in sorted(found, key=lambda pair: pair[0].st_mtime_ns):
            if total <= self._most_bytes * 3 // 4:
                break
            each.unlink(missing_ok=True)
            total, dropped = total - facts.st_size, dropped + 1
        self._total = total
        return dropped
