"""``amplifier bundle`` and ``amplifier plan``: what they print, where, and with which exit code."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.app.bundle_corpus import FOUNDATION, write
from tests.app.command import Command, Result

from amplifier.bundles.load import load_bundle
from amplifier.bundles.plan import make_plan
from amplifier.paths import Places
from amplifier.settings import Settings

MOCK = "session: {orchestrator: loop-basic, context: context-simple}\nproviders: [provider-mock]\n"


class World:
    """A user and a project in a folder of their own, in which the command is called; paths are told below it."""

    def __init__(self, folder: Path, command: Command) -> None:
        self._folder = folder
        self._command = command
        self.home, self.work = command.home, command.work

    def call(self, *args: str) -> Result:
        """Calls the command inside this process."""
        return self._told(self._command(*args))

    def run(self, *args: str) -> Result:
        """Calls the command as a process of its own."""
        return self._told(self._command.process(*args))

    def _told(self, result: Result) -> Result:
        out, err = (text.replace(str(self.work), "/project").replace(str(self._folder), "") for text in result[1:])
        return Result(result.code, out, err)


@pytest.fixture
def world(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> World:
    """An empty world, in which no key is set."""
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    return World(tmp_path, Command(tmp_path, monkeypatch, capsys))


def test_bundles_are_listed_with_what_they_say_about_themselves(world: World) -> None:
    """The active one is marked; one that cannot be read says why; addresses are shown as they are."""
    write(world.work, {".amplifier/bundles/broken.yaml": "a: ["})
    write(world.home, {"settings.yaml": "bundle: {added: {far: 'git+https://e.org/x', here: ./b.md}}"})
    listed = world.call("bundle", "list", "--json")
    found = {each["name"]: each for each in json.loads(listed.out)}
    assert [(each["name"], each["kind"], each["active"]) for each in found.values()] == [
        ("default", "built-in", True),
        ("minimal", "built-in", False),
        ("offline", "built-in", False),
        ("far", "added", False),
        ("here", "added", False),
        ("broken", "project", False),
    ]
    assert found["far"]["description"] == "git+https://e.org/x"
    assert found["here"]["description"].startswith("cannot be read: b.md: cannot be read")
    assert found["broken"]["description"].startswith("cannot be read: /project/.amplifier/bundles/broken.yaml:1:")
    table = world.call("bundle", "list")
    assert table.code == 0
    assert table.out.splitlines()[1].startswith("*  default  built-in  The full coding agent.")


def test_a_bundle_is_shown_as_it_is_composed(world: World) -> None:
    """Name, parts, modules, agents and context, for people and as JSON."""
    write(world.work, FOUNDATION)
    assert (
        world.call("bundle", "show", "./bundle.md").out
        == """\
