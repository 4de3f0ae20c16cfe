"""Opening a journal: who may, what is made, what a crash has left behind, and what the operating system refuses."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from amplifier_modkit import file_lock
from amplifier_module_context_persistent.errors import JournalError, JournalLockedError
from amplifier_module_context_persistent.journal import Journal
from amplifier_module_context_persistent.journal_file import OpenedFile, Repair, close_file, open_file

FIRST = {"record": "header", "version": 1}
HEADER = b'{"record":"header","version":1}\n'


def message(text: str) -> dict[str, str]:
    """A message."""
    return {"role": "user", "content": text}


def line(text: str) -> bytes:
    """A message as it stands in a file."""
    return json.dumps(message(text), separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


async def look_into(path: Path) -> OpenedFile:
    """What opening finds; the journal is closed again."""
    journal, found = await Journal.open(path, FIRST)
    await journal.close()
    return found


class Failing:
    """A function of ``os`` that fails with ``number`` in some of its calls, the first being 0."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str, number: int, *calls: int) -> None:
        self.real, self.number, self.calls = getattr(os, name), number, calls
        self.count = 0
        monkeypatch.setattr(os, name, self)

    def __call__(self, *arguments: Any) -> Any:
        self.count += 1
        if self.count - 1 in self.calls:
            raise OSError(self.number, os.strerror(self.number))
        return self.real(*arguments)


async def test_a_new_journal_is_for_its_user_alone(tmp_path: Path) -> None:
    """The file and the folders above it that did not exist are made for the user alone; others stay as they are."""
    (tmp_path / "there").mkdir(mode=0o755)
    path = tmp_path / "there/a/b/journal"
    found = await look_into(path)
    assert (found.transcript.messages, found.repair) == ([], None)
    assert path.read_bytes() == HEADER
    modes = {each.name: oct(stat.S_IMODE(each.stat().st_mode)) for each in (path, *path.parents[:3])}
    assert modes == {"journal": "0o600", "b": "0o700", "a": "0o700", "there": "0o755"}


async def test_a_new_journal_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file and every folder that has got an entry are synced, unless durability is left to the system."""
    synced: list[Path] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(Path(f"/proc/self/fd/{descriptor}").readlink()))
    journal, _ = await Journal.open(tmp_path / "a/b/journal", FIRST)
    assert synced == [tmp_path / "a/b", tmp_path / "a", tmp_path, tmp_path / "a/b/journal"]
    await journal.close()
    synced.clear()
    journal, _ = await Journal.open(tmp_path / "c/journal", FIRST, durability="none")
    await journal.close()
    assert synced == []


async def test_folders_that_cannot_be_synced_are_left_to_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """File systems that sync their folders by themselves, and systems that offer nothing for them, are fine."""
    Failing(monkeypatch, "fsync", errno.EINVAL, 0)
    await look_into(tmp_path / "one")
    monkeypatch.delattr(os, "O_DIRECTORY")
    await look_into(tmp_path / "other")
    assert [(tmp_path / name).read_bytes() for name in ("one", "other")] == [HEADER, HEADER]


async def test_a_journal_of_others_is_read_as_it_is(tmp_path: Path) -> None:
    """A plain list of messages needs no header and gets none."""
    path = tmp_path / "journal"
    path.write_bytes(line("one") + line("two"))
    found = await look_into(path)
    assert found.transcript.messages == [message("one"), message("two")]
    assert path.read_bytes() == line("one") + line("two")


async def test_unreadable_lines_stay_in_the_file(tmp_path: Path) -> None:
    """What cannot be read is noted with its number and left where it is."""
    path = tmp_path / "journal"
    path.write_bytes(HEADER + b"garbage\n" + line("one") + b"\x00" * 5_000 + b"\n" + line("two"))
    before = path.read_bytes()
    found = await look_into(path)
    assert (found.transcript.messages, found.transcript.unreadable) == ([message("one"), message("two")], [2, 4])
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "torn", [b'{"role":"user","con', b"\x00" * 70_000, b"1", b"{}"], ids=lambda torn: repr(torn[:9])
)
async def test_a_torn_end_is_cut_off_and_kept_beside(tmp_path: Path, torn: bytes) -> None:
    """What a crash has torn is moved to a file of its own, each time to another one, and nothing before it is lost."""
    path = tmp_path / "journal"
    for number in (1, 2):
        path.write_bytes(HEADER + line("one") + torn)
        found = await look_into(path)
        saved_to = tmp_path / f"journal.torn-{number}"
        assert (found.transcript.messages, found.repair) == ([message("one")], Repair(len(torn), saved_to))
        assert (path.read_bytes(), saved_to.read_bytes()) == (HEADER + line("one"), torn)
        assert stat.S_IMODE(saved_to.stat().st_mode) == 0o600


async def test_a_whole_record_without_its_line_end_gets_it(tmp_path: Path) -> None:
    """If only the end of the line is missing, the record counts."""
    path = tmp_path / "journal"
    path.write_bytes(HEADER + line("one")[:-1])
    found = await look_into(path)
    assert (found.transcript.messages, found.repair) == ([message("one")], Repair(0, None))
    assert path.read_bytes() == HEADER + line("one")


@pytest.mark.slow
async def test_a_file_that_ends_anywhere_opens_and_goes_on(tmp_path: Path) -> None:
    """Cut at any byte, a journal keeps every line that was complete, loses at most the last, and takes more."""
    records = [line("one"), line("zwölf\u2028"), b'{"record":"clear"}\n', b"garbage\n", line("three"), line("four")]
    whole = HEADER + b"".join(records)
    for length in range(len(whole) + 1):
        path = tmp_path / f"{length}/journal"
        path.parent.mkdir()
        path.write_bytes(whole[:length])
        journal, found = await Journal.open(path, FIRST, durability="none")
        await journal.append(message("after"))
        await journal.close()
        # One byte more is a line whose end alone was missing.
        complete = whole[: whole.rfind(b"\n", 0, length + 1) + 1] if length else b""
        if whole[:length].endswith(b"garbage"):
            complete = complete.removesuffix(b"garbage\n")
        assert path.read_bytes() == (complete or HEADER) + line("after")
        again = await look_into(path)
        assert again.repair is None
        assert again.transcript.messages == [*found.transcript.messages, message("after")]
        torn = [each.read_bytes() for each in path.parent.glob("*.torn-*")]
        assert torn == ([whole[len(complete) : length]] if length > len(complete) else [])


async def test_a_second_session_in_this_process_is_kept_out(tmp_path: Path) -> None:
    """A journal that is open is refused until it is closed, and the refusal changes nothing in it."""
    path = tmp_path / "journal"
    journal, _ = await Journal.open(path, FIRST)
    with pytest.raises(JournalLockedError) as caught:
        await Journal.open(path, FIRST)
    assert str(caught.value) == (
        f"The journal {path} is in use by another session, in this process or another. Two of them would mix their "
        "conversations: end the other session first, or start this one with another id."
    )
    assert (caught.value.path, caught.value.errno) == (path, errno.EWOULDBLOCK)
    await journal.append(message("mine"))
    await journal.close()
    assert (await look_into(path)).transcript.messages == [message("mine")]


OTHER_PROCESS = """
import asyncio, sys
from pathlib import Path
from amplifier_module_context_persistent.journal import Journal

