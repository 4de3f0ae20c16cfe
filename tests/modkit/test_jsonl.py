"""Records are handed over at once and written later, in order; what cannot be kept or written is counted and told."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_core.testing import wait_for
from amplifier_core.utils.jsonable import to_jsonable
from amplifier_modkit import jsonl
from amplifier_modkit.jsonl import JsonlWriter, WritingDesk, to_line, weigh
from amplifier_modkit.rotating_file import RotatingFile

json_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def records_in(path: Path) -> list[Any]:
    """What the lines of a file say; each must be whole."""
    text = path.read_text("utf-8")
    assert text == "" or text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


class Gate:
    """Holds up whoever wants to append, until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened = threading.Event()
        self.reached = threading.Event()
        real = RotatingFile.append_some

        def append_some(file: RotatingFile, lines: Sequence[bytes]) -> int:
            self.reached.set()
            assert self.opened.wait(10)
            return real(file, lines)

        monkeypatch.setattr(RotatingFile, "append_some", append_some)


class Disk:
    """A disk that refuses to take anything while it has an ``error``; counts the attempts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.error: OSError | None = OSError(errno.ENOSPC, "No space left on device")
        self.attempts = 0
        real = RotatingFile.append_some

        def append_some(file: RotatingFile, lines: Sequence[bytes]) -> int:
            self.attempts += 1
            if self.error is not None:
                raise self.error
            return real(file, lines)

        monkeypatch.setattr(RotatingFile, "append_some", append_some)
        monkeypatch.setattr(jsonl, "_SHORTEST_RETRY_S", 0.001)


async def test_records_are_written_in_order(tmp_path: Path) -> None:
    """What is handed over is in the file after a flush, one line each, in a folder that is made for it."""
    writer = JsonlWriter(tmp_path / "new" / "folder" / "log.jsonl")
    assert all(writer.put({"number": number}) for number in range(100))
    assert await writer.flush() is True
    assert records_in(writer.path) == [{"number": number} for number in range(100)]
    assert (writer.pending, writer.lost) == (0, 0)


async def test_records_are_written_soon_without_a_flush(tmp_path: Path) -> None:
    """Nobody has to ask: a batch is written a moment after its first record."""
    writer = JsonlWriter(tmp_path / "log.jsonl", batch_interval_s=0.01)
    writer.put({"a": 1})
    await wait_for(lambda: writer.path.exists() and writer.pending == 0)
    assert records_in(writer.path) == [{"a": 1}]


async def test_whoever_hands_over_never_waits_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the disk hangs, records are taken as before, and a flush gives up after its time."""
    gate = Gate(monkeypatch)
    writer = JsonlWriter(tmp_path / "log.jsonl")
    writer.put({"a": 1})
    assert await writer.flush(timeout_s=0.01) is False
    assert gate.reached.wait(10)
    assert writer.put({"b": 2})
    gate.opened.set()
    assert await writer.flush() is True
    assert records_in(writer.path) == [{"a": 1}, {"b": 2}]


async def test_what_does_not_fit_is_left_out_counted_and_told_in_one_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue is bounded by bytes; the gap is told where it is, with the number of records that are missing."""
    gate = Gate(monkeypatch)
    writer = JsonlWriter(tmp_path / "log.jsonl", max_pending_bytes=3_000, lost_record=lambda count: {"missing": count})
    writer.put({"first": True})
    flushing = asyncio.create_task(writer.flush())
    await asyncio.to_thread(gate.reached.wait, 10)
    taken = [writer.put({"text": "x" * 900}) for _ in range(10)]
    assert taken == [True, True, True] + [False] * 7
    gate.opened.set()
    assert await flushing is True
    writer.put({"last": True})
    await writer.flush()
    assert [record.get("missing", "") or sorted(record)[0] for record in records_in(writer.path)] == [
        "first",
        *["text"] * 3,
        7,
        "last",
    ]
    assert writer.lost == 7


async def test_a_disk_that_refuses_gives_one_warning_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Records wait while nothing can be written, and are there when it can be again; the log has one warning."""
    caplog.set_level(logging.INFO, logger="amplifier_modkit.jsonl")
    disk = Disk(monkeypatch)
    writer = JsonlWriter(tmp_path / "log.jsonl")
    writer.put({"a": 1})
    assert await writer.flush() is False
    writer.put({"b": 2})
    assert await writer.flush() is False
    assert writer.pending == 2
    seen = disk.attempts
    disk.error = None
    await wait_for(lambda: writer.pending == 0)
    assert disk.attempts > seen
    assert records_in(writer.path) == [{"a": 1}, {"b": 2}]
    disk.error = OSError("gone again")
    writer.put({"c": 3})
    await writer.flush()
    disk.error = None
    assert await writer.flush() is True
    assert [record.getMessage() for record in caplog.records] == [
        f"Not everything can be written to {writer.path}: No space left on device. Nothing else is affected; it is "
        "tried again, and what gets lost is counted in the file",
        f"{writer.path} can be written again; 0 records were lost so far",
        f"{writer.path} can be written again; 0 records were lost so far",
    ]


