"""The path of a journal: what fills it in, and what must not."""

from __future__ import annotations

from pathlib import Path

import pytest

from amplifier_core.testing import TestCoordinator
from amplifier_module_context_persistent.location import journal_path, project_slug, working_dir_of


def test_without_a_template_the_journal_is_in_the_folder_of_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual place is below $AMPLIFIER_HOME, by project and session."""
    monkeypatch.setenv("AMPLIFIER_HOME", "/somewhere")
    assert journal_path(None, "s-1", Path("/home/user/my.dir")) == Path(
        "/somewhere/projects/-home-user-my.dir/sessions/s-1/transcript.jsonl"
    )


def test_without_a_variable_the_home_of_the_user_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unset or empty $AMPLIFIER_HOME means ~/.amplifier."""
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("AMPLIFIER_HOME", "")
    expected = Path("/home/somebody/.amplifier/projects/-/sessions/s/transcript.jsonl")
    assert journal_path(None, "s", Path("/")) == expected
    monkeypatch.delenv("AMPLIFIER_HOME")
    assert journal_path(None, "s", Path("/")) == expected


def test_the_slug_of_a_windows_directory_is_a_file_name() -> None:
    """Backslashes and the colon of a drive are replaced like slashes."""
    assert project_slug(Path("C:\\Users\\me")) == "C--Users-me"


@pytest.mark.parametrize(
    ("template", "path"),
    [
        ("{session_id}.jsonl", "/work dir/s-1.jsonl"),
        ("/logs/{project}/{session_id}/t", "/logs/-work dir/s-1/t"),
        ("~/t", "/home/somebody/t"),
        (
            "{session_id.__class__}{0}{}{HOME}$HOME{{project}}",
            "/work dir/{session_id.__class__}{0}{}{HOME}$HOME{-work dir}",
        ),
    ],
)
def test_a_template_has_two_placeholders(monkeypatch: pytest.MonkeyPatch, template: str, path: str) -> None:
    """Session and project are filled in, relative paths start in the working directory, and all else stays as it is."""
    monkeypatch.setenv("HOME", "/home/somebody")
    assert journal_path(template, "s-1", Path("/work dir")) == Path(path)


def test_what_is_filled_in_is_not_filled_in_again() -> None:
    """A session id that looks like a placeholder is only a name."""
    assert journal_path("/{session_id}", "{project}", Path("/here")) == Path("/{project}")


@pytest.mark.parametrize("session_id", ["", ".", "..", "a/b", "a\\b", "/", "a\x00b", "x" * 256, "é" * 128, "\ud800"])
@pytest.mark.parametrize("template", [None, "{session_id}"])
def test_a_session_id_that_is_no_file_name_is_refused(template: str | None, session_id: str) -> None:
    """An id that would leave its folder, or that no file system takes, never becomes a path."""
    with pytest.raises(ValueError, match="cannot be the name of a folder") as caught:
        journal_path(template, session_id, Path("/here"))
    assert str(caught.value) == (
        f"The session id {session_id[:80]!r} cannot be the name of a folder, which the path of its journal needs: "
        "expected 1 to 255 bytes without '/', '\\', NUL, and not '.' or '..'. Start the session with another id, or "
        "set 'transcript_path' of context-persistent to a path without {session_id}."
    )


def test_a_session_id_that_is_not_needed_may_be_anything() -> None:
    """A path of its own frees a session from the rules for ids."""
    assert journal_path("/fixed", "", Path("/here")) == Path("/fixed")


@pytest.mark.parametrize("session_id", ["x" * 255, "...", "a b", "parent-child_agent", "ä:ö"])
def test_other_session_ids_are_fine(session_id: str) -> None:
    """What is one file name is taken as it is."""
    assert journal_path("/x/{session_id}", session_id, Path("/here")) == Path("/x") / session_id


def test_the_working_directory_comes_from_the_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The capability counts, with links resolved as in the process's own directory, which counts without it."""
    tmp_path = tmp_path.resolve()
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    coordinator = TestCoordinator()
    monkeypatch.chdir(tmp_path / "link")
    assert working_dir_of(coordinator) == tmp_path / "real"
    coordinator.register_capability("session.working_dir", str(tmp_path / "link"))
    monkeypatch.chdir("/")
    assert working_dir_of(coordinator) == tmp_path / "real"
