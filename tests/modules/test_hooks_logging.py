"""The event log of a session: what it hears, where it is, and that nobody waits for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import amplifier_module_hooks_logging
from amplifier_core import AmplifierSession
from amplifier_core.events import ALL_EVENTS, TOOL_PRE
from amplifier_core.report import ModuleProblem
from amplifier_core.testing import TestCoordinator
from amplifier_core.validation import HookValidator
from amplifier_core.validation.behavioral import HookBehaviorTests
from amplifier_core.validation.structural import HookStructuralTests
from amplifier_kit.chaos.suites import HookChaosTests
from amplifier_modkit import jsonl
from amplifier_modkit.rotating_file import RotatingFile
from amplifier_module_hooks_logging import mount, on_session_ready
from amplifier_module_hooks_logging.event_log import EventLog

PACKAGE = Path(str(amplifier_module_hooks_logging.__file__)).parent
PIECES = {"content_block:delta", "thinking:delta"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own, and a working directory in it."""
    monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path / "home"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "home"


def records_of(path: Path) -> list[dict[str, Any]]:
    """The records of a log."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def log_path(home: Path, session_id: str) -> Path:
    """Where the log of a session is."""
    slug = str(Path.cwd()).replace("/", "-")
    return home / "projects" / slug / "sessions" / session_id / "events.jsonl"


def logs_below(home: Path) -> dict[str, list[dict[str, Any]]]:
    """The records of every log below ``home``, by session."""
    return {path.parent.name: records_of(path) for path in home.rglob("events.jsonl")}


def files_beside(path: Path) -> dict[str, int]:
    """The files of a folder with their sizes, by name."""
    return {entry.name: entry.stat().st_size for entry in path.parent.iterdir()}


def log_of(coordinator: Any) -> EventLog:
    """The log that was mounted."""
    return coordinator.get_capability("logging.event_log")


def heard_by(coordinator: Any) -> list[str]:
    """The events that the log hears, each as often as it would be written."""
    return [event for event, names in coordinator.hooks.list_handlers().items() for _ in names]


def plan_with(config: dict[str, Any] | None = None, script: Sequence[Any] = ("Hi.",)) -> dict[str, Any]:
    """A plan with a scripted model and the log."""
    return {
        "session": {"orchestrator": "loop-basic", "context": "context-simple"},
        "providers": [{"module": "provider-mock", "config": {"script": list(script), "raw": True}}],
        "hooks": [{"module": "hooks-logging", "config": config or {}}],
    }


async def test_a_session_is_logged_from_start_to_end(home: Path) -> None:
    """The file in the folder of the session has every event once, in order, and nothing of what went over the wire."""
    async with AmplifierSession(plan_with(), session_id="s-1") as session:
        await session.execute("Hello")
    records = records_of(log_path(home, "s-1"))
    assert [record["event"] for record in records] == [
        "session:start",
        "prompt:submit",
        "execution:start",
        "provider:resolve",
        "provider:request",
        "llm:request",
        "llm:stream_block_start",
        "llm:stream_block_end",
        "llm:response",
        "provider:response",
        "content_block:start",
        "content_block:end",
        "execution:end",
        "prompt:complete",
        "orchestrator:complete",
        "session:end",
    ]
    assert {record["session_id"] for record in records} == {"s-1"}
    assert {record["data"]["parent_id"] for record in records} == {None}
    assert all("raw" not in record["data"] and "messages" not in record["data"] for record in records)


async def test_a_child_has_a_log_of_its_own_that_names_its_parent(home: Path) -> None:
    """Lineage is kept: every record of the child carries the id of its parent."""
    async with AmplifierSession(plan_with(), session_id="parent") as session:
        async with session.fork(session_id="child") as child:
            await child.execute("Hello")
        await session.execute("Hello")
    by_session = logs_below(home)
    assert {record["data"]["parent_id"] for record in by_session["child"]} == {"parent"}
    assert by_session["child"][0]["event"] == "session:fork"
    assert {record["session_id"] for record in by_session["parent"]} == {"parent"}


async def test_what_failed_before_the_log_began_is_in_it(home: Path) -> None:
    """Modules that did not load, and whatever is wrong with those that come later, are told."""
    plan = plan_with()
    plan["providers"].append("provider-missing")
    plan["hooks"].append({"module": "hooks-missing"})
    plan["hooks"].append({"module": "hooks-logging", "config": {"nonsense": 1}})
    async with AmplifierSession(plan, session_id="s-1"):
        pass
    records = logs_below(home)["s-1"]
    failures = [record for record in records if record["event"] == "module:load_failed"]
    assert [(record["lvl"], record["data"]["module_id"]) for record in failures] == [
        ("ERROR", "provider-missing"),
        ("ERROR", "hooks-missing"),
    ]
    assert failures[0]["data"]["module_type"] == "provider"
    assert "not found" in failures[0]["error"]
    assert [record["data"]["key"] for record in records if record["event"] == "module:config_unknown"] == ["nonsense"]


async def test_failures_of_the_clean_up_are_logged(home: Path) -> None:
    """Other modules are cleaned up after the log; what goes wrong there is still written."""
    session = AmplifierSession(plan_with(), session_id="s-1")
    session.coordinator.register_cleanup(lambda: 1 / 0)
    async with session:
        log = log_of(session.coordinator)
    await log.flush()
    assert records_of(log.path)[-1]["event"] == "module:cleanup_failed"


async def test_each_event_is_heard_once(home: Path) -> None:
    """Events that are canonical, announced twice, or added besides, are written once each."""
    coordinator = TestCoordinator()
    coordinator.register_capability("observability.events", ["own:one", "tool:pre", 7])
    for contribution in (["own:two", "own:one"], ("own:three",), {"own:four"}, "own:five", None, 12, {"a": "b"}):
        coordinator.register_contributor("observability.events", "x", lambda contribution=contribution: contribution)
    await mount(coordinator, {"additional_events": ["own:six", "own:one"]})
    await on_session_ready(coordinator)
    own = ["own:six", "own:one", "own:two", "own:three", "own:four", "own:five"]
    assert sorted(heard_by(coordinator)) == sorted([*(set(ALL_EVENTS) - PIECES), *own])


async def test_events_can_be_left_out_and_discovery_switched_off() -> None:
    """Patterns say what is not logged, and such an event costs nothing: there is no handler for it."""
    coordinator = TestCoordinator()
    coordinator.report.failed.append(ModuleProblem("tool", "tool-x", "no"))
    coordinator.register_contributor("observability.events", "x", lambda: ["own:one"])
    await mount(coordinator, {"exclude_events": ["[!t]*"], "auto_discover": False})
    await on_session_ready(coordinator)
    assert sorted(heard_by(coordinator)) == ["thinking:delta", "thinking:final", "tool:error", "tool:post", "tool:pre"]
    await log_of(coordinator).flush()
    assert not log_of(coordinator).path.exists()


async def test_handlers_that_mask_come_first() -> None:
    """The log writes what is left after handlers with a lower priority."""
    coordinator = TestCoordinator()
    await mount(coordinator, {"session_log_template": "{session_id}.log"})

    async def mask(event: str, data: dict[str, Any]) -> dict[str, Any]:
        return {"action": "modify", "data": {**data, "tool_input": "***", "redaction": {"applied": True}}}

    coordinator.hooks.register(TOOL_PRE, mask, priority=10)
    await coordinator.hooks.emit(TOOL_PRE, {"tool_name": "web", "tool_input": {"key": "secret"}})
    await log_of(coordinator).flush()
    [record] = records_of(Path("test-session.log"))
    assert (record["data"]["tool_input"], record["redaction"]) == ("***", {"applied": True})


async def test_a_second_one_in_a_plan_does_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is written twice, and the log of the process says so."""
    coordinator = TestCoordinator()
    await mount(coordinator)
    before = heard_by(coordinator)
    assert await mount(coordinator) is None
    assert heard_by(coordinator) == before
    assert caplog.messages == [
        "hooks-logging is in the plan of session 'test-session' twice; the second one does nothing"
    ]


