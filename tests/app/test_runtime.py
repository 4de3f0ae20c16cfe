"""A session at work: children that are kept, signals, limits, and what is told of failures."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.app.store_world import StoreWorld

from amplifier.bundles.plan import MountPlan
from amplifier.cli.logs import configure_logging
from amplifier.problems import Problem
from amplifier.runtime.assembly import in_folder
from amplifier.runtime.children import KeptChildren
from amplifier.runtime.runtime import Runtime, Setting
from amplifier.runtime.saving import TranscriptSaver
from amplifier.runtime.signals import listening
from amplifier.store import StoredSession
from amplifier_core import AmplifierSession, HookResult
from amplifier_core.events import PROMPT_SUBMIT
from amplifier_core.testing import MockContextManager, TestCoordinator


def agents(answer: str) -> dict[str, Any]:
    """One agent, whose model has one answer."""
    model = {"module": "provider-mock", "config": {"script": [answer]}}
    return {"painter": {"description": "Paints.", "instruction": "You paint.", "providers": [model]}}


def mount_plan(
    script: list[Any], context: str = "context-persistent", instruction: str = "", **sections: Any
) -> MountPlan:
    """A plan on the scripted provider."""
    plan: dict[str, Any] = {
        "session": {"orchestrator": {"module": "loop-basic"}, "context": {"module": context}},
        "providers": [{"module": "provider-mock", "config": {"script": script}}],
        "tools": [],
        "hooks": [],
        **sections,
    }
    return MountPlan("test", "test", plan, instruction, {}, {}, [], frozenset())


class World(StoreWorld):
    """A home, and runtimes of one session in it."""

    def runtime(self, plan: MountPlan, session_id: str = "root", **more: Any) -> Runtime:
        """A runtime of the session, which goes on if it is there."""
        known = [each for each in self.store.list() if each.id == session_id]
        stored = known[0] if known else self.store.create(session_id)
        setting = Setting(self.places.working_dir, self.store, stored, is_resumed=bool(known), **more)
        return Runtime(plan, setting)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_children_are_kept_with_whose_they_are_and_go_on_in_a_later_run(world: World) -> None:
    """A child has a folder beside its parent's; another process resumes it with its conversation."""
    task = {"name": "task", "arguments": {"agent": "painter", "instruction": "Which colour?"}}
    tools = [{"module": "tool-task"}]
    plan = mount_plan([{"tool_calls": [task]}, "It said red."], tools=tools, agents=agents("Red."))
    async with world.runtime(plan) as runtime:
        outcome = await runtime.run_turn("Ask the painter.")
    assert (outcome.text, outcome.status, outcome.tool_calls) == ("It said red.", "success", 1)
    children = [each for each in world.store.list(with_children=True) if each.metadata().parent_id]
    (child,) = children
    about = child.metadata()
    assert (about.agent, about.parent_id, about.status, about.bundle) == ("painter", "root", "success", None)
    assert [each["content"] for each in child.messages() if each["role"] != "system"] == ["Which colour?", "Red."]
    again = {"name": "task", "arguments": {"session_id": child.id, "instruction": "Sure?"}}
    plan = mount_plan([{"tool_calls": [again]}, "It is sure."], tools=tools, agents=agents("Very."))
    async with world.runtime(plan) as runtime:
        outcome = await runtime.run_turn("Ask again.")
    assert outcome.text == "It is sure."
    said = [each["content"] for each in child.messages() if each["role"] == "user"]
    assert said == ["Which colour?", "Sure?"]


async def test_a_session_without_agents_has_no_children(world: World) -> None:
    """Where nobody offers to start children, nothing is offered."""
    async with world.runtime(mount_plan(["Yes."])) as runtime:
        assert runtime.session.coordinator.get_capability("session.spawn") is None


async def test_a_child_that_is_not_this_sessions_is_not_brought_back(world: World) -> None:
    """Neither one of another session, nor one outside the folder, nor without the reference; the offer decides."""
    asked: list[str] = []

    async def resume(sub_session_id: str, instruction: str) -> dict[str, Any]:
        asked.append(sub_session_id)
        return {"output": "x"}

    async def spawn(agent: str, instruction: str, **options: Any) -> dict[str, Any]:
        return {"output": agent, "session_id": 3}

    coordinator = TestCoordinator()
    coordinator.register_capability("session.resume", resume)
    coordinator.register_capability("session.spawn", spawn)
    world.store.create("stranger", parent_id="other", agent="painter")
    session: Any = type("Session", (), {"coordinator": coordinator, "session_id": "root"})()
    kept = KeptChildren(session, world.store.create("root"), world.store)
    kept.offer()
    for name in ("stranger", "../root", "unknown"):
        await coordinator.get_capability("session.resume")(name, "go")
    coordinator.register_capability("session.children", type("Children", (), {"adopt": asked.append})())
    await coordinator.get_capability("session.resume")("stranger", "go")
    assert asked == ["stranger", "../root", "unknown", "stranger"]
    assert await coordinator.get_capability("session.spawn")("painter", "go") == {"output": "painter", "session_id": 3}


