"""What hard surroundings do inside the rooms of the app: full disks, odd names, lost outputs, children, saved rules."""

from __future__ import annotations

import errno
import json
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.app.command import Command
from tests.app.run_world import calls, write_bundle
from tests.app.store_world import StoreWorld

from amplifier.bundles.plan import MountPlan
from amplifier.cli.logs import configure_logging
from amplifier.console.printers import JsonPrinter
from amplifier.paths import Places
from amplifier.problems import Problem, SessionProblem, StorageProblem
from amplifier.runtime.assembly import in_folder
from amplifier.runtime.child_events import unwrapped
from amplifier.runtime.runtime import Runtime, Setting
from amplifier.settings import add_value
from amplifier.store import SessionStore, StoredSession

FILES: dict[str, Any] = {"tools": [{"module": "tool-filesystem"}], "hooks": [{"module": "hooks-approval"}]}
WRITE = calls(("write_file", {"file_path": "note.txt", "content": "hi"}))


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    with Path(os.devnull).open(encoding="utf-8") as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        yield Command(tmp_path, monkeypatch, capsys)


def places_in(folder: Path) -> Places:
    """The places of a command that is started in ``folder``."""
    return Places(home=folder / "home", cache=folder / "cache", working_dir=folder, project_dir=folder)


def mount_plan(script: list[Any], **sections: Any) -> MountPlan:
    """A plan on the scripted provider."""
    plan: dict[str, Any] = {
        "session": {"orchestrator": {"module": "loop-basic"}, "context": {"module": "context-persistent"}},
        "providers": [{"module": "provider-mock", "config": {"script": script}}],
        "tools": [],
        "hooks": [],
        **sections,
    }
    return MountPlan("test", "test", plan, "", {}, {}, [], frozenset())


def runtime_of(world: StoreWorld, plan: MountPlan, stored: StoredSession, told: list[str] | None = None) -> Runtime:
    """A runtime of a stored session."""
    told = [] if told is None else told
    return Runtime(plan, Setting(world.places.working_dir, world.store, stored, tell=told.append))


def test_an_item_is_added_to_the_list_of_one_scope(tmp_path: Path) -> None:
    """Once, with the comments around it kept, and without what other scopes have."""
    places = places_in(tmp_path)
    file = places.local_settings
    assert add_value(places, "local", "permissions.allow", "Bash(ls)").is_changed
    file.write_text(f"# mine\n{file.read_text()}")
    assert add_value(places, "local", "permissions.allow", "Bash(pwd)").is_changed
    assert not add_value(places, "local", "permissions.allow", "Bash(ls)").is_changed
    assert yaml.safe_load(file.read_text()) == {"permissions": {"allow": ["Bash(ls)", "Bash(pwd)"]}}
    assert file.read_text().startswith("# mine\n")


def test_what_children_inherit_is_told_to_the_tool_that_starts_them() -> None:
    """The plan says it in ``spawn``; what the tool's own config says counts more."""
    tools = ["tool-task", {"module": "tool-bash"}]
    made = in_folder({"session": {}, "tools": tools, "spawn": {"exclude_tools": ["tool-bash"]}}, None)
    assert made["tools"] == [
        {"module": "tool-task", "config": {"exclude_tools": ["tool-bash"]}},
        {"module": "tool-bash"},
    ]
    own = {"module": "tool-task", "config": {"inherit_tools": ["tool-web"]}}
    made = in_folder({"session": {}, "tools": [own], "spawn": {"tools": [{"module": "tool-bash"}]}}, None)
    assert (made["tools"], "spawn" in made) == ([own], False)
    assert "tools" not in in_folder({"session": {}, "spawn": {}}, None)


def test_folders_with_odd_and_long_names_have_a_slug(tmp_path: Path) -> None:
    """It is text, fits into a file name, and tells folders apart."""
    odd = places_in(Path(os.fsdecode(b"/f\xff")))
    assert odd.project_slug == "-f-udcff"
    long = [places_in(Path("/" + "ä" * 300 + end)) for end in "xy"]
    assert len({each.project_slug for each in long}) == 2
    assert all(len(each.project_slug.encode()) <= 255 for each in long)


