"""write_file: whole files, atomic, in the form they had, and never over what the session does not know."""

from __future__ import annotations

import asyncio
import codecs
import errno
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.modules.filesystem_world import FileSession

from amplifier_modkit.paths import checkpoints, replacing
from amplifier_modkit.paths.folders import Folder
from amplifier_module_tool_filesystem import read_tool


@pytest.fixture
async def session(tmp_path: Path) -> FileSession:
    return await FileSession(tmp_path).begin()


async def test_a_new_file_is_written_with_its_folders(session: FileSession) -> None:
    """What is missing on the way is made, and the write is told."""
    assert await session.write("a/b/new.txt", "naïve\n") == {
        "file_path": str(session.folder / "a/b/new.txt"),
        "bytes": 7,
    }
    assert session.files() == {"a/b/new.txt": "naïve\n"}
    assert session.told == [("artifact:write", "a/b/new.txt", 7)]


async def test_a_file_that_was_not_read_is_not_overwritten(session: FileSession) -> None:
    """Nobody loses a file to a model that has never seen it; after reading it may be written, again and again."""
    session.put("a", "precious\n")
    assert await session.failure("write_file", file_path="a", content="x") == (
        "stale",
        "a is there already and was not read in this session. Read it with read_file first, then try again.",
    )
    await session.read("a")
    await session.write("a", "one")
    await session.write("a", "two")
    assert session.files() == {"a": "two"}


async def test_a_file_that_has_changed_since_is_not_overwritten(session: FileSession) -> None:
    """Somebody else's work is not lost either; a file that was only touched is the same still."""
    path = session.put("a", "one\n")
    await session.read("a")
    os.utime(path, ns=(1, 1))
    await session.write("a", "two\n")
    path.write_text("of somebody else\n")
    assert await session.failure("write_file", file_path="a", content="x") == (
        "stale",
        "a has changed since it was read in this session. Read it again with read_file, then try again.",
    )
    assert session.files() == {"a": "of somebody else\n"}


