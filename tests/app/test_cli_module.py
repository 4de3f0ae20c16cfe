"""``amplifier module``: list, show, validate, new, add and remove."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.app.command import Command
from tests.app.test_inspector_modules import write_module


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    monkeypatch.delenv("AMPLIFIER_MODULES", raising=False)
    return Command(tmp_path, monkeypatch, capsys)


def test_modules_are_listed(command: Command) -> None:
    """All, or those of a kind; as a table and as JSON."""
    lines = command("module", "list", "--kind", "orchestrator").out.splitlines()
    assert [line.split()[0] for line in lines] == ["ID", "loop-basic", "loop-events", "loop-streaming"]
    listed = json.loads(command("module", "list", "--json").out)
    assert {"tool-bash", "provider-mock", "context-simple"} <= {each["id"] for each in listed}
    assert command("module", "list", "--kind", "toool").code == 2


def test_a_module_is_shown(command: Command) -> None:
    """What it mounts, and its config; with --static only what its source tells."""
    shown = command("module", "show", "tool-todo")
    assert shown.code == 0
    assert "mounts:       tools: todo" in shown.out
    assert "share_with_sub_sessions  boolean  false" in shown.out
    assert "mounts" not in command("module", "show", "tool-todo", "--static").out
    told = json.loads(command("module", "show", "tool-todo", "--json").out)
    assert (told["kind"], told["mounted"], told["problem"]) == ("tool", {"tools": ["todo"]}, None)
    assert "mounted" not in json.loads(command("module", "show", "loop-basic", "--json", "--static").out)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("show", "tool-bsh"), "did you mean 'tool-bash'?"),
        (("show", "tool-todo", "--config-json", "{"), "--config-json is no JSON"),
        (("show", "tool-todo", "--config-json", "[]"), "--config-json must be an object"),
        (("validate", "./nowhere"), "There is no ./nowhere."),
        (("validate", "nowhere"), "There is no module 'nowhere'"),
        (("validate", "."), "its kind is unknown"),
        (("new", "tool", "Bad Name!"), "amplifier module new tool weather"),
        (("new", "gadget", "x"), "'gadget' is not one of"),
        (("add", "tool-nowhere"), "There is no module 'tool-nowhere'"),
        (("add", "loop-basic"), "there is one loop and one context"),
        (("add", "strange", "--source", "./strange"), "cannot be added"),
        (("remove", "tool-bash"), "was not added in the user settings"),
    ],
)
def test_mistakes_are_told(command: Command, args: tuple[str, ...], told: str) -> None:
    """With what to do instead; nothing is changed."""
    result = command("module", *args)
    assert (result.code, result.out) == (2, "")
    assert told in result.err
    assert not (command.home / "settings.yaml").exists()


def test_a_module_is_validated(command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By id or path; with the behaviour suite if wanted; the exit code tells."""
    valid = command("module", "validate", "tool-todo", "--config-json", '{"share_with_sub_sessions": true}')
    assert (valid.code, "amplifier_module_tool_todo: valid (" in valid.out) == (0, True)
    failed = {"name": "has_name", "passed": False, "message": "it has none", "severity": "error"}
    monkeypatch.setattr("amplifier.inspector.validity.behaviour", lambda kind, path: [failed])
    behaved = command("module", "validate", "tool-todo", "-b")
    assert (behaved.code, "✗ has_name: it has none" in behaved.out) == (1, True)
    empty = write_module(tmp_path, "tool-empty")
    told = json.loads(command("module", "validate", str(empty), "-o", "json", "--kind", "tool").out)
    assert (told["valid"], told["kind"], told["path"]) == (False, "tool", str(empty))


def test_a_package_that_is_gone_cannot_be_validated(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point may outlive its package."""
    from amplifier.inspector.installed_modules import InstalledModule

    gone = InstalledModule("tool-gone", "tool", "", "dist", "1", None)
    monkeypatch.setattr("amplifier.inspector.installed_modules.installed_modules", lambda environ: [gone])
    result = command("module", "validate", "tool-gone")
    assert (result.code, "The package of 'tool-gone' is not there" in result.err) == (1, True)


def test_a_module_is_begun(command: Command) -> None:
    """By the kernel's scaffolds, into the folder that is named."""
    result = command("module", "new", "tool", "weather", "--into", str(command.work))
    assert result.code == 0
    assert (command.work / "amplifier-module-tool-weather" / "pyproject.toml").is_file()
    again = command("module", "new", "tool", "weather")
    assert (again.code, "exists already" in again.err) == (2, True)


def test_a_module_is_added_to_every_session_and_taken_out(command: Command) -> None:
    """Into the settings of a scope, with config and source; again it is replaced; others stay."""
    assert command("module", "add", "tool-todo").code == 0
    assert command("module", "add", "tool-web", "--config-json", '{"timeout_s": 5}').code == 0
    assert command("module", "add", "tool-web", "--config-json", '{"timeout_s": 9}').code == 0
    assert command("module", "add", "hooks-far", "--source", "./far", "--scope", "local").code == 0
    listed = json.loads(command("config", "get", "modules.tools", "--json").out)["value"]
    assert listed == [{"module": "tool-todo"}, {"module": "tool-web", "config": {"timeout_s": 9}}]
    hooks = json.loads(command("config", "get", "modules.hooks", "--json").out)["value"]
    assert hooks == [{"module": "hooks-far", "source": "./far"}]
    assert command("module", "remove", "tool-todo").out.startswith("tool-todo is taken out")
    assert command("module", "remove", "tool-web").code == 0
    assert command("module", "remove", "hooks-far", "--scope", "local").code == 0
    assert command("config", "get", "modules.tools").code == 1


@pytest.mark.slow
def test_as_a_process(command: Command) -> None:
    """The list, a module, and a mistake."""
    assert "loop-basic" in command.process("module", "list").out
    assert "tools: todo" in command.process("module", "show", "tool-todo").out
    assert command.process("module", "show", "nothing").code == 2
