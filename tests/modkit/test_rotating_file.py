"""A file that is put aside when it is full: nothing is torn, nothing grows without end."""

from __future__ import annotations

import errno
import gzip
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_modkit import file_lock, rotating_file
from amplifier_modkit.rotating_file import RotatingFile


def append_all(file: RotatingFile, lines: list[bytes]) -> None:
    """Appends all lines, as a writer does."""
    while lines:
        lines = lines[file.append_some(lines) :]


def names_in(folder: Path) -> list[str]:
    """The names of the files in ``folder``."""
    return sorted(path.name for path in folder.iterdir())


def test_files_are_for_the_user_alone(tmp_path: Path) -> None:
    """Nobody else may read the file, what was put aside, or the folders that were made for it."""
    file = RotatingFile(tmp_path / "a" / "b" / "log.jsonl", max_bytes=2, keep=2, compress=True)
    append_all(file, [b"1\n", b"2\n", b"3\n"])
    assert names_in(file.path.parent) == ["log.1.jsonl.gz", "log.2.jsonl.gz", "log.jsonl"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in file.path.parent.iterdir()} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a", tmp_path / "a" / "b")} == {0o700}


def test_what_is_put_aside_is_compressed_and_numbered(tmp_path: Path) -> None:
    """Number 1 is the latest; what gets beyond the number to keep is gone."""
    file = RotatingFile(tmp_path / "log.jsonl", max_bytes=3, keep=2, compress=True)
    append_all(file, [b"1\n", b"2\n", b"3\n", b"4\n", b"5\n"])
    assert names_in(tmp_path) == ["log.1.jsonl.gz", "log.2.jsonl.gz", "log.jsonl"]
    assert file.path.read_bytes() == b"5\n"
    assert [gzip.decompress((tmp_path / name).read_bytes()) for name in names_in(tmp_path)[:2]] == [b"4\n", b"3\n"]


def test_nothing_is_kept_if_nothing_is_to_be_kept(tmp_path: Path) -> None:
    """With 0 files to keep, a full file is removed; what another setting left goes as well."""
    for name in ("log.1.jsonl", "log.2.jsonl.gz"):
        (tmp_path / name).touch()
    file = RotatingFile(tmp_path / "log.jsonl", max_bytes=3, keep=0, compress=True)
    append_all(file, [b"1\n", b"2\n"])
    assert (names_in(tmp_path), file.path.read_bytes()) == (["log.jsonl"], b"2\n")


def test_files_of_an_earlier_setting_are_taken_along_or_removed(tmp_path: Path) -> None:
    """Uncompressed ones are shifted like others; those beyond the number to keep now are removed."""
    for number in range(1, 6):
        (tmp_path / f"log.{number}.jsonl").write_text(f"{number}\n")
    file = RotatingFile(tmp_path / "log.jsonl", max_bytes=3, keep=3, compress=True)
    append_all(file, [b"a\n", b"b\n"])
    assert names_in(tmp_path) == ["log.1.jsonl.gz", "log.2.jsonl", "log.3.jsonl", "log.jsonl"]
    assert (tmp_path / "log.3.jsonl").read_text() == "2\n"


@pytest.mark.slow
@given(
    sizes=st.lists(st.integers(2, 40), min_size=1, max_size=60),
    max_bytes=st.integers(40, 90),
    keep=st.integers(0, 4),
    compress=st.booleans(),
)
def test_the_space_that_is_used_has_a_limit(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], max_bytes: int, keep: int, compress: bool
) -> None:
    """All files together never have more than the limit of each, and the latest lines are there, in order, whole."""
    folder = tmp_path_factory.mktemp("rotating")
    file = RotatingFile(folder / "log.jsonl", max_bytes=max_bytes, keep=keep, compress=compress)
    lines = [b"%d" % (number % 10) * (size - 1) + b"\n" for number, size in enumerate(sizes)]
    append_all(file, lines)
    found = [file.path.read_bytes()]
    for number in range(1, keep + 1):
        path = file.earlier(number)
        packed = path.with_name(path.name + ".gz")
        if path.exists():
            found.insert(0, path.read_bytes())
        elif packed.exists():
            found.insert(0, gzip.decompress(packed.read_bytes()))
    assert len(list(folder.iterdir())) == len(found) <= keep + 1
    assert all(len(part) <= max_bytes for part in found)
    assert b"".join(lines).endswith(b"".join(found))