async def test_a_large_file_is_known_by_size_and_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a file that is not read whole its size, time and number tell whether it has changed."""
    for module in (read_tool, checkpoints):
        monkeypatch.setattr(module, "WHOLE_BYTES", 10)
    session = await FileSession(tmp_path).begin()
    path = session.put("a", "some lines\n" * 3)
    await session.read("a")
    await session.write("a", "other lines\n" * 3)
    await session.write("a", "further lines\n" * 3)
    os.utime(path, ns=(1, 1))
    assert (await session.failure("write_file", file_path="a", content="x"))[0] == "stale"


async def test_whoever_wants_can_do_without_reading(tmp_path: Path) -> None:
    """With require_read off everything may be overwritten."""
    session = await FileSession(tmp_path, require_read=False).begin()
    session.put("a", "former")
    await session.write("a", "x")
    assert session.files() == {"a": "x"}


@pytest.mark.parametrize(
    ("former", "content", "expected"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\r\nb\r\n", "x\r\ny\n", b"x\r\ny\n"),
        (b"a\r\nb\n", "x\ny\n", b"x\ny\n"),
        (b"a\n", "x\n", b"x\n"),
        (b"one line", "x\n", b"x\n"),
        (codecs.BOM_UTF8 + b"a", "é", codecs.BOM_UTF8 + "é".encode()),
        (codecs.BOM_UTF16_LE + b"a\0", "é", codecs.BOM_UTF16_LE + b"\xe9\0"),
        (b"\xe9\n", "ü\n", b"\xfc\n"),
        (b"\x00\x01", "é\n", "é\n".encode()),
        (b"", "é\n", "é\n".encode()),
    ],
)
async def test_the_form_of_the_former_file_is_kept(
    session: FileSession, former: bytes, content: str, expected: bytes
) -> None:
    """Encoding, byte order mark and line ends are those of the file that is replaced."""
    session.put("a", former)
    await session.read("a")
    output = await session.write("a", content)
    assert (session.bytes_of("a"), output) == (
        expected,
        {"file_path": str(session.folder / "a"), "bytes": len(expected)},
    )


async def test_what_an_encoding_lacks_makes_a_file_utf_8(session: FileSession) -> None:
    """A text that the former encoding cannot hold is written as UTF-8, and that is told."""
    session.put("a", b"\xe9\n")
    await session.read("a")
    output = await session.write("a", "€\n")
    assert session.bytes_of("a") == "€\n".encode()
    assert output["warning"] == "The file was latin-1, which lacks a character; it is UTF-8 now."


async def test_half_a_character_is_not_written(session: FileSession) -> None:
    """A lone surrogate in the text is told with its line, before anything is made."""
    assert await session.failure("write_file", file_path="new/a", content="one\n\ud800") == (
        "encoding",
        "The character U+D800 in line 2 cannot be written as utf-8, so nothing was changed. Use another character; "
        "write_file makes a file UTF-8 where that is needed.",
    )
    assert list(session.folder.iterdir()) == []


async def test_mode_and_other_names_of_a_file(session: FileSession) -> None:
    """The mode is kept; other names of the file keep the former content, and that is told."""
    path = session.put("script", "one\n")
    path.chmod(0o751)
    os.link(path, session.folder / "twin")
    await session.read("script")
    output = await session.write("script", "two\n")
    assert output["warning"] == "The file had 1 other name(s) (hard links); those keep the former content."
    assert session.files() == {"script": "two\n", "twin": "one\n"}
    assert path.stat().st_mode & 0o777 == 0o751


async def test_a_link_is_written_through(session: FileSession) -> None:
    """A link stays a link, and what it leads to is written, there already or not."""
    session.put("real", "one\n")
    (session.folder / "link").symlink_to("real")
    (session.folder / "dangling").symlink_to("made")
    await session.read("link")
    output = await session.write("link", "two\n")
    await session.write("dangling", "three\n")
    assert output["file_path"] == str(session.folder / "real")
    assert (session.folder / "link").is_symlink()
    assert (session.folder / "dangling").is_symlink()
    assert session.files() == {"real": "two\n", "link": "two\n", "made": "three\n", "dangling": "three\n"}


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"content": "x"}, "invalid_input", "'file_path' must be text, and it is missing."),
        ({"file_path": "a"}, "invalid_input", "'content' must be text, and it is missing."),
        ({"file_path": "a", "content": ["x"]}, "invalid_input", "'content' must be text, not list."),
        ({"file_path": "folder", "content": "x"}, "io_error", "folder is a folder. Give the path of a file."),
        ({"file_path": "file/x", "content": "x"}, "io_error", "file is a file, not a folder. Check the path."),
        (
            {"file_path": "readonly", "content": "x"},
            "not_possible",
            "readonly is read-only (-r--r--r--). Leave it alone, or have its mode changed first.",
        ),
    ],
)
async def test_what_goes_wrong_is_a_result(
    session: FileSession, given: dict[str, Any], kind: str, message: str
) -> None:
    """Wrong input and places that are no files are told, and nothing is written."""
    session.put("folder/x")
    session.put("file")
    session.put("readonly").chmod(0o444)
    before = session.files()
    assert await session.failure("write_file", **given) == (kind, message)
    assert (session.files(), session.told) == (before, [])


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, "The disk is full; new/a is as it was. Free some space, then try again."),
        (errno.EIO, "new/a cannot be used: Input/output error."),
        (
            errno.EACCES,
            "The operating system does not let this user use new/a. Use another place, or ask the user.",
        ),
    ],
)
async def test_a_disk_that_fails_is_told_and_nothing_is_left_behind(
    session: FileSession, number: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a temporary file nor the folders that were made for it stay."""

    def fail(descriptor: int, data: Any) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "write", fail)
    assert await session.failure("write_file", file_path="new/a", content="x") == ("io_error", message)
    monkeypatch.undo()
    assert list(session.folder.iterdir()) == []


