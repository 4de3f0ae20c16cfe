"""The chat as users have it: a process in a real terminal (tmux), keys sent, the screen read."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.app.command import environment
from tests.app.images_world import png
from tests.app.run_world import calls, write_bundle

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")]

FILES: dict[str, Any] = {"tools": [{"module": "tool-filesystem"}], "hooks": [{"module": "hooks-approval"}]}
WRITE = calls(("write_file", {"file_path": "note.txt", "content": "hi\n"}))
LIMIT_S = 30.0


class Pane:
    """A terminal of its own with the chat in it, in a home of its own."""

    def __init__(self, folder: Path, columns: int = 80, rows: int = 30) -> None:
        self.work = folder / "work"
        self.work.mkdir()
        self._home = folder / "home"
        self._socket = folder / "tmux"
        self._starts = 0
        self._size = ("-x", str(columns), "-y", str(rows))

    def start(self, *args: str, **variables: str) -> None:
        """Starts the command; what is left of it afterwards shows its exit code."""
        surroundings = {"AMPLIFIER_HOME": str(self._home), "AMPLIFIER_MANAGED_SETTINGS": "/nowhere", **variables}
        named = " ".join(shlex.quote(f"{name}={value}") for name, value in surroundings.items())
        called = shlex.join([sys.executable, "-m", "amplifier", *args])
        kept = "sh -c 'echo $$ > pid; exec \"$@\"' sh"
        line = (
            f"stty -a > before; {kept} env {named} {called}; echo exit code $?; stty -a > after; touch over; exec cat"
        )
        self._starts += 1
        self.tmux("new-session", "-d", "-s", self._target, *self._size, "sh", "-c", line)

    @property
    def _target(self) -> str:
        return f"chat{self._starts}"

    def keys(self, *keys: str) -> None:
        """Presses keys by their names in tmux."""
        self.tmux("send-keys", "-t", self._target, *keys)

    def type(self, text: str) -> None:
        """Types a text and sends it."""
        self.tmux("send-keys", "-t", self._target, "-l", text)
        self.keys("Enter")

    def paste(self, text: str) -> None:
        """Pastes as a terminal does."""
        self.tmux("set-buffer", text)
        self.tmux("paste-buffer", "-p", "-t", self._target)

    def resize(self, columns: int, rows: int) -> None:
        """Changes the size of the terminal."""
        self.tmux("resize-window", "-t", self._target, "-x", str(columns), "-y", str(rows))

    def screen(self, *, with_scrollback: bool = False) -> str:
        """What is to be seen."""
        return self.tmux("capture-pane", "-p", "-t", self._target, *(("-S", "-") if with_scrollback else ()))

    def colours(self) -> str:
        """What is to be seen, with its escape sequences."""
        return self.tmux("capture-pane", "-e", "-p", "-t", self._target)

    def until(self, pattern: str, *, with_scrollback: bool = False) -> str:
        """Waits until the screen shows something; gives the screen."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            shown = self.screen(with_scrollback=with_scrollback)
            if re.search(pattern, shown):
                return shown
            time.sleep(0.05)
        raise AssertionError(f"{pattern!r} does not come up:\n{self.screen()}")

    def require_sane(self) -> None:
        """Waits for the end, and checks that the terminal is set as it was."""
        self.until("exit code")
        end = time.monotonic() + LIMIT_S
        while not (self.work / "over").exists() and time.monotonic() < end:
            time.sleep(0.01)
        before, after = ((self.work / name).read_text() for name in ("before", "after"))
        assert before == after

    def close(self) -> None:
        """Ends the terminal and everything in it."""
        with suppress(subprocess.CalledProcessError):  # a test may have closed it already
            self.tmux("kill-server")

    def tmux(self, *args: str) -> str:
        """Calls tmux; gives what it prints."""
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), "-f", os.devnull, *args],
            cwd=self.work, env=environment() | {"LC_ALL": "C.UTF-8", "TERM": "xterm-256color"},
            capture_output=True, text=True, check=True, timeout=LIMIT_S,
        )  # fmt: skip
        return done.stdout


@pytest.fixture
def pane(tmp_path: Path) -> Iterator[Pane]:
    made = Pane(tmp_path)
    yield made
    made.close()