def test_a_line_without_its_end_is_ended_first(tmp_path: Path) -> None:
    """What a crash left is kept apart from what comes next."""
    file = RotatingFile(tmp_path / "log.jsonl", max_bytes=100, keep=1, compress=False)
    file.path.write_bytes(b'{"torn')
    append_all(file, [b"1\n", b"2\n"])
    assert file.path.read_bytes() == b'{"torn\n1\n2\n'


@pytest.mark.parametrize("outcome", ["part", "nothing"])
def test_what_cannot_be_written_whole_is_not_written_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outcome: str
) -> None:
    """A disk that is full in the middle of a batch has no half line afterwards."""
    file = RotatingFile(tmp_path / "log.jsonl", max_bytes=100, keep=1, compress=False)
    append_all(file, [b"before\n"])
    real: Callable[..., int] = os.write

    def write(descriptor: int, data: memoryview) -> int:
        if outcome == "nothing":
            return 0
        if len(data) < 10:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data[:5])

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(OSError, match="No space left|nothing was written"):
        file.append_some([b"a long line\n"])
    monkeypatch.undo()
    assert file.path.read_bytes() == b"before\n"


def test_a_file_that_cannot_be_compressed_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be no room for the compressed form; nothing is lost."""

    def copyfileobj(*files: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfileobj", copyfileobj)
    file = RotatingFile(tmp_path / "log.jsonl", max_bytes=3, keep=1, compress=True)
    append_all(file, [b"1\n", b"2\n"])
    assert names_in(tmp_path) == ["log.1.jsonl", "log.jsonl"]
    assert (tmp_path / "log.1.jsonl").read_bytes() == b"1\n"


def test_a_link_in_place_of_the_compressed_file_is_not_followed(tmp_path: Path) -> None:
    """Nothing elsewhere can be overwritten by way of a link."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "logs").mkdir()
    file = RotatingFile(tmp_path / "logs" / "log.jsonl", max_bytes=3, keep=1, compress=True)
    (tmp_path / "logs" / "log.1.jsonl.gz.part").symlink_to(victim)
    append_all(file, [b"1\n", b"2\n"])
    assert victim.read_text() == "mine"


def test_a_file_that_is_replaced_while_waiting_for_it_is_opened_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines go to the file at the path, also if another process put aside the one that was opened."""
    file = RotatingFile(tmp_path / "log.jsonl", max_bytes=100, keep=1, compress=False)
    file.path.write_bytes(b"old\n")
    moves = [lambda: file.path.rename(tmp_path / "aside"), lambda: file.path.unlink()]
    real = file_lock.lock

    def lock(descriptor: int) -> None:
        real(descriptor)
        if moves:
            moves.pop(0)()

    monkeypatch.setattr(file_lock, "lock", lock)
    append_all(file, [b"new\n"])
    assert (file.path.read_bytes(), (tmp_path / "aside").read_bytes()) == (b"new\n", b"old\n")


def test_where_open_files_cannot_be_renamed_they_are_closed_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Windows the file is put aside after it is closed."""
    monkeypatch.setattr(rotating_file, "_RENAMES_OPEN_FILES", False)
    file = RotatingFile(tmp_path / "log.jsonl", max_bytes=3, keep=1, compress=False)
    append_all(file, [b"1\n", b"2\n"])
    assert (file.path.read_bytes(), (tmp_path / "log.1.jsonl").read_bytes()) == (b"2\n", b"1\n")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """A pipe in place of the log would block for ever."""
    os.mkfifo(tmp_path / "log.jsonl")
    file = RotatingFile(tmp_path / "log.jsonl", max_bytes=100, keep=1, compress=False)
    with pytest.raises(OSError, match="it is not a regular file"):
        file.append_some([b"1\n"])
