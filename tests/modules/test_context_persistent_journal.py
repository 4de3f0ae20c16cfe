"""Appending to a journal: what is promised at each level of durability, and what is true when the disk fails."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amplifier_core.testing import wait_for
from amplifier_module_context_persistent.errors import JournalError
from amplifier_module_context_persistent.journal import Durability, Journal

FIRST = {"record": "header", "version": 1}
LEVELS: tuple[Durability, ...] = ("fsync", "group", "none")
NEVER_S = 1_000.0
TO_ANOTHER_PLACE = "or set 'transcript_path' of context-persistent to another place."


def message(text: str) -> dict[str, str]:
    """A message."""
    return {"role": "user", "content": text}


def texts_in(path: Path) -> list[str]:
    """The texts of the messages in a file, each line of which must be whole."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    assert all(line.endswith("\n") for line in lines)
    return [record["content"] for record in map(json.loads, lines) if "role" in record]


class Disk:
    """Stands between a journal and the functions of ``os``: counts calls, and fails, or does less, where told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[str] = []
        self.faults: dict[str, Callable[..., Any] | None] = {}
        for name in ("write", "fsync", "ftruncate", "fstat"):
            monkeypatch.setattr(os, name, self._watched(name, getattr(os, name)))

    def fail(self, name: str, number: int) -> None:
        """Lets ``name`` raise from now on."""
        self.faults[name] = lambda real, *arguments: refuse(number)

    def _watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self.calls.append(name)
            fault = self.faults.get(name)
            return real(*arguments) if fault is None else fault(real, *arguments)

        return call


def refuse(number: int) -> None:
    """Raises what the system raises."""
    raise OSError(number, os.strerror(number))


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    """The disk below the journals of a test."""
    return Disk(monkeypatch)


async def opened(tmp_path: Path, durability: Durability = "group", group_interval_s: float = NEVER_S) -> Journal:
    """A new journal."""
    journal, _ = await Journal.open(
        tmp_path / "journal", FIRST, durability=durability, group_interval_s=group_interval_s
    )
    return journal


@pytest.mark.parametrize("durability", LEVELS)
async def test_records_are_in_the_file_when_append_returns(tmp_path: Path, durability: Durability) -> None:
    """Whatever the level, another process can read each record at once, in order, many at once as well as one."""
    journal = await opened(tmp_path, durability)
    await journal.append(message("one"))
    assert texts_in(journal.path) == ["one"]
    await journal.append(message("two"), message("three"))
    assert texts_in(journal.path) == ["one", "two", "three"]
    await asyncio.gather(*(journal.append(message(str(number))) for number in range(20)))
    assert texts_in(journal.path) == ["one", "two", "three", *map(str, range(20))]
    await journal.close()


@pytest.mark.parametrize(
    ("durability", "after_appends", "after_close"),
    [
        ("fsync", ["fstat", "write", "fsync"] * 2, ["fsync"]),
        ("group", ["fstat", "write"] * 2, ["fsync"]),
        ("none", ["fstat", "write"] * 2, []),
    ],
)
async def test_the_level_decides_when_records_are_synced(
    tmp_path: Path, disk: Disk, durability: Durability, after_appends: list[str], after_close: list[str]
) -> None:
    """Each record before append returns, or all at the end at the latest, or never."""
    journal = await opened(tmp_path, durability)
    disk.calls.clear()
    await journal.append(message("one"))
    await journal.append(message("two"))
    assert disk.calls == after_appends
    disk.calls.clear()
    await journal.close()
    assert disk.calls == after_close


async def test_a_group_is_synced_once_soon_after_its_first_record(tmp_path: Path, disk: Disk) -> None:
    """Records that come close together share one sync; the next record begins the next group."""
    journal = await opened(tmp_path, group_interval_s=0.0)
    disk.calls.clear()
    for _ in range(2):
        await journal.append(message("one"))
        await journal.append(message("two"))
        assert await wait_for(lambda: "fsync" in disk.calls)
        assert disk.calls == ["fstat", "write", "fstat", "write", "fsync"]
        disk.calls.clear()
    await journal.close()


def test_a_group_is_synced_by_the_next_loop_when_the_first_has_ended(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A journal that is used by one event loop after another keeps its promise, and old timers do no harm."""

    def let_time_pass(loop: asyncio.AbstractEventLoop) -> None:
        later = loop.time() + 2 * NEVER_S
        monkeypatch.setattr(loop, "time", lambda: later)

    is_synced = threading.Event()
    disk.faults["fsync"] = lambda real, descriptor: (real(descriptor), is_synced.set())
    old = asyncio.new_event_loop()
    journal = old.run_until_complete(opened(tmp_path))
    old.run_until_complete(journal.append(message("one")))

    async def go_on() -> None:
        disk.calls.clear()
        is_synced.clear()
        await journal.append(message("two"))
        let_time_pass(asyncio.get_running_loop())
        await asyncio.to_thread(is_synced.wait, 10)
        await journal.close()

    asyncio.run(go_on())
    assert disk.calls == ["fstat", "write", "fsync", "fsync"]
    let_time_pass(old)
    old.run_until_complete(asyncio.sleep(0))
    old.close()
    assert disk.calls == ["fstat", "write", "fsync", "fsync"]
    assert texts_in(journal.path) == ["one", "two"]


