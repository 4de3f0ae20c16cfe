"""What is logged during a chat: told once, and in full only in a file."""

from __future__ import annotations

import logging
import stat
from pathlib import Path

import pytest

from amplifier.cli import logs
from amplifier.cli.logs import configure_chat_logging


def own_root(monkeypatch: pytest.MonkeyPatch) -> logging.Logger:
    """A root of loggers on which nobody listens yet; within a test, as what runs tests listens on the root it finds."""
    made = logging.RootLogger(logging.WARNING)
    monkeypatch.setattr(logging, "root", made)
    monkeypatch.setattr(logging.Logger, "manager", logging.Manager(made))
    return made


def log_everything() -> None:
    """What the parts of the program log in a bad session."""
    kernel = "amplifier_core"
    logging.getLogger(f"{kernel}.session").error("Execution failed: %s", "no key")
    logging.getLogger(f"{kernel}._session_init").warning("Failed to load %s '%s'", "tool", "x")
    logging.getLogger(f"{kernel}.loader").error("Failed to initialize module: %s", "x")
    logging.getLogger(f"{kernel}.loader").warning("%s", "tool-x: nobody reads config key 'y'")
    logging.getLogger("amplifier_module_tool_task.tool").warning("Agent '%s' failed in session %s", "a", "s")
    logging.getLogger("other").warning("careful")
    logging.getLogger("other").error("bad \x1b[2Jnews")
    logging.getLogger("other").debug("detail")


@pytest.mark.parametrize("is_verbose", [False, True])
def test_what_the_chat_tells_is_not_shown_as_a_record_as_well(
    is_verbose: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failures that nobody else tells are shown, and warnings if wanted; without --debug there is no file."""
    own_root(monkeypatch)
    assert configure_chat_logging(tmp_path / "logs" / "chat.log", is_verbose=is_verbose, is_debug=False) is None
    log_everything()
    careful = ["amplifier: warning: careful"] if is_verbose else []
    assert capsys.readouterr().err.splitlines() == [*careful, "amplifier: error: bad [2Jnews"]
    assert list(tmp_path.iterdir()) == []


def test_debugging_writes_everything_into_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The conversation stays readable; the file is for its owner alone, and where it is, is told."""
    root = own_root(monkeypatch)
    file = tmp_path / "logs" / "chat.log"
    note = configure_chat_logging(file, is_verbose=False, is_debug=True)
    log_everything()
    assert note == f"the log is written to {file}"
    lines = file.read_text().splitlines()
    assert [line.split(" ", 2)[2] for line in lines] == [
        "ERROR amplifier_core.session: Execution failed: no key",
        "WARNING amplifier_core._session_init: Failed to load tool 'x'",
        "ERROR amplifier_core.loader: Failed to initialize module: x",
        "WARNING amplifier_core.loader: tool-x: nobody reads config key 'y'",
        "WARNING amplifier_module_tool_task.tool: Agent 'a' failed in session s",
        "WARNING other: careful",
        "ERROR other: bad [2Jnews",
        "DEBUG other: detail",
    ]
    assert capsys.readouterr().err.splitlines() == ["amplifier: error: bad [2Jnews"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for handler in root.handlers:
        handler.close()


def test_a_log_that_is_begun_anew_is_private_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has become too long is put aside, for its owner alone as well."""
    root = own_root(monkeypatch)
    monkeypatch.setattr(logs, "_MOST_BYTES", 200)
    configure_chat_logging(tmp_path / "chat.log", is_verbose=False, is_debug=True)
    for _ in range(2):
        logging.getLogger("other").debug("x" * 100)
    for handler in root.handlers:
        handler.close()
    files = {each.name: each.stat() for each in tmp_path.iterdir()}
    assert {name: (stat.S_IMODE(facts.st_mode), facts.st_size > 100) for name, facts in files.items()} == {
        "chat.log": (0o600, True),
        "chat.log.1": (0o600, True),
    }


def test_a_log_that_cannot_be_written_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chat begins nevertheless, and shows what it would show without it."""
    root = own_root(monkeypatch)
    (tmp_path / "logs").write_text("")
    note = configure_chat_logging(tmp_path / "logs" / "chat.log", is_verbose=False, is_debug=True)
    assert note is not None
    assert note.startswith(f"the log cannot be written to {tmp_path}/logs/chat.log: ")
    log_everything()
    assert capsys.readouterr().err.splitlines() == ["amplifier: error: bad [2Jnews"]
    assert root.level == logging.ERROR
