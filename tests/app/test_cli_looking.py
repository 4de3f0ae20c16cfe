"""``amplifier agents``, ``events`` and ``completion``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.app.command import Command
from tests.app.run_world import write_bundle

from amplifier.inspector.event_list import type_told

AGENTS: dict[str, Any] = {
    "agents": {
        "writer": {"description": "Writes.", "instruction": "Write well.", "tools": ["tool-todo"]},
        "plain": {"description": "Is like its parent."},
    }
}


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(tmp_path, monkeypatch, capsys)


def test_agents_are_listed_and_shown(command: Command) -> None:
    """Where each is written, how it differs, and its instructions."""
    bundle = write_bundle(command.work, ["Hello."], **AGENTS)
    result = command("agents", "list", "-B", bundle, "--json", "-c", "overrides.nothing={}")
    assert "overrides.nothing" in result.err
    listed = json.loads(result.out)
    assert [each["name"] for each in listed] == ["writer", "plain"]
    assert command("agents", "list", "-B", bundle).out.splitlines()[1].startswith("writer")
    shown = command("agents", "show", "writer", "-B", bundle).out
    assert "tools:        [{module: tool-todo}]" in shown
    assert shown.endswith("\nWrite well.\n")
    assert "the instructions of the session that starts it" in command("agents", "show", "plain", "-B", bundle).out
    assert json.loads(command("agents", "show", "writer", "-B", bundle, "--json").out)["instruction"] == "Write well."


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("agents", "show", "writr"), "did you mean 'writer'?"),
        (("agents", "show", "xyz"), "There is: writer, plain."),
        (("agents", "list", "-B", "nowhere"), "nowhere"),
    ],
)
def test_agents_that_are_not_there(command: Command, args: tuple[str, ...], told: str) -> None:
    """With those that are."""
    bundle = write_bundle(command.work, ["Hello."], **AGENTS)
    result = command(*args[:2], "-B", bundle, *args[2:])
    assert (result.code in (2, 78), result.out, told in result.err) == (True, "", True)


def test_events_are_listed_and_shown(command: Command) -> None:
    """The catalogue of the kernel; one event with its fields, those that are always there first."""
    assert len(json.loads(command("events", "--json").out)) == 46
    first = command("events").out.splitlines()[1].split(maxsplit=1)
    assert first[0] == "session:start"
    shown = command("events", "tool:pre").out
    assert "a tool is about to run." in shown
    assert json.loads(command("events", "tool:pre", "--json").out)["required"] == ["tool_name", "tool_input"]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("tool:pr",), "did you mean 'tool:pre'?"),
        (("xyz",), "There is no event 'xyz' in the catalogue."),
        (("tool:pre", "more"), "unexpected extra argument"),
    ],
)
def test_events_that_are_not_there(command: Command, args: tuple[str, ...], told: str) -> None:
    """With the nearest one."""
    result = command("events", *args)
    assert (result.code, result.out, told in result.err) == (2, "", True)


def test_types_are_told_in_a_word_or_two() -> None:
    """Choices, values, and anything."""
    assert type_told({"anyOf": [{"type": "string"}, {"type": "null"}]}) == "string | null"
    assert (type_told({"enum": ["a", 1]}), type_told({})) == ("a | 1", "any")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_a_shell_gets_its_script(command: Command, shell: str) -> None:
    """It calls the command with the variable that asks for completions."""
    result = command("completion", shell)
    assert (result.code, "_AMPLIFIER_COMPLETE" in result.out, result.out.endswith("\n")) == (0, True, True)


@pytest.mark.parametrize("args", [(), ("tcsh",), ("bash", "zsh")])
def test_other_shells_are_refused(command: Command, args: tuple[str, ...]) -> None:
    """There are four."""
    assert command("completion", *args).code == 2


@pytest.mark.slow
def test_completion_answers(command: Command) -> None:
    """With the names of commands that begin so; the script for bash is one that bash reads."""
    answers = command.process(COMP_WORDS="amplifier mod", COMP_CWORD="1", _AMPLIFIER_COMPLETE="bash_complete").out
    assert answers.splitlines() == ["plain,module"]
    bash = shutil.which("bash")
    assert bash is not None
    script = command.process("completion", "bash").out
    done = subprocess.run([bash, "-n"], input=script, text=True, env=dict(os.environ), check=False, timeout=30)
    assert done.returncode == 0
