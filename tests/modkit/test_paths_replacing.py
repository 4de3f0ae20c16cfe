"""A file is written as one step: what was there stays until the new one is whole, and keeps what is its own."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from amplifier_modkit.paths import replacing
from amplifier_modkit.paths.errors import UnstablePathError, naming
from amplifier_modkit.paths.folders import Folder, SwappedError
from amplifier_modkit.paths.policy import PathPolicy
from amplifier_modkit.paths.replacing import make_folders, replace_file
from amplifier_modkit.paths.walk import Place

BOTH_WAYS = pytest.mark.parametrize("is_held", [True, False], ids=["held", "by path"])


@pytest.fixture
def here(tmp_path: Path) -> Path:
    here = tmp_path.resolve()
    (here / "file").write_text("before")
    return here


def visit(here: Path, name: str, *, is_held: bool = True) -> Place:
    return PathPolicy.from_config(None, here, is_held=is_held).visit(name, "write")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@BOTH_WAYS
def test_a_file_is_replaced_by_another(here: Path, is_held: bool) -> None:
    """The new file has the old one's name and mode, is another file, and nothing else is left behind."""
    (here / "file").chmod(0o640)
    with visit(here, "file", is_held=is_held) as place:
        before = place.facts
        written = replace_file(place, b"after")
    facts = (here / "file").stat()
    assert ((here / "file").read_bytes(), facts.st_mode & 0o777, names(here)) == (b"after", 0o640, ["file"])
    assert (written.st_ino, written.st_mtime_ns) == (facts.st_ino, facts.st_mtime_ns)
    assert before is not None
    assert before.st_ino != facts.st_ino


@BOTH_WAYS
def test_a_new_file_has_the_mode_that_the_user_gives_new_files(here: Path, is_held: bool) -> None:
    """The process's mask counts, unless a mode is asked for."""
    mask = os.umask(0o027)
    try:
        for name, mode in (("plain", None), ("script", 0o755)):
            with visit(here, name, is_held=is_held) as place:
                replace_file(place, b"", mode=mode)
    finally:
        os.umask(mask)
    assert [(here / name).stat().st_mode & 0o777 for name in ("plain", "script")] == [0o640, 0o755]


def test_bits_that_lend_rights_are_dropped(here: Path) -> None:
    """A changed program does not run with the rights of its owner any more."""
    (here / "file").chmod(0o4755)
    with visit(here, "file") as place:
        replace_file(place, b"after")
    assert (here / "file").stat().st_mode & 0o7777 == 0o755


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [((7, 8), [(7, 8)]), ((-1, 8), [(7, 8), (-1, 8)]), ((0, 0), [(7, 8), (-1, 8)])],
    ids=["both", "group", "neither"],
)
def test_the_owner_is_kept_as_far_as_possible(
    here: Path, monkeypatch: pytest.MonkeyPatch, allowed: tuple[int, int], expected: list[tuple[int, int]]
) -> None:
    """Owner and group are given back; of a file in a shared folder at least the group; else it is written anyhow."""
    asked: list[tuple[int, int]] = []

    def chown(descriptor: int, owner: int, group: int) -> None:
        asked.append((owner, group))
        if (owner, group) != allowed:
            raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "fchown", chown)
    with visit(here, "file") as place:
        assert place.facts is not None
        fields = list(place.facts)
        fields[4:6] = 7, 8
        place.facts = os.stat_result(fields, {"st_mtime_ns": place.facts.st_mtime_ns})
        replace_file(place, b"after")
    assert (asked, (here / "file").read_bytes()) == (expected, b"after")


def test_extended_attributes_are_kept(here: Path) -> None:
    """What programs and access lists have attached to a file stays attached."""
    try:
        os.setxattr(here / "file", "user.note", b"mine")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    with visit(here, "file") as place:
        replace_file(place, b"after")
    assert os.getxattr(here / "file", "user.note") == b"mine"


def test_attributes_that_cannot_be_set_do_no_harm(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attributes that are not ours to set, or that no system call knows, are left out."""
    monkeypatch.setattr(os, "listxattr", lambda descriptor: ["security.odd"])
    with visit(here, "file") as place:
        replace_file(place, b"one")
    monkeypatch.delattr(os, "listxattr")
    monkeypatch.delattr(os, "fchmod")
    monkeypatch.delattr(os, "fchown")
    with visit(here, "file") as place:
        replace_file(place, b"two", mode=0o644)
    assert (here / "file").read_bytes() == b"two"


def test_short_writes_are_continued(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that takes a few bytes at a time gets them all."""
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:2]))
    with visit(here, "file") as place:
        replace_file(place, b"after")
    assert (here / "file").read_bytes() == b"after"