async def test_what_waits_for_a_disk_is_bounded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines may be longer than what they were made of; those that came first stay, the others are counted."""
    disk = Disk(monkeypatch)
    writer = JsonlWriter(
        tmp_path / "log.jsonl", to_record=lambda number: {"n": number, "text": "x" * 900}, max_pending_bytes=2_000
    )
    for number in range(5):
        writer.put(number)
    assert await writer.flush() is False
    assert writer.lost == 3
    for number in range(5, 7):
        writer.put(number)
    assert await writer.flush() is False
    assert writer.lost == 5
    disk.error = None
    assert await writer.flush() is True
    assert [record.get("n", record.get("lost")) for record in records_in(writer.path)] == [0, 1, 3, 2]


@pytest.mark.parametrize("spoil", ["is a folder", "is below a file", "is a link"])
async def test_a_path_that_cannot_be_a_log_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, spoil: str
) -> None:
    """A folder, a file in place of a folder and a link are not written to; nobody but the log hears of it."""
    path = tmp_path / "folder" / "log.jsonl"
    match spoil:
        case "is a folder":
            path.mkdir(parents=True)
        case "is below a file":
            path.parent.write_text("")
        case _:
            path.parent.mkdir()
            path.symlink_to(tmp_path / "elsewhere")
    writer = JsonlWriter(path, desk=WritingDesk())
    writer.put({"a": 1})
    assert await writer.flush() is False
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert str(path) in caplog.text
    assert not (tmp_path / "elsewhere").exists()


async def test_a_folder_that_is_removed_is_made_again(tmp_path: Path) -> None:
    """The file is opened for each batch, so somebody may clear the folder in between."""
    writer = JsonlWriter(tmp_path / "folder" / "log.jsonl")
    writer.put({"a": 1})
    await writer.flush()
    writer.path.unlink()
    writer.path.parent.rmdir()
    writer.put({"b": 2})
    assert await writer.flush() is True
    assert records_in(writer.path) == [{"b": 2}]


async def test_a_record_that_cannot_be_made_does_not_stop_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is counted like any other that is lost, and the first one is told with its reason."""

    def to_record(item: Any) -> dict[str, Any]:
        return {"half": 1 / item}

    writer = JsonlWriter(tmp_path / "log.jsonl", to_record=to_record)
    for item in (1, 0, 0, 2):
        writer.put(item)
    assert await writer.flush() is True
    assert records_in(writer.path) == [{"half": 1.0}, {"lost": 2}, {"half": 0.5}]
    assert [record.getMessage() for record in caplog.records] == [
        f"Not everything can be written to {writer.path}: a record cannot be made: ZeroDivisionError: division by zero"
    ]


