"""Stored sessions: made, found from anywhere, listed, searched, forked, renamed, moved and cleared away."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest
from tests.app.store_world import TALK, StoreWorld, said

from amplifier.problems import SessionProblem, StorageProblem
from amplifier.store import SessionStore, StoredSession, to_document


@pytest.fixture
def world(tmp_path: Path) -> StoreWorld:
    return StoreWorld(tmp_path)


def test_a_session_has_a_folder_with_what_is_known_about_it(world: StoreWorld) -> None:
    """Its folder is below the project's, its files are the user's alone, and its metadata say where it was begun."""
    session = world.store.create("s-1", name="shopping", model="m")
    slug = str(world.places.working_dir).replace("/", "-")
    assert session.folder == world.places.home / "projects" / slug / "sessions" / "s-1"
    assert json.loads(session.metadata_path.read_text()) == {
        "session_id": "s-1",
        "name": "shopping",
        "created": "2026-01-02T09:00:00.000+00:00",
        "updated": "2026-01-02T09:00:00.000+00:00",
        "model": "m",
        "turn_count": 0,
        "working_dir": str(world.places.working_dir),
    }
    assert (session.metadata_path.stat().st_mode & 0o777, session.folder.stat().st_mode & 0o777) == (0o600, 0o700)
    assert (session.short_id, session.messages(), session.events.name) == ("s-1", [], "events.jsonl")


def test_an_id_is_made_up_and_another_one_refused_if_it_is_taken_or_odd(world: StoreWorld) -> None:
    """Ids are unique; what could lead out of the folder, or be an option, is none."""
    assert len({world.store.create().id for _ in range(3)}) == 3
    world.store.create("mine")
    with pytest.raises(SessionProblem, match="There is a session 'mine' already"):
        world.store_in("elsewhere").create("mine")
    for odd in ("", "../x", "-x", "a/b", "a b", "x" * 201, ".hidden"):
        with pytest.raises(SessionProblem, match="cannot be the id of a session"):
            world.store.create(odd)


def test_a_session_is_found_by_id_beginning_and_name_from_any_directory(world: StoreWorld) -> None:
    """A beginning that fits one suffices; an id that is there goes before ids that begin with it."""
    first, second = world.store.create("abc-1", name="shopping"), world.store.create("abc-12")
    elsewhere = world.store_in("elsewhere")
    assert elsewhere.find("abc-12").folder == second.folder
    assert elsewhere.find("shopping").folder == first.folder
    assert elsewhere.find("abc-1").folder == first.folder
    with pytest.raises(SessionProblem, match=r"'abc' fits 2 sessions: abc-12? \(") as raised:
        elsewhere.find("abc")
    assert raised.value.hint == "Give more of the id."
    for missing in ("nobody", "", "%", "a_c"):
        with pytest.raises(SessionProblem, match=f"There is no session '{missing}'"):
            elsewhere.find(missing)


def test_many_that_fit_are_counted(world: StoreWorld) -> None:
    """Five are named, the others counted."""
    for number in range(7):
        world.store.create(f"x{number}")
    with pytest.raises(SessionProblem, match="'x' fits 7 sessions: .* and 2 more"):
        world.store.find("x")


def test_sessions_are_listed_by_their_last_use(world: StoreWorld) -> None:
    """The last used first; of one directory if wanted, children only if wanted."""
    first = world.store.create("first")
    world.wait(minutes=1)
    world.store_in("elsewhere").create("second")
    world.wait(minutes=1)
    world.store.create("child", parent_id="first", agent="helper")
    assert [each.id for each in world.store.list()] == ["second", "first"]
    assert [each.id for each in world.store.list(1)] == ["second"]
    assert [each.id for each in world.store.list(working_dir=world.places.working_dir)] == ["first"]
    assert [each.id for each in world.store.list(with_children=True)] == ["child", "second", "first"]
    world.wait(minutes=1)
    first.update(updated=world.store.now())
    world.store.refresh(first)
    assert world.store.latest().id == "first"


def test_the_latest_of_a_directory_without_any_is_a_problem(world: StoreWorld) -> None:
    """The message names the directory."""
    with pytest.raises(SessionProblem, match=f"There is no session in {world.places.working_dir} yet"):
        world.store.latest(world.places.working_dir)
    with pytest.raises(SessionProblem, match="There is no session yet"):
        world.store.latest()


def test_conversations_are_searched_as_they_are_now(world: StoreWorld) -> None:
    """All words count, the last as a beginning; what tools said is not searched; signs mean nothing."""
    session = world.talked("s-1", name="shopping")
    world.talked("s-2", [{"role": "user", "content": "hello"}, {"role": "tool", "content": "milk"}])
    assert [hit.session.id for hit in world.store.search("MIL")] == ["s-1"]
    assert "Remember the milk" in world.store.search("the milk")[0].excerpt
    assert [hit.session.id for hit in world.store.search("shopping")] == ["s-1"]
    assert world.store.search("milk bread") == []
    assert [world.store.search(odd) for odd in ('"', "***", "", "NEAR(")] == [[], [], [], []]
    with session.transcript.open("a") as file:
        file.write('{"role": "user", "content": "bread"}\n')
    assert [hit.session.id for hit in world.store.search("bread")] == ["s-1"]


def test_what_others_do_to_the_folders_is_noticed(world: StoreWorld) -> None:
    """A session that is copied in is listed; one whose folder is gone, and a project that is gone, are not."""
    session = world.talked("s-1")
    world.store_in("elsewhere").create("s-2")
    copied = session.folder.with_name("s-3")
    copied.mkdir()
    (copied / "transcript.jsonl").write_text('{"role": "user", "content": "hi"}\n')
    (session.folder.with_name("empty")).mkdir()
    assert {each.id for each in world.store.list()} == {"s-1", "s-2", "s-3"}
    for path in session.folder.iterdir():
        path.unlink()
    session.folder.rmdir()
    elsewhere = world.places.home / "projects" / str(world.root / "elsewhere").replace("/", "-")
    elsewhere.rename(world.root / "moved")
    assert {each.id for each in world.store.list()} == {"s-3"}


def test_an_index_that_is_broken_or_of_another_time_is_made_anew(world: StoreWorld) -> None:
    """Garbage, another version and a deleted file change nothing but the time it takes."""
    world.talked("s-1")
    index = world.places.home / "index.db"
    index.write_bytes(b"this is no database, whatever its name says" * 100)
    assert [each.id for each in world.store.list()] == ["s-1"]
    with sqlite3.connect(index) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    assert [each.id for each in world.store.list()] == ["s-1"]
    index.unlink()
    assert world.store.find("s-1").id == "s-1"
    assert world.store.reindex() == 1


def test_an_index_that_cannot_be_used_is_a_problem_that_says_so(
    world: StoreWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking needs the index; telling it of a change is left for later."""
    session = world.talked("s-1")

    def refuse(*args: object, **options: object) -> None:
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr(sqlite3, "connect", refuse)
    world.store.refresh(session)
    with pytest.raises(StorageProblem, match="index.db, cannot be used: database is locked"):
        world.store.list()


