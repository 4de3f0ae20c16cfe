"""``amplifier run`` as a process in hard surroundings: pipes, odd bytes, homes and disks that refuse, two at once."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.app.command import Command, Result, environment
from tests.app.run_world import calls, write_bundle

from amplifier.paths import Places
from amplifier.store import SessionStore, StoredSession

pytestmark = pytest.mark.slow

FILES: dict[str, Any] = {"tools": [{"module": "tool-filesystem"}], "hooks": [{"module": "hooks-approval"}]}
WRITE = calls(("write_file", {"file_path": "note.txt", "content": "hi"}))


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(tmp_path, monkeypatch, capsys)


def sessions(command: Command) -> list[StoredSession]:
    """What is stored, the last used first."""
    return SessionStore(Places.find(command.variables, command.work)).list()


def started(command: Command, *args: str, **options: Any) -> subprocess.Popen[bytes]:
    """The command as a process that goes on beside the test."""
    usual: dict[str, Any] = {"stdin": subprocess.DEVNULL, "cwd": command.work}
    usual |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    env = environment() | command.variables | options.pop("env", {})
    start: Any = subprocess.Popen
    return start([sys.executable, "-m", "amplifier", *args], env=env, **{**usual, **options})


def ended(process: subprocess.Popen[bytes]) -> Result:
    """What a process did."""
    out, err = process.communicate(timeout=60)
    return Result(process.returncode, out.decode(), err.decode())


def until(is_so: Callable[[], bool]) -> None:
    """Waits for something that another process does."""
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.01)


# Outputs


def test_a_reader_that_goes_away_ends_the_run_quietly_and_nothing_is_lost(command: Command) -> None:
    """As in ``amplifier run … | head -1``: exit code 141, no traceback, and the session is stored."""
    answers = [calls(("read_file", {"file_path": "."})) for _ in range(4)]
    bundle = write_bundle(command.work, [*answers, "The end. " * 20_000], **FILES)
    reading, writing = os.pipe()
    process = started(command, "run", "go", "-B", bundle, "--output-format", "stream-json", stdout=writing)
    os.close(writing)
    assert json.loads(os.read(reading, 100_000).splitlines()[0])["type"] == "init"
    os.close(reading)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (141, b"")
    assert sessions(command)[0].messages()[0]["content"] == "go"
    assert command.process("continue", "on", "-B", write_bundle(command.work, ["Still here."], "other")).code == 0


def test_outputs_that_are_closed_or_full(command: Command) -> None:
    """Nobody wants to see a closed one; a full one is told where it can be, and the session is kept."""
    bundle = write_bundle(command.work, ["It is red."])
    script = "$A run 1 -B $B >&-; echo $?; $A run 2 -B $B 2>&-; echo $?; $A run 3 -B $B >/dev/full; echo $?"
    variables = {"A": f"{sys.executable} -m amplifier", "B": bundle}
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=command.work, env=environment() | command.variables | variables,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["0", "It is red.", "0", "74"]
    assert done.stderr == (
        "amplifier: The output or a file cannot be written: [Errno 28] No space left on device.\n"
        "  → Make room, and call it again.\n"
    )
    assert [each.metadata().status for each in sessions(command)] == ["success"] * 3


def test_without_a_terminal_there_is_nothing_but_the_answer(command: Command) -> None:
    """No colour, no progress, no question; also where colour is forced, the answer has none."""
    bundle = write_bundle(command.work, [WRITE, "It is red."], **FILES)
    surroundings: list[dict[str, Any]] = [
        {}, {"CI": "true"}, {"NO_COLOR": "1"}, {"FORCE_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}, {"COLUMNS": "0"},
    ]  # fmt: skip
    outputs = {command.process("run", "go", "-B", bundle, **each).out for each in surroundings}
    assert outputs == {"It is red.\n"}


def test_what_nobody_allowed_is_told_with_what_would_allow_it(command: Command) -> None:
    """On standard error for people, as ``denials`` for programs; the exit code is that of the answer."""
    bundle = write_bundle(command.work, [WRITE, "I could not."], **FILES)
    result = command.process("run", "go", "-B", bundle)
    assert (result.code, result.out) == (0, "I could not.\n")
    assert "'write_file' was not allowed" in result.err
    assert "--allowed-tools" in result.err
    told = json.loads(command.process("run", "go", "-B", bundle, "--output-format", "json").out)
    (denial,) = told["denials"]
    assert (denial["tool_name"], denial["session_id"]) == ("write_file", told["session_id"])
    assert "--allowed-tools" in denial["reason"]


# Odd bytes


def test_a_prompt_that_is_no_utf_8_is_refused(command: Command) -> None:
    """As an argument, from a pipe, and in a line of JSON; nothing is stored."""
    bundle = write_bundle(command.work, ["It is red."])
    streamed = ["--input-format", "stream-json"]
    done = [
        ended(started(command, "run", os.fsdecode(b"a\xff"), "-B", bundle)),
        command.process("run", "-B", bundle, stdin=b"a\xff"),
        command.process("run", "-B", bundle, *streamed, stdin=b'{"text": "a\xff"}\n'),
    ]
    assert [(each.code, each.out, "UTF-8" in each.err.upper()) for each in done] == [(2, "", True)] * 3


def test_files_and_variables_that_are_no_utf_8_do_no_harm(command: Command) -> None:
    """Prompts from files are refused by name; the environment, the folder and the name of a session may be odd."""
    bundle = write_bundle(command.work, ["It is red."])
    odd = command.work / "odd.md"
    odd.write_bytes(b"---\nbundle: {name: odd}\n---\n\xff\n")
    (command.work / "AGENTS.md").write_bytes(b"be \xff kind")
    refused = command.process("run", "go", "-B", str(odd))
    assert (refused.code, "odd.md" in refused.err, "Traceback" in refused.err) == (78, True, False)
    folder = command.work / os.fsdecode(b"f\xff")
    folder.mkdir()
    odd_name = os.fsdecode(b"n\xff")
    result = ended(started(command, "run", "go", "-B", bundle, "--name", odd_name, cwd=folder, env={"ODD": odd_name}))
    assert (result.code, result.out) == (0, "It is red.\n")
    assert (sessions(command)[0].metadata().name, sessions(command)[0].metadata().working_dir) == (
        odd_name,
        str(folder),
    )
    assert ended(started(command, "continue", "on", cwd=folder)).code == 0
    for listing in (("session", "list"), ("session", "list", "--json"), ("session", "show", odd_name)):
        assert ended(started(command, *listing)).code == 0


def test_what_a_model_says_may_be_no_text(command: Command, tmp_path: Path) -> None:
    """Half of a pair of surrogates is printed, stored and written as it can be."""
    bundle = write_bundle(command.work, [{"text": "half \ud83d of it"}])
    target = tmp_path / "answer"
    result = command.process("run", "go", "-B", bundle, "-o", str(target))
    assert (result.code, result.out, target.read_text()) == (0, "half \\ud83d of it\n", "half \\ud83d of it\n")
    as_json = command.process("continue", "on", "--output-format", "json")
    assert json.loads(as_json.out)["response"] == "half \\ud83d of it"
    assert command.process("session", "search", "half").code == 0


def test_a_deep_folder_has_sessions_too(command: Command) -> None:
    """Its path is longer than a file name may be."""
    bundle = write_bundle(command.work, ["It is red."])
    deep = command.work / ("x" * 200) / ("y" * 200)
    deep.mkdir(parents=True)
    assert ended(started(command, "run", "go", "-B", bundle, cwd=deep)).code == 0
    assert ended(started(command, "continue", "on", cwd=deep)).out == "It is red.\n"


# Homes and disks


@pytest.fixture
def disk(command: Command) -> Iterator[Path]:
    """A disk of 300 kB where the home is."""
    command.home.mkdir()
    if os.geteuid() != 0 or _mounted("-t", "tmpfs", "-o", "size=300k", "tmpfs", str(command.home)):
        pytest.skip("no disk can be mounted here")
    yield command.home
    subprocess.run(["umount", "-l", str(command.home)], check=True)


def _mounted(*args: str) -> int:
    return subprocess.run(["mount", *args], capture_output=True, check=False).returncode


def test_a_home_that_cannot_be_written(command: Command, disk: Path) -> None:
    """A run says so before anything is asked; without anything to keep it works; what is there can be looked at."""
    bundle = write_bundle(command.work, ["It is red."])
    assert command.process("run", "first", "-B", bundle, "--session-id", "old").code == 0
    assert _mounted("-o", "remount,ro", str(disk)) == 0
    refused = command.process("run", "go", "-B", bundle)
    assert (refused.code, refused.out, "--ephemeral" in refused.err) == (74, "", True)
    kept_nowhere = command.process("run", "go", "-B", bundle, "--ephemeral")
    assert kept_nowhere == Result(0, "It is red.\n", "")
    resumed = command.process("resume", "old", "go")
    assert (resumed.code, resumed.out, "Traceback" in resumed.err) == (74, "", False)
    for args in (("list",), ("show", "old"), ("search", "red"), ("export", "old")):
        shown = command.process("session", *args)
        assert (shown.code, "old" in shown.out, shown.err) == (0, True, "")
    refused = command.process("session", "delete", "old", "--yes")
    assert (refused.code, "Traceback" in refused.err) == (74, False)
    refused = command.process("session", "reindex")
    assert (refused.code, "Traceback" in refused.err) == (74, False)


def test_a_home_that_is_a_file(command: Command) -> None:
    """Is told before anything else: its settings cannot be read."""
    bundle = write_bundle(command.work, ["It is red."])
    command.home.write_text("no folder")
    refused = command.process("run", "go", "-B", bundle)
    assert (refused.code, refused.out, "Not a directory" in refused.err) == (78, "", True)


def test_a_disk_that_is_full_is_told_and_room_makes_it_work_again(command: Command, disk: Path) -> None:
    """Nothing is said that was not kept, unless the user hears of it; what was said before is still there."""
    bundle = write_bundle(command.work, ["It is red."])
    assert command.process("run", "first", "-B", bundle, "--session-id", "mine").code == 0
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 512)
        except OSError:
            pass
    full = command.process("resume", "mine", "second " * 2_000)
    assert (full.code, full.out, "No space left" in full.err, "Traceback" in full.err) == (74, "", True, False)
    fresh = command.process("run", "go", "-B", bundle)
    assert (fresh.code, fresh.out, "Traceback" in fresh.err) == (74, "", False)
    filler.unlink()
    again = command.process("resume", "mine", "third")
    assert (again.code, again.out) == (0, "It is red.\n")
    said = [each["content"] for each in sessions(command)[0].messages() if each["role"] == "user"]
    assert (said[0], said[-1]) == ("first", "third")


def test_a_disk_that_fills_up_in_the_middle(command: Command) -> None:
    """A transcript that cannot grow ends the run with its own code; the journal can still be read, and goes on."""
    bundle = write_bundle(command.work, [calls(("read_file", {"file_path": "big"})), "x" * 30_000], **FILES)
    (command.work / "big").write_text("line of text\n" * 3_000)
    small = ended(started(command, "run", "go", "-B", bundle, "--session-id", "mine", preexec_fn=_limit_files))
    assert (small.code, "Traceback" in small.err, "transcript.jsonl" in small.err) == (74, False, True)
    after = command.process("resume", "mine", "more", "-B", write_bundle(command.work, ["Here."], "other"))
    assert (after.code, after.out) == (0, "Here.\n")
    assert [each["content"] for each in sessions(command)[0].messages() if each["role"] == "user"] == ["go", "more"]


def _limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (24_000, 24_000))


# Several at once


def test_only_one_process_works_on_a_session(command: Command) -> None:
    """The second is told at once, with the code for sessions in use; other sessions are free; the first is not hurt."""
    slow = write_bundle(command.work, [{"text": "late", "delay_s": 3}], "slow")
    bundle = write_bundle(command.work, ["It is red."])
    first = started(command, "run", "go", "-B", slow, "--session-id", "mine")
    until(lambda: any(command.home.glob("projects/*/sessions/mine/transcript.jsonl")))
    second = command.process("resume", "mine", "me too")
    assert (second.code, second.out, "in use" in second.err, "Traceback" in second.err) == (66, "", True, False)
    assert command.process("run", "go", "-B", bundle).code == 0
    assert ended(first).out == "late\n"
    assert command.process("resume", "mine", "me now", "-B", bundle).out == "It is red.\n"
    said = [each["content"] for each in sessions(command)[0].messages()]
    assert said == ["go", "late", "me now", "It is red."]


def test_many_sessions_at_once_are_all_in_the_list(command: Command) -> None:
    """They share the index, and none is lost in it."""
    bundle = write_bundle(command.work, ["It is red."])
    running = [started(command, "run", "go", "-B", bundle, "--session-id", f"s{number}") for number in range(5)]
    assert [ended(each).code for each in running] == [0] * 5
    listed = json.loads(command.process("session", "list", "--json").out)
    assert sorted(each["session_id"] for each in listed) == [f"s{number}" for number in range(5)]


# Prompts that come one by one


def test_a_run_that_waits_for_prompts_can_be_interrupted(command: Command) -> None:
    """While nobody says anything, Ctrl-C ends it at once; SIGTERM too."""
    bundle = write_bundle(command.work, ["It is red."])
    streamed = ("--input-format", "stream-json", "--output-format", "stream-json")
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        process = started(command, "run", "-B", bundle, *streamed, stdin=subprocess.PIPE)
        assert process.stdin is not None
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["type"] == "init"
        process.stdin.write(b'{"text": "hello"}\n')
        process.stdin.flush()
        while json.loads(process.stdout.readline())["type"] != "result":
            pass
        process.send_signal(number)
        assert process.wait(30) in (code, -number)
        err = process.stderr.read() if process.stderr else b""
        assert b"Traceback" not in err
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None
            stream.close()