@pytest.mark.parametrize(
    ("sent", "stops", "code"),
    [
        ([signal.SIGINT], [False], 130),
        ([signal.SIGINT, signal.SIGINT], [False, True], 130),
        ([signal.SIGTERM], [True], 143),
        ([signal.SIGHUP], [True], 129),
    ],
    ids=["once", "twice", "terminate", "hang up"],
)
async def test_signals_ask_for_a_stop(sent: list[int], stops: list[bool], code: int) -> None:
    """The first Ctrl-C asks to finish, the second and all others to stop at once."""
    asked: list[bool] = []
    told: list[str] = []
    with listening(asked.append, told.append) as seen:
        for number in sent:
            os.kill(os.getpid(), number)
            await asyncio.sleep(0.01)
    assert (asked, seen.exit_code, len(told)) == (stops, code, sent.count(signal.SIGINT))


async def test_where_signals_cannot_be_heard_work_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on some platforms, and in other threads than the main one."""

    def refuse(*args: Any) -> None:
        raise NotImplementedError

    monkeypatch.setattr(asyncio.get_running_loop(), "add_signal_handler", refuse)
    with listening(lambda now: None, lambda text: None) as seen:
        assert seen.exit_code is None


@pytest.mark.parametrize("times", [1, 2], ids=["graceful", "at once"])
async def test_an_interrupted_turn_is_told_as_such(world: World, times: int) -> None:
    """Its status is cancelled, its code that of the signal, and the next turn works."""
    plan = mount_plan([{"text": "late", "delay_s": 0.3 if times == 1 else 30}, "Again."])
    async with world.runtime(plan) as runtime:
        turn = asyncio.create_task(runtime.run_turn("go"))
        await asyncio.sleep(0.1)
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(0.02)
        outcome = await turn
        assert (outcome.status, outcome.exit_code, outcome.is_error) == ("cancelled", 130, True)
    assert runtime.session.status is not None


async def test_a_cancellation_from_outside_comes_out(world: World) -> None:
    """Whoever awaits the turn and cancels it gets the cancellation."""
    async with world.runtime(mount_plan([{"text": "late", "delay_s": 30}])) as runtime:
        turn = asyncio.create_task(runtime.run_turn("go"))
        await asyncio.sleep(0.05)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn


async def test_problems_and_bugs_in_a_turn_are_told(world: World) -> None:
    """A problem keeps its kind; any other exception is told by its type."""
    for error, told in ((Problem("full", exit_code=74), "full"), (KeyError("x"), "The turn failed: KeyError")):
        async with world.runtime(mount_plan(["Yes."])) as runtime:

            async def fail(prompt: str, error: Exception = error, **options: Any) -> str:
                raise error

            runtime.session.execute = fail  # type: ignore[method-assign]
            outcome = await runtime.run_turn("go")
            assert outcome.problem is not None
            assert told in outcome.problem.message
            assert (outcome.status, outcome.reason) == ("error", "error")


async def test_the_system_prompt_is_given_to_any_context(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """One without a factory gets it as first message, once; a resumed one has it already."""

    class Plain(MockContextManager):
        set_system_prompt_factory = None

    async with world.runtime(mount_plan(["Yes."], instruction="Be brief.")) as runtime:
        for context, wanted in ((Plain(), ["Be brief."]), (Plain(), ["said"])):
            if wanted == ["said"]:
                await context.add_message({"role": "user", "content": "said"})
            runtime.session.coordinator.mount("context", context)
            await runtime._give_instruction()  # pyright: ignore[reportPrivateUsage]
            assert [each["content"] for each in await context.get_messages()] == wanted


async def test_only_the_sessions_own_events_count(world: World) -> None:
    """Those of children neither save nor count."""
    stored = world.store.create("root")
    session = AmplifierSession(mount_plan(["Yes."], "context-simple").plan, session_id="root")
    saver = TranscriptSaver(session, stored)
    saver.listen()
    await session.coordinator.hooks.emit(PROMPT_SUBMIT, {"session_id": "child"})
    assert not stored.transcript.exists()
    async with world.runtime(mount_plan(["Yes."]), "other") as runtime:
        await runtime.session.coordinator.hooks.emit("tool:pre", {"session_id": "child"})
        outcome = await runtime.run_turn("go")
    assert outcome.tool_calls == 0


async def test_a_rule_that_is_to_hold_is_saved_by_the_command(world: World) -> None:
    """The capability that the approval hook asks for is the command's."""
    saved: list[str] = []
    async with world.runtime(mount_plan(["Yes."]), save_rule=saved.append) as runtime:
        runtime.session.coordinator.get_capability("approval.save_rule")("Bash(ls)")
    assert saved == ["Bash(ls)"]


