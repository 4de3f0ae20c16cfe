"""File checkpoints when things go wrong: full disks, killed processes, broken files, and links put in the way."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.app.checkpoint_world import FilesWorld

from amplifier.problems import StorageProblem
from amplifier.store import Checkpoints
from amplifier.store import checkpoints as checkpoints_file
from amplifier.store.checkpoint_blobs import Blobs, digest_of
from amplifier.store.checkpoint_journal import Entry, State
from amplifier.store.unlinked import RefusedError, look, put, remove

LINK = "is behind 'deep', which is no folder but a file or a link"


@pytest.fixture
def world(tmp_path: Path) -> FilesWorld:
    return FilesWorld(tmp_path)


def full(*args: object, **kwargs: object) -> None:
    """A disk without room."""
    raise OSError(errno.ENOSPC, "No space left on device")


def journal(world: FilesWorld) -> Path:
    return world.session / "checkpoints" / "journal.jsonl"


def test_a_full_disk_does_not_stop_the_work(world: FilesWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told, nothing half is left, and going back tells which file was not kept."""
    world.put("a.txt", "before")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert world.change("a.txt", "after") == "checkpoints cannot be written: No space left on device"
    assert list((world.session / "checkpoints" / "blobs").iterdir()) == []
    assert world.undo() == [("a.txt", "lost", "was not kept")]
    assert world.texts() == {"a.txt": "after"}


def test_a_content_that_is_not_kept_is_told(world: FilesWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the journal can still be written."""
    world.put("a.txt", "before")
    monkeypatch.setattr(Blobs, "put", full)
    assert world.change("a.txt", "after") == "checkpoints cannot be written: No space left on device"
    assert world.undo() == [("a.txt", "lost", "was not kept")]


def test_what_is_there_must_be_kept_before_it_is_replaced(world: FilesWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it cannot be, the file is left alone until it can."""
    world.put("a.txt", "before")
    world.change("a.txt", "after")
    monkeypatch.setattr(Blobs, "put", full)
    why = "cannot be kept as it is now: No space left on device"
    assert world.undo() == [("a.txt", "failed", why)]
    assert world.texts() == {"a.txt": "after"}
    monkeypatch.undo()
    assert world.undo() == [("a.txt", "ready", "")]
    assert world.texts() == {"a.txt": "before"}


def test_a_journal_that_cannot_be_written_or_read_is_a_problem(
    world: FilesWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are not touched where that cannot be written down."""
    world.put("a.txt", "before")
    world.change("a.txt", "after")
    steps = world.checkpoints.since(1)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints_file, "append_entries", full)
        with pytest.raises(StorageProblem, match="cannot be written"):
            world.checkpoints.carry_out(steps)
    assert world.texts() == {"a.txt": "after"}
    journal(world).unlink()
    journal(world).mkdir()
    with pytest.raises(StorageProblem, match="cannot be read"):
        world.checkpoints.since(1)


@pytest.mark.parametrize("tear", [lambda line: line[:-20], lambda line: b"\xff\n", lambda line: b'{"record": "odd"}\n'])
def test_a_line_that_cannot_be_read_is_passed_over(world: FilesWorld, tear: Callable[[bytes], bytes]) -> None:
    """A torn one, or one of another program; what comes after it is whole."""
    world.put("a.txt", "before")
    world.change("a.txt", "after")
    line = journal(world).read_bytes()
    with journal(world).open("ab") as file:
        file.write(tear(line))
    world.turn = 2
    world.change("b.txt", "made")
    assert [each[0] for each in world.undo()] == ["b.txt"]
    assert [each[0] for each in world.undo()] == ["a.txt"]
    assert world.texts() == {"a.txt": "before"}


@pytest.mark.parametrize(
    "odd",
    [
        {"path": "/tmp/a\0b"}, {"path": "a.txt"}, {"path": ""}, {"path": "/"}, {"path": "/tmp/\ud812"}, {"path": 1},
        {"path": "/tmp/../etc/a.txt"}, {"before": {"sha256": "../../transcript.jsonl", "mode": 420}},
        {"before": {"sha256": "/dev/zero", "mode": 420}}, {"before": {"sha256": 1, "mode": 420}},
        {"turn": float("inf")}, {"of": 1},
    ],
)  # fmt: skip
def test_a_line_that_leads_elsewhere_is_passed_over(world: FilesWorld, odd: dict[str, Any]) -> None:
    """Somebody else may have written it: it is not there, for undoing and for a copy of the session as well."""
    world.change("a.txt", "made")
    line = {**json.loads(journal(world).read_bytes()), "id": "odd", **odd}
    with journal(world).open("ab") as file:
        file.write(json.dumps(line).encode() + b"\n")
    world.session.joinpath("transcript.jsonl").write_text("of somebody else")
    copy = world.session.with_name("copy")
    copy.mkdir()
    copy.joinpath("transcript.jsonl").write_text("its own")
    Checkpoints(copy).take_over(world.checkpoints, None)
    assert copy.joinpath("transcript.jsonl").read_text() == "its own"
    assert [each.path.name for each in Checkpoints(copy).since(0)] == ["a.txt"]
    assert world.undo() == [("a.txt", "ready", "")]


def test_a_line_nested_too_deep_is_passed_over(world: FilesWorld) -> None:
    """It takes no more than itself away."""
    world.change("a.txt", "made")
    with journal(world).open("ab") as file:
        file.write(b"[" * 100_000 + b"\n")
    assert world.undo() == [("a.txt", "ready", "")]


def test_an_id_may_be_anything(world: FilesWorld) -> None:
    """It is a text then."""
    world.change("a.txt", "made")
    line = {**json.loads(journal(world).read_bytes()), "id": ["odd"]}
    journal(world).write_text(json.dumps(line))
    assert world.undo() == [("a.txt", "ready", "")]


KILLED = """
import os, signal, sys
from pathlib import Path
from amplifier.store.checkpoints import Checkpoints
path = Path(sys.argv[1])
Checkpoints(Path(sys.argv[2])).keep(str(path), path.read_bytes(), b"after", 0o644)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_a_process_that_is_killed_before_the_change_leaves_a_journal_that_fits(world: FilesWorld) -> None:
    """The file is what it was, so there is nothing to do, and an edit of the user is not taken for the agent's."""
    path = world.put("a.txt", "before", 0o644)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path), str(world.session)], check=False)
    assert killed.returncode == -9
    assert world.undo() == [("a.txt", "same", "")]
    world.redo()
    world.put("a.txt", "by the user")
    assert [each[1] for each in world.undo()] == ["changed"]
    assert world.texts() == {"a.txt": "by the user"}