@pytest.mark.parametrize("durability", LEVELS)
async def test_a_file_that_takes_little_at_a_time_gets_all(tmp_path: Path, disk: Disk, durability: Durability) -> None:
    """The system may write less than it was given; the rest follows."""
    journal = await opened(tmp_path, durability)
    disk.faults["write"] = lambda real, descriptor, data: real(descriptor, data[:3])
    await journal.append(message("one"))
    disk.faults.clear()
    await journal.append(message("two"))
    await journal.close()
    assert texts_in(journal.path) == ["one", "two"]


def nothing_written(number: int) -> Callable[..., int]:
    """A write that does nothing."""
    return lambda real, descriptor, data: 0


def half_written(number: int) -> Callable[..., int]:
    """A write that takes some bytes the first time and then fails."""
    taken: list[int] = []

    def write(real: Callable[..., Any], descriptor: int, data: bytes) -> int:
        if taken:
            refuse(number)
        taken.append(real(descriptor, data[:7]))
        return taken[0]

    return write


@pytest.mark.parametrize("durability", LEVELS)
@pytest.mark.parametrize(
    ("fault", "number", "told"),
    [
        (
            half_written,
            errno.ENOSPC,
            f"No space left on device (ENOSPC). Free some space there and send it again, {TO_ANOTHER_PLACE}",
        ),
        (half_written, errno.EIO, f"Input/output error (EIO). Check the disk, {TO_ANOTHER_PLACE}"),
        (nothing_written, errno.EIO, f"nothing was written (EIO). Check the disk, {TO_ANOTHER_PLACE}"),
    ],
    ids=["disk full", "broken disk", "no progress"],
)
async def test_a_failed_write_leaves_no_trace(
    tmp_path: Path, disk: Disk, durability: Durability, fault: Callable[[int], Any], number: int, told: str
) -> None:
    """What was half written is cut off, the error says what to do, and the same record can be written later."""
    journal = await opened(tmp_path, durability)
    await journal.append(message("one"))
    before = journal.path.read_bytes()
    disk.faults["write"] = fault(number)
    with pytest.raises(JournalError) as caught:
        await journal.append(message("two"), message("three"))
    assert str(caught.value) == f"Cannot write the journal {journal.path}: {told}"
    assert caught.value.errno == number
    assert journal.path.read_bytes() == before
    disk.faults.clear()
    await journal.append(message("two"))
    await journal.close()
    assert texts_in(journal.path) == ["one", "two"]