async def main():
    journal, _ = await Journal.open(Path(sys.argv[1]), {"record": "header"})
    print("open", flush=True)
    sys.stdin.read()
    await journal.close()

asyncio.run(main())
"""


@pytest.mark.slow
def test_another_process_is_kept_out(tmp_path: Path) -> None:
    """Two processes cannot write one journal; the lock of one that was killed is gone with it."""
    path = tmp_path / "journal"
    command = [sys.executable, "-c", OTHER_PROCESS, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(JournalLockedError, match="is in use by another session"):
            open_file(path, FIRST, is_synced=False)
        other.kill()
    opened = open_file(path, FIRST, is_synced=False)
    refused = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert f"JournalLockedError: The journal {path} is in use" in refused.stderr
    close_file(opened.descriptor, path, is_synced=False)


async def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """A symbolic link in place of the file is refused, and what it points to stays as it is."""
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "journal").symlink_to(tmp_path / "precious")
    with pytest.raises(JournalError) as caught:
        await Journal.open(tmp_path / "journal", FIRST)
    assert str(caught.value) == (
        f"Cannot open the journal {tmp_path}/journal: Too many levels of symbolic links (ELOOP). It is a symbolic "
        "link, and those are not followed: name the file itself, or set 'transcript_path' of context-persistent to "
        "another place."
    )
    assert (tmp_path / "precious").read_text() == "precious"


async def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """A folder or a pipe in place of the file is named, and not waited for."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(JournalError) as caught:
        await Journal.open(tmp_path / "pipe", FIRST)
    assert str(caught.value) == (
        f"Cannot open the journal {tmp_path}/pipe: it is not a regular file. Set 'transcript_path' of "
        "context-persistent to one, or to a path that does not exist yet."
    )
    with pytest.raises(JournalError, match=r"Is a directory \(EISDIR\)"):
        await Journal.open(tmp_path, FIRST)


async def test_a_later_format_is_refused(tmp_path: Path) -> None:
    """A journal of a format that is not known here is not touched, so that nothing in it is misread."""
    path = tmp_path / "journal"
    written = b'{"record":"header","version":2}\n{"role":"user"'
    path.write_bytes(written)
    with pytest.raises(JournalError) as caught:
        await Journal.open(path, FIRST)
    assert str(caught.value) == (
        f"Cannot read the journal {path}: it has format 2, and this version of context-persistent knows formats up to "
        "1. Update amplifier-modules, or start another session."
    )
    assert path.read_bytes() == written


