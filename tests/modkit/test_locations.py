"""The paths of a session's files: what fills them in, and what must not."""

from __future__ import annotations

from pathlib import Path

import pytest

from amplifier_modkit.locations import amplifier_home, filled, project_slug, session_file

SETTING = "'path' of some-module"


def test_files_of_a_session_are_in_one_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual place is below $AMPLIFIER_HOME, by project and session."""
    monkeypatch.setenv("AMPLIFIER_HOME", "/somewhere")
    assert session_file("events.jsonl", "s-1", Path("/home/user/my.dir"), setting=SETTING) == Path(
        "/somewhere/projects/-home-user-my.dir/sessions/s-1/events.jsonl"
    )


def test_without_a_variable_the_home_of_the_user_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unset or empty $AMPLIFIER_HOME means ~/.amplifier."""
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("AMPLIFIER_HOME", "")
    assert amplifier_home() == Path("/home/somebody/.amplifier")
    monkeypatch.delenv("AMPLIFIER_HOME")
    assert amplifier_home() == Path("/home/somebody/.amplifier")


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
    assert filled(template, "s-1", Path("/work dir"), setting=SETTING) == Path(path)


def test_what_is_filled_in_is_not_filled_in_again() -> None:
    """A session id that looks like a placeholder is only a name."""
    assert filled("/{session_id}", "{project}", Path("/here"), setting=SETTING) == Path("/{project}")


@pytest.mark.parametrize("session_id", ["", ".", "..", "a/b", "a\\b", "/", "a\x00b", "x" * 256, "é" * 128, "\ud800"])
def test_a_session_id_that_is_no_file_name_is_refused(session_id: str) -> None:
    """An id that would leave its folder, or that no file system takes, never becomes a path."""
    told = (
        f"The session id {session_id[:80]!r} cannot be the name of a folder, which the path of '{{session_id}}' needs: "
        "expected 1 to 255 bytes without '/', '\\', NUL, and not '.' or '..'. Start the session with another id, or "
        "set 'path' of some-module to a path without {session_id}."
    )
    with pytest.raises(ValueError, match="cannot be the name of a folder") as caught:
        filled("{session_id}", session_id, Path("/here"), setting=SETTING)
    assert str(caught.value) == told
    with pytest.raises(ValueError, match="cannot be the name of a folder"):
        session_file("log", session_id, Path("/here"), setting=SETTING)


def test_a_session_id_that_is_not_needed_may_be_anything() -> None:
    """A path of its own frees a session from the rules for ids."""
    assert filled("/fixed", "", Path("/here"), setting=SETTING) == Path("/fixed")


@pytest.mark.parametrize("session_id", ["x" * 255, "...", "a b", "parent-child_agent", "ä:ö"])
def test_other_session_ids_are_fine(session_id: str) -> None:
    """What is one file name is taken as it is."""
    assert filled("/x/{session_id}", session_id, Path("/here"), setting=SETTING) == Path("/x") / session_id
