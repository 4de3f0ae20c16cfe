"""``amplifier doctor``: every finding, well and ill, and how it is mended."""

from __future__ import annotations

import json
import os
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.app.command import Command
from tests.app.store_world import StoreWorld

from amplifier.bundles.providers import BY_VARIABLE
from amplifier.inspector import doctor, machine, upkeep
from amplifier.inspector.finding import Finding
from amplifier.paths import Places


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    for _, names in BY_VARIABLE:
        for name in names:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(machine, "_runs", lambda command: True)
    return Command(tmp_path, monkeypatch, capsys)


def states(found: Any) -> list[tuple[str, str]]:
    """Name and state of findings."""
    return [(each.name, each.state) for each in found]


def places(command: Command) -> Places:
    """The places of the command."""
    return Places.find(command.variables, command.work)


def test_a_sound_installation_is_told_so(command: Command) -> None:
    """Exit code 0, whatever could be better."""
    result = command("doctor")
    assert (result.code, result.out.splitlines()[-1]) == (0, "All is well.")
    told = json.loads(command("doctor", "--json").out)
    names = {each["name"] for each in told["findings"]}
    assert told["healthy"]
    assert {"python", "extras", "sandbox", "home", "disk", "settings", "keys", "bundle", "sessions", "index"} <= names