async def test_a_record_that_is_too_long_for_a_line_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No line is longer than the file may be."""
    writer = JsonlWriter(tmp_path / "log.jsonl", max_bytes=100)
    writer.put({"text": "x" * 100})
    writer.put({"text": "x"})
    await writer.flush()
    assert records_in(writer.path) == [{"lost": 1}, {"text": "x"}]
    assert caplog.messages == [
        f"Not everything can be written to {writer.path}: a record cannot be made: ValueError: it has 112 bytes, "
        "and a line may have 100"
    ]


async def test_full_files_are_put_aside(tmp_path: Path) -> None:
    """Many records in one batch fill several files; the latest are in the file itself."""
    writer = JsonlWriter(tmp_path / "log.jsonl", max_bytes=100, keep=2, compress=False)
    for number in range(100):
        writer.put({"number": number})
    assert await writer.flush() is True
    found = [records_in(tmp_path / name) for name in ("log.2.jsonl", "log.1.jsonl", "log.jsonl")]
    numbers = [record["number"] for records in found for record in records]
    assert numbers == list(range(100 - len(numbers), 100))
    assert not (tmp_path / "log.3.jsonl").exists()


@pytest.mark.slow
@given(json_data)
def test_a_line_says_what_json_can_say_of_a_record(value: Any) -> None:
    """Whatever a record holds comes back as the one conversion to JSON gives it, on one line for every reader."""
    line = to_line({"value": value})
    assert json.loads(line) == {"value": to_jsonable(value)}
    assert line.count(b"\n") == 1
    assert len(line.decode().splitlines()) == 1


def test_what_json_does_not_know_becomes_text() -> None:
    """Objects, cycles and lone surrogates have no form in JSON, and get one."""
    cyclic: dict[str, Any] = {"path": Path("/x"), "half": "\ud800"}
    cyclic["self"] = cyclic
    assert json.loads(to_line(cyclic)) == {"path": "/x", "half": "\\ud800", "self": "[cyclic reference]"}
    assert json.loads(to_line({"half": "\ud800"})) == {"half": "\ud800"}


class Thing:
    def __init__(self) -> None:
        self.text = "x" * 5_000


@pytest.mark.parametrize(
    ("value", "least", "most"),
    [
        ("x" * 1_000, 1_000, 1_000),
        (None, 16, 50),
        ({}, 16, 50),
        ({"a": 1, "b": 2.0, "c": None, "d": True}, 50, 100),
        ({"text": b"x" * 1_000, "more": ["y" * 1_000]}, 2_000, 2_200),
        ([{"role": "user", "content": "x" * 1_000}] * 500, 400_000, 600_000),
        ({str(number): "x" * 100 for number in range(1_000)}, 100_000, 200_000),
        (Thing(), 5_000, 5_200),
    ],
)
def test_a_value_is_weighed_roughly(value: Any, least: int, most: int) -> None:
    """The weight is near the bytes that a value holds on to."""
    assert least <= weigh(value) <= most


def test_weighing_ends_for_anything() -> None:
    """What is endless or immensely nested is weighed in part."""
    endless: list[Any] = []
    endless.extend([endless, endless])
    deep: Any = "x"
    for _ in range(10_000):
        deep = [deep, deep]
    assert weigh(endless) < 10_000_000_000
    assert weigh(deep) > 0


async def test_the_thread_ends_when_there_is_nothing_to_write(tmp_path: Path) -> None:
    """After a while without work the thread is gone; the next record has another one."""
    desk = WritingDesk(idle_s=0.0)
    writer = JsonlWriter(tmp_path / "log.jsonl", desk=desk)
    for number in range(3):
        writer.put({"number": number})
        await writer.flush()
        await wait_for(lambda: desk._thread is None)
    assert [record["number"] for record in records_in(writer.path)] == [0, 1, 2]


async def test_writers_share_one_thread(tmp_path: Path) -> None:
    """However many writers there are, one thread writes for them."""
    desk = WritingDesk()
    writers = [JsonlWriter(tmp_path / f"{number}.jsonl", desk=desk) for number in range(20)]
    for writer in writers:
        writer.put({"path": writer.path})
    thread = desk._thread
    assert all(await asyncio.gather(*(writer.flush() for writer in writers)))
    assert desk._thread is thread
    assert [records_in(writer.path) for writer in writers] == [[{"path": str(writer.path)}] for writer in writers]


async def test_a_flush_nobody_waits_for_is_no_trouble(tmp_path: Path) -> None:
    """Whoever gave up waiting, or whose loop is closed, is passed over."""
    writer = JsonlWriter(tmp_path / "log.jsonl")
    flushing = asyncio.create_task(writer.flush())
    await asyncio.sleep(0)
    flushing.cancel()
    other = asyncio.new_event_loop()
    waiting: asyncio.Future[bool] = other.create_future()
    other.close()
    jsonl._settle(waiting, True)
    assert await writer.flush() is True
    assert not waiting.done()


def test_at_the_end_everything_is_written_or_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The end of a process waits for what is pending, within limits, and tells what is lost for good."""
    disk = Disk(monkeypatch)
    monkeypatch.setattr(jsonl, "_SHORTEST_RETRY_S", 60)
    desk = WritingDesk()
    writer, idle = (JsonlWriter(tmp_path / name, desk=desk) for name in ("log.jsonl", "idle.jsonl"))
    writer.put({"a": 1})
    desk.finish()
    assert caplog.messages[-1] == f"1 records could not be written to {writer.path} and are lost"
    disk.error = None
    desk.finish()
    assert records_in(writer.path) == [{"a": 1}]
    assert (len(caplog.messages), idle.path.exists()) == (2, False)