@pytest.mark.parametrize("function", ["write", "fsync", "replace", "fchmod"])
def test_a_failure_leaves_everything_as_it_was(here: Path, function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever step fails, the old file stays, the temporary one goes, and the error names the path."""

    def fail(*given: Any, **named: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device", "?")

    with visit(here, "file") as place:
        monkeypatch.setattr(os, function, fail)
        with pytest.raises(OSError, match="No space left") as caught:
            replace_file(place, b"after")
        monkeypatch.undo()
    assert caught.value.filename == str(here / "file")
    assert ((here / "file").read_text(), names(here)) == ("before", ["file"])


def test_whoever_gave_up_waiting_is_not_surprised(here: Path) -> None:
    """What is raised right before the effect prevents it."""

    def too_late() -> None:
        raise TimeoutError

    with visit(here, "file") as place, pytest.raises(TimeoutError):
        replace_file(place, b"after", before_effect=too_late)
    assert ((here / "file").read_text(), names(here)) == ("before", ["file"])


@pytest.mark.parametrize("name", ["file", "new"])
def test_somebody_elses_change_is_not_overwritten(here: Path, name: str) -> None:
    """A file that has changed, or come into being, since it was judged is left alone."""
    with visit(here, name) as place:
        (here / name).write_text("of somebody else")
        with pytest.raises(SwappedError, match="was changed by somebody else meanwhile"):
            replace_file(place, b"after")
    assert (here / name).read_text() == "of somebody else"


def test_a_file_that_is_replaced_at_once_is_told(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who swaps the file right after it was written does not make us believe it is ours."""
    sync = Folder.sync

    def swap_and_sync(folder: Folder) -> None:
        (here / "other").write_text("of somebody else")
        (here / "other").replace(here / "file")
        sync(folder)

    monkeypatch.setattr(Folder, "sync", swap_and_sync)
    with visit(here, "file") as place, pytest.raises(UnstablePathError, match="right after it was written"):
        replace_file(place, b"after")


def test_a_folder_that_cannot_be_synced_does_no_harm(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The content is on the disk in any case; not every file system can say the same of names."""
    fsync = os.fsync

    def only_files(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", only_files)
    with visit(here, "file") as place:
        replace_file(place, b"after")
    assert (here / "file").read_bytes() == b"after"


@BOTH_WAYS
def test_missing_folders_are_made(here: Path, is_held: bool) -> None:
    """All folders on the way are made, told from the top, and the place is in the last of them."""
    with visit(here, "a/b/new", is_held=is_held) as place:
        made = make_folders(place)
        assert (place.path, place.missing, place.facts) == (here / "a/b/new", (), None)
        replace_file(place, b"text")
    assert made == [str(here / "a"), str(here / "a/b")]
    assert (here / "a/b/new").read_text() == "text"


def test_a_folder_that_somebody_else_makes_is_as_good(here: Path) -> None:
    """It is used, and not told as made by us; a file that is in it already is seen."""
    with visit(here, "a/new") as place:
        (here / "a").mkdir()
        (here / "a/new").write_text("of somebody else")
        assert make_folders(place) == []
        assert place.facts is not None


@BOTH_WAYS
def test_a_link_in_place_of_a_missing_folder_is_not_followed(here: Path, is_held: bool) -> None:
    """Somebody who puts a link where a folder is to be made gets nothing."""
    (here / "elsewhere").mkdir()
    with visit(here, "a/new", is_held=is_held) as place:
        (here / "a").symlink_to("elsewhere")
        with pytest.raises(SwappedError):
            make_folders(place)
    assert names(here / "elsewhere") == []


def test_errors_are_named_once() -> None:
    """An error of ours keeps its message; one of the system gets the whole path."""
    with (
        pytest.raises(OSError, match="^The path x was .* Look at its folders and try again.$") as caught,
        naming("/all"),
    ):
        raise SwappedError("x")
    assert caught.value.filename is None
    with pytest.raises(OSError, match="no: '/all'$"), naming("/all"):
        raise OSError(errno.EIO, "no", "name")


def test_temporary_names_fit_and_differ() -> None:
    """However long a name is, the temporary one is no longer than file systems take."""
    one, other = replacing.temporary_name("é" * 200), replacing.temporary_name("é" * 200)
    assert one != other
    assert len(one.encode()) < 255
