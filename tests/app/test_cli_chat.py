"""``amplifier`` on a terminal: when it is the chat, what its options do, and how its sessions are prepared."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput
from tests.app.command import Command
from tests.app.images_world import png
from tests.app.run_world import write_bundle
from tests.app.terminal import on_terminal

from amplifier.cli import chat as chat_command
from amplifier.cli import implicit_run, main, run
from amplifier.cli.chat import opener_for
from amplifier.cli.implicit_run import with_command
from amplifier.cli.invocation import Invocation
from amplifier.cli.run_options import RunOptions
from amplifier.paths import Places
from amplifier.store import SessionStore, StoredSession
from amplifier.store.transcript import text_of


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(tmp_path, monkeypatch, capsys)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[PipeInput]:
    """Keys of a terminal that is there."""
    for module in (implicit_run, main, chat_command, run):
        monkeypatch.setattr(module, "is_terminal", lambda: True)
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        yield pipe


def sessions(command: Command) -> list[StoredSession]:
    """All sessions, the last used first."""
    return SessionStore(Places.find(command.variables, command.work)).list()


def said(session: StoredSession) -> list[str]:
    """What was said in a session."""
    return [text_of(each) for each in session.messages()]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ([], ["chat"]),
        (["--debug"], ["--debug", "chat"]),
        (["say hi"], ["chat", "say hi"]),
        (["-m", "x", "say hi"], ["chat", "-m", "x", "say hi"]),
        (["-p", "say hi"], ["run", "say hi"]),
        (["say hi", "--print"], ["run", "say hi"]),
        (["--output-format=json", "say hi"], ["run", "--output-format=json", "say hi"]),
        (["run", "say hi"], ["run", "say hi"]),
    ],
)
def test_on_a_terminal_the_chat_is_what_is_meant(args: list[str], expected: list[str]) -> None:
    """Unless something is to be printed, or a command is named."""
    assert with_command(args, ["run", "chat"], ["--debug"], ["-c"], lambda _: True, can_talk=True) == expected


def test_a_terminal_needs_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process without standard input has none, nor has one whose input is a pipe."""
    assert implicit_run.is_terminal() is False
    monkeypatch.setattr(sys, "stdin", None)
    assert implicit_run.is_terminal() is False


def test_without_a_terminal_there_is_no_chat(command: Command) -> None:
    """It is told what to call instead."""
    result = command("chat")
    assert (result.code, result.out) == (2, "")
    assert result.err == 'amplifier: A chat needs a terminal.\n  → For one answer: amplifier run "…"\n'


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("option", [("--output-format", "json"), ("--input-format", "stream-json"), ("-o", "x.txt")])
def test_options_for_programs_are_refused(command: Command, option: tuple[str, str]) -> None:
    """A chat is for people."""
    result = command("chat", *option)
    assert result.code == 2
    assert "A chat prints nothing for programs." in result.err


@pytest.mark.slow
def test_images_of_the_command_line_go_along_with_the_first_prompt(command: Command, keys: PipeInput) -> None:
    """They need one; what is no image is refused before the chat begins."""
    bundle = write_bundle(command.work, ["It is red."])
    (command.work / "My Shot.png").write_bytes(png())
    (command.work / "notes.txt").write_text("text")
    assert "--image needs a prompt" in command("chat", "-i", "My Shot.png").err
    assert "notes.txt: is no image." in command("chat", "see", "-i", "notes.txt").err
    keys.send_text("/quit\r")
    assert command("chat", "see", "-i", "My Shot.png", "-B", bundle).code == 0
    (session,) = sessions(command)
    image = command.work / "My Shot.png"
    assert said(session) == [f'see @"{image}"\n\n<image path="{image}">\n</image>', "It is red."]


@pytest.mark.slow
@pytest.mark.parametrize("tmux", ["", "/tmp/tmux-1/default,1,0"], ids=["bare", "tmux"])
def test_a_chat_from_its_first_prompt_to_its_end(
    command: Command, keys: PipeInput, monkeypatch: pytest.MonkeyPatch, tmux: str
) -> None:
    """The prompt of the command line is said first; what is typed is kept as history, without the answers."""
    monkeypatch.setenv("TMUX", tmux)
    bundle = write_bundle(command.work, ["One.", "Two."])
    command.settings("chat: {keys: vi}\n")
    keys.send_text("second\r")
    keys.send_text("/quit\r")
    assert command("first", "-B", bundle).code == 0
    (session,) = sessions(command)
    assert said(session)[0] == "first"
    history = command.home / "projects" / str(command.work).replace("/", "-") / "history"
    assert "+/quit" in history.read_text().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", ["resume colours", "continue", "chat --resume colours", "run --resume colours --mode chat"]
)
def test_a_session_goes_on_in_a_chat(command: Command, keys: PipeInput, how: str) -> None:
    """Without a prompt, ``resume`` and ``continue`` on a terminal are the chat."""
    bundle = write_bundle(command.work, ["Red.", "Blue."])
    assert command("run", "Which?", "-B", bundle, "--name", "colours").code == 0
    keys.send_text("/quit\r")
    assert command(*how.split()).code == 0
    assert [said(each) for each in sessions(command)] == [["Which?", "Red."]]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["resume", "-r", "chat --resume"])