async def test_a_record_that_cannot_be_synced_is_taken_back(tmp_path: Path, disk: Disk) -> None:
    """With the strictest level, what is not on the disk is not in the file either."""
    journal = await opened(tmp_path, "fsync")
    disk.fail("fsync", errno.EIO)
    with pytest.raises(JournalError, match=r"Cannot write the journal .*\(EIO\)"):
        await journal.append(message("one"))
    assert texts_in(journal.path) == []
    disk.faults.clear()
    await journal.append(message("two"))
    await journal.close()
    assert texts_in(journal.path) == ["two"]


async def test_what_cannot_be_cut_off_at_once_is_cut_off_later(
    tmp_path: Path, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    """A record never goes behind a torn one: until the torn one can be cut off, nothing is written."""
    journal = await opened(tmp_path)
    disk.faults["write"] = half_written(errno.ENOSPC)
    disk.fail("ftruncate", errno.EIO)
    with pytest.raises(JournalError, match="No space left"):
        await journal.append(message("one"))
    assert caplog.messages == [f"The end of {journal.path} is to be cut off before the next record"]
    disk.faults["write"] = None
    with pytest.raises(JournalError, match=r"Cannot write the journal .*\(EIO\)"):
        await journal.append(message("two"))
    disk.faults.clear()
    await journal.append(message("three"))
    await journal.append(message("four"))
    await journal.close()
    assert texts_in(journal.path) == ["three", "four"]


async def test_a_file_that_cannot_be_looked_at_is_told(tmp_path: Path, disk: Disk) -> None:
    """A file that is gone with its server, for example, is an error of the journal as any other."""
    journal = await opened(tmp_path)
    disk.fail("fstat", errno.ESTALE)
    with pytest.raises(JournalError, match=r"Cannot write the journal .*\(ESTALE\)"):
        await journal.append(message("one"))
    disk.faults.clear()
    await journal.close()
    assert texts_in(journal.path) == []


async def test_a_group_that_cannot_be_synced_is_not_forgotten(
    tmp_path: Path, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    """The failure is logged when it happens and raised by the next append, once; then appending goes on."""
    journal = await opened(tmp_path, group_interval_s=0.0)
    disk.fail("fsync", errno.EIO)
    await journal.append(message("one"))
    assert await wait_for(lambda: bool(caplog.messages))
    assert caplog.messages == [
        f"Cannot sync the journal {journal.path}: its last messages may not survive a power failure"
    ]
    disk.faults.clear()
    with pytest.raises(JournalError) as caught:
        await journal.append(message("two"))
    assert str(caught.value) == (
        f"Cannot sync the journal {journal.path}: Input/output error (EIO). Check the disk, {TO_ANOTHER_PLACE}"
    )
    await journal.append(message("three"))
    await journal.close()
    assert texts_in(journal.path) == ["one", "three"]


async def test_a_group_that_cannot_be_synced_is_told_at_the_end(
    tmp_path: Path, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    """Where no append follows, closing raises it, and the file is closed."""
    journal = await opened(tmp_path, group_interval_s=0.0)
    disk.fail("fsync", errno.EIO)
    await journal.append(message("one"))
    assert await wait_for(lambda: bool(caplog.messages))
    disk.faults.clear()
    with pytest.raises(JournalError, match="Cannot sync the journal"):
        await journal.close()
    await (await opened(tmp_path)).close()


@pytest.mark.parametrize("durability", LEVELS)
async def test_a_closed_journal_takes_nothing(tmp_path: Path, durability: Durability) -> None:
    """After closing, which may be done twice, appending is an error that says why, and the lock is free."""
    journal = await opened(tmp_path, durability)
    await journal.append(message("one"))
    await journal.close()
    await journal.close()
    with pytest.raises(JournalError) as caught:
        await journal.append(message("two"))
    assert str(caught.value) == (
        f"The journal {journal.path} is closed, since its session was cleaned up: the message was not stored. "
        "Initialise the session again to go on with it."
    )
    again = await opened(tmp_path, durability)
    await again.append(message("three"))
    await again.close()
    assert texts_in(journal.path) == ["one", "three"]


async def test_a_last_sync_that_fails_is_told_and_the_file_is_closed(tmp_path: Path, disk: Disk) -> None:
    """The end of a session never leaves a lock behind."""
    journal = await opened(tmp_path)
    await journal.append(message("one"))
    disk.fail("fsync", errno.EIO)
    with pytest.raises(JournalError, match=r"Cannot close the journal .*\(EIO\)"):
        await journal.close()
    disk.faults.clear()
    again = await opened(tmp_path)
    await again.close()
    assert texts_in(journal.path) == ["one"]


async def test_a_deleted_file_is_noticed(tmp_path: Path) -> None:
    """What is written to a file without a name would be lost, so it is refused."""
    journal = await opened(tmp_path)
    journal.path.unlink()
    with pytest.raises(JournalError) as caught:
        await journal.append(message("one"))
    assert str(caught.value) == (
        f"The journal {journal.path} was deleted while its session runs: the message was not stored. Start another "
        "session; this one can only be read."
    )
    await journal.close()


class SlowSync:
    """A sync that waits until it is let go."""

    def __init__(self, disk: Disk) -> None:
        self.has_begun, self.may_end = threading.Event(), threading.Event()
        disk.faults["fsync"] = self

    def __call__(self, real: Callable[..., Any], descriptor: int) -> None:
        self.has_begun.set()
        self.may_end.wait(10)
        real(descriptor)


async def test_a_cancelled_append_leaves_no_record(tmp_path: Path, disk: Disk) -> None:
    """Whoever is cancelled while the disk is slow has not written; those who waited behind have, in their order."""
    journal = await opened(tmp_path, "fsync")
    slow = SlowSync(disk)
    first, second, third = (asyncio.create_task(journal.append(message(text))) for text in ("one", "two", "three"))
    await asyncio.to_thread(slow.has_begun.wait, 10)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    slow.may_end.set()
    await asyncio.gather(second, third)
    await journal.close()
    assert texts_in(journal.path) == ["two", "three"]


async def test_closing_waits_for_the_append_under_way(tmp_path: Path, disk: Disk) -> None:
    """A record that is being synced is finished first; those that have not begun are refused."""
    journal = await opened(tmp_path, "fsync")
    slow = SlowSync(disk)
    first, second = (asyncio.create_task(journal.append(message(text))) for text in ("one", "two"))
    await asyncio.to_thread(slow.has_begun.wait, 10)
    closing = asyncio.create_task(journal.close())
    await asyncio.sleep(0)
    slow.may_end.set()
    results = await asyncio.gather(first, second, closing, return_exceptions=True)
    assert [type(result) for result in results] == [type(None), JournalError, type(None)]
    assert texts_in(journal.path) == ["one"]


async def test_a_cancelled_close_still_closes(tmp_path: Path, disk: Disk) -> None:
    """The file is closed and unlocked by the thread that does it, whether or not anybody waits."""
    journal = await opened(tmp_path)
    slow = SlowSync(disk)
    closing = asyncio.create_task(journal.close())
    await asyncio.to_thread(slow.has_begun.wait, 10)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    slow.may_end.set()
    for thread in threading.enumerate():
        if thread.name.startswith("journal"):
            await asyncio.to_thread(thread.join, 10)
    await (await opened(tmp_path)).close()
    assert texts_in(journal.path) == []


async def test_nothing_is_logged_when_all_is_well(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """An ordinary life of a journal is silent."""
    caplog.set_level(logging.DEBUG, logger="amplifier_module_context_persistent")
    journal = await opened(tmp_path, group_interval_s=0.0)
    await journal.append(message("one"))
    await journal.close()
    assert caplog.messages == []
