"""What this session has read and written, so that nothing is changed blindly and nobody's work is lost."""

from __future__ import annotations

import hashlib
import os
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from amplifier_module_tool_filesystem.problems import StaleError

_MOST_ENTRIES = 10_000


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a file was when it was read or written; ``digest`` of the whole content, where that was read."""

    size: int
    mtime_ns: int
    number: int
    digest: str | None

    @classmethod
    def of(cls, facts: os.stat_result, data: bytes | None) -> Fingerprint:
        """The fingerprint of a file of which ``data`` is the whole content."""
        return cls(facts.st_size, facts.st_mtime_ns, facts.st_ino, None if data is None else digest_of(data))

    def fits(self, other: Fingerprint) -> bool:
        """Whether both are of the same content: by digest if both have one, by the other facts otherwise."""
        if self.digest is not None and other.digest is not None:
            return self.digest == other.digest
        return (self.size, self.mtime_ns, self.number) == (other.size, other.mtime_ns, other.number)


class Ledger:
    """The fingerprints of the files that one session knows; any number of threads may use it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: OrderedDict[Path, Fingerprint] = OrderedDict()

    def note(self, path: Path, fingerprint: Fingerprint) -> None:
        """Remembers what the session knows of a file; the one noted longest ago is forgotten when there are many."""
        with self._lock:
            self._known[path] = fingerprint
            self._known.move_to_end(path)
            if len(self._known) > _MOST_ENTRIES:
                self._known.popitem(last=False)

    def forget(self, path: Path) -> None:
        """Forgets a file, which is gone."""
        with self._lock:
            self._known.pop(path, None)

    def get(self, path: Path) -> Fingerprint | None:
        """What the session knows of a file."""
        with self._lock:
            return self._known.get(path)

    def require_current(self, path: Path, now: Fingerprint) -> None:
        """Raises ``StaleError`` unless the session knows the file as it is ``now``."""
        known = self.get(path)
        if known is None:
            raise StaleError(
                f"{path} is there already and was not read in this session. Read it with read_file first, then try "
                "again."
            )
        if not known.fits(now):
            raise StaleError(
                f"{path} has changed since it was read in this session. Read it again with read_file, then try again."
            )


def digest_of(data: bytes) -> str:
    """The digest by which contents are compared."""
    return hashlib.sha256(data).hexdigest()