async def test_somebody_who_writes_at_the_same_moment_is_not_overwritten(
    session: FileSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that comes into being while we write is left to whoever made it."""
    fill = replacing._fill

    def fill_and_interfere(*given: Any) -> Any:
        session.put("a", "of somebody else")
        return fill(*given)

    monkeypatch.setattr(replacing, "_fill", fill_and_interfere)
    kind, message = await session.failure("write_file", file_path="a", content="x")
    assert (kind, message) == (
        "stale",
        "The path a was changed by somebody else meanwhile. Look at its folders and try again.",
    )
    assert session.files() == {"a": "of somebody else"}


class SlowDisk:
    """A disk that does not answer a question about a file until it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers = threading.Event()
        self.asked = threading.Event()
        original = Folder.create_file

        def create_file(folder: Folder, name: str, mode: int) -> int:
            self.asked.set()
            assert self.answers.wait(10)
            return original(folder, name, mode)

        monkeypatch.setattr(Folder, "create_file", create_file)


async def left_behind() -> None:
    """Waits for threads that somebody has given up on."""
    for thread in threading.enumerate():
        if thread.name == "amplifier-io":
            await asyncio.to_thread(thread.join, 10)


async def test_a_disk_that_does_not_answer_does_not_hang_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the time limit the model is told, other calls go on, and nothing is written later."""
    session = await FileSession(tmp_path, io_timeout=0.05).begin()
    disk = SlowDisk(monkeypatch)
    assert await session.failure("write_file", file_path="a", content="x") == (
        "timeout",
        "The file operation did not end within 0.05 s: the disk or network share may not answer. Nothing was written, "
        "and nothing will be.",
    )
    session.put("other")
    assert (await session.read("other"))["content"] == "     1\ttext"
    disk.answers.set()
    await left_behind()
    assert session.files() == {"other": "text\n"}


async def test_a_cancelled_write_is_not_made_later(session: FileSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cancellation passes at once, and takes the write along."""
    disk = SlowDisk(monkeypatch)
    call = asyncio.create_task(session.call("write_file", file_path="new/a", content="x"))
    await asyncio.to_thread(disk.asked.wait, 10)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    disk.answers.set()
    await left_behind()
    assert list(session.folder.iterdir()) == []
    await session.write("a", "y")
    assert session.files() == {"a": "y"}


async def test_parallel_writes_do_not_mix(session: FileSession) -> None:
    """Writes to one file at the same time leave one of the texts, whole."""
    texts = [str(number) * 10_000 for number in range(8)]
    results = await asyncio.gather(*(session.call("write_file", file_path="a", content=text) for text in texts))
    assert [result.success for result in results] == [True] * 8
    assert session.files()["a"] in texts


async def test_two_sessions_know_only_what_they_have_read(tmp_path: Path) -> None:
    """What one session has read says nothing about another."""
    one, other = await FileSession(tmp_path).begin(), await FileSession(tmp_path).begin()
    one.put("a")
    await one.read("a")
    assert (await other.failure("write_file", file_path="a", content="x"))[0] == "stale"
    await one.write("a", "x")


async def test_the_config_of_the_plan_stays_as_it_is(tmp_path: Path) -> None:
    """Mounting changes nothing in the config, and passes over keys that it does not know."""
    config = {"allowed_write_paths": ["a"], "unknown": {"x": 1}}
    session = FileSession(tmp_path, **config)
    await session.begin()
    assert session._config == {"allowed_write_paths": ["a"], "unknown": {"x": 1}}
    assert (await session.failure("write_file", file_path="b", content="x"))[0] == "denied"


async def test_the_working_directory_can_be_configured(tmp_path: Path) -> None:
    """The config's working directory is where relative paths start and writing is allowed."""
    session = FileSession(tmp_path, working_dir="sub")
    (tmp_path / "sub").mkdir()
    await session.begin()
    await session.write("a", "x")
    assert session.files() == {"sub/a": "x"}
    assert (await session.failure("write_file", file_path="../b", content="x"))[0] == "denied"