def test_a_conversation(pane: Pane) -> None:
    """Streams, completes, folds a paste, keeps the scrollback, leaves, and gives the terminal back as it was."""
    long = "\n\n".join(f"Paragraph {number}." for number in range(40))
    pane.start("-B", write_bundle(pane.work, ["It is **red**.", long, "Pasted: {{prompt}}"]))
    pane.until("/help tells what you can do")
    pane.type("Which colour?")
    shown = pane.until(r"It is red\.")
    assert "❯ Which colour?" in shown
    assert "mock-model" in shown
    pane.type("Much more")
    pane.until(r"Paragraph 39\.")
    assert "Paragraph 0." in pane.screen(with_scrollback=True)
    pane.paste("x\n" * 20)
    pane.until(r"❯ \[Pasted #1: 21 lines\]")
    pane.keys("Enter")
    pane.until("Pasted: x")
    pane.keys("/sta")
    pane.until("How the session stands")
    pane.keys("Tab", "Enter", "Enter")
    pane.until("working directory")
    pane.keys("C-d")
    pane.until("exit code 0")
    assert re.search(r"to go on: amplifier resume \w+", pane.screen())
    pane.require_sane()


def test_an_approval_and_the_modes(pane: Pane) -> None:
    """The diff is shown with the rule; a digit allows; Shift+Tab changes the mode, which is always to be seen."""
    pane.start("-B", write_bundle(pane.work, [WRITE, "Written."], **FILES))
    pane.until("default · mock-model")
    pane.type("Write it.")
    shown = pane.until("1 Allow once")
    assert "+hi" in shown
    assert "write_file(=" in shown
    time.sleep(0.5)  # a key that comes with the question is not taken for its answer
    pane.keys("1")
    pane.until(r"Written\.")
    assert (pane.work / "note.txt").read_text() == "hi\n"
    pane.keys("BTab")
    pane.until("accept-edits · mock-model")
    pane.keys("BTab")
    pane.until("plan · mock-model")


def test_an_interrupt_and_steering(pane: Pane) -> None:
    """Esc lets the step finish, a second one stops at once; the chat goes on, also with what was said meanwhile."""
    slow = {"text": "never", "delay_s": 3600}
    pane.start("-B", write_bundle(pane.work, [slow, "Back again."]))
    pane.until("/help")
    pane.type("Wait.")
    pane.until("Working")
    pane.type("And hurry.")
    pane.until("the agent hears this before its next step")
    pane.keys("Escape")
    pane.until("finishing the current step")
    pane.keys("C-c")
    pane.until("stopped; say what to do instead")
    pane.type("Go on.")
    assert "❯ And hurry." in pane.until(r"Back again\.")


def test_an_image_is_dropped_and_another_is_mentioned(pane: Pane) -> None:
    """The path that the terminal pastes becomes a mention; what goes along is shown, and is in the session."""
    (pane.work / "My Shot.png").write_bytes(png(640, 480))
    (pane.work / "second.png").write_bytes(png(20, 10))
    pane.start("-B", write_bundle(pane.work, ["It is red."]))
    pane.until("❯")  # before the line is there, nobody says that pastes are to be marked
    pane.paste(f"'{pane.work / 'My Shot.png'}'")
    pane.until('❯ @"')
    pane.type("and @second.png?")
    pane.until(r"It is red\.")
    shown = pane.screen()
    assert "· [image My Shot.png, 640×480, 2 kB]" in shown
    assert "· [image second.png, 20×10, 1 kB]" in shown
    pane.keys("C-d")
    pane.until("exit code 0")
    (transcript,) = (pane.work.parent / "home").glob("projects/*/sessions/*/transcript.jsonl")
    assert transcript.read_text().count('"media_type":"image/png"') == 2
    pane.require_sane()


def test_a_resize(pane: Pane) -> None:
    """The line at the bottom stays usable, however narrow; what comes next fits."""
    words = "One two three four five six seven eight nine ten eleven twelve."
    pane.start("-B", write_bundle(pane.work, ["Wide.", words]))
    pane.until("/help")
    pane.type("first")
    pane.until(r"Wide\.")
    pane.resize(30, 12)
    pane.type("second")
    shown = pane.until(r"twelve\.")
    assert all(len(line) <= 30 for line in shown.splitlines())
    pane.resize(100, 40)
    pane.type("/quit")
    pane.until("exit code 0")


