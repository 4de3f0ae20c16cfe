"""A writer of JSON lines that never makes its caller wait: records are handed over, and a thread writes them later.

All writers of a process share one thread, which ends when there is nothing to do. What is handed over is bounded by
bytes; what does not fit is left out, counted, and told in the file itself.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from weakref import WeakSet

from amplifier_core.utils.jsonable import to_jsonable
from amplifier_modkit.rotating_file import RotatingFile

logger = logging.getLogger(__name__)

Record = Mapping[str, Any]

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
# Legal inside JSON and line ends for some readers of text.
_UNICODE_LINE_ENDS = {"\u0085": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_MOST_LINE_BYTES = 1 << 20
_MOST_CONTAINERS_WEIGHED = 32
_SAMPLE = 12
_NODE_BYTES = 16
_SMALL = frozenset({int, float, bool, type(None)})
# A thread that computes keeps the loop waiting for up to 5 ms each time; one that pauses does not.
_RECORDS_BETWEEN_PAUSES = 8
_SHORTEST_RETRY_S, _LONGEST_RETRY_S = 0.5, 30.0
_EXIT_S = 5.0
_class_of: Any = type


def to_line(record: Record) -> bytes:
    """A record as one line of UTF-8; whatever JSON cannot say becomes text."""
    try:
        text = _encode(record)
    except (TypeError, ValueError, RecursionError):
        text = _encode(to_jsonable(record))
    if not text.isascii():
        for character, escaped in _UNICODE_LINE_ENDS.items():
            text = text.replace(character, escaped)
    # A lone surrogate is in no encoding. Its backslash form happens to be the way JSON writes it.
    return text.encode("utf-8", "backslashreplace") + b"\n"


def weigh(value: Any) -> int:
    """About how many bytes ``value`` holds on to, in bounded time: of what is large, a sample is looked at."""
    return _weight(value, [_MOST_CONTAINERS_WEIGHED])


def _weight(value: Any, containers_left: list[int]) -> int:
    kind = _class_of(value)
    if kind is dict:
        children: Any = value.values()
    elif kind is list or kind is tuple:
        children = value
    elif kind is str or kind is bytes:
        return len(value)
    else:
        children = (getattr(value, "__dict__", None),)
    count = len(children)
    containers_left[0] -= 1
    if count > _SAMPLE:
        children = children[:: count // _SAMPLE] if kind is list or kind is tuple else islice(children, _SAMPLE)
    total = sampled = 0
    for child in children:
        sampled += 1
        kind = _class_of(child)
        if kind is str:
            total += len(child)
        elif kind not in _SMALL and containers_left[0] > 0:
            total += _weight(child, containers_left)
    return _NODE_BYTES * (count + 1) + total * count // max(sampled, 1)


class JsonlWriter:
    """Writes what it is given to the file at ``path``, in order, one line each; lives as long as somebody uses it.

    ``to_record`` makes the record of what was handed over, and ``lost_record`` the one that tells how many are missing
    at its place. Both are called in the thread, a moment later: what is handed over should not change by then.
    """

    def __init__(
        self,
        path: Path,
        *,
        to_record: Callable[[Any], Record] = lambda item: item,
        lost_record: Callable[[int], Record] = lambda count: {"lost": count},
        max_bytes: int = 16 << 20,
        keep: int = 4,
        compress: bool = True,
        max_pending_bytes: int = 16 << 20,
        batch_interval_s: float = 0.1,
        desk: WritingDesk | None = None,
    ) -> None:
        self.path = path
        self.lost = 0
        """How many records were left out so far."""
        self._file = RotatingFile(path, max_bytes=max_bytes, keep=keep, compress=compress)
        self._to_record = to_record
        self._lost_record = lost_record
        self._max_line_bytes = min(max_bytes, _MOST_LINE_BYTES)
        self._max_pending_bytes = max_pending_bytes
        self._batch_interval_s = batch_interval_s
        self._desk = desk or _desk
        self._has_warned = False
        self.begin_anew()
        self._desk.join(self)

    def begin_anew(self) -> None:
        """Forgets what is pending: in a forked process it belongs to the parent, and so does whoever holds a lock."""
        self._lock = threading.Lock()
        self._waiting: list[Any] = []
        self._waiting_bytes = 0
        # Made into lines, and not written yet. Only the thread that writes has to do with them.
        self._lines: list[bytes] = []
        # For each line how many records it stands for: its own, or, as a negative number, those missing at its place.
        self._counts: list[int] = []
        self._taken_bytes = 0
        self._in_hand = 0
        self._flushes: list[Callable[[bool], None]] = []
        self._failures = 0

    def put(self, item: Any) -> bool:
        """Takes ``item`` to be written soon, and says whether there was room for it; never waits for the disk."""
        weight = weigh(item)
        with self._lock:
            has_room = self._taken_bytes + self._waiting_bytes + weight <= self._max_pending_bytes
            is_first = not self._waiting
            if has_room:
                self._waiting_bytes += weight
                self._waiting.append(item)
            else:
                self._leave_gap()
        if is_first:
            self._desk.expect(self, self._batch_interval_s)
        return has_room

    async def flush(self, timeout_s: float = _EXIT_S) -> bool:
        """Waits until everything handed over before is written; says whether it is."""
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.hurry(lambda is_written: _settle(done, is_written))
        try:
            async with asyncio.timeout(timeout_s):
                return await done
        except TimeoutError:
            return False

    def hurry(self, tell: Callable[[bool], None]) -> None:
        """Has everything handed over before written at once, then calls ``tell``, in the thread that writes."""
        with self._lock:
            self._flushes.append(tell)
        self._desk.expect(self, 0)

    @property
    def pending(self) -> int:
        """How many lines wait to be written, or are being made or written at this moment."""
        return len(self._waiting) + max(len(self._lines), self._in_hand)

    def write(self) -> None:
        """Writes what was handed over; for the desk, which does one thing at a time."""
        with self._lock:
            items, self._waiting = self._waiting, []
            self._taken_bytes, self._waiting_bytes = self._taken_bytes + self._waiting_bytes, 0
            self._in_hand = len(self._lines) + len(items)
            flushes, self._flushes = self._flushes, []
        self._make_lines(items)
        try:
            while self._lines:
                written = self._file.append_some(self._lines)
                del self._lines[:written], self._counts[:written]
            self._note_success()
        except OSError as error:
            self._note_failure(error)
        with self._lock:
            self._taken_bytes = sum(map(len, self._lines))
            self._in_hand = 0
        for tell in flushes:
            tell(not self._lines)

    def _leave_gap(self) -> None:
        self.lost += 1
        last = self._waiting[-1] if self._waiting else None
        if isinstance(last, _Gap):
            last.count += 1
        else:
            self._waiting.append(_Gap(1))

    def _make_lines(self, items: Sequence[Any]) -> None:
        missing = 0
        for number, item in enumerate(items):
            if number % _RECORDS_BETWEEN_PAUSES == 0:
                time.sleep(0)
            if isinstance(item, _Gap):
                missing += item.count
                continue
            try:
                line = self._line_of(item)
            except Exception as error:
                self.lost += 1
                missing += 1
                self._warn(f"a record cannot be made: {type(error).__name__}: {error}")
                continue
            missing = self._tell_gap(missing)
            self._add(line, 1)
        self._tell_gap(missing)

    def _tell_gap(self, missing: int) -> int:
        if missing:
            self._add(to_line(self._lost_record(missing)), -missing)
        return 0

    def _add(self, line: bytes, count: int) -> None:
        self._lines.append(line)
        self._counts.append(count)

    def _line_of(self, item: Any) -> bytes:
        line = to_line(self._to_record(item))
        if len(line) > self._max_line_bytes:
            raise ValueError(f"it has {len(line):,} bytes, and a line may have {self._max_line_bytes:,}")
        return line

    def _note_success(self) -> None:
        if self._failures:
            self._failures = 0
            logger.info("%s can be written again; %d records were lost so far", self.path, self.lost)

    def _note_failure(self, error: OSError) -> None:
        self._failures += 1
        told = error.strerror or str(error)
        self._warn(f"{told}. Nothing else is affected; it is tried again, and what gets lost is counted in the file")
        # What came first stays: it tells what led up to the trouble.
        kept, size = len(self._lines), sum(map(len, self._lines))
        while size > self._max_pending_bytes:
            kept -= 1
            size -= len(self._lines[kept])
        dropped = self._counts[kept:]
        del self._lines[kept:], self._counts[kept:]
        if dropped:
            with self._lock:
                self._waiting.insert(0, _Gap(sum(map(abs, dropped))))
                self.lost += sum(count for count in dropped if count > 0)
        self._desk.expect(self, min(_SHORTEST_RETRY_S * 2 ** min(self._failures - 1, 10), _LONGEST_RETRY_S))

    def _warn(self, reason: str) -> None:
        """Says once what is wrong; from then on the count in the file has to do."""
        if not self._has_warned:
            self._has_warned = True
            logger.warning("Not everything can be written to %s: %s", self.path, reason)


@dataclass(slots=True)
class _Gap:
    """Stands among what was handed over for records that are missing there."""

    count: int


class WritingDesk:
    """The thread that writes for all: it begins when there is something to write, and ends when that was long ago."""

    def __init__(self, idle_s: float = 5.0) -> None:
        self._idle_s = idle_s
        self._writers: WeakSet[JsonlWriter] = WeakSet()
        self._begin()

    def _begin(self) -> None:
        self._wake = threading.Condition()
        self._due: dict[JsonlWriter, float] = {}
        self._thread: threading.Thread | None = None

    def join(self, writer: JsonlWriter) -> None:
        """Makes a writer known, so that it is not forgotten at the end."""
        self._writers.add(writer)

    def expect(self, writer: JsonlWriter, within_s: float) -> None:
        """Has ``writer`` write within that time, together with what comes until then."""
        due = time.monotonic() + within_s
        with self._wake:
            if due < self._due.get(writer, float("inf")):
                self._due[writer] = due
                self._wake.notify()
            if self._thread is not None or self._started():
                return
            del self._due[writer]
        writer.write()

    def finish(self, timeout_s: float = _EXIT_S) -> None:
        """Waits until everything is written, but not for ever; for the end of a process."""
        deadline = time.monotonic() + timeout_s
        waited_for = [(writer, threading.Event()) for writer in list(self._writers) if writer.pending]
        for writer, written in waited_for:
            writer.hurry(lambda is_written, written=written: written.set())
        for writer, written in waited_for:
            written.wait(max(0.0, deadline - time.monotonic()))
            if left := writer.pending:
                logger.warning("%d records could not be written to %s and are lost", left, writer.path)

    def begin_anew(self) -> None:
        """Begins anew in a forked process, in which neither the thread is there nor whoever holds a lock."""
        self._begin()
        for writer in list(self._writers):
            writer.begin_anew()

    def _started(self) -> bool:
        thread = threading.Thread(target=self._work, name="amplifier-jsonl", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            return False  # a process that ends starts no threads
        self._thread = thread
        return True

    def _work(self) -> None:
        while (writer := self._next()) is not None:
            writer.write()

    def _next(self) -> JsonlWriter | None:
        """The next writer that is due, once it is; ``None`` when there was none for long, which ends the thread."""
        idle_until = time.monotonic() + self._idle_s
        with self._wake:
            while True:
                writer = min(self._due, key=self._due.__getitem__, default=None)
                until = idle_until if writer is None else self._due[writer]
                left = until - time.monotonic()
                if left <= 0:
                    if writer is None:
                        self._thread = None
                    else:
                        del self._due[writer]
                    return writer
                self._wake.wait(left)


def _settle(done: asyncio.Future[bool], is_written: bool) -> None:
    def settle() -> None:
        if not done.done():
            done.set_result(is_written)

    with suppress(RuntimeError):  # the loop is closed, so nobody waits
        done.get_loop().call_soon_threadsafe(settle)


def _nobody_forks(*, after_in_child: Callable[[], None]) -> None: ...


_desk = WritingDesk()
atexit.register(_desk.finish)
getattr(os, "register_at_fork", _nobody_forks)(after_in_child=_desk.begin_anew)
