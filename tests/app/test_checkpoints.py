"""File checkpoints: whatever the agent did to files comes back to the byte, and nobody else's work is lost."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.app.checkpoint_world import Files, FilesWorld
from tests.app.store_world import StoreWorld

from amplifier.store import Checkpoints, to_document

READY = ("ready", "")


@pytest.fixture
def world(tmp_path: Path) -> FilesWorld:
    return FilesWorld(tmp_path)


def test_files_come_back_turn_by_turn(world: FilesWorld) -> None:
    """A change, a file that came, one that went, in folders that are gone by now; the last turn first."""
    world.put("a.txt", "one\n", 0o640)
    world.put("deep/down/b.txt", "b\n", 0o755)
    before = world.files()
    world.change("a.txt", "one\ntwo\n")
    world.change("a.txt", "three\n")
    between = world.files()
    world.turn = 2
    world.change("made.bin", b"\0\xff")
    world.change("deep/down/b.txt", None)
    (world.work / "deep/down").rmdir()
    (world.work / "deep").rmdir()
    after = world.files()
    assert {each.turn for each in world.checkpoints.last()} == {2}
    assert world.undo() == [("made.bin", *READY), ("deep/down/b.txt", *READY)]
    assert world.files() == between
    assert world.undo() == [("a.txt", *READY)]
    assert world.files() == before
    assert world.undo() == []
    assert [len(world.redo()) for _ in range(3)] == [1, 2, 0]
    assert world.files() == after
    assert world.back(1) == [("a.txt", *READY), ("made.bin", *READY), ("deep/down/b.txt", *READY)]
    assert world.files() == before


def test_what_would_come_and_go_is_told_before(world: FilesWorld) -> None:
    """Lines that come and go, for text; a look changes nothing."""
    world.put("a.txt", "one\ntwo\n")
    world.put("b.bin", b"\0")
    world.change("a.txt", "one\nthree\nfour\n")
    world.change("b.bin", b"\1")
    world.change("c.txt", "new\n")
    after = world.files()
    steps = world.checkpoints.since(1)
    assert [(each.path.name, each.added, each.removed) for each in steps] == [
        ("a.txt", 1, 2),
        ("b.bin", None, None),
        ("c.txt", 0, 1),
    ]
    assert world.files() == after
    assert world.checkpoints.since(2) == []


def test_a_file_that_somebody_else_has_changed_is_left_alone(world: FilesWorld) -> None:
    """Unless it is said otherwise; what was there then can be had again."""
    world.put("a.txt", "before")
    world.put("b.txt", "before")
    world.change("a.txt", "by the agent")
    world.change("b.txt", "by the agent")
    world.put("a.txt", "by the user")
    why = "was changed since by somebody else"
    assert world.undo() == [("a.txt", "changed", why), ("b.txt", *READY)]
    assert world.texts() == {"a.txt": "by the user", "b.txt": "before"}
    assert world.redo() == [("a.txt", "same", ""), ("b.txt", *READY)]
    assert world.undo(may_overwrite=True) == [("a.txt", *READY), ("b.txt", *READY)]
    assert world.texts() == {"a.txt": "before", "b.txt": "before"}
    world.redo()
    assert world.texts() == {"a.txt": "by the user", "b.txt": "by the agent"}


def test_what_was_left_alone_does_not_stand_in_the_way(world: FilesWorld) -> None:
    """The next time it is the turn before; and what cannot be brought back any more is not asked for for ever."""
    world.change("a.txt", "first")
    world.turn = 2
    world.change("b.txt", "second")
    world.put("b.txt", "by the user")
    world.undo()
    assert world.undo() == [("a.txt", *READY)]
    world.put("a.txt", "by the user")
    assert world.redo() == [("a.txt", "changed", "was changed since by somebody else")]
    assert world.redo() == [("b.txt", "same", "")]
    assert world.redo() == []
    assert world.texts() == {"a.txt": "by the user", "b.txt": "by the user"}


def test_what_is_so_already_is_not_written(world: FilesWorld) -> None:
    """Somebody has taken it back by hand, or the change never came about; it counts as taken back."""
    world.put("a.txt", "before", 0o600)
    world.change("a.txt", "after")
    path = world.put("a.txt", "before", 0o600)
    number = path.stat().st_ino
    assert world.undo() == [("a.txt", "same", "")]
    assert world.undo() == []
    assert path.stat().st_ino == number
    world.redo()
    assert (world.texts(), len(world.checkpoints.last())) == ({"a.txt": "before"}, 1)


def test_a_mode_comes_back_alone(world: FilesWorld) -> None:
    """A change of nothing but permissions is one."""
    world.put("run.sh", "true\n", 0o644)
    world.change("run.sh", "true\n", 0o755)
    assert world.undo() == [("run.sh", *READY)]
    assert world.files() == {"run.sh": (b"true\n", 0o644)}


def test_what_is_too_large_or_had_to_go_is_told(tmp_path: Path) -> None:
    """A large file has no checkpoint; of too much in all, the oldest goes. Both are left as they are."""
    world = FilesWorld(tmp_path, most_bytes=10, most_file_bytes=8)
    for name in ("a.txt", "b.txt", "c.txt"):
        world.put(name, f"{name}..")
    world.put("large.txt", "x" * 9)
    told = [world.change(name, "") for name in ("large.txt", "a.txt", "b.txt", "b.txt", "c.txt")]
    large, room = "files larger than 0 MB have no checkpoint", "the oldest checkpoints had to go, to make room"
    assert told == [large, None, room, None, room]
    assert world.checkpoints.keep(str(world.work / "huge"), None, b"", 0o644) == large
    lost = ("lost", "was not kept")
    assert world.undo() == [
        ("large.txt", *lost), ("a.txt", *lost), ("b.txt", *lost), ("c.txt", *READY), ("huge", *lost)
    ]  # fmt: skip
    assert world.texts() == {"large.txt": "", "a.txt": "", "b.txt": "", "c.txt": "c.txt.."}


def test_going_back_drops_nothing_that_it_needs(tmp_path: Path) -> None:
    """What is there is kept first, whatever the limit: going back can itself be taken back."""
    world = FilesWorld(tmp_path, most_bytes=12)
    for name in ("a", "b"):
        world.put(name, f"{name} before")
        world.change(name, f"{name} after the agent's change")
    after = world.files()
    world.checkpoints = Checkpoints(world.session, 12)
    world.undo()
    world.redo()
    assert world.files() == after


def test_a_file_that_has_become_too_large_to_be_kept_is_left_alone(tmp_path: Path) -> None:
    """What cannot be kept is not overwritten."""
    world = FilesWorld(tmp_path, most_file_bytes=8)
    world.put("a.txt", "small")
    world.change("a.txt", "much larger")
    assert world.undo(may_overwrite=True) == [("a.txt", "refused", "is too large to be kept")]
    assert world.texts() == {"a.txt": "much larger"}


def test_the_same_content_is_kept_once_and_for_the_owner_only(world: FilesWorld) -> None:
    """By its digest; nobody else may read it."""
    for name in ("a.txt", "b.txt"):
        world.put(name, "the same")
        world.change(name, "another")
    kept = [each for each in (world.session / "checkpoints").rglob("*") if each.is_file()]
    assert sorted(each.parent.name for each in kept) == ["blobs", "checkpoints"]
    assert {each.stat().st_mode & 0o777 for each in kept} == {0o600}
    assert {each.parent.stat().st_mode & 0o777 for each in kept} == {0o700}


@pytest.mark.parametrize(("at_turn", "left"), [(None, 2), (2, 2), (1, 1), (0, 0)])
def test_a_copy_of_a_conversation_has_its_checkpoints(world: FilesWorld, at_turn: int | None, left: int) -> None:
    """What happened in turns that the copy has not, happened by the end of its last one; files are linked."""
    world.put("a.txt", "before")
    world.change("a.txt", "one")
    world.turn = 2
    world.change("a.txt", "two")
    copy = Checkpoints(world.session.parent / "copy")
    copy.take_over(world.checkpoints, at_turn)
    assert [each.turn for each in copy.last()] == [left]
    copy.carry_out(copy.since(0))
    assert world.texts() == {"a.txt": "before"}
    copy.carry_out(copy.taken_back())
    assert world.texts() == {"a.txt": "two"}
    copy.carry_out(copy.last())
    assert world.texts() == {"a.txt": "one"}
    empty = Checkpoints(world.session.parent / "empty")
    empty.take_over(Checkpoints(world.session.parent / "none"), None)
    assert not (world.session.parent / "empty").exists()


def test_sessions_are_forked_exported_and_deleted_with_their_checkpoints(tmp_path: Path) -> None:
    """A fork can take back as well, an exported document has no contents of files, a deleted session leaves nothing."""
    home = StoreWorld(tmp_path)
    files = FilesWorld(tmp_path / "files")
    session = home.talked()
    files.checkpoints = Checkpoints(session.folder)
    files.put("a.txt", "a secret")
    files.change("a.txt", "after")
    made = home.store.fork(session, 1)
    assert "a secret" not in str(to_document(session))
    home.store.delete(session)
    assert not session.folder.exists()
    files.checkpoints = Checkpoints(made.folder)
    assert files.undo() == [("a.txt", *READY)]
    assert files.texts() == {"a.txt": "a secret"}


names = st.sampled_from(["a.txt", "b.bin", "deep/c.txt"])
contents = st.one_of(st.none(), st.binary(max_size=12), st.sampled_from([b"", b"same\n", b"one\ntwo\n"]))
modes = st.sampled_from([0o600, 0o644, 0o755])
operations = st.one_of(
    st.tuples(st.just("change"), names, contents, modes),
    st.tuples(st.just("turn")),
    st.tuples(st.just("undo")),
    st.tuples(st.just("redo")),
    st.tuples(st.just("fork")),
    st.tuples(st.just("rewind"), st.integers(1, 6)),
)


class Model:
    """What files should be, kept as whole snapshots."""

    def __init__(self) -> None:
        self.live: list[tuple[int, Files]] = []
        self.undone: list[tuple[list[tuple[int, Files]], Files]] = []

    def change(self, turn: int, before: Files) -> None:
        if not self.live or self.live[-1][0] != turn:
            self.live.append((turn, before))
        self.undone.clear()

    def back(self, turn: int, present: Files) -> Files:
        taken = [each for each in self.live if each[0] >= turn]
        if not taken:
            return present
        self.live = [each for each in self.live if each[0] < turn]
        self.undone.append((taken, present))
        return taken[0][1]

    def redo(self, present: Files) -> Files:
        if not self.undone:
            return present
        taken, state = self.undone.pop()
        self.live += taken
        return state


def run(world: FilesWorld, model: Model, operation: tuple[Any, ...]) -> Files:
    """Does an operation; what files should be afterwards."""
    present = world.files()
    kind = operation[0]
    if kind == "change":
        _, name, content, mode = operation
        model.change(world.turn, present)
        world.change(name, content, mode)
        return world.files()
    world.turn += 1
    if kind == "undo":
        expected = model.back(model.live[-1][0] if model.live else 1, present)
        world.undo()
        return expected
    if kind == "rewind":
        expected = model.back(operation[1], present)
        world.back(operation[1])
        return expected
    if kind == "fork":
        world.go_on_in_a_copy()
        return present
    if kind == "redo" and model.undone:
        expected = model.redo(present)
        world.redo()
        return expected
    return present


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(operations, max_size=14))
def test_any_sequence_comes_back_to_the_byte(sequence: list[tuple[Any, ...]]) -> None:
    """Of changes, turns, undo, redo, rewinding and forks: contents and modes are what they were at every point."""
    with tempfile.TemporaryDirectory() as folder:
        world, model = FilesWorld(Path(folder)), Model()
        world.put("a.txt", "at first\n", 0o644)
        for operation in sequence:
            expected = run(world, model, operation)
            assert world.files() == expected, operation
