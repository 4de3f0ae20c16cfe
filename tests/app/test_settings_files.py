"""Files of settings and keys: how they are read, and that writing is locked, atomic and clean after a failure."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from amplifier.problems import SettingsProblem
from amplifier.settings import files
from amplifier.settings.files import MOST_BYTES, locked, read_text, write_atomically


def names_in(folder: Path) -> list[str]:
    """The names of everything in a folder."""
    return sorted(path.name for path in folder.iterdir())


def problem_of(path: Path) -> str:
    """The message for a file that cannot be read."""
    with pytest.raises(SettingsProblem) as caught:
        read_text(path)
    return caught.value.message


def test_a_file_that_is_not_there_has_no_text(tmp_path: Path) -> None:
    """That is no error: every settings file can be left out."""
    assert read_text(tmp_path / "none.yaml") is None


def test_a_byte_order_mark_is_not_part_of_the_text(tmp_path: Path) -> None:
    """Editors of Windows write one; line ends stay as they are."""
    file = tmp_path / "s.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: 1\r\n")
    assert read_text(file) == "a: 1\r\n"


def test_wrong_utf_8_is_told_with_its_place(tmp_path: Path) -> None:
    """Line and column count characters, not bytes."""
    file = tmp_path / "s.yaml"
    file.write_bytes("a: 1\nä: ".encode() + b"\xff\n")
    assert problem_of(file) == f"{file}:2:4: the byte 0xFF is no UTF-8."


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_told_as_such(tmp_path: Path, encoding: str) -> None:
    """The message says what to save it as."""
    file = tmp_path / "s.yaml"
    file.write_bytes("\ufeffa: 1".encode(encoding))
    assert problem_of(file) == f"{file} is UTF-16; expected UTF-8."


def test_a_folder_in_the_place_of_a_file_is_told(tmp_path: Path) -> None:
    """So are pipes and devices, which are not opened: reading them would wait."""
    os.mkfifo(tmp_path / "pipe")
    assert [problem_of(path) for path in (tmp_path, tmp_path / "pipe")] == [
        f"{tmp_path} is not a regular file.",
        f"{tmp_path / 'pipe'} is not a regular file.",
    ]


def test_a_pipe_can_be_read_when_it_was_named_by_the_user(tmp_path: Path) -> None:
    """``--settings <(command)`` gives one."""
    reading, writing = os.pipe()
    os.write(writing, b"a: 1")
    os.close(writing)
    assert read_text(Path(f"/dev/fd/{reading}"), is_scope_file=False) == "a: 1"
    os.close(reading)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    """No more than the limit comes into memory."""
    file = tmp_path / "s.yaml"
    file.write_bytes(b" " * (MOST_BYTES + 1))
    assert problem_of(file) == f"{file} is larger than 2,097,152 bytes."


def test_a_link_to_nothing_is_told(tmp_path: Path) -> None:
    """Settings that somebody linked must not be left out without a word."""
    link = tmp_path / "s.yaml"
    link.symlink_to("gone.yaml")
    assert problem_of(link) == f"{link} is a link to gone.yaml, which does not exist."


def test_a_file_that_may_not_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has the reason of the system."""

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    (tmp_path / "s.yaml").touch()
    monkeypatch.setattr(Path, "open", refuse)
    assert problem_of(tmp_path / "s.yaml") == f"{tmp_path / 's.yaml'} cannot be read: Permission denied."


def test_a_write_replaces_the_file_behind_a_link_and_keeps_its_mode(tmp_path: Path) -> None:
    """The link stays a link, and nothing is left beside the file."""
    real = tmp_path / "dotfiles" / "amplifier.yaml"
    real.parent.mkdir()
    real.write_text("a: 1")
    real.chmod(0o640)
    link = tmp_path / "settings.yaml"
    link.symlink_to(real)
    with locked(link) as target:
        write_atomically(target, "a: 2")
    assert (link.is_symlink(), real.read_text(), stat.S_IMODE(real.stat().st_mode)) == (True, "a: 2", 0o640)
    assert (names_in(real.parent), names_in(tmp_path)) == (
        ["amplifier.yaml"],
        ["dotfiles", "settings.yaml"],
    )


