"""``amplifier source``, ``lock`` and ``trust``, and the options ``--frozen`` and ``--trust``."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from tests.app.bundle_corpus import write
from tests.app.command import Command, Result
from tests.app.source_world import MODULE, Repository

BUNDLE = """\
---
bundle: {{name: mine}}
session: {{orchestrator: loop-basic, context: context-simple}}
providers: [provider-mock]
hooks:
  - module: hooks-far
    source: {far}
  - module: hooks-near
    source: ./modules/hooks-near
---
"""


class World:
    """A project whose bundle takes one module from a repository and one from a folder; paths are told below it."""

    def __init__(self, folder: Path, command: Command) -> None:
        self.folder = folder
        self.command = command
        self.home, self.work = command.home, command.work
        self.repository = Repository(folder / "far")
        self.first = self.repository.commit({"amplifier_module_hooks_far/__init__.py": MODULE.format(text="far")})
        self.far = f"{self.repository.source}@main"
        near = MODULE.format(text="near")
        files = {
            "bundle.md": BUNDLE.format(far=self.far),
            "modules/hooks-near/amplifier_module_hooks_near/__init__.py": near,
        }
        write(self.work, files)
        command.settings("bundle: {active: ./bundle.md}\n")
        (self.work / ".git").mkdir()

    @property
    def lock(self) -> Path:
        """The lock of the project."""
        return self.work / ".amplifier" / "amplifier.lock"

    def __call__(self, *args: str) -> Result:
        """Calls the command in this process."""
        result = self.command(*args)
        out, err = (text.replace(str(self.work), "/p").replace(str(self.folder), "") for text in result[1:])
        return Result(result.code, out, err)


@pytest.fixture
def world(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> World:
    """A world in which nothing is locked or fetched, and no key is set."""
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    return World(tmp_path, Command(tmp_path, monkeypatch, capsys))


pytestmark = pytest.mark.slow


def test_a_project_is_locked_checked_and_updated(world: World) -> None:
    """Each source with its commit and its tree; a second time nothing changes, until somebody asks for it."""
    locked = world("lock")
    assert (locked.code, locked.err) == (0, "2 sources are locked in /p/.amplifier/amplifier.lock\n")
    assert locked.out.splitlines()[1] == f"+ git+file:///far@main {world.first[:12]}"
    assert locked.out.startswith("+ ./modules/hooks-near ")
    entries = json.loads(world.lock.read_text())["sources"]
    assert (entries[world.far]["commit"], entries["./modules/hooks-near"]["kind"]) == (world.first, "path")
    before = world.lock.read_bytes()
    second = world.repository.commit({"more.py": ""})
    assert (world("lock").out, world.lock.read_bytes()) == ("", before)
    assert world("lock", "--check") == (0, "2 sources are as they were locked\n", "")
    updated = world("lock", "--update", "hooks-far")
    assert updated.out == f"~ git+file:///far@main {world.first[:12]} → {second[:12]}\n"
    third = world.repository.commit({"more.py": "x"})
    assert world("lock", "--update", world.far).out == f"~ git+file:///far@main {second[:12]} → {third[:12]}\n"
    world.repository.commit({"more.py": "y"})
    shown = json.loads(world("lock", "--update", "all", "--json").out)
    assert (shown["file"], len(shown["sources"])) == ("/p/.amplifier/amplifier.lock", 2)


def test_a_check_fails_for_whatever_is_not_as_it_was_locked(world: World) -> None:
    """Nothing locked, a changed byte, and a source that nobody needs any more."""
    assert world("lock", "--check") == (
        1,
        "",
        "amplifier: The lock is not right: The source git+file:///far@main is not locked, and nothing else may be "
        "used.\n  → Write it anew with: amplifier lock\n",
    )
    world("lock")
    file = world.work / "modules/hooks-near/amplifier_module_hooks_near/__init__.py"
    text = file.read_text()
    file.write_text(text + "\n")
    changed = world("lock", "--check")
    assert (changed.code, changed.err.splitlines()[0]) == (
        1,
        "amplifier: The lock is not right: The source ./modules/hooks-near is not what was locked: "
        "its files have changed.",
    )
    file.write_text(text)
    bundle = world.work / "bundle.md"
    bundle.write_text(bundle.read_text().replace(f"  - module: hooks-far\n    source: {world.far}\n", ""))
    assert world("lock", "--check").err.startswith("amplifier: The lock is not right: - git+file:///far@main\n")
    assert world("lock").out == "- git+file:///far@main\n"
    assert world("lock", "--check", "--update", "all").code == 2


def test_what_a_lock_is_about_can_be_more(world: World) -> None:
    """Bundles that were named, and bundles that the project adds; without sources there is no file."""
    other = Repository(world.folder / "other")
    other.commit({"bundle.md": "---\nbundle: {name: other}\nincludes: [{bundle: minimal}]\n---\n"})
    world.command.settings("bundle: {active: ./bundle.md, added: {unused: 'git+file:///nowhere'}}\n")
    more = world("lock", "--json", "-B", other.source, "-B", "./bundle.md")
    assert len(json.loads(more.out)["sources"]) == 3
    assert world("config", "set", "--scope", "project", "bundle.added.other", other.source).code == 0
    assert "git+file:///other" in json.loads(world("lock", "--json").out)["sources"]
    assert world("lock", "--update", "hoks-far").err == (
        "amplifier: Nothing here has the source 'hoks-far'; did you mean 'hooks-far'?\n"
        "  → amplifier source list tells what there is.\n"
    )
    shutil.rmtree(world.work / ".amplifier")
    assert world("lock", "-c", "bundle.active=minimal") == (
        0,
        "",
        "0 sources are locked in /p/.amplifier/amplifier.lock\n",
    )
    assert not world.lock.exists()


def test_sources_are_listed_and_shown_without_fetching(world: World) -> None:
    """Before they are fetched, fetched, and locked."""
    before = world("source", "list")
    assert [line.split() for line in before.out.splitlines()] == [
        ["FOR", "SOURCE", "STATE", "REVISION"],
        ["hooks-far", "git+file:///far@main", "not", "there"],
        ["hooks-near", "./modules/hooks-near", "local"],
    ]
    world("lock")
    listed = json.loads(world("source", "list", "--json").out)
    assert [(each["for"], each["state"], each["revision"]) for each in listed] == [
        ("hooks-far", "locked", world.first),
        ("hooks-near", "local", ""),
    ]
    shown = world("source", "show", "hooks-far")
    assert shown.out.splitlines()[:5] == [
        "for:       hooks-far",
        "source:    git+file:///far@main",
        "kind:      git",
        "state:     locked",
        f"revision:  {world.first}",
    ]
    assert json.loads(world("source", "show", "./modules/hooks-near", "--json").out)[0]["folder"] == (
        "/p/modules/hooks-near"
    )
    assert world("source", "show", "hooks-x").code == 2
    world.command.settings("bundle: {active: git+file:///nowhere}\n")
    told = world("source", "list")
    assert (told.code, told.err) == (
        0,
        "amplifier: warning: The source git+file:///nowhere is not in the cache, and nothing may be fetched.\n",
    )


def test_sources_are_added_and_removed(world: World) -> None:
    """They must be there; what the user writes into the project is trusted."""
    assert world("source", "add", "--scope", "project", "hooks-far", "./modules/hooks-near").err == (
        "hooks-far comes from ./modules/hooks-near (/p/.amplifier/settings.yaml)\n"
    )
    assert json.loads(world("source", "list", "--json").out)[0]["source"] == "./modules/hooks-near"
    assert world("source", "remove", "--scope", "project", "hooks-far").err == (
        "hooks-far has no source in /p/.amplifier/settings.yaml any more\n"
    )
    assert world("source", "remove", "hooks-far") == (
        1,
        "",
        "amplifier: /home/settings.yaml has no source for 'hooks-far'.\n"
        "  → amplifier source list tells what there is.\n",
    )
    missing = world("source", "add", "hooks-far", "./nothing", "--frozen")
    assert (missing.code, missing.err.splitlines()[0]) == (
        78,
        "amplifier: The source ./nothing is not there: /p/nothing does not exist.",
    )
    assert world("source", "add", "hooks-far", "installed").code == 0
    assert [each["for"] for each in json.loads(world("source", "list", "--json").out)] == ["hooks-near"]


def test_sources_are_updated(world: World) -> None:
    """Fetched ones, and locked ones with their lock; one or all."""
    assert world("source", "update", "hooks-far").out == f"+ git+file:///far@main {world.first[:12]}\n"
    assert not world.lock.exists()
    assert world("source", "update").out == ""
    second = world.repository.commit({"more.py": ""})
    assert world("source", "update", "hooks-far").out == f"~ git+file:///far@main {world.first[:12]} → {second[:12]}\n"
    world("lock")
    third = world.repository.commit({"more.py": "x"})
    everything = world("source", "update")
    assert everything.out == f"~ git+file:///far@main {second[:12]} → {third[:12]}\n"
    assert everything.err == "2 sources are as they are now\n"
    assert json.loads(world.lock.read_text())["sources"][world.far]["commit"] == third
    assert world("source", "update", "hoks").code == 2


def test_a_bundle_from_a_repository_brings_its_modules(world: World) -> None:
    """They are locked with it, and show in the list."""
    whole = Repository(world.folder / "whole")
    near = MODULE.format(text="near")
    whole.commit(
        {"bundle.md": BUNDLE.format(far=world.far), "modules/hooks-near/amplifier_module_hooks_near/__init__.py": near}
    )
    world.command.settings(f"bundle: {{active: '{whole.source}'}}\n")
    assert sorted(json.loads(world("lock", "--json").out)["sources"]) == ["git+file:///far@main", "git+file:///whole"]
    assert [each["for"] for each in json.loads(world("source", "list", "--json").out)] == [
        "bundle",
        "hooks-far",
        "hooks-near",
    ]
    assert world("lock", "--check").code == 0


def test_a_bundle_from_a_repository_is_shown_chosen_and_planned(world: World) -> None:
    """Plans are made from the cache alone; what is chosen is the address, not the place in the cache."""
    whole = Repository(world.folder / "whole")
    whole.commit({"bundle.md": "---\nbundle: {name: whole}\nincludes: [{bundle: minimal}]\n---\n"})
    planned = world("plan", "show", "-B", whole.source)
    assert (planned.code, planned.err.splitlines()[0]) == (
        78,
        "amplifier: The source git+file:///whole is not in the cache, and nothing may be fetched.",
    )
    assert world("bundle", "show", whole.source).out.splitlines()[0] == "name:        whole"
    assert world("bundle", "validate", whole.source).code == 0
    assert world("bundle", "use", whole.source).code == 0
    assert world("bundle", "current").out == "git+file:///whole\n"
    assert world("plan", "show").code == 0
    assert world("bundle", "show", "--frozen").err.startswith(
        "amplifier: The source git+file:///whole is not locked, and nothing else may be used.\n"
    )


def test_settings_of_a_folder_count_when_it_is_trusted(world: World) -> None:
    """Left out with a warning, an error when strict, whole for one call or for good."""
    write(world.work, {".amplifier/settings.yaml": "model: x\nhooks: {}\n"})
    left = (
        "/p/.amplifier/settings.yaml: these settings do not count, since nobody has trusted this folder: hooks. "
        "Read them, then: amplifier trust (or --trust for one call)"
    )
    assert world("config", "get", "model") == (
        0, "x\n", f"amplifier: warning: {left}\nfrom project (/p/.amplifier/settings.yaml:1)\n",
    )  # fmt: skip
    assert world("config", "get", "model", "--strict-config") == (
        78, "", f"amplifier: {left}\n  → Trust the folder, or leave --strict-config out.\n",
    )  # fmt: skip
    assert "warning" not in world("config", "get", "model", "--trust").err
    assert world("trust") == (
        0,
        "/p/.amplifier/settings.yaml: hooks\n",
        "/p is trusted (/home/trusted-folders.json)\n",
    )
    assert "warning" not in world("config", "get", "model").err
    assert world("trust", "--list").out.split() == ["FOLDER", "TRUSTED", "/p", "yes"]
    assert json.loads(world("trust", "--list", "--json").out) == [{"folder": "/p", "trusted": True}]
    assert world("trust", "--revoke").err == "/p is not trusted any more\n"
    assert world("trust", "--revoke").err == "/p was not known\n"
    assert world("trust", "--revoke", "--list").code == 2


def test_whoever_runs_an_agent_on_a_terminal_is_asked(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once; the answer is kept."""
    import click

    from amplifier.cli.invocation import Invocation

    write(world.work, {".amplifier/settings.yaml": "permissions: {mode: plan}\n"})
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    asked: list[str] = []

    def confirm(text: str, **_: object) -> bool:
        asked.append(text)
        return True

    monkeypatch.setattr(click, "confirm", confirm)
    for _ in range(2):
        invocation = Invocation()
        invocation.may_ask = True
        with click.Context(click.Command("x")):
            assert invocation.settings.get("permissions.mode") == "plan"
    assert len(asked) == 1
    assert asked[0].endswith(": permissions.mode\nTrust it?")


def test_the_commands_work_as_processes(world: World) -> None:
    """With a lock and an empty cache, frozen and offline, and three mistakes."""
    call = world.command.process
    assert call("lock").code == 0
    assert call("lock", "--check", "--frozen").out == "2 sources are as they were locked\n"
    assert call("source", "list", "-c", "sources.offline=true").code == 0
    assert call("source", "add", "x").code == 2
    assert call("source", "show", "nothing").code == 2
    shutil.rmtree(world.home / "cache")
    offline = call("lock", "--check", "-c", "sources.offline=true")
    assert (offline.code, "nothing may be fetched" in offline.err) == (1, True)