async def test_an_app_without_the_module_is_left_alone() -> None:
    """``on_session_ready`` without a log does nothing."""
    coordinator = TestCoordinator()
    await on_session_ready(coordinator)
    assert heard_by(coordinator) == []


async def test_a_log_that_cannot_be_written_disturbs_nobody(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A full disk gives one warning while the session runs, and one at its end if things are lost."""

    def append_some(file: RotatingFile, lines: Sequence[bytes]) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RotatingFile, "append_some", append_some)
    async with AmplifierSession(plan_with(script=["Hi."] * 3), session_id="s-1") as session:
        for _ in range(3):
            assert await session.execute("Hello") == "Hi."
    path = log_path(home, "s-1")
    assert [record.getMessage().partition(":")[0] for record in caplog.records if record.levelname == "WARNING"] == [
        f"Not everything can be written to {path}",
        f"The log {path} is not written to the end",
    ]


async def test_a_gap_is_told_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where records are missing, a record says how many."""
    coordinator = TestCoordinator()
    await mount(coordinator)
    monkeypatch.setattr(jsonl, "to_line", _refusing_secrets(jsonl.to_line))
    await coordinator.hooks.emit(TOOL_PRE, {"tool_name": "unwritable"})
    await coordinator.hooks.emit(TOOL_PRE, {"tool_name": "fine"})
    await log_of(coordinator).flush()
    gap, record = records_of(log_of(coordinator).path)
    assert (gap["event"], gap["lvl"], gap["data"], gap["session_id"]) == (
        "log:lost",
        "WARNING",
        {"count": 1},
        "test-session",
    )
    assert record["data"]["tool_name"] == "fine"


def _refusing_secrets(to_line: Any) -> Any:
    def refuse(record: dict[str, Any]) -> bytes:
        if record["data"].get("tool_name") == "unwritable":
            raise ValueError("no")
        return to_line(record)

    return refuse


@pytest.mark.slow
async def test_files_are_put_aside_and_limited(home: Path) -> None:
    """A session that tells a lot fills a known amount of disk and no more."""
    coordinator = TestCoordinator()
    await mount(coordinator, {"max_bytes": 65_536, "keep": 2, "compress": True})
    for number in range(3_000):
        await coordinator.hooks.emit(TOOL_PRE, {"tool_name": "bash", "tool_input": {"command": f"echo {number}"}})
    await log_of(coordinator).flush()
    sizes = files_beside(log_of(coordinator).path)
    assert sorted(sizes) == ["events.1.jsonl.gz", "events.2.jsonl.gz", "events.jsonl"]
    assert sum(sizes.values()) <= 3 * 65_536
    assert records_of(log_of(coordinator).path)[-1]["data"]["tool_input"] == {"command": "echo 2999"}


async def test_an_unusable_session_id_is_told(home: Path) -> None:
    """The session goes on without a log, and its report says why."""
    async with AmplifierSession(plan_with(), session_id="a/b") as session:
        [problem] = session.report.failed
    assert problem.module_id == "hooks-logging"
    assert "set 'session_log_template' of hooks-logging to a path without {session_id}" in problem.reason
    assert logs_below(home) == {}


async def test_the_module_is_valid() -> None:
    """The validator has nothing to say."""
    result = await HookValidator().validate(PACKAGE)
    assert (result.passed, result.errors, result.warnings) == (True, [], [])


class Logging:
    """Tests of the module."""

    @pytest.fixture
    def module_path(self) -> Path:
        return PACKAGE


class TestContract(Logging, HookBehaviorTests, HookStructuralTests):
    """The module as a plan without config mounts it."""


@pytest.mark.slow
class TestUnderChaos(Logging, HookChaosTests):
    """The module as a plan without config mounts it, under every fault."""