def test_a_session_to_go_on_with_is_chosen(command: Command, keys: PipeInput, how: str) -> None:
    """On a terminal and without a name, from a list; words narrow it."""
    bundle = write_bundle(command.work, ["Red.", "Blue."])
    for name in ("colours", "shapes"):
        assert command("run", f"Which {name}?", "-B", bundle).code == 0
    keys.send_text("colours\r")
    keys.send_text("more\r/quit\r")
    assert command(*how.split()).code == 0
    assert [said(each)[0::2] for each in sessions(command)] == [["Which colours?", "more"], ["Which shapes?"]]


@pytest.mark.slow
def test_no_session_need_be_chosen(command: Command, keys: PipeInput) -> None:
    """Esc leaves the list, and nothing begins; without a session there is nothing to choose."""
    assert "There is no other session to go on with." in command("resume").err
    assert command("run", "Which?", "-B", write_bundle(command.work, ["Red."])).code == 0
    keys.send_text("\x1b")
    result = command("resume")
    assert (result.code, result.err) == (
        130, "amplifier: No session was chosen.\n  → To begin another one: amplifier\n"
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.usefixtures("keys")
def test_in_plain_lines_no_session_need_be_chosen(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of what is typed leaves the list."""
    assert command("run", "Which?", "-B", write_bundle(command.work, ["Red."])).code == 0
    command.settings("chat: {plain: true}\n")
    reading, writing = os.pipe()
    os.close(writing)
    with os.fdopen(reading) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        result = command("resume")
    assert (result.code, result.out.splitlines()[0]) == (130, "Sessions of this directory")
    assert "No session was chosen." in result.err


def test_without_a_terminal_a_session_must_be_named(command: Command) -> None:
    """Nobody could choose."""
    result = command("resume")
    expected = "amplifier: No session is named.\n  → amplifier session list shows them all.\n"
    assert (result.code, result.out, result.err) == (2, "", expected)


@pytest.mark.slow
@pytest.mark.usefixtures("keys")
def test_in_plain_lines_the_number_of_a_session_is_typed(command: Command) -> None:
    """The list comes first, and the chat after it has the rest of what is typed."""
    assert command("run", "Which?", "-B", write_bundle(command.work, ["Red."])).code == 0
    with on_terminal(command, "resume", TERM="dumb") as terminal:
        terminal.wait_for("a number to choose")
        assert b"1 Which? " in terminal.shown
        terminal.press(b"1\n")
        terminal.wait_for("turns so far")
        terminal.press(b"/quit\n")
        assert terminal.ended()[0] == 0


def test_sessions_of_a_chat_are_prepared_anew(command: Command) -> None:
    """Id, name and fork count for the first one; another model is remembered with the session."""
    bundle = write_bundle(command.work, ["One."])
    options = RunOptions(bundle=bundle, session_id="first", name="one")
    prepare = opener_for(Invocation(), options)
    import click

    with click.Context(click.Command("x")):
        first = prepare(None)
        second = prepare(None)
        again = prepare(first.setting.stored, model="mock/other")
        kept = opener_for(Invocation(), RunOptions(bundle=bundle, ephemeral=True))(None, model="other")
    assert first.setting.stored is not None
    assert (first.setting.stored.id, first.setting.stored.metadata().name) == ("first", "one")
    assert second.setting.stored is not None
    assert second.setting.stored.id != "first"
    assert again.setting.is_resumed
    assert first.setting.stored.metadata().extra["flags"] == {"model": "mock/other"}
    assert kept.setting.stored is None


@pytest.mark.usefixtures("keys")
def test_a_plain_chat_reads_and_prints_lines(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal that cannot be drawn on, and where the settings want it."""
    bundle = write_bundle(command.work, ["One."])
    command.settings("chat: {plain: true}\n")
    reading, writing = os.pipe()
    os.write(writing, b"first\r\n/quit\n")
    os.close(writing)
    with os.fdopen(reading) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        result = command("chat", "-B", bundle, "--color", "never")
    assert result.code == 0
    assert "You: first" in result.out
    assert "\x1b" not in result.out
    assert said(sessions(command)[0])[0] == "first"


@pytest.mark.slow
def test_the_log_of_a_chat_goes_into_a_file(command: Command, keys: PipeInput) -> None:
    """With ``--debug``, and only then."""
    bundle = write_bundle(command.work, ["One."])
    log = command.home / "logs" / "chat.log"
    for options, is_there in (((), False), (("--debug",), True)):
        keys.send_text("/quit\r")
        assert command(*options, "chat", "-B", bundle).code == 0
        assert log.exists() is is_there
