"""``kill -9`` anywhere in a turn with tools: nothing that was said is lost, and the session goes on."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.app.command import Command, environment
from tests.app.run_world import calls, write_bundle

from amplifier.paths import Places
from amplifier.store import SessionStore, StoredSession
from amplifier.store.transcript import begins_turn

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

STEPS, KILLS, SEED = 8, 24, 7
FILES: dict[str, Any] = {
    "tools": [{"module": "tool-filesystem"}],
    "hooks": [{"module": "hooks-approval"}, {"module": "hooks-logging"}],
}


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(tmp_path, monkeypatch, capsys)


def working_bundle(command: Command) -> str:
    """A model that writes a file with every step, slowly enough to be killed in between."""
    steps = [
        {**calls(("write_file", {"file_path": f"step{number}", "content": str(number)})), "delay_s": 0.02}
        for number in range(STEPS)
    ]
    return write_bundle(command.work, [*steps, "All is done."], **FILES)


def session_of(command: Command) -> StoredSession:
    """The session that is killed again and again."""
    return SessionStore(Places.find(command.variables, command.work)).find("mine")


def killed_after(command: Command, delay_s: float, *args: str) -> bool:
    """Runs the command and kills it; whether it was still at work."""
    process = subprocess.Popen(
        [sys.executable, "-m", "amplifier", *args],
        cwd=command.work, env=environment() | command.variables,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    _wait_for_the_turn(command, process)
    time.sleep(delay_s)
    was_at_work = process.poll() is None
    process.kill()
    process.wait()
    return was_at_work


def _wait_for_the_turn(command: Command, process: subprocess.Popen[bytes]) -> None:
    """Waits until the transcript grows, so that what is killed is the turn and not the start."""
    (file,) = list(command.home.glob("projects/*/sessions/mine/transcript.jsonl"))
    size = file.stat().st_size
    deadline = time.monotonic() + 60
    while file.stat().st_size == size and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_a_session_survives_every_kill(command: Command) -> None:
    """What was in the transcript stays there, word by word; the next process heals the rest and goes on."""
    bundle = working_bundle(command)
    options = ("--permission-mode", "bypass")
    first = command.process("run", "begin", "-B", write_bundle(command.work, ["Yes."], "first"), "--session-id", "mine")
    assert first.code == 0
    chance, known, hits = random.Random(SEED), session_of(command).messages(), 0
    for number in range(KILLS):
        args = ("resume", "mine", f"prompt {number}", "-B", bundle, *options)
        hits += killed_after(command, chance.uniform(0, 0.5), *args)
        messages = session_of(command).messages()
        # The last message of before may be the one that was torn; those before it never change.
        assert messages[: len(known)] == known
        assert f"prompt {number}" in [each["content"] for each in messages]
        known = messages
    last = command.process("resume", "mine", "the end", "-B", bundle, *options)
    assert (last.code, last.out) == (0, "All is done.\n")
    messages = session_of(command).messages()
    assert messages[: len(known)] == known
    said = [each["content"] for each in messages if begins_turn(each)]
    assert said == ["begin", *(f"prompt {number}" for number in range(KILLS)), "the end"]
    assert hits >= KILLS * 3 // 4, "the kills came too late to mean anything"
    shown = json.loads(command.process("session", "list", "--json").out)
    assert [(each["session_id"], each["turn_count"], each["status"]) for each in shown] == [
        ("mine", KILLS + 2, "success")
    ]