async def test_a_record_that_is_larger_than_the_queue_is_told_without_another(tmp_path: Path) -> None:
    """Nobody has to hand over anything else for the gap to be told."""
    writer = JsonlWriter(tmp_path / "log.jsonl", max_pending_bytes=100, batch_interval_s=0)
    assert writer.put({"text": "x" * 1_000}) is False
    await wait_for(lambda: writer.pending == 0)
    assert records_in(writer.path) == [{"lost": 1}]


async def test_beginning_anew_forgets_what_is_pending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a fork, where the thread is gone: what was handed over is not written here, what comes then is."""
    desk = WritingDesk()
    writer = JsonlWriter(tmp_path / "log.jsonl", desk=desk)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", lambda thread: None)
        writer.put({"a": 1})
    desk.begin_anew()
    writer.put({"b": 2})
    assert await writer.flush() is True
    assert records_in(writer.path) == [{"b": 2}]


def test_the_end_waits_for_what_is_being_made_at_that_moment(tmp_path: Path) -> None:
    """Records that the thread has in its hands are neither waiting nor written, and are not forgotten."""
    begun, may_go_on = threading.Event(), threading.Event()

    def to_record(item: Any) -> dict[str, Any]:
        begun.set()
        assert may_go_on.wait(10)
        return {"item": item}

    desk = WritingDesk()
    writer = JsonlWriter(tmp_path / "log.jsonl", to_record=to_record, batch_interval_s=0, desk=desk)
    writer.put("a")
    assert begun.wait(10)
    assert writer.pending == 1
    may_go_on.set()
    desk.finish()
    assert (records_in(writer.path), writer.pending) == ([{"item": "a"}], 0)


def test_a_process_that_ends_and_starts_no_threads_writes_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no thread can be started any more, the caller writes: there is no later."""

    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", start)
    writer = JsonlWriter(tmp_path / "log.jsonl", desk=WritingDesk())
    writer.put({"a": 1})
    writer.put({"b": 2})
    assert records_in(writer.path) == [{"a": 1}, {"b": 2}]


def run(script: str, *arguments: str) -> str:
    """Runs a script in a process of its own and gives what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", dedent(script), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_process_that_ends_at_once_loses_nothing(tmp_path: Path) -> None:
    """What was handed over right before the end of the process is in the file."""
    path = tmp_path / "log.jsonl"
    run(
        """
        import sys
        from pathlib import Path
        from amplifier_modkit.jsonl import JsonlWriter

        writer = JsonlWriter(Path(sys.argv[1]), batch_interval_s=60)
        for number in range(10_000):
            writer.put({"number": number})
        sys.exit(0)
        """,
        str(path),
    )
    assert [record["number"] for record in records_in(path)] == list(range(10_000))


@pytest.mark.slow
def test_a_forked_process_writes_its_own_records_only(tmp_path: Path) -> None:
    """What was pending at a fork is written once, by the parent; the child goes on with a thread of its own."""
    path = tmp_path / "log.jsonl"
    run(
        """
        import asyncio, os, sys
        from pathlib import Path
        from amplifier_modkit.jsonl import JsonlWriter

        writer = JsonlWriter(Path(sys.argv[1]), batch_interval_s=0.05)
        for number in range(1_000):
            writer.put({"by": "parent", "number": number})
        if os.fork() == 0:
            for number in range(1_000):
                writer.put({"by": "child", "number": number})
            assert asyncio.run(writer.flush())
            os._exit(0)
        os.wait()
        """,
        str(path),
    )
    records = records_in(path)
    assert sorted(record["number"] for record in records if record["by"] == "parent") == list(range(1_000))
    assert [record["number"] for record in records if record["by"] == "child"] == list(range(1_000))


@pytest.mark.slow
def test_processes_that_share_a_file_lose_nothing(tmp_path: Path) -> None:
    """Lines of several processes never mix, also while the file is put aside again and again."""
    path = tmp_path / "log.jsonl"
    script = """
        import sys
        from pathlib import Path
        from amplifier_modkit.jsonl import JsonlWriter

        writer = JsonlWriter(Path(sys.argv[1]), max_bytes=4_000, keep=100, compress=False, batch_interval_s=0)
        for number in range(1_000):
            writer.put({"by": sys.argv[2], "number": number})
        """
    processes = [
        subprocess.Popen([sys.executable, "-c", dedent(script), str(path), str(number)]) for number in range(3)
    ]
    assert [process.wait() for process in processes] == [0, 0, 0]
    records = [record for file in tmp_path.iterdir() for record in records_in(file)]
    for number in range(3):
        own = sorted(record["number"] for record in records if record["by"] == str(number))
        assert own == list(range(1_000))