@pytest.mark.parametrize(
    ("function", "number", "call"),
    [
        ("open", errno.EACCES, 0),
        ("open", errno.EROFS, 1),
        ("open", errno.EIO, 2),
        ("mkdir", errno.EACCES, 0),
        ("fsync", errno.EIO, 0),
        ("fsync", errno.EIO, 1),
        ("write", errno.ENOSPC, 0),
        ("fstat", errno.EIO, 0),
        ("lseek", errno.EIO, 0),
    ],
)
async def test_a_new_journal_that_cannot_be_made_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, number: int, call: int
) -> None:
    """Whatever fails while a journal is made, the error names the file and the cause, and nothing stays open."""
    path = tmp_path / "folder/journal"
    with monkeypatch.context() as faulty:
        failing = Failing(faulty, function, number, call)
        with pytest.raises(JournalError, match=f"Cannot open the journal {path}: .* \\({errno.errorcode[number]}\\)"):
            await Journal.open(path, FIRST)
        assert failing.count > call
    assert open_files_below(tmp_path) == []
    assert (await look_into(path)).transcript.messages == []


@pytest.mark.parametrize(
    ("function", "number", "call"),
    [
        ("open", errno.ENOSPC, 1),
        ("write", errno.ENOSPC, 0),
        ("fsync", errno.EIO, 0),
        ("ftruncate", errno.EIO, 0),
    ],
)
async def test_a_repair_that_fails_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, number: int, call: int
) -> None:
    """A torn end that cannot be saved is not cut off; the next attempt finds it as it was."""
    path = tmp_path / "journal"
    path.write_bytes(HEADER + line("one") + b'{"torn')
    with monkeypatch.context() as faulty:
        Failing(faulty, function, number, call)
        with pytest.raises(JournalError, match=f"\\({errno.errorcode[number]}\\)"):
            await Journal.open(path, FIRST)
    assert path.read_bytes() == HEADER + line("one") + b'{"torn'
    found = await look_into(path)
    assert found.transcript.messages == [message("one")]
    assert found.repair is not None
    assert found.repair.saved_to is not None
    assert found.repair.saved_to.read_bytes() == b'{"torn'


async def test_an_error_without_a_number_is_told_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not every error of the system says which one it is."""

    def refuse(*arguments: Any) -> int:
        raise OSError("no locks here")

    monkeypatch.setattr(file_lock, "lock", refuse)
    with pytest.raises(JournalError) as caught:
        await Journal.open(tmp_path / "journal", FIRST)
    assert str(caught.value) == (
        f"Cannot open the journal {tmp_path}/journal: no locks here. Check the disk, or set 'transcript_path' of "
        "context-persistent to another place."
    )


async def test_a_cancelled_opening_leaves_nothing_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is opened when nobody waits for it any more is closed again, and one not yet opened never is."""
    path, has_begun, may_go_on = tmp_path / "journal", threading.Event(), threading.Event()
    real = file_lock.lock

    def wait_and_lock(descriptor: int) -> None:
        has_begun.set()
        may_go_on.wait(10)
        real(descriptor)

    monkeypatch.setattr(file_lock, "lock", wait_and_lock)
    opening = asyncio.create_task(Journal.open(path, FIRST))
    await asyncio.to_thread(has_begun.wait, 10)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    may_go_on.set()
    for thread in threading.enumerate():
        if thread.name.startswith("journal"):
            await asyncio.to_thread(thread.join, 10)
    assert open_files_below(tmp_path) == []
    assert (await look_into(path)).transcript.messages == []


def test_windows_locks_a_byte_that_no_journal_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There, the lock is on one byte far behind the end, so that others can read; a refusal means the same."""
    calls: list[tuple[int, int, int]] = []
    refusal: list[OSError] = []

    def locking(descriptor: int, mode: int, count: int) -> None:
        calls.append((mode, count, os.lseek(descriptor, 0, os.SEEK_CUR)))
        if refusal:
            raise refusal[0]

    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2, LK_UNLCK=0))
    descriptor = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    try:
        file_lock._lock_on_windows(descriptor)
        file_lock._unlock_on_windows(descriptor)
        refusal.append(PermissionError(errno.EACCES, "locked"))
        with pytest.raises(BlockingIOError):
            file_lock._lock_on_windows(descriptor)
    finally:
        os.close(descriptor)
    assert calls == [(2, 1, 0x7FFF_FFFE), (0, 1, 0x7FFF_FFFE), (2, 1, 0x7FFF_FFFE)]


def open_files_below(folder: Path) -> list[str]:
    """The files below ``folder`` that this process has open."""
    links = [each.readlink() for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
    return [str(link) for link in links if link.is_relative_to(folder)]