def test_a_change_to_a_file_that_never_came_about_can_be_followed_by_others(world: FilesWorld) -> None:
    """A file that is still what it was before the last change is not taken for somebody else's."""
    world.put("a.txt", "first")
    world.change("a.txt", "second")
    world.turn = 2
    world.checkpoints.keep(str(world.work / "a.txt"), b"second", b"never written", 0o644)
    assert world.back(1) == [("a.txt", "ready", "")]
    assert world.texts() == {"a.txt": "first"}


def test_a_broken_content_is_not_brought_back(world: FilesWorld) -> None:
    """Bytes that do not fit their digest are none; kept again, they are whole again."""
    world.put("a.txt", "before")
    world.change("a.txt", "after")
    blobs = Blobs(world.session / "checkpoints" / "blobs")
    (world.session / "checkpoints" / "blobs" / digest_of(b"before")).write_bytes(b"bef")
    assert world.undo() == [("a.txt", "lost", "was not kept")]
    blobs.put(b"before")
    assert blobs.get(digest_of(b"before")) == b"before"


def test_what_a_killed_process_left_is_cleared_away(tmp_path: Path) -> None:
    """Drafts of contents do not count, and go."""
    (tmp_path / "0123.tmp").write_bytes(b"half")
    Blobs(tmp_path).put(b"whole")
    assert [each.name for each in tmp_path.iterdir()] == [digest_of(b"whole")]


def test_contents_are_copied_where_they_cannot_be_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Across file systems; what is missing is passed over."""
    source, target = Blobs(tmp_path / "source"), Blobs(tmp_path / "target")
    source.put(b"kept")
    monkeypatch.setattr(os, "link", full)
    target.take_over(source, [digest_of(b"kept"), digest_of(b"never")])
    assert (target.get(digest_of(b"kept")), target.get(digest_of(b"never"))) == (b"kept", None)


def test_a_link_is_never_followed(world: FilesWorld, tmp_path: Path) -> None:
    """Neither in the place of the file nor of a folder on the way: nothing outside is read or written."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.txt").write_text("not the agent's")
    (outside / "a.txt").write_text("not the agent's")
    world.put("a.txt", "before")
    world.put("deep/b.txt", "before")
    world.change("a.txt", "after")
    world.change("deep/b.txt", "after")
    world.change("deep/c.txt", "made")
    (world.work / "a.txt").unlink()
    (world.work / "a.txt").symlink_to(outside / "a.txt")
    (world.work / "deep").rename(world.work / "moved")
    (world.work / "deep").symlink_to(outside)
    assert world.undo(may_overwrite=True) == [
        ("a.txt", "refused", "is a link"),
        ("deep/b.txt", "refused", LINK),
        ("deep/c.txt", "refused", LINK),
    ]
    assert {each.name: each.read_text() for each in outside.iterdir()} == {
        "a.txt": "not the agent's",
        "b.txt": "not the agent's",
    }