def test_a_resume_and_a_rewind(pane: Pane) -> None:
    """The conversation is shown again; Esc Esc lists the turns, and one goes back to before one of them."""
    bundle = write_bundle(pane.work, ["First answer.", "Second answer."])
    pane.start("-B", bundle, "-n", "talk", "first thing")
    pane.until(r"First answer\.")
    pane.type("second thing")
    pane.until(r"Second answer\.")
    pane.keys("C-d")
    pane.until("exit code 0")
    pane.start("resume", "talk")
    shown = pane.until("2 turns so far")
    assert "❯ second thing" in shown
    pane.until("/help")
    pane.keys("Escape")
    pane.keys("Escape")
    pane.until("Go back to before")
    pane.keys("Enter")
    pane.until(r"back to before turn 2")
    pane.until(r"❯ second thing\s*\Z")
    pane.keys("C-c", "C-c", "C-c")
    pane.until("exit code 0")


def test_a_rewind_with_files(pane: Pane) -> None:
    """The files that the agent has changed since are as they were, and can be had again."""
    (pane.work / "old.txt").write_text("before\n")
    read = calls(("read_file", {"file_path": "old.txt"}))
    edit = calls(("write_file", {"file_path": "old.txt", "content": "after\n"}))
    tools = {"tools": FILES["tools"]}
    pane.start("-B", write_bundle(pane.work, [WRITE, "Wrote.", read, edit, "Changed."], **tools))
    pane.until("/help")
    pane.type("write")
    pane.until(r"Wrote\.")
    pane.type("change")
    pane.until(r"Changed\.")
    pane.type("/rewind 1")
    pane.until(r"Back to before turn 1")
    assert (pane.work / "note.txt").exists()
    pane.keys("Enter")
    pane.until(r"back to before turn 1")
    pane.until(r"as before turn 1: note\.txt \(\+0 -1\), old\.txt \(\+1 -1\)")
    assert (pane.work / "old.txt").read_text() == "before\n"
    assert not (pane.work / "note.txt").exists()
    pane.keys("C-c")
    pane.type("/redo")
    pane.until("brought back: note")
    assert ((pane.work / "old.txt").read_text(), (pane.work / "note.txt").read_text()) == ("after\n", "hi\n")
    pane.keys("C-d")
    pane.until("exit code 0")


@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"NO_COLOR": "1"}])
def test_a_terminal_without_colours_or_anything(pane: Pane, variables: dict[str, str]) -> None:
    """A dumb terminal has plain lines; without colours there are no escape sequences for them."""
    pane.start("-B", write_bundle(pane.work, ["It is **red**, \x1b[31mreally\x1b[0m."]), **variables)
    pane.until("/help")
    pane.type("Which colour?")
    pane.until("It is red, really")
    assert "\x1b[3" not in pane.colours()
    pane.keys("C-d")
    pane.until("exit code 0")


def test_a_crash_and_a_signal_leave_the_terminal_sane(pane: Pane) -> None:
    """A process that is told to end gives the terminal back, with the exit code of the signal."""
    pane.start("-B", write_bundle(pane.work, [{"text": "never", "delay_s": 3600}]))
    pane.until("/help")
    pane.type("Wait.")
    pane.until("Working")
    os.kill(int((pane.work / "pid").read_text()), signal.SIGTERM)
    assert "Working" not in pane.until("exit code 143")
    pane.require_sane()


def test_a_terminal_that_is_closed_takes_the_chat_along(pane: Pane) -> None:
    """Also in the middle of a question: the process ends, and nothing of it goes on working."""
    pane.start("-B", write_bundle(pane.work, [WRITE, "Done."], **FILES))
    pane.until("/help")
    pane.type("Write a note.")
    pane.until("1 Allow once")
    process = int((pane.work / "pid").read_text())
    pane.close()
    deadline = time.monotonic() + LIMIT_S
    while Path(f"/proc/{process}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{process}").exists()
