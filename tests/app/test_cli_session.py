"""``amplifier session``: every command, its mistakes, and what it prints for people and for programs."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from tests.app.command import Command, Result

from amplifier.cli import session as session_room
from amplifier.paths import Places
from amplifier.store import SessionStore, StoredSession
from amplifier.store.transcript import append_missing

TALK = [{"role": "user", "content": "Remember the milk."}, {"role": "assistant", "content": "I will."}]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(tmp_path, monkeypatch, capsys)


def talked(command: Command, session_id: str = "s-1", name: str | None = "shopping") -> StoredSession:
    """A stored session of the command's user."""
    places = Places.find(command.variables, command.work)
    store = SessionStore(places)
    session = store.create(session_id, name=name, model="m")
    append_missing(
        session.transcript,
        session.id,
        store.now(),
        [*TALK, {"role": "user", "content": "key sk-ant-api03-" + "a1B2" * 20}],
    )
    store.refresh(session)
    return session


def check_refused(result: Result, code: int, *told: str) -> None:
    """Checks that a call failed with a message and without a traceback."""
    assert (result.code, result.out, "Traceback" in result.err) == (code, "", False)
    for text in told:
        assert text in result.err


def test_sessions_are_listed(command: Command) -> None:
    """As a table for people, whole as JSON for programs; nothing is said on standard output if there are none."""
    empty = command("session", "list")
    assert (empty.code, empty.out, "No sessions yet" in empty.err) == (0, "", True)
    talked(command)
    table = command("session", "list", "--here", "--all", "--children").out
    assert table.splitlines()[0].split() == ["id", "used", "turns", "name", "model", "directory"]
    assert table.splitlines()[1].split()[0] == "s-1"
    (row,) = json.loads(command("session", "list", "--json").out)
    assert (row["session_id"], row["name"], row["model"], row["working_dir"]) == (
        "s-1",
        "shopping",
        "m",
        str(command.work),
    )
    check_refused(command("session", "list", "--limit", "0"), 2, "0 is not in the range")


def test_a_session_is_shown(command: Command) -> None:
    """Its facts and its conversation, long messages cut; as JSON, whole."""
    stored = talked(command)
    long = {"role": "assistant", "content": "x" * 3000, "tool_calls": [{"name": "bash\x1b"}]}
    append_missing(stored.transcript, "s-1", "", [*stored.messages(), long])
    shown = command("session", "show", "shop" + "ping").out
    assert "[user]\nRemember the milk.\n" in shown
    assert "characters more; --full shows them" in shown
    full = command("session", "show", "s-1", "--full").out
    assert ("x" * 3000 + "\n→ calls bash�\n" in full, "more;" in full) == (True, False)
    data = json.loads(command("session", "show", "s-1", "--json").out)
    assert (len(data["messages"]), data["folder"]) == (4, str(stored.folder))
    check_refused(command("session", "show", "nobody"), 66, "There is no session 'nobody'", "amplifier session list")


def test_conversations_are_searched(command: Command) -> None:
    """With the words around the place; nothing found is said on standard error."""
    talked(command)
    assert "Remember the milk" in command("session", "search", "the", "milk").out
    (hit,) = json.loads(command("session", "search", "milk", "--json").out)
    assert (hit["session_id"], "milk" in hit["excerpt"]) == ("s-1", True)
    nothing = command("session", "search", "bread")
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "No session has: bread\n")
    check_refused(command("session", "search"), 2, "Missing argument")


def test_a_session_is_forked_and_renamed(command: Command) -> None:
    """The id of the copy is printed; a turn that is not there is refused."""
    talked(command)
    copy = command("session", "fork", "s-1", "--at", "1", "--session-id", "s-2")
    assert (copy.code, copy.out) == (0, "s-2\n")
    assert command("session", "rename", "s-2", "copy").code == 0
    assert json.loads(command("session", "show", "copy", "--json").out)["metadata"]["forked_from"] == "s-1"
    check_refused(command("session", "fork", "s-1", "--at", "9"), 66, "has 2 turns; there is no turn 9")
    check_refused(command("session", "fork", "s-1", "--session-id", "s-2"), 66, "There is a session 's-2' already")