def test_a_link_that_comes_in_between_is_not_followed(world: FilesWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look and the writing: it stays, the file stays to be taken back, and that is told."""
    world.put("a.txt", "before")
    world.change("a.txt", "after")
    outside = world.session.parent / "outside.txt"
    outside.write_text("not the agent's")
    made = put

    def swapped(path: Path, *args: object) -> None:
        path.unlink()
        path.symlink_to(outside)
        made(path, *args)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(checkpoints_file, "put", swapped)
    assert world.undo() == [("a.txt", "failed", "is a link")]
    assert (outside.read_text(), len(world.checkpoints.last())) == ("not the agent's", 1)
    assert sorted(each.name for each in world.work.iterdir()) == ["a.txt"]


def test_what_is_no_plain_file_is_left_alone(world: FilesWorld) -> None:
    """A folder, a pipe, and a file in the place of a folder."""
    for name in ("a", "b", "deep/c"):
        world.change(name, "made")
    for name in ("a", "b", "deep/c"):
        (world.work / name).unlink()
    (world.work / "a").mkdir()
    os.mkfifo(world.work / "b")
    (world.work / "deep").rmdir()
    (world.work / "deep").write_text("a file")
    assert [each[1:] for each in world.undo()] == [("refused", "is no plain file")] * 2 + [("refused", LINK)]


def test_a_file_that_changes_at_the_same_moment_is_left_alone(tmp_path: Path) -> None:
    """What was seen must still be there when it is replaced or removed."""
    path = tmp_path.resolve() / "a.txt"
    path.write_text("seen")
    seen = look(path, 100)
    assert seen is not None
    path.write_text("changed")
    moment = "was changed by somebody else at this moment"
    with pytest.raises(RefusedError, match=moment):
        put(path, b"mine", 0o644, seen)
    with pytest.raises(RefusedError, match=moment):
        put(path, b"mine", 0o644, None)
    with pytest.raises(RefusedError, match=moment):
        remove(path, seen)
    path.unlink()
    with pytest.raises(RefusedError, match=moment):
        put(path, b"mine", 0o644, seen)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_not_ours_is_told(world: FilesWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the operating system refuses is left as it is, and can be taken back later."""
    world.put("a.txt", "before")
    world.change("a.txt", "after")
    steps = world.checkpoints.since(1)

    def denied(*args: object, **kwargs: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", denied)
        assert world.told(world.checkpoints.carry_out(steps)) == [
            ("a.txt", "failed", "cannot be used: Permission denied")
        ]
    assert [each.name for each in world.work.iterdir()] == ["a.txt"]
    world.checkpoints.carry_out(world.checkpoints.since(1))
    assert world.texts() == {"a.txt": "before"}


def test_a_folder_that_is_not_ours_is_told(world: FilesWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name too long for the system stands for every error that is not about links."""
    world.checkpoints.keep(str(world.work / ("x" * 300) / "a.txt"), None, b"made", None)
    assert [each[1:] for each in world.told(world.checkpoints.since(1))] == [
        ("refused", "cannot be used: File name too long")
    ]


def test_entries_are_read_as_they_were_written() -> None:
    """Whatever the path; what lacks something is none."""
    entry = Entry("undo", 3, "/odd\udcff\n\N{SNOWMAN}", State(None, 0o600), None, ("1", "2"), "step")
    assert Entry.read(entry.to_line()) == entry
    lacking = json.loads(entry.to_line())
    del lacking["path"]
    assert Entry.read(json.dumps(lacking).encode()) is None
    assert Entry.read(b"[1]") is None


def test_a_session_has_no_checkpoints_until_something_is_changed(tmp_path: Path) -> None:
    """Nothing is made by a look."""
    checkpoints = Checkpoints(tmp_path)
    assert (checkpoints.last(), checkpoints.since(1), checkpoints.taken_back()) == ([], [], [])
    assert list(tmp_path.iterdir()) == []