def test_a_home_whose_index_cannot_be_written_can_be_looked_at(tmp_path: Path) -> None:
    """The index is then made in memory: lists, searches and names work."""
    world = StoreWorld(tmp_path)
    world.talked("s-1", name=os.fsdecode(b"n\xff"))
    index = world.places.home / "index.db"
    for each in world.places.home.glob("index.db*"):
        each.unlink()
    index.mkdir()
    (index / "in-the-way").touch()
    store = SessionStore(world.places)
    assert [each.id for each in store.list()] == ["s-1"]
    assert [each.session.id for each in store.search("milk")] == ["s-1"]
    assert store.find(os.fsdecode(b"n\xff")).id == "s-1"
    store.refresh(store.find("s-1"))
    with pytest.raises(StorageProblem, match="cannot be made anew"):
        SessionStore(world.places).reindex()
    assert store.reindex() == 1


def test_events_of_children_are_taken_out_of_those_of_their_parent() -> None:
    """Others stay as they are."""
    wrapped = {"session_id": "p", "event": "tool:pre", "data": {"tool_name": "x"}, "child_session_id": "c"}
    assert unwrapped("session:child_event", wrapped) == ("tool:pre", {"session_id": "c", "tool_name": "x"})
    assert unwrapped("session:child_event", {"event": "x"}) == ("session:child_event", {"event": "x"})
    assert unwrapped("tool:pre", wrapped) == ("tool:pre", wrapped)


async def test_an_answer_is_given_though_nothing_can_be_noted_about_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user hears that the metadata are not up to date."""
    world = StoreWorld(tmp_path)
    stored, told = world.store.create("root"), list[str]()

    def refuse(*args: Any, **changes: Any) -> None:
        raise StorageProblem("The disk is full.")

    async with runtime_of(world, mount_plan(["Yes."]), stored, told) as runtime:
        monkeypatch.setattr(StoredSession, "update", refuse)
        outcome = await runtime.run_turn("go")
    assert (outcome.text, outcome.status, set(told)) == ("Yes.", "success", {"warning: The disk is full."})


@pytest.mark.parametrize(
    ("number", "kind", "told"),
    [(errno.EWOULDBLOCK, SessionProblem, "--fork-session"), (errno.ENOSPC, StorageProblem, "--ephemeral")],
    ids=["in use", "full"],
)
async def test_a_journal_that_cannot_be_opened_is_told_as_what_it_is(
    tmp_path: Path, number: int, kind: type[Problem], told: str
) -> None:
    """A session in use is another matter than a disk without room; both say what to do."""
    world = StoreWorld(tmp_path)
    runtime = runtime_of(world, mount_plan(["Yes."]), world.store.create("root"))

    async def fail() -> None:
        raise RuntimeError("no context") from OSError(number, "refused")

    runtime.session.initialize = fail  # type: ignore[method-assign]
    with pytest.raises(kind) as raised:
        await runtime.__aenter__()
    assert told in raised.value.hint


async def test_a_turn_that_cannot_be_written_down_is_a_problem_of_storage(tmp_path: Path) -> None:
    """With its own exit code."""
    world = StoreWorld(tmp_path)
    async with runtime_of(world, mount_plan(["Yes."]), world.store.create("root")) as runtime:

        async def fail(prompt: str, **options: Any) -> str:
            raise OSError(errno.ENOSPC, "No space left")

        runtime.session.execute = fail  # type: ignore[method-assign]
        outcome = await runtime.run_turn("go")
    assert (outcome.exit_code, outcome.status) == (74, "error")


def test_a_lost_output_ends_the_turn(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody pays for what nobody can read; the first failure counts."""
    bundle = write_bundle(command.work, [WRITE, "Done."], **FILES)

    def lose(*args: Any) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(JsonPrinter, "event", lose)
    result = command("run", "go", "-B", bundle, "--output-format", "json", "--permission-mode", "bypass")
    assert (result.code, result.out, result.err) == (141, "", "")