async def test_a_set_up_that_fails_is_cleaned_up(world: World) -> None:
    """A hook that is broken by the instruction step leaves no lock behind: the session can be used again."""
    runtime = world.runtime(mount_plan(["Yes."]))

    async def fail() -> None:
        raise RuntimeError("broken")

    runtime._give_instruction = fail  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="broken"):
        await runtime.__aenter__()
    async with world.runtime(mount_plan(["Yes."])) as again:
        assert (await again.run_turn("go")).text == "Yes."
    assert HookResult().action == "continue"


def test_without_a_folder_nothing_is_kept() -> None:
    """A persistent context becomes one in memory, with its other keys; logs are left out; others stay."""
    config = {"transcript_path": "x", "durability": "none", "max_tokens": 5}
    plan = {
        "session": {"context": {"module": "context-persistent", "config": config}},
        "hooks": [{"module": "hooks-logging"}, {"module": "hooks-cost"}],
    }
    made = in_folder(plan, None)
    assert made["session"]["context"] == {"module": "context-simple", "config": {"max_tokens": 5}}
    assert made["hooks"] == [{"module": "hooks-cost"}]
    assert in_folder({"session": {"context": "context-persistent"}}, None)["session"]["context"]["config"] == {}
    other = {"session": {"context": "context-other"}}
    assert in_folder(other, None)["session"] == other["session"]


def test_files_are_placed_unless_the_plan_says_where() -> None:
    """With a place for the id of each child; what a plan says itself stays."""
    plan = {"session": {"context": "context-persistent"}, "hooks": [{"module": "hooks-logging"}]}
    made = in_folder(plan, Path("/s"))
    assert made["session"]["context"]["config"] == {"transcript_path": "/s/{session_id}/transcript.jsonl"}
    assert made["hooks"][0]["config"] == {"session_log_template": "/s/{session_id}/events.jsonl"}
    own = {"session": {"context": {"module": "context-persistent", "config": {"transcript_path": "mine"}}}}
    assert in_folder(own, Path("/s"))["session"]["context"]["config"] == {"transcript_path": "mine"}


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"is_verbose": False, "is_debug": False}, ["amplifier: error: bad news"]),
        ({"is_verbose": True, "is_debug": False}, ["amplifier: warning: careful", "amplifier: error: bad news"]),
    ],
    ids=["quiet", "verbose"],
)
def test_logs_are_lines_without_tracebacks(
    options: dict[str, bool], shown: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failures always, warnings if wanted."""
    root = logging.RootLogger(logging.WARNING)
    monkeypatch.setattr(logging, "root", root)
    configure_logging(**options)
    root.warning("careful")
    try:
        raise KeyError("x")
    except KeyError:
        root.exception("bad\nnews")
    assert capsys.readouterr().err.splitlines() == shown


def test_debugging_shows_everything(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """With times, names and tracebacks."""
    root = logging.RootLogger(logging.WARNING)
    monkeypatch.setattr(logging, "root", root)
    configure_logging(is_verbose=False, is_debug=True)
    root.debug("detail")
    assert " DEBUG root: detail" in capsys.readouterr().err


def test_what_a_stored_session_is_is_looked_at_anew(world: World) -> None:
    """Two views of one folder agree."""
    session = world.store.create("s")
    session.update(name="x")
    assert StoredSession(session.folder).metadata().name == "x"


async def test_a_turn_that_a_signal_cancels_from_within_is_told_as_stopped(world: World) -> None:
    """Where the loop itself ends by a cancellation, the signal is the reason."""
    async with world.runtime(mount_plan(["Yes."])) as runtime:

        async def cancelled(prompt: str, **options: Any) -> str:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(0.01)
            raise asyncio.CancelledError

        runtime.session.execute = cancelled  # type: ignore[method-assign]
        outcome = await runtime.run_turn("go")
    assert (outcome.status, outcome.exit_code) == ("cancelled", 143)


async def test_a_turn_that_is_cancelled_after_a_signal_ends(world: World) -> None:
    """Whoever cancels the task that waits is not held up by an earlier signal."""
    async with world.runtime(mount_plan(["Yes."])) as runtime:

        async def slow(prompt: str, **options: Any) -> str:
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.sleep(30)
            return "never"

        runtime.session.execute = slow  # type: ignore[method-assign]
        turn = asyncio.create_task(runtime.run_turn("go"))
        await asyncio.sleep(0.05)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
