"""The journal of one session: records go to the end of its file, in order, and are never changed again.

What the file looks like inside is in ``records``, how it is opened in ``journal_file``.
"""

from __future__ import annotations

import asyncio
import logging
import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Literal, Self

from amplifier_module_context_persistent.errors import JournalError, failed, telling
from amplifier_module_context_persistent.journal_file import OpenedFile, close_file, open_file, write_all
from amplifier_module_context_persistent.records import Record, to_line

logger = logging.getLogger(__name__)

Durability = Literal["fsync", "group", "none"]


class Journal:
    """An open journal: this process alone writes to it, from ``open()`` to ``close()``.

    When ``append()`` returns, the operating system has the records, and they survive the end of the process. With the
    durability ``fsync`` they are on the disk as well; with ``group`` that follows within ``group_interval_s``; with
    ``none`` it is left to the system.
    """

    def __init__(
        self,
        path: Path,
        descriptor: int,
        worker: ThreadPoolExecutor,
        durability: Durability,
        group_interval_s: float,
    ) -> None:
        self.path = path
        self._descriptor: int | None = descriptor
        self._durability: Durability = durability
        self._group_interval_s = group_interval_s
        # A thread of its own, not the loop's pool: tools that block all threads there must not hold up the journal. It
        # does one thing after another, so the file is not closed while it is being synced.
        self._worker = worker
        self._lock = asyncio.Lock()
        self._is_closing = False
        # The length to cut the file to before anything is written, where cutting it at once has failed.
        self._cut_to: int | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_loop: asyncio.AbstractEventLoop | None = None
        self._sync_failure: OSError | None = None

    @classmethod
    async def open(
        cls, path: Path, first: Record, *, durability: Durability = "group", group_interval_s: float = 0.2
    ) -> tuple[Self, OpenedFile]:
        """The journal at ``path`` and what was found in it; one that does not exist is made, with ``first`` in it.

        Raises ``JournalLockedError`` if somebody else has it open, ``JournalError`` for all else.
        """
        worker = ThreadPoolExecutor(1, thread_name_prefix="journal")
        opening = worker.submit(open_file, path, first, is_synced=durability != "none")
        try:
            opened = await asyncio.wrap_future(opening)
        except BaseException:
            worker.submit(_abandon, opening, path)
            worker.shutdown(wait=False)
            raise
        return cls(path, opened.descriptor, worker, durability, group_interval_s), opened

    async def append(self, *records: Record) -> None:
        """Writes records, all or none, after those of earlier calls.

        Raises ``JournalError`` if that fails, and also, once, if an earlier group could not be synced: the records of
        this call are then not in the file. The same holds when the call is cancelled.
        """
        data = b"".join(map(to_line, records))
        async with self._lock:
            descriptor = self._require_usable()
            with telling("write", self.path):
                length = self._prepare(descriptor)
                try:
                    write_all(descriptor, data)
                    if self._durability == "fsync":
                        await asyncio.wrap_future(self._worker.submit(os.fsync, descriptor))
                except BaseException:
                    self._cut(descriptor, length)
                    raise
            self._sync_later()

    async def close(self) -> None:
        """Syncs what is not yet synced, gives up the lock and closes the file; a second time it does nothing.

        Raises ``JournalError`` if something written earlier could not be synced; the file is closed nevertheless.
        """
        self._is_closing = True
        async with self._lock:
            if self._descriptor is None:
                return
            descriptor, self._descriptor = self._descriptor, None
            if self._timer is not None:
                self._timer.cancel()
            closed = self._worker.submit(close_file, descriptor, self.path, is_synced=self._durability != "none")
            self._worker.shutdown(wait=False)
        await asyncio.shield(asyncio.wrap_future(closed))
        self._raise_sync_failure()

    def _require_usable(self) -> int:
        if self._descriptor is None or self._is_closing:
            raise JournalError(
                f"The journal {self.path} is closed, since its session was cleaned up: the message was not stored. "
                "Initialise the session again to go on with it.",
                self.path,
            )
        self._raise_sync_failure()
        return self._descriptor

    def _raise_sync_failure(self) -> None:
        failure, self._sync_failure = self._sync_failure, None
        if failure is not None:
            raise failed("sync", self.path, failure) from failure

    def _prepare(self, descriptor: int) -> int:
        """The length of the file, once it ends as it should."""
        if self._cut_to is not None:
            os.ftruncate(descriptor, self._cut_to)
            self._cut_to = None
        found = os.fstat(descriptor)
        if found.st_nlink == 0:
            raise JournalError(
                f"The journal {self.path} was deleted while its session runs: the message was not stored. Start "
                "another session; this one can only be read.",
                self.path,
            )
        return found.st_size

    def _cut(self, descriptor: int, length: int) -> None:
        """Takes back what was written after ``length``: whoever wrote it is told that it is not there."""
        try:
            os.ftruncate(descriptor, length)
        except OSError:
            logger.warning("The end of %s is to be cut off before the next record", self.path, exc_info=True)
            self._cut_to = length

    def _sync_later(self) -> None:
        if self._durability != "group":
            return
        loop = asyncio.get_running_loop()
        # A session may be used by one loop after another, and a timer dies with its loop.
        if self._timer is None or self._timer_loop is not loop:
            self._timer = loop.call_later(self._group_interval_s, self._sync_group)
            self._timer_loop = loop

    def _sync_group(self) -> None:
        self._timer = None
        if self._descriptor is not None:  # closed since, where the timer is that of another loop
            self._worker.submit(os.fsync, self._descriptor).add_done_callback(self._note_failure)

    def _note_failure(self, synced: Future[None]) -> None:
        error = synced.exception()
        if isinstance(error, OSError):
            self._sync_failure = error
            logger.error("Cannot sync the journal %s: its last messages may not survive a power failure", self.path)


def _abandon(opening: Future[OpenedFile], path: Path) -> None:
    """Closes a file that was opened for somebody who no longer waits for it."""
    if not opening.cancelled() and opening.exception() is None:
        close_file(opening.result().descriptor, path, is_synced=False)
