"""The command on a real terminal: answers as they come, questions, Ctrl-C, and text that would steer the terminal."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.app.command import Command
from tests.app.run_world import calls, write_bundle
from tests.app.terminal import END, INTERRUPT, on_terminal

from amplifier.paths import Places
from amplifier.store import SessionStore, StoredSession

pytestmark = pytest.mark.slow

FILES: dict[str, Any] = {"tools": [{"module": "tool-filesystem"}], "hooks": [{"module": "hooks-approval"}]}
WRITE = calls(("write_file", {"file_path": "note.txt", "content": "hi"}))
ASKING = "why not) > "
EVIL = "a\x1b]0;owned\x07b\x1b[2Jc\x9b31md\u202ee\rf\x08g"
STEERING = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(tmp_path, monkeypatch, capsys)


def only_session(command: Command) -> StoredSession:
    """The one session there is."""
    (session,) = SessionStore(Places.find(command.variables, command.work)).list()
    return session


def test_an_answer_is_shown_once_with_the_tools_that_were_used(command: Command) -> None:
    """Pieces appear as they come; nothing is repeated at the end."""
    bundle = write_bundle(command.work, [WRITE, "All is written."], **FILES)
    with on_terminal(command, "run", "go", "-B", bundle, "--permission-mode", "bypass") as terminal:
        code, shown = terminal.ended()
    assert (code, shown) == (0, '→ write_file {"file_path": "note.txt", "content": "hi"}\r\nAll is written.\r\n')


@pytest.mark.parametrize(
    ("keys", "is_written", "told"),
    [
        (b"1\r", True, None),
        (b"y\r", True, None),
        (b"n\r", False, "not approved"),
        (b"\r", False, "not approved"),
        (b"use another name\r", False, "use another name"),
        (END, False, "nobody is there to ask"),
    ],
    ids=["number", "yes", "no", "nothing", "reason", "end of input"],
)
def test_a_question_is_asked_and_answered(command: Command, keys: bytes, is_written: bool, told: str | None) -> None:
    """A number or yes allows; anything else refuses, and the reason reaches the model and the user."""
    bundle = write_bundle(command.work, [WRITE, "Done."], **FILES)
    with on_terminal(command, "run", "go", "-B", bundle) as terminal:
        terminal.wait_for(ASKING)
        terminal.press(keys)
        code, shown = terminal.ended()
    assert (code, (command.work / "note.txt").exists(), "note.txt" in shown) == (0, is_written, True)
    result = str(only_session(command).messages()[2]["content"])
    assert told is None or (told in result and told in shown)


def test_always_saves_the_rule_for_the_project(command: Command) -> None:
    """It is in the local settings, without the rules that options gave, and nothing is asked a second time."""
    bundle = write_bundle(command.work, [WRITE, "Done."], **FILES)
    with on_terminal(command, "run", "go", "-B", bundle, "--allowed-tools", "Bash(ls)") as terminal:
        terminal.wait_for(ASKING)
        always = re.search(rb"(\d)\. [^\n]*[Aa]lways", terminal.shown)
        assert always is not None, terminal.shown
        terminal.press(always[1] + b"\r")
        assert terminal.ended()[0] == 0
    saved = yaml.safe_load((command.work / ".amplifier" / "settings.local.yaml").read_text())
    assert len(saved["permissions"]["allow"]) == 1
    (command.work / "note.txt").unlink()
    assert command.process("run", "again", "-B", bundle).code == 0
    assert (command.work / "note.txt").exists()


def test_ctrl_c_once_lets_the_step_finish_and_keeps_it(command: Command) -> None:
    """The exit code is 130, the answer that was on its way is in the transcript, and the session goes on."""
    bundle = write_bundle(command.work, [WRITE, {"text": "late", "delay_s": 1}], **FILES)
    with on_terminal(command, "run", "go", "-B", bundle, "--permission-mode", "bypass") as terminal:
        terminal.wait_for("→ write_file")
        terminal.press(INTERRUPT)
        terminal.wait_for("Ctrl-C again stops at once")
        code, shown = terminal.ended()
    assert (code, "Traceback" in shown) == (130, False)
    roles = [each["role"] for each in only_session(command).messages()]
    assert roles[:3] == ["user", "assistant", "tool"]
    assert only_session(command).metadata().status == "cancelled"
    assert command.process("continue", "more").code == 0


def test_ctrl_c_twice_stops_at_once(command: Command) -> None:
    """A model that never answers does not keep the process."""
    bundle = write_bundle(command.work, [{"text": "late", "delay_s": 600}])
    with on_terminal(command, "run", "go", "-B", bundle, "-v") as terminal:
        terminal.wait_for("session ")
        _wait_for_prompt(command)
        terminal.press(INTERRUPT)
        terminal.wait_for("Ctrl-C again stops at once")
        terminal.press(INTERRUPT)
        code, shown = terminal.ended()
    assert (code, "stopping at once" in shown, "Traceback" in shown) == (130, True, False)
    assert only_session(command).messages()[0]["content"] == "go"


def test_ctrl_c_at_a_question_is_a_no(command: Command) -> None:
    """Nobody has to press return for the process to end, and nothing is written."""
    bundle = write_bundle(command.work, [WRITE, "Done."], **FILES)
    with on_terminal(command, "run", "go", "-B", bundle) as terminal:
        terminal.wait_for(ASKING)
        terminal.press(INTERRUPT)
        code, shown = terminal.ended()
    assert (code, (command.work / "note.txt").exists(), "Traceback" in shown) == (130, False, False)
    assert "interrupted" in str(only_session(command).messages()[2]["content"])


@pytest.mark.parametrize("options", [(), ("-v",), ("--debug",)], ids=["plain", "verbose", "debug"])
def test_nothing_that_a_model_says_steers_the_terminal(command: Command, options: tuple[str, ...]) -> None:
    """Neither its answer, nor the names and arguments of its calls, nor what a question shows, nor an error."""
    call = calls(("write_file", {"file_path": f"{EVIL}.txt", "content": EVIL}), (f"no{EVIL}", {EVIL: EVIL}))
    bundle = write_bundle(command.work, [call, {"text": EVIL}], **FILES)
    with on_terminal(command, "run", EVIL.replace("\x9b", ""), "-B", bundle, *options, NO_COLOR="1") as terminal:
        terminal.wait_for(ASKING)
        terminal.press(b"n\r")
        code, shown = terminal.ended()
    assert (code, STEERING.findall(shown)) == (0, [])
    failing = write_bundle(command.work, [{"error": {"type": "InvalidRequestError", "message": EVIL}}], "failing")
    with on_terminal(command, "run", "go", "-B", failing, *options, NO_COLOR="1") as terminal:
        code, shown = terminal.ended()
    assert (code, STEERING.findall(shown)) == (69, [])


@pytest.mark.parametrize(
    "args",
    [
        ("session", "show", "evil"),
        ("session", "show", "evil", "--json"),
        ("session", "list"),
        ("session", "list", "--json"),
        ("session", "search", "owned"),
        ("session", "search", "owned", "--json"),
        ("session", "export", "evil"),
        ("run", "x", "--resume", "evil", "--output-format", "json"),
        ("run", "x", "--resume", "evil", "--output-format", "stream-json"),
        ("run", "x", "--resume", "evil", "--output-format", "json-trace"),
    ],
    ids=" ".join,
)
def test_what_was_said_does_not_steer_the_terminal_later(command: Command, args: tuple[str, ...]) -> None:
    """In lists, searches, exports and JSON."""
    bundle = write_bundle(command.work, [{"text": f"{EVIL} owned"}])
    assert command.process("run", "go", "-B", bundle, "--session-id", "evil", "--name", EVIL).code == 0
    with on_terminal(command, *args, NO_COLOR="1") as terminal:
        code, shown = terminal.ended()
    assert (code, STEERING.findall(shown), "owned" in shown) == (0, [], True)


def test_colours_are_for_terminals_that_want_them(command: Command) -> None:
    """On a terminal there are some, unless it is a dumb one, or they are not wanted."""
    cases: list[dict[str, str]] = [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}, {"CI": "true"}]
    found: list[bool] = []
    for variables in cases:
        with on_terminal(command, "config", "list", **variables) as terminal:
            found.append("\x1b[" in terminal.ended()[1])
    assert found == [True, False, False, True]


def _wait_for_prompt(command: Command) -> None:
    import time

    deadline = time.monotonic() + 30
    while not any(
        b'"user"' in each.read_bytes() for each in command.home.glob("projects/*/sessions/*/transcript.jsonl")
    ):
        assert time.monotonic() < deadline
        time.sleep(0.02)
