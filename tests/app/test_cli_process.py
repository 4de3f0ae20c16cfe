"""The command as a process: pipes, closed and full outputs, wrong UTF-8, a read-only home, several at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.app.command import Command, environment

pytestmark = pytest.mark.slow


@pytest.fixture
def amplifier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command with a home of its own."""
    return Command(tmp_path, monkeypatch, capsys)


def shell(amplifier: Command, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a line of the shell in which ``$A`` is the command."""
    return subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        cwd=amplifier.work,
        env=environment() | amplifier.variables | {"A": f"{sys.executable} -m amplifier"} | variables,
        check=False,
        timeout=60,
    )


def test_settings_are_written_and_read(amplifier: Command) -> None:
    """What one process sets another gets; only the value is on standard output."""
    file = amplifier.home / "settings.yaml"
    assert amplifier.process("config", "set", "model", "gpt ä") == (0, "", f"model is set in {file}\n")
    assert amplifier.process("config", "get", "model") == (0, "gpt ä\n", f"from user ({file}:1)\n")
    assert amplifier.process("config", "get", "model", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0").code == 0
    assert amplifier.process("config", "unset", "model") == (0, "", f"model is taken out in {file}\n")
    assert amplifier.process("config", "get", "model").code == 1


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (["config", "get", "modle"], 2, "amplifier: There is no setting 'modle'; did you mean 'model'?\n"),
        (
            ["config", "set", "session.persist", "x"],
            2,
            "amplifier: 'session.persist' must be true or false, not 'x'.\n",
        ),
        (["config", "lst"], 2, "amplifier: No such command 'lst'."),
        (["config", "get", "model"], 1, "amplifier: 'model' is not set.\n"),
        (["-c", "model", "config", "list"], 2, "amplifier: -c model has no value: expected KEY=VALUE.\n"),
        (["--settings", "gone.yaml", "config", "list"], 2, "amplifier: There is no file gone.yaml"),
        (["--fast"], 2, "amplifier: No such option '--fast'."),
        (["versoin"], 2, "amplifier: There is no command 'versoin'; did you mean 'version'?\n"),
    ],
)
def test_mistakes_are_told_on_standard_error(amplifier: Command, args: list[str], code: int, told: str) -> None:
    """With an exit code, nothing on standard output, and no traceback."""
    shown = amplifier.process(*args)
    assert (shown.code, shown.out, shown.err[: len(told)], "Traceback" in shown.err) == (code, "", told, False)


def test_a_malformed_file_is_told_with_its_place(amplifier: Command) -> None:
    """Also when its bytes are no UTF-8."""
    file = amplifier.settings("model: x\nsession: [\n")
    assert amplifier.process("config", "list").err.startswith(f"amplifier: {file}:3:1: ")
    file.write_bytes(b"model: \xff\n")
    shown = amplifier.process("config", "list")
    assert (shown.code, shown.err.splitlines()[0]) == (78, f"amplifier: {file}:1:8: the byte 0xFF is no UTF-8.")


def test_a_reader_that_has_gone_ends_the_command_quietly(amplifier: Command) -> None:
    """As other programs of a pipe do."""
    done = shell(amplifier, "set -o pipefail; $A config schema | true; echo ${PIPESTATUS[0]}")
    assert (done.stdout, done.stderr) == ("141\n", "")


def test_a_full_disk_is_told(amplifier: Command) -> None:
    """Once, without a traceback."""
    done = shell(amplifier, "$A config schema > /dev/full")
    assert (done.returncode, done.stderr) == (
        74,
        "amplifier: The output or a file cannot be written: [Errno 28] No space left on device.\n"
        "  → Make room, and call it again.\n",
    )


def test_closed_outputs_are_no_error(amplifier: Command) -> None:
    """Whoever closes them does not want to see anything."""
    done = shell(amplifier, "$A version >&-; echo $?; $A nope --x 2>&-; echo $?; $A config keys <&-; echo $?")
    assert [line for line in done.stdout.splitlines() if line.isdigit()] == ["0", "2", "0"]
    assert done.stderr == ""


def test_without_a_terminal_there_is_no_colour(amplifier: Command) -> None:
    """Unless it is asked for; NO_COLOR counts more than FORCE_COLOR."""
    outputs = [
        amplifier.process("config", "list").out,
        amplifier.process("config", "list", FORCE_COLOR="1").out,
        amplifier.process("config", "list", FORCE_COLOR="1", NO_COLOR="1").out,
        amplifier.process("--color", "always", "config", "list", NO_COLOR="1", CI="true").out,
    ]
    assert ["\x1b[" in output for output in outputs] == [False, True, False, True]


def test_arguments_that_are_no_utf_8_are_taken(amplifier: Command) -> None:
    """They come back as they can be shown."""
    done = shell(amplifier, r"$A config set model $'x\xff' && $A config get model")
    assert (done.returncode, done.stdout) == (0, "x\\udcff\n")


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_home_that_cannot_be_written_can_be_read(amplifier: Command, tmp_path: Path) -> None:
    """Reading works; writing says why it does not, and leaves nothing behind."""
    file = amplifier.settings("model: x\n")
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the home should be")
    shown = amplifier.process("config", "set", "model", "y", AMPLIFIER_HOME=str(blocked / "home"))
    assert (shown.code, shown.err.splitlines()[0]) == (
        78,
        f"amplifier: {blocked / 'home' / 'settings.yaml'} cannot be written: Not a directory.",
    )
    assert amplifier.process("config", "list", AMPLIFIER_HOME="/proc/none").code == 0
    assert amplifier.process("config", "set", "model", "y", AMPLIFIER_HOME="/proc/none").code == 78
    assert file.read_text() == "model: x\n"


def test_several_at_once_lose_nothing(amplifier: Command) -> None:
    """Each process sets one setting of the same file."""
    command = [sys.executable, "-m", "amplifier", "config", "set"]
    environ = environment() | amplifier.variables
    processes = [
        subprocess.Popen(
            [*command, f"env.N{number}", str(number)], env=environ, cwd=amplifier.work, stderr=subprocess.DEVNULL
        )
        for number in range(6)
    ]
    assert [process.wait() for process in processes] == [0] * 6
    found = json.loads(amplifier.process("config", "get", "env", "--json").out)
    assert found["value"] == {f"N{number}": number for number in range(6)}


def test_an_interrupt_is_told(amplifier: Command) -> None:
    """Ctrl-C while a key is read: exit code 130, and no traceback."""
    process = subprocess.Popen(
        [sys.executable, "-c", _INTERRUPTED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment() | amplifier.variables,
        cwd=amplifier.work,
    )
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"reading\n"
        process.send_signal(signal.SIGINT)
        assert (process.wait(), process.stderr.read()) == (130, b"\namplifier: interrupted\n")


_INTERRUPTED = """
import sys
from amplifier.cli import config
from amplifier.cli.main import main

class Slow:
    def isatty(self):
        return False
    def readline(self):
        print("reading", flush=True)
        return sys.__stdin__.readline()

sys.stdin = Slow()
sys.exit(main(["config", "set-key", "A_KEY"]))
"""


def test_the_start_imports_nothing_heavy(amplifier: Command) -> None:
    """Version and help need click and the table; neither settings nor the kernel nor a command."""
    for option in ("--version", "--help"):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "amplifier", option],
            capture_output=True,
            text=True,
            env=environment() | amplifier.variables,
            check=True,
        )
        imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
        heavy = {
            "asyncio",
            "yaml",
            "pydantic",
            "rich",
            "sqlite3",
            "amplifier_core",
            "amplifier.settings",
            "amplifier.cli.run",
        }
        assert imported & heavy == set()
