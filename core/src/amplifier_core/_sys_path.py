"""Entries of ``sys.path`` that loaders add, counted, so that one session's clean-up does not break another's modules.

The count is the kernel's only process-wide state: it mirrors ``sys.path``, which is process-wide itself.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

# Also held while a package is imported: another thread must not see, or save, the path of that moment.
_lock = threading.RLock()

# Invariant: holds exactly the entries that were absent when first wanted, with the number of holders (never 0).
_holders: dict[str, int] = {}


def hold_sys_path_entry(entry: str) -> bool:
    """Makes ``entry`` the first of ``sys.path`` unless it is there; says whether the caller must release it later."""
    with _lock:
        if entry not in sys.path:
            sys.path.insert(0, entry)
            _holders.setdefault(entry, 0)
        if entry not in _holders:
            return False
        _holders[entry] += 1
        return True


def release_sys_path_entry(entry: str) -> None:
    """Gives up one hold; with the last one the entry leaves ``sys.path``. An entry that is gone already is fine."""
    with _lock:
        _holders[entry] -= 1
        if _holders[entry] == 0:
            del _holders[entry]
            with suppress(ValueError):
                sys.path.remove(entry)


@contextmanager
def first_on_sys_path(entry: str) -> Generator[None]:
    """Puts ``entry`` first for the time of the block, for this thread's imports; its former position remains."""
    with _lock:
        sys.path.insert(0, entry)
        try:
            yield
        finally:
            with suppress(ValueError):
                sys.path.remove(entry)