def test_a_session_that_cannot_be_made_says_how_to_do_without(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hint names the option that keeps nothing."""
    bundle = write_bundle(command.work, ["Yes."])

    def refuse(*args: Any, **about: Any) -> None:
        raise StorageProblem("The disk is full.", "Make room.")

    monkeypatch.setattr(SessionStore, "create", refuse)
    result = command("run", "go", "-B", bundle)
    assert (result.code, result.err) == (
        74,
        "amplifier: The disk is full.\n  → Make room. To keep nothing: --ephemeral\n",
    )


def test_a_prompt_with_odd_bytes_is_refused(command: Command) -> None:
    """Before a model is asked; other characters of the world are taken."""
    bundle = write_bundle(command.work, ["Yes."])
    assert command("run", "grün?", "-B", bundle).code == 0
    refused = command("run", os.fsdecode(b"a\xff"), "-B", bundle)
    assert (refused.code, "The prompt is no UTF-8" in refused.err) == (2, True)


def test_a_session_goes_on_with_the_model_of_the_settings_it_was_begun_with(command: Command) -> None:
    """Other settings by then change nothing; an option does. The bundle is found from anywhere."""
    write_bundle(command.work, ["Yes."])
    command.settings("model: mock/first\nbundle: {active: ./scripted.md}\n")
    told = [json.loads(command("run", "?", "-B", "scripted.md", "--output-format", "json").out)["model"]]
    command.settings("model: mock/second\n")
    told.append(json.loads(command("continue", "?", "--output-format", "json").out)["model"])
    told.append(json.loads(command("continue", "?", "-m", "mock/third", "--output-format", "json").out)["model"])
    assert told == ["first", "first", "third"]
    (session,) = SessionStore(Places.find(command.variables, command.work)).list()
    assert session.metadata().bundle == str(command.work / "scripted.md")


def test_what_an_outcome_tells_is_not_logged_as_well(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failure of a turn; whoever debugs sees it, without what would steer a terminal."""
    for is_debug in (False, True):
        root = logging.RootLogger(logging.WARNING)
        monkeypatch.setattr(logging, "root", root)
        configure_logging(is_verbose=False, is_debug=is_debug)
        for name in ("amplifier_core.session", "other"):
            root.handle(logging.LogRecord(name, logging.ERROR, "", 1, "Execution failed: \x1b[2J", (), None))
        shown = capsys.readouterr().err
        assert (shown.count("Execution failed"), "\x1b" in shown) == (2 if is_debug else 1, False)


def piped(monkeypatch: pytest.MonkeyPatch, file: Path, data: bytes) -> None:
    """Makes a file the standard input of this process."""
    file.write_bytes(data)
    monkeypatch.setattr(sys, "stdin", file.open(encoding="utf-8"))


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_prompts_are_read_from_standard_input(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text, lines of JSON, and mistakes in either."""
    bundle = write_bundle(command.work, ["Yes.", "Yes.", "Yes."])
    streamed = ("--input-format", "stream-json")
    cases: list[tuple[bytes, tuple[str, ...], int, str, str]] = [
        (b"hello", (), 0, "Yes.\n", ""),
        (b"\xff", (), 2, "", "is no UTF-8: byte 0 is 0xFF"),
        (b" ", (), 2, "", "There is no prompt"),
        (b"x" * 10_000_001, (), 2, "", "more than 10,000,000 bytes"),
        (b'{"text": "a"}\n\n{"message": {"content": "b"}}', streamed, 0, "Yes.\nYes.\n", ""),
        (b"{", streamed, 2, "", "Line 1 of standard input is no JSON"),
        (b"[]", streamed, 2, "", "Line 1 of standard input has no text"),
    ]
    for number, (data, options, code, out, told) in enumerate(cases):
        piped(monkeypatch, tmp_path / f"in{number}", data)
        result = command("run", "-B", bundle, *options)
        assert (number, result.code, result.out, told in result.err) == (number, code, out, True)


def test_an_interrupt_before_the_turn_is_130(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing has been asked yet, so there is nothing to tell."""
    bundle = write_bundle(command.work, ["Yes."])

    def interrupt(*args: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("amplifier.cli.working.make_plan", interrupt)
    assert command("run", "go", "-B", bundle).code == 130


async def test_a_stop_withdraws_the_question_that_is_asked(tmp_path: Path) -> None:
    """Whoever asks hears of it."""
    world = StoreWorld(tmp_path)
    withdrawn: list[str] = []

    class Asking:
        def withdraw(self) -> None:
            withdrawn.append("yes")

    plan, stored = mount_plan(["Yes."]), world.store.create("root")
    setting = Setting(world.places.working_dir, world.store, stored, approval=Asking())
    async with Runtime(plan, setting) as runtime:
        runtime.give_up(BrokenPipeError())
        runtime.give_up(OSError())
        with pytest.raises(BrokenPipeError):
            await runtime.run_turn("go")
    assert withdrawn == ["yes"]