name:        foundation
version:     1.2.0
description: What all our agents have
file:        /project/bundle.md
made of:     behavior-sessions, behavior-agents, foundation
session:     loop-streaming, context-simple
tools:       tool-task, tool-filesystem, tool-bash
hooks:       hooks-logging
agents:      foundation:zen-architect, foundation:explorer
context:     behavior-sessions:foundation:context/sessions.md, foundation:foundation:context/shared.md
"""
    )
    shown = json.loads(world.call("bundle", "show", "./bundle.md", "--json").out)
    assert shown["agents"] == {
        "foundation:zen-architect": "Designs simple things.",
        "foundation:explorer": "Looks around.",
    }


def test_a_bundle_is_checked_with_its_modules_and_mentions(world: World) -> None:
    """Warnings go to standard error; only with ``--strict`` they are a failure."""
    write(world.work, {"good.yaml": MOCK, "odd.yaml": MOCK + "instruction: See @gone.md\n"})
    assert world.call("bundle", "validate", "./good.yaml") == Result(0, "good is right: good\n", "")
    assert world.call("bundle", "validate", "./good.yaml", "--strict").code == 0
    warning = "/project/odd.yaml:3: @gone.md is not read: there is no such file"
    assert world.call("bundle", "validate", "./odd.yaml") == Result(
        0, "odd is right: odd\n", f"amplifier: warning: {warning}\n"
    )
    strict = world.call("bundle", "validate", "./odd.yaml", "--strict", "--json")
    assert (strict.code, json.loads(strict.out)["warnings"]) == (1, [warning])
    assert strict.err == "amplifier: The bundle 'odd' has warnings: 1.\n  → Mend what they are about.\n"


def test_the_bundle_of_new_sessions_is_chosen_and_told(world: World) -> None:
    """The choice is written to a settings file; a path becomes one that means the same everywhere."""
    assert world.call("bundle", "current") == Result(0, "default\n", "from default\n")
    assert world.call("bundle", "use", "minimal") == Result(
        0, "New sessions have the bundle 'minimal' (/home/settings.yaml)\n", ""
    )
    assert world.call("bundle", "current").out == "minimal\n"
    write(world.work, {"mine.yaml": MOCK})
    world.call("bundle", "use", "./mine.yaml", "--scope", "local")
    current = json.loads(world.call("bundle", "current", "--json").out)
    assert (current["bundle"], current["origin"]["scope"]) == ("/project/mine.yaml", "local")
    hidden = world.call("bundle", "use", "offline")
    assert hidden.code == 0
    assert hidden.err.startswith(
        "amplifier: warning: it does not count here: local (/project/.amplifier/settings.local"
    )


def test_the_plan_is_shown_in_every_form(world: World) -> None:
    """YAML for people, origins as a table, the prompt alone, and JSON with all of them."""
    text = MOCK + "tools: [{module: tool-todo, config: {a: [1], api_key: hidden}}]\nspawn: {tools: [x]}\n"
    text += "instruction: Be brief.\n"
    write(world.work, {"b.yaml": text + "agents: {w: {description: Writes, instruction: Write.}}\n"})
    assert (
        world.call("plan", "show", "-B", "./b.yaml", "--model", "mock/m").out
        == """\
session:
  orchestrator:
    module: loop-basic
  context:
    module: context-simple
providers:
- module: provider-mock
  config:
    priority: 0
    default_model: m
tools:
- module: tool-todo
  config:
    a:
    - 1
    api_key: '***'
hooks: []
spawn:
  tools:
  - x
agents:
  w:
    description: Writes