def test_a_secret_file_is_never_open_to_others(tmp_path: Path) -> None:
    """Its draft has the mode from the beginning, also over a file that was open."""
    file = tmp_path / "keys.env"
    file.write_text("x")
    file.chmod(0o644)
    with locked(file) as target:
        write_atomically(target, "y", mode=0o600)
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("y", 0o600)


def test_what_a_killed_writer_left_is_cleared_away(tmp_path: Path) -> None:
    """Its draft is not taken for anything, and the next writer removes it."""
    file = tmp_path / "s.yaml"
    file.write_text("a: 1")
    (tmp_path / ".s.yaml.4711.tmp").write_text("a: ")
    (tmp_path / ".s.yaml.lock").touch()
    with locked(file) as target:
        write_atomically(target, "a: 2")
    assert (names_in(tmp_path), file.read_text()) == (["s.yaml"], "a: 2")


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The draft is removed, and the message says why and what to do."""

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    file = tmp_path / "s.yaml"
    file.write_text("a: 1")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SettingsProblem) as caught, locked(file) as target:
        write_atomically(target, "a: 2")
    assert caught.value.message == f"{file} cannot be written: No space left on device."
    assert (names_in(tmp_path), file.read_text()) == (["s.yaml"], "a: 1")


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    """A read-only home or a file in the way."""
    (tmp_path / "home").touch()
    with pytest.raises(SettingsProblem) as caught, locked(tmp_path / "home" / "s.yaml"):
        pytest.fail("there is nothing to lock")
    assert caught.value.message == f"{tmp_path / 'home' / 's.yaml'} cannot be written: File exists."


def test_whoever_waits_too_long_for_the_lock_is_told(tmp_path: Path) -> None:
    """The holder is not disturbed."""
    file = tmp_path / "s.yaml"
    with locked(file):
        with pytest.raises(SettingsProblem) as caught, locked(file, timeout_s=0.02):
            pytest.fail("it is held")
        assert names_in(tmp_path) == [".s.yaml.lock"]
    lock = tmp_path / ".s.yaml.lock"
    reason = f"another process has held {lock} for more than 0.02 s"
    assert caught.value.message == f"{file} cannot be written: {reason}."


def test_a_lock_whose_file_was_removed_meanwhile_is_taken_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one before removes the file while another has it open already; that one must not believe its lock."""
    taken: list[int] = []
    lock = tmp_path / ".s.yaml.lock"

    def after_the_other(descriptor: int) -> bool:
        taken.append(descriptor)
        if len(taken) == 1:
            lock.unlink()
        return True

    monkeypatch.setattr(files, "_try_lock", after_the_other)
    with locked(tmp_path / "s.yaml"):
        assert (len(taken), lock.exists()) == (2, True)


ADD_ONE = """
import sys
from pathlib import Path
from amplifier.settings.files import locked, read_text, write_atomically
for _ in range(25):
    with locked(Path(sys.argv[1])) as target:
        write_atomically(target, str(int(read_text(target) or 0) + 1))
"""


@pytest.mark.slow
def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    """Each reads and writes under the lock, so every change is there in the end."""
    file = tmp_path / "count"
    processes = [subprocess.Popen([sys.executable, "-c", ADD_ONE, str(file)]) for _ in range(4)]
    assert [process.wait() for process in processes] == [0, 0, 0, 0]
    assert (file.read_text(), names_in(tmp_path)) == ("100", ["count"])


WRITE_FOR_EVER = """
import sys
from pathlib import Path
from amplifier.settings.files import locked, write_atomically
n = 0
while True:
    with locked(Path(sys.argv[1])) as target:
        write_atomically(target, f"{n}," * 20000)
    n += 1
    print(n, flush=True)
"""


@pytest.mark.slow
def test_a_writer_that_is_killed_leaves_a_whole_file_and_no_lock(tmp_path: Path) -> None:
    """The text is one of those that were written, never a part; the next writer goes on at once."""
    file = tmp_path / "s.yaml"
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", WRITE_FOR_EVER, str(file)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            process.kill()
        written = file.read_text().split(",")
        assert (len(written), len(set(written[:-1]))) == (20001, 1)
    with locked(file, timeout_s=1) as target:
        write_atomically(target, "after")
    assert (file.read_text(), names_in(tmp_path)) == ("after", ["s.yaml"])