def test_a_lock_that_appears_late_is_told_and_deletes_nothing(
    world: StoreWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that another process holds is no broken one."""
    world.talked("s-1")
    index = world.places.home / "index.db"
    holder = sqlite3.connect(index)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr("amplifier.store.index._BUSY_S", 0.01)
    try:
        with pytest.raises(StorageProblem, match="locked"):
            world.store.list()
    finally:
        holder.rollback()
        holder.close()
    assert index.exists()


def test_a_fork_has_the_conversation_up_to_a_turn(world: StoreWorld) -> None:
    """The copy ends with the turn, says where it comes from, and leaves the other as it was."""
    session = world.talked("s-1", name="shopping", bundle="b", model="m")
    fork = world.store.fork(session, 1, "s-2")
    assert said(fork) == ["Remember the milk.", [{"type": "text", "text": "I will."}]]
    about = fork.metadata()
    assert (about.name, about.bundle, about.model, about.turn_count) == ("shopping (fork)", "b", "m", 1)
    assert about.extra == {"forked_from": "s-1", "forked_at": 1}
    assert json.loads(fork.transcript.read_text().splitlines()[0])["forked_from"] == "s-1"
    whole = world.store.fork(session)
    assert (said(whole), said(session)) == ([each["content"] for each in TALK],) * 2
    assert said(world.store.fork(session, 2)) == said(session)


def test_a_fork_at_a_turn_that_is_not_there_is_refused(world: StoreWorld) -> None:
    """Turns count from one to those there are."""
    session = world.talked("s-1")
    for turn in (0, 3, -1):
        with pytest.raises(SessionProblem, match=f"has 2 turns; there is no turn {turn}"):
            world.store.fork(session, turn)


def test_a_fork_counts_turns_since_the_conversation_was_cleared(world: StoreWorld) -> None:
    """What was cleared stays in the file and is no turn; hooks that speak as users begin none; a torn end is kept."""
    session = world.talked("s-1")
    hook = {"role": "user", "content": "(reminder)", "metadata": {"source": "hook"}}
    with session.transcript.open("a") as file:
        for record in (
            {"record": "clear"},
            {"role": "user", "content": "one"},
            hook,
            {"role": "user", "content": "two"},
        ):
            file.write(json.dumps(record) + "\n")
        file.write('{"role": "user"')
    assert said(world.store.fork(session, 1)) == ["one", "(reminder)"]
    fork = world.store.fork(session)
    assert said(fork) == ["one", "(reminder)", "two"]
    assert fork.transcript.read_text().endswith('{"role": "user"\n')


def test_a_session_is_renamed_and_deleted(world: StoreWorld) -> None:
    """It is found under its new name, then not at all."""
    session = world.talked("s-1")
    world.store.rename(session, "  milk  ")
    assert world.store.find("milk").id == "s-1"
    world.store.rename(session, " ")
    assert session.metadata().name is None
    world.store.delete(session)
    assert (session.folder.exists(), world.store.list()) == (False, [])
    with pytest.raises(StorageProblem, match="cannot be removed"):
        world.store.delete(session)


def test_sessions_that_were_not_used_for_long_are_found(world: StoreWorld) -> None:
    """Children too; one without any time counts as used."""
    world.store.create("old")
    world.store.create("old-child", parent_id="old")
    odd = world.store.create("odd")
    odd.metadata_path.write_text("{}")
    world.wait(days=31)
    world.store.create("fresh")
    assert {each.id for each in world.store.expired(30)} == {"old", "old-child"}


def test_an_exported_session_comes_in_again(world: StoreWorld, tmp_path: Path) -> None:
    """In another home under its own id, beside itself under another one; the conversation is the same."""
    session = world.talked("s-1", name="shopping", model="m")
    text = json.dumps(to_document(session))
    other = StoreWorld(tmp_path / "other") if (tmp_path / "other").mkdir() is None else world
    taken = other.store.import_document(text, "file.json")
    assert (taken.id, taken.messages(), taken.metadata().name) == ("s-1", session.messages(), "shopping")
    again = world.store.import_document(text, "file.json")
    assert (again.id != "s-1", again.metadata().extra) == (True, {"imported_from": "s-1"})
    assert world.store.import_document(text, "file.json", "chosen").id == "chosen"
    odd = json.dumps({**to_document(session), "metadata": {"session_id": "../x"}})
    assert world.store.import_document(odd, "f").id != "../x"
    bare = json.dumps({**to_document(session), "metadata": {}})
    assert world.store.import_document(bare, "f").metadata().extra == {"imported_from": "f"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_home_that_cannot_be_written_is_a_problem_that_says_so(world: StoreWorld) -> None:
    """The message names the file."""
    world.places.home.mkdir()
    world.places.home.chmod(0o500)
    with pytest.raises(StorageProblem, match="cannot be"):
        world.store.create("s-1")


def test_a_folder_in_the_place_of_a_file_is_a_problem_that_says_so(world: StoreWorld) -> None:
    """Metadata cannot be written over a folder, nor below a file."""
    session = world.talked("s-1")
    session.metadata_path.unlink()
    session.metadata_path.mkdir()
    with pytest.raises(StorageProblem, match="cannot be written"):
        session.update(name="x")
    blocked = StoredSession(session.transcript / "below")
    with pytest.raises(StorageProblem, match="cannot be written"):
        blocked.update(name="x")


def test_a_transcript_that_cannot_be_written_stops_a_fork(world: StoreWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """The problem names the file."""
    session = world.talked("s-1")

    def refuse(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    with pytest.raises(StorageProblem, match="No space left on device"):
        world.store.fork(session)


def test_a_store_without_sessions_is_empty(world: StoreWorld) -> None:
    """Nothing is made by looking, but for the index."""
    assert (world.store.list(), world.store.search("x")) == ([], [])
    assert isinstance(world.store, SessionStore)
    assert not world.places.sessions_root.exists()