"""
    )
    assert world.call("plan", "show", "-B", "./b.yaml", "--instruction").out == "Be brief.\n"
    rows = world.call("plan", "show", "-B", "./b.yaml", "--provider", "mock", "--origin").out.splitlines()
    assert [row.split("  ")[0] for row in rows] == [
        "PART",
        "session.orchestrator.module",
        "session.context.module",
        "providers.provider-mock",
        "providers.provider-mock.config.priority",
        "tools.tool-todo",
        "tools.tool-todo.config.a[0]",
        "tools.tool-todo.config.api_key",
        "spawn.tools[0]",
        "agents.w",
    ]
    assert rows[4].split() == ["providers.provider-mock.config.priority", "0", "flags", "(-c", "provider)"]
    assert "hidden" not in "\n".join(rows)
    made: dict[str, Any] = json.loads(world.call("plan", "show", "-B", "./b.yaml", "--json").out)
    assert list(made) == ["bundle", "plan", "instruction", "origins", "warnings"]
    assert made["origins"]["tools.tool-todo"]["line"] == 3


def test_warnings_of_a_plan_go_to_standard_error(world: World) -> None:
    """Standard output has the plan and nothing else."""
    write(world.work, {"b.yaml": MOCK + "tolls: []\nbundle: {}\n"})
    shown = world.call("plan", "show", "-B", "./b.yaml")
    assert shown.out.startswith("session:\n")
    assert shown.err == "amplifier: warning: /project/b.yaml:3: nobody reads 'tolls'; did you mean 'tools'?\n"


@pytest.mark.parametrize("name", ["default", "minimal", "offline"])
def test_the_built_in_bundles_are_right(world: World, name: str) -> None:
    """They load without a warning, all modules are known, and their prompts cost little."""
    places = Places.find({"AMPLIFIER_HOME": str(world.home)}, world.work)
    bundle = load_bundle(name, places)
    made = make_plan(bundle, Settings.load(places, None, {}), places, environ={}, has_module=lambda _: True)
    assert (made.warnings, made.bundle, bool(bundle.description)) == ([], name, True)
    local = {"module": "provider-local"}
    if name == "offline":
        prepared, script = made.plan["providers"]
        assert prepared == {**local, "config": {"prepare": True, "priority": 10}}
        assert (script["module"], script["config"]["priority"]) == ("provider-mock", 100)
        assert "no model was asked" in script["config"]["responses"][0]
    else:
        assert made.plan["providers"] == [local]
    most = {"default": 3_000, "minimal": 200, "offline": 200}
    assert 0 < len(made.instruction) < most[name]


@pytest.mark.slow
@pytest.mark.parametrize(
    "args",
    [
        ("bundle", "list"),
        ("bundle", "show", "minimal"),
        ("bundle", "validate", "./b.yaml"),
        ("bundle", "use", "minimal"),
        ("bundle", "current"),
        ("plan", "show", "-B", "./b.yaml"),
    ],
    ids=" ".join,
)
def test_each_command_works_as_a_process(world: World, args: tuple[str, ...]) -> None:
    """What is asked for is on standard output, and nothing went wrong."""
    write(world.work, {"b.yaml": MOCK})
    done = world.run(*args)
    assert (done.code, bool(done.out)) == (0, True)
    assert done.err == ("from default\n" if args[-1] == "current" else "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ("bundle show nobody", 78, "There is no bundle 'nobody'."),
        ("bundle show ./broken.yaml", 78, "/project/broken.yaml:1:5: "),
        ("bundle show --nonsense", 2, "No such option"),
        ("bundle validate ./circle.yaml", 78, "/project/circle.yaml:1: the bundles include each other in a circle"),
        ("bundle validate ./gone.yaml", 78, "/project/gone.yaml:3: the module 'tool-gone' is not installed"),
        ("bundle validate ./empty.yaml", 78, "/project/empty.yaml: the bundle 'empty' names no session.orchestrator"),
        ("bundle use", 2, "Missing argument 'REF'."),
        ("bundle use nobody", 78, "There is no bundle 'nobody'."),
        ("bundle use minimal --scope planet", 2, "Invalid value for '--scope'"),
        ("bundle list extra", 2, "Got unexpected extra argument"),
        ("bundle list --settings {nobody:", 78, "--settings"),
        ("bundle list -c nonsense", 2, "-c nonsense has no value"),
        ("bundle current extra", 2, "Got unexpected extra argument"),
        ("bundle current --jsno", 2, "No such option"),
        ("bundle current --settings none.yaml", 2, "There is no file none.yaml"),
        (
            "plan show -B git+https://example.org/x",
            78,
            "The source git+https://example.org/x is not in the cache",
        ),
        ("plan show -B minimal --provider nobody", 69, "-c provider: there is no provider 'nobody'"),
        ("plan show -m", 2, "Option '-m' requires an argument."),
    ],
)
def test_each_mistake_is_told_as_a_process(world: World, args: str, code: int, message: str) -> None:
    """Nothing is on standard output; standard error says what is wrong, and the exit code which kind it is."""
    write(
        world.work,
        {
            "broken.yaml": "a: [",
            "circle.yaml": "includes: [./circle.yaml]",
            "gone.yaml": MOCK + "tools: [tool-gone]",
            "empty.yaml": "{}",
        },
    )
    done = world.run(*args.split())
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(f"amplifier: {message}")
    assert "Traceback" not in done.err