def test_what_is_broken_ends_with_exit_code_1(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings that cannot be read are told with where; the other checks are made all the same."""
    command.settings("bundle: {active: nowhere}\n")
    result = command("doctor")
    assert (result.code, result.out.splitlines()[-1], "✗ bundle:" in result.out) == (1, "1 broken.", True)
    command.settings("bundle: [\n")
    (command.home / "keys.env").write_text("no key here\n")
    told = json.loads(command("doctor", "--json", "--online").out)
    broken = [each["name"] for each in told["findings"] if each["state"] == "broken"]
    assert (told["healthy"], broken, all(each["fix"] for each in told["findings"] if each["state"] == "broken")) == (
        False, ["settings", "keys"], True,
    )  # fmt: skip


def test_keys_are_named_and_never_shown(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the environment, those that are kept, and a file that others could read."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    command.home.mkdir()
    file = command.home / "keys.env"
    file.write_text("OPENAI_API_KEY=sk-kept\n")
    file.chmod(0o644)
    found = list(upkeep.look_at_keys(places(command), os.environ))
    assert states(found) == [("keys", "note"), ("keys", "ok"), ("keys", "ok")]
    assert "sk-" not in "".join(each.message for each in found)


def test_warnings_of_settings_and_bundles_are_notes(command: Command) -> None:
    """They are in nobody's way."""
    command.settings("bundel: x\nmcp: {servers: {a: {command: x}}}\nbundle: {active: minimal}\n")
    settings, found = upkeep.look_at_settings(places(command), os.environ)
    assert settings is not None
    assert states(found) == [("settings", "note")]
    assert states(upkeep.look_at_plan(places(command), settings)) == [("bundle", "ok"), ("bundle", "note")]
    (command.work / ".amplifier").mkdir()
    (command.work / ".amplifier" / "settings.yaml").write_text("permissions: {mode: bypass}\n")
    found = upkeep.look_at_settings(places(command), os.environ)[1]
    assert [each.fix for each in found] == ["amplifier config edit", "amplifier trust"]


def test_the_home_may_be_written_by_its_user_alone(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not there yet, a file, not writable, writable by others, as it should be."""
    home = command.home
    assert states(upkeep.look_at_home(places(command))) == [("home", "ok")]
    home.write_text("")
    assert states(upkeep.look_at_home(places(command))) == [("home", "broken")]
    home.unlink()
    home.mkdir(mode=0o700)
    assert states(upkeep.look_at_home(places(command))) == [("home", "ok")]
    home.chmod(0o777)
    assert [each.fix for each in upkeep.look_at_home(places(command))] == [f"chmod go-w {home}"]
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert [each.message for each in upkeep.look_at_home(places(command))] == [f"{home} cannot be written"]


def test_sessions_that_are_broken_or_cut_off_are_named(tmp_path: Path) -> None:
    """Up to three of them; those that work at the moment are left alone."""
    world = StoreWorld(tmp_path)
    assert states(upkeep.look_at_sessions(world.places)) == [("sessions", "ok")]
    world.talked("working", status="running")
    world.talked("done", status="success")
    now = datetime(2026, 1, 2, 10, 0, tzinfo=UTC)
    assert states(upkeep.look_at_sessions(world.places, now)) == [("sessions", "ok")]
    later = datetime(2026, 1, 4, tzinfo=UTC)
    assert [each.fix for each in upkeep.look_at_sessions(world.places, later)] == [
        "Go on with one: amplifier resume working"
    ]
    for number in range(4):
        folder = world.talked(f"broken-{number}").folder
        (folder / "metadata.json").write_text("[]" if number else "{")
    found = next(iter(upkeep.look_at_sessions(world.places)))
    assert (found.state, found.message) == (
        "broken", "4 cannot be read: broken-0, broken-1, broken-2 and 1 more",
    )  # fmt: skip


def test_a_damaged_index_is_found(tmp_path: Path) -> None:
    """It can always be made anew."""
    world = StoreWorld(tmp_path)
    assert upkeep.look_at_index(world.places).state == "ok"
    world.talked("one")
    assert upkeep.look_at_index(world.places).state == "ok"
    (world.places.home / "index.db").write_bytes(b"no database at all" * 100)
    found = upkeep.look_at_index(world.places)
    assert (found.state, "amplifier session reindex" in found.fix) == ("broken", True)


def test_python_must_be_new_enough() -> None:
    """The one that runs this is."""
    assert machine.look_at_python().state == "ok"
    assert machine.look_at_python((3, 10, 1)).state == "broken"


def test_extras_and_programs_are_notes() -> None:
    """What is not there is told with what it is for, and how to get it."""
    found = list(machine.look_at_extras(lambda name: False))
    assert states(found) == [("extras", "ok"), *[("extras", "note")] * len(machine.EXTRAS)]
    assert found[2].fix == 'pip install "amplifier-modules[local]"'
    assert states(machine.look_at_extras(lambda name: True)) == [("extras", "ok")]
    assert states(machine.look_at_programs(lambda name: None)) == [("programs", "note")] * 2
    assert states(machine.look_at_programs(lambda name: "/bin/x")) == [("programs", "ok")] * 2


def test_the_sandbox_is_tried_out(tmp_path: Path) -> None:
    """Bubblewrap that runs, Landlock instead, neither."""
    lsm = tmp_path / "lsm"

    def look(program: str | None, works: bool) -> Finding:
        return machine.look_at_sandbox(lambda name: program, lambda command: works, lsm)

    assert look("/bin/bwrap", True).state == "ok"
    assert "not confined: bubblewrap does not run here" in look("/bin/bwrap", False).message
    assert "not confined: there is no bubblewrap" in look(None, False).message
    lsm.write_text("capability,landlock,yama")
    assert look("/bin/bwrap", False).message == "Landlock alone confines commands: bubblewrap does not run here"
    assert look(None, False).message == "Landlock alone confines commands: bubblewrap is not there"


def test_a_program_is_run_to_see_whether_it_works() -> None:
    """It may fail, or not be one."""
    assert [machine._runs(["true"]), machine._runs(["false"]), machine._runs(["/no/such/program"])] == [
        True, False, False,
    ]  # fmt: skip


def test_a_full_disk_is_found(tmp_path: Path) -> None:
    """Also where the home is not made yet."""
    home = tmp_path / "a" / "b"
    assert machine.look_at_disk(home).state == "ok"
    assert machine.look_at_disk(home, lambda path: 5 * 10**8).state == "note"
    assert machine.look_at_disk(home, lambda path: 10).state == "broken"


def test_the_network_is_tried_for_services_with_a_key(monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    """Only when asked to; by opening a connection."""
    assert states(machine.look_at_network(["provider-ollama"])) == [("network", "ok")]
    assert states(machine.look_at_network(["provider-openai"], lambda host: None)) == [("network", "ok")]
    refused = list(machine.look_at_network(["provider-openai"], lambda host: "no route"))
    assert refused[0].message == "api.openai.com cannot be reached: no route"
    monkeypatch.setattr(machine, "_reached", lambda host: None)
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    found = list(doctor.diagnose(places(command), os.environ, is_online=True))
    assert found[-1] == Finding("network", "ok", "api.openai.com can be reached")


def test_a_connection_is_opened_and_closed() -> None:
    """To a server that is there, and to one that is not."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert machine._reached("127.0.0.1", server.getsockname()[1]) is None
    assert machine._reached("127.0.0.1", 1) is not None


@pytest.mark.parametrize("args", [("extra",), ("--nothing",), ("--online=1",)])
def test_mistakes_are_told(command: Command, args: tuple[str, ...]) -> None:
    """It takes two options and nothing else."""
    assert command("doctor", *args).code == 2


@pytest.mark.slow
def test_as_a_process(command: Command) -> None:
    """Well, and with settings that cannot be read."""
    assert command.process("doctor").code == 0
    command.settings("x: [\n")
    assert command.process("doctor", "--json").code == 1
