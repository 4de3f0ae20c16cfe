"""Lists to choose from and keys of newer terminals, in a real terminal (tmux)."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.app.run_world import calls, write_bundle
from tests.app.test_tui_terminal import FILES, Pane

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")]


@pytest.fixture
def pane(tmp_path: Path) -> Iterator[Pane]:
    made = Pane(tmp_path)
    yield made
    made.close()


def test_a_session_is_resumed_from_a_list(pane: Pane) -> None:
    """Before the chat begins, and in it: words narrow the list, arrows move, Esc leaves it, the line comes back."""
    bundle = write_bundle(pane.work, ["First answer.", "Second answer."])
    for prompt in ("apples and pears", "plums and cherries"):
        pane.start("-B", bundle, prompt)
        pane.until(r"First answer\.")
        pane.keys("C-d")
        pane.until("exit code 0")
    pane.start("resume")
    shown = pane.until("1 of 2 · Enter chooses")
    assert "❯ plums and cherries" in shown
    assert "  apples and pears" in shown
    pane.keys("Down", "Enter")
    pane.until("1 turns so far")
    assert "❯ apples and pears" in pane.screen()
    pane.until("/help")
    pane.type("/resume")
    pane.until("1 of 1 · Enter chooses")
    pane.keys("x", "y", "z")
    pane.until("nothing fits, 1 in all")
    pane.keys("Escape")
    pane.until(r"❯\s*\Z")
    assert "Enter chooses" not in pane.screen()
    pane.type("/resume")
    pane.until("1 of 1 · Enter chooses")
    pane.keys("P", "L", "U", "Enter")
    pane.until("❯ plums and cherries")
    pane.keys("C-d")
    pane.until("exit code 0")
    pane.require_sane()


def test_a_mode_is_chosen_while_the_agent_works(pane: Pane) -> None:
    """The list stands below what goes on, and is left by itself when it is chosen from."""
    pane.start("-B", write_bundle(pane.work, [{"text": "never", "delay_s": 3600}], **FILES))
    pane.until("default · mock-model")
    pane.type("Wait.")
    pane.until("Working")
    pane.type("/modes")
    shown = pane.until("❯ default")
    assert "Working" in shown
    pane.keys("Down", "Down", "Enter")
    pane.until("plan · mock-model")
    os.kill(int((pane.work / "pid").read_text()), signal.SIGTERM)
    pane.until("exit code 143")
    pane.require_sane()


def test_shift_enter_begins_another_line(pane: Pane) -> None:
    """However the terminal tells it; the other keys that it then tells anew have their meaning."""
    pane.start("-B", write_bundle(pane.work, ["Said: {{prompt}}"]))
    pane.until("/help")
    for told in ("\x1b[27;2;13~", "\x1b[13;2u"):
        pane.keys("-l", f"one{told}two")
        pane.until(r"❯ one\n +two")
        pane.keys("-l", "\x1b[99;5u")
        pane.until(r"❯\s*\Z")
    pane.keys("-l", "one\x1b[13;2utwo")
    pane.keys("Enter")
    assert re.search(r"❯ one\n +two", pane.until(r"Said: one\s+two"))
    pane.keys("-l", "\x1b[100;5u")
    pane.until("exit code 0")
    pane.require_sane()


def test_a_question_ends_the_list(pane: Pane) -> None:
    """What the agent asks comes first, and is answered as ever; what was being typed comes back after it."""
    asked = {**calls(("write_file", {"file_path": "note.txt", "content": "hi\n"})), "delay_s": 2}
    pane.start("-B", write_bundle(pane.work, [asked, "Written."], **FILES))
    pane.until("default · mock-model")
    pane.type("Write it.")
    pane.until("Working")
    pane.type("/modes")
    pane.until("1 of 5 · Enter chooses")
    pane.keys("Down")
    assert "the agent asks first" in pane.until("call the command again")
    shown = pane.until(r"(?s)\A(?!.*Enter chooses).*1 Allow once")
    assert "default · mock-model" in shown
    pane.type("y")
    pane.until(r"Written\.")
    assert (pane.work / "note.txt").read_text() == "hi\n"


def test_a_list_fits_a_small_terminal(tmp_path: Path) -> None:
    """It is no higher than half of it, scrolls, and is given up when the process is told to end."""
    pane = Pane(tmp_path, columns=30, rows=10)
    try:
        pane.start("-B", write_bundle(pane.work, ["Yes."], **FILES))
        pane.until("/help")
        pane.type("/modes")
        pane.until("1 of 5")
        pane.keys("End")
        shown = pane.until("❯ bypass")
        assert all(len(line) <= 30 for line in shown.splitlines())
        os.kill(int((pane.work / "pid").read_text()), signal.SIGTERM)
        pane.until("exit code 143")
        pane.require_sane()
    finally:
        pane.close()


def test_an_answer_goes_to_the_clipboard_and_the_screen_is_emptied(pane: Pane) -> None:
    """In tmux the clipboard is tmux's; Ctrl-L leaves the line at the top."""
    pane.start("-B", write_bundle(pane.work, ["Answer: `42`"]), SSH_TTY="elsewhere")
    pane.until("/help")
    pane.type("What?")
    pane.until("Answer: 42")
    pane.type("/copy")
    pane.until(r"12 characters: in the clipboard \(tmux\)")
    assert pane.tmux("show-buffer") == "Answer: `42`"
    pane.keys("-l", "half")
    pane.keys("C-l")
    assert pane.until(r"\A\n[^\n]*mock-model[^\n]*\n❯ half\s*\Z")


def test_a_terminal_that_tells_keys_apart_is_asked_for_it(pane: Pane) -> None:
    """Only while the chat has the terminal, not after it was told to end."""
    pane.start("-B", write_bundle(pane.work, ["Said: {{prompt}}"]))
    pane.until("/help")
    pane.tmux("set-option", "-s", "extended-keys", "on")
    pane.type("begin")
    pane.until("Said: begin")
    pane.keys("-l", "one")
    pane.keys("S-Enter")
    pane.keys("-l", "two")
    pane.until(r"❯ one\n +two")
    os.kill(int((pane.work / "pid").read_text()), signal.SIGTERM)
    pane.until("exit code 143")
    pane.require_sane()
    # What stands there now is `cat`, which would show what it is sent.
    pane.keys("S-Enter")
    pane.keys("-l", "three")
    assert "27;2;13" not in pane.until("three")
