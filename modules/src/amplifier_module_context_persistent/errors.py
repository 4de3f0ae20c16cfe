"""What can go wrong with a journal, told so that its user knows which file and what to do.

OSError
└── JournalError             the file cannot be opened, read, written or synced; ``path`` names it
    └── JournalLockedError   somebody else has it open
"""

from __future__ import annotations

import errno
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

_ELSEWHERE = "or set 'transcript_path' of context-persistent to another place"
_WAYS_OUT = {
    errno.ENOSPC: f"Free some space there and send it again, {_ELSEWHERE}",
    errno.EDQUOT: f"Free some of the quota there and send it again, {_ELSEWHERE}",
    errno.EACCES: f"Give this user the right to write there, {_ELSEWHERE}",
    errno.EPERM: f"Give this user the right to write there, {_ELSEWHERE}",
    errno.EROFS: f"Mount it writable, {_ELSEWHERE}",
    errno.ELOOP: f"It is a symbolic link, and those are not followed: name the file itself, {_ELSEWHERE}",
    errno.ENAMETOOLONG: "Set 'transcript_path' of context-persistent to a shorter one",
}
_OTHERWISE = f"Check the disk, {_ELSEWHERE}"


class JournalError(OSError):
    """A journal cannot be opened, read, written or synced."""

    def __init__(self, message: str, path: Path, number: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        # Only this one: with a file name as well, the text of an OSError is made of its parts.
        self.errno = number


class JournalLockedError(JournalError):
    """A journal is in use by another session, in this process or another."""


@contextmanager
def telling(what: str, path: Path) -> Generator[None]:
    """Turns what the operating system raises in the block into a ``JournalError``; ``what`` is a verb, as "open"."""
    try:
        yield
    except JournalError:
        raise
    except OSError as error:
        raise failed(what, path, error) from error


def failed(what: str, path: Path, cause: OSError) -> JournalError:
    """The error for something that the operating system refused."""
    number = cause.errno or 0
    told = cause.strerror or str(cause)
    code = f" ({errno.errorcode[number]})" if number in errno.errorcode else ""
    way_out = _WAYS_OUT.get(number, _OTHERWISE)
    return JournalError(f"Cannot {what} the journal {path}: {told}{code}. {way_out}.", path, cause.errno)


def locked(path: Path) -> JournalLockedError:
    """The error for a journal that somebody else has open."""
    return JournalLockedError(
        f"The journal {path} is in use by another session, in this process or another. Two of them would mix their "
        "conversations: end the other session first, or start this one with another id.",
        path,
        errno.EWOULDBLOCK,
    )
