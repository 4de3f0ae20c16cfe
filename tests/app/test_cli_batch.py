"""``amplifier batch``: prompts in, results out, stopped and started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.app.command import Command, environment
from tests.app.run_world import calls, write_bundle


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(tmp_path, monkeypatch, capsys)


def write_items(command: Command, *lines: Any, name: str = "items.jsonl") -> str:
    """A file with a line of JSON each."""
    (command.work / name).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return name


def results_in(command: Command, name: str = "items.results.jsonl") -> list[dict[str, Any]]:
    """The lines of results."""
    return [json.loads(line) for line in (command.work / name).read_text().splitlines()]


def test_a_batch_runs_and_goes_on(command: Command) -> None:
    """Results beside the input; a second call runs only what is new; the summary tells."""
    bundle = write_bundle(command.work, ["Red."])
    file = write_items(command, {"id": "a", "prompt": "1"}, "2")
    result = command("batch", file, "-B", bundle)
    assert (result.code, result.out) == (0, "2 succeeded, 0 failed: items.results.jsonl\n")
    assert "amplifier: 2 of 2 done" in result.err
    assert [(line["id"], line["response"]) for line in results_in(command)] == [("a", "Red."), ("line-2", "Red.")]
    write_items(command, {"id": "a", "prompt": "1"}, "2", "3")
    again = command("batch", file, "-B", bundle, "-q")
    assert again == (0, "1 succeeded, 0 failed, 2 finished before: items.results.jsonl\n", "")


def test_failed_items_are_told_and_tried_again(command: Command) -> None:
    """By the exit code and in the results; a limit of one item is its own."""
    write_bundle(command.work, [calls(("nothing", {})), "Stopped."], name="busy")
    good = write_bundle(command.work, ["Red."])
    file = write_items(
        command, {"id": "good", "prompt": "1"}, {"id": "busy", "prompt": "2", "bundle": "./busy.md", "max_turns": 1}
    )
    result = command("batch", file, "-B", good, "-o", "out.jsonl", "-q", "--json")
    assert result.code == 1
    counts = {"succeeded": 1, "failed": 1, "finished_before": 0, "left": 0, "results": "out.jsonl"}
    assert json.loads(result.out) == counts
    by_id = {line["id"]: line for line in results_in(command, "out.jsonl")}
    assert (by_id["busy"]["error"]["type"], by_id["busy"]["is_error"]) == ("limit", True)
    retried = json.loads(command("batch", file, "-B", good, "-o", "out.jsonl", "-q", "--json", "--retry-failed").out)
    assert (retried["failed"], retried["finished_before"]) == (1, 1)


@pytest.mark.slow
def test_options_hold_for_every_item(command: Command) -> None:
    """Permissions, limits, models, settings of the call, and whether sessions are kept."""
    files: dict[str, Any] = {"tools": [{"module": "tool-filesystem"}], "hooks": [{"module": "hooks-approval"}]}
    script = [calls(("write_file", {"file_path": "a.txt", "content": "hi"})), "Done."]
    bundle = write_bundle(command.work, script, **files)
    file = write_items(command, "1")
    assert command("batch", file, "-B", bundle, "-q").code == 0
    assert not (command.work / "a.txt").exists()
    options = ("--permission-mode", "accept-edits", "--keep-sessions", "-o", "2.jsonl", "--settings", '{"nothng": 1}')
    allowed = command("batch", file, "-B", bundle, "-q", *options)
    assert (allowed.code, "nothng" in allowed.err, (command.work / "a.txt").exists()) == (0, True, True)
    assert len(json.loads(command("session", "list", "--json").out)) == 1


def test_settings_of_a_folder_that_nobody_trusts_do_not_count(command: Command) -> None:
    """Not for items that have settings of their own either."""
    (command.work / ".amplifier").mkdir()
    (command.work / ".amplifier" / "settings.yaml").write_text("bundle: {active: ./scripted.md}\n")
    write_bundle(command.work, ["Red."])
    file = write_items(command, {"prompt": "1", "max_turns": 2})
    command.settings("bundle: {active: nowhere}\n")
    refused = command("batch", file, "-q")
    assert (refused.code, "do not count" in refused.err) == (78, True)
    assert command("batch", file, "-q", "--trust").code == 0


@pytest.mark.parametrize(
    ("lines", "args", "code", "told"),
    [
        (["x"], ("nowhere.jsonl",), 2, "nowhere.jsonl"),
        (["x"], ("items.jsonl", "-B", "nowhere"), 78, "nowhere"),
        (["x"], ("items.jsonl", "-o", "items.jsonl"), 2, "cannot go into the file with the prompts"),
        ([7], ("items.jsonl",), 2, "line 1: expected an object"),
        ([], ("items.jsonl",), 2, "has no items"),
        (["x"], ("items.jsonl", "--concurrency", "0"), 2, "0"),
        (["x"], ("items.jsonl", "-o", "."), 2, "is a directory"),
    ],
)
def test_mistakes_are_told_before_anything_runs(
    command: Command, lines: list[Any], args: tuple[str, ...], code: int, told: str
) -> None:
    """And no results are begun."""
    write_items(command, *lines)
    result = command("batch", *args)
    assert (result.code, result.out, told in result.err) == (code, "", True)
    assert not (command.work / "items.results.jsonl").exists()


def test_bad_lines_can_be_left_out(command: Command) -> None:
    """They are told, with their numbers."""
    file = write_items(command, "1", {"promt": "2"})
    result = command("batch", file, "-B", write_bundle(command.work, ["Red."]), "-q", "--skip-invalid")
    assert (result.code, result.out) == (0, "1 succeeded, 0 failed: items.results.jsonl\n")
    assert "items.jsonl: line 2: nobody reads 'promt'; did you mean 'prompt'?" in result.err


def test_an_interrupted_batch_says_what_is_left(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the exit code of the signal."""
    monkeypatch.setattr("amplifier.batch.signalled.run_signalled", lambda batch, items, tell: tell("stop") or 130)
    file = write_items(command, "1", "2")
    result = command("batch", file, "-B", write_bundle(command.work, ["Red."]), "-q")
    assert result == (130, "0 succeeded, 0 failed, 2 left: items.results.jsonl\n", "amplifier: stop\n")