def test_deleting_asks_unless_it_is_told_not_to(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal it refuses; on one, the answer decides."""
    stored = talked(command)
    unsure = command("session", "delete", "s-1")
    assert (unsure.code, "Say it with --yes" in unsure.err, stored.folder.exists()) == (2, True, True)

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    assert (command("session", "delete", "s-1").code, stored.folder.exists()) == (130, True)
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    assert (command("session", "delete", "s-1").code, stored.folder.exists()) == (0, False)
    talked(command, "s-2")
    assert command("session", "delete", "s-2", "-y").out == "Deleted 1 sessions.\n"
    check_refused(command("session", "delete", "gone", "-y"), 66, "There is no session 'gone'")


def test_old_sessions_are_cleared_away(command: Command) -> None:
    """By the setting or by the option; a dry run only tells."""
    stored = talked(command)
    assert command("session", "cleanup", "-y").out == "0 sessions were not used for 30 days; nothing to delete.\n"
    stored.update(updated="2020-01-01T00:00:00+00:00")
    assert command("session", "cleanup", "--dry-run").out == "1 sessions were not used for 30 days.\n  s-1\n"
    command.settings("session: {retention_days: 100000}\n")
    assert "nothing to delete" in command("session", "cleanup").out
    assert command("session", "cleanup", "--older-than", "1", "-y").out == "Deleted 1 sessions.\n"
    check_refused(command("session", "cleanup", "--older-than", "soon"), 2, "'soon' is not a valid float range")


def test_a_session_travels_as_a_document(command: Command, tmp_path: Path) -> None:
    """Out as JSON or Markdown, without secrets if wanted, and in again."""
    talked(command)
    file = tmp_path / "s.json"
    assert command("session", "export", "s-1", "-o", str(file)).out == ""
    assert command("session", "import", str(file), "--session-id", "copy").out == "copy\n"
    assert "sk-ant" in command("session", "export", "s-1").out
    masked = command("session", "export", "s-1", "--redact").out
    assert ("sk-ant-api03-a1" in masked, "Remember the milk." in masked) == (False, True)
    assert command("session", "export", "s-1", "--format", "markdown").out.startswith("# shopping\n")
    check_refused(command("session", "export", "s-1", "-o", str(tmp_path / "no" / "f")), 74, "cannot be written")
    (tmp_path / "odd").write_bytes(b"\xff")
    check_refused(command("session", "import", str(tmp_path / "odd")), 2, "is no UTF-8 text")
    check_refused(command("session", "import", str(tmp_path / "missing")), 2, "No such file")
    (tmp_path / "other").write_text("[]")
    check_refused(command("session", "import", str(tmp_path / "other")), 66, "is no exported session")


def test_without_the_module_nothing_is_exported_as_if_it_were_masked(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The problem names the module."""
    talked(command)
    monkeypatch.setattr("amplifier.runtime.redaction._MODULE", "hooks-missing")
    check_refused(command("session", "export", "s-1", "--redact"), 1, "the module 'hooks-missing' does not load")


def test_the_index_is_made_anew(command: Command) -> None:
    """And tells how many sessions there are."""
    talked(command)
    assert command("session", "reindex").out == "1 sessions\n"
    assert session_room.session.name == "session"


@pytest.mark.slow
def test_the_commands_work_as_processes(command: Command) -> None:
    """List, show, search, fork and delete, in a pipe and without a terminal."""
    talked(command)
    assert command.process("session", "list").out.splitlines()[1].startswith("s-1")
    assert "Remember the milk." in command.process("session", "show", "s-1").out
    assert command.process("session", "fork", "s-1", "--session-id", "s-2").out == "s-2\n"
    exported = command.process("session", "export", "s-2").out
    assert command.process("session", "import", "-", stdin=exported.encode()).code == 0
    assert command.process("session", "delete", "s-1", "s-2", "--yes").code == 0
    lost = command.process("session", "show", "s-1")
    assert (lost.code, lost.out) == (66, "")