def started(command: Command, *args: str) -> subprocess.Popen[str]:
    """The command as a process that goes on beside the test."""
    return subprocess.Popen(
        [sys.executable, "-m", "amplifier", *args],
        cwd=command.work,
        env=environment() | command.variables,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wait_for_results(command: Command, count: int) -> None:
    """Until so many results are there."""
    deadline = time.monotonic() + 60
    path = command.work / "items.results.jsonl"
    while not path.exists() or path.read_bytes().count(b"\n") < count:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_batch_that_is_ended_goes_on_where_it_was(command: Command, number: int, code: int) -> None:
    """After Ctrl-C, a termination and a kill; no item is run twice, and none is lost."""
    bundle = write_bundle(command.work, [{"text": "Red.", "delay_s": 0.02}])
    write_items(command, *(f"item {number}" for number in range(60)))
    process = started(command, "batch", "items.jsonl", "-B", bundle, "-j", "2", "-q")
    wait_for_results(command, 4)
    os.kill(process.pid, number)
    process.communicate(timeout=60)
    assert process.returncode == code
    assert (command.work / "items.results.jsonl").read_bytes().count(b"\n") < 60
    assert command.process("batch", "items.jsonl", "-B", bundle, "-j", "30", "-q").code == 0
    ids = [line["id"] for line in results_in(command)]
    assert sorted(ids) == sorted(f"line-{number}" for number in range(1, 61))


@pytest.mark.slow
def test_as_a_process(command: Command) -> None:
    """Well, with items that fail, and called wrongly."""
    bundle = write_bundle(command.work, ["Red."])
    write_items(command, "1", "2")
    assert command.process("batch", "items.jsonl", "-B", bundle).code == 0
    write_items(command, {"prompt": "1", "bundle": "nowhere"})
    assert command.process("batch", "items.jsonl", "-B", bundle, "-o", "o.jsonl").code == 1
    assert command.process("batch", "none.jsonl").code == 2
