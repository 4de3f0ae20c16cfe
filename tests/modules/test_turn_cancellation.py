"""Cancellation from end to end: real sessions, real processes, real signals. Afterwards nothing of the turn is left."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import textwrap
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.modules.turn_world import parted_calls, told_message

from amplifier_core.events import ALL_EVENTS, CANCEL_COMPLETED, CANCEL_REQUESTED
from amplifier_core.session import AmplifierSession
from amplifier_core.testing import EventRecorder, MockProvider, MockTool, ScriptedReply, wait_for
from amplifier_modkit.turns.tool_batch import NOT_STARTED
from amplifier_modkit.turns.tool_step import STOPPED

LOOPS = ("loop-basic", "loop-streaming", "loop-events")
WAITS = "import sys; sys.stdin.read()"


class ProcessTool:
    """A tool that runs a real process, which waits until its input is closed, and never leaves it behind."""

    name = "wait"
    description = "Waits."
    input_schema: dict[str, Any] = {"type": "object", "properties": {}}

    def __init__(self) -> None:
        self.processes: list[asyncio.subprocess.Process] = []

    async def execute(self, input: dict[str, Any]) -> str:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", "-c", WAITS, stdin=asyncio.subprocess.PIPE
        )
        self.processes.append(process)
        try:
            return f"ended with {await process.wait()}"
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    @property
    def running(self) -> list[int]:
        """Ids of the processes that are still there."""
        return [process.pid for process in self.processes if _is_there(process.pid)]

    def let_end(self) -> None:
        """Ends the processes the friendly way."""
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.close()


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@asynccontextmanager
async def session_with(loop: str, script: list[Any], *tools: Any) -> AsyncIterator[AmplifierSession]:
    """A session of real modules, with a scripted provider and these tools."""
    async with AmplifierSession({"session": {"orchestrator": loop, "context": "context-simple"}}) as session:
        session.coordinator.mount("providers", MockProvider(script), name="mock")
        for tool in tools:
            session.coordinator.mount("tools", tool)
        yield session


async def transcript(session: AmplifierSession) -> list[str]:
    """The conversation, in which no call is parted from its result, as lines."""
    messages = await session.coordinator.get("context").get_messages()
    assert parted_calls(messages) == []
    return [told_message(message) for message in messages]


def listen(session: AmplifierSession) -> EventRecorder:
    """Records the events of a session."""
    recorder = EventRecorder()
    for event in ALL_EVENTS:
        session.coordinator.hooks.register(event, recorder, name="recorder")
    return recorder


async def _in_thread(session: AmplifierSession) -> None:
    await asyncio.to_thread(session.coordinator.cancellation.request_immediate)


WAYS: dict[str, Callable[[AmplifierSession, asyncio.Task[Any]], Any]] = {
    "immediate": lambda session, turn: session.coordinator.request_cancel(immediate=True),
    "immediate, from another thread": lambda session, turn: _in_thread(session),
    "cancel": lambda session, turn: turn.cancel(),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("loop", LOOPS)
async def test_a_cut_turn_leaves_no_process_and_no_open_call(loop: str, way: str) -> None:
    """The process of a running tool is gone when the turn is, its call has a result, and the session goes on."""
    tool = ProcessTool()
    script = [ScriptedReply("Wait.", tool_calls=[("wait", {})]), "Fine."]
    async with session_with(loop, script, tool) as session:
        turn = asyncio.create_task(session.execute("go"))
        assert await wait_for(lambda: tool.running, timeout=10)
        stopping = WAYS[way](session, turn)
        if asyncio.iscoroutine(stopping):
            await stopping
        await asyncio.wait({turn})
        assert (tool.running, session.coordinator.cancellation.running_tools) == ([], set())
        assert ("cancelled" if turn.cancelled() else turn.result()) == ("cancelled" if way == "cancel" else "Wait.")
        assert session.status.status == "cancelled"
        session.coordinator.cancellation.reset()
        assert await session.execute("again") == "Fine."
        assert await transcript(session) == [
            "user | go",
            "assistant | Wait. | call-1 wait ",
            f"tool call-1 wait (error) | {STOPPED}",
            "user | again",
            "assistant | Fine.",
        ]


@pytest.mark.parametrize("loop", LOOPS)
async def test_a_graceful_stop_waits_for_the_process(loop: str) -> None:
    """What runs ends in its own time, its result is kept, and the model is not asked again."""
    tool = ProcessTool()
    async with session_with(loop, [ScriptedReply("Wait.", tool_calls=[("wait", {})])], tool) as session:
        recorder = listen(session)
        turn = asyncio.create_task(session.execute("go"))
        assert await wait_for(lambda: tool.running, timeout=10)
        await session.coordinator.request_cancel()
        assert session.coordinator.cancellation.running_tool_names == ["wait"]
        tool.let_end()
        assert (await turn, tool.running, session.status.status) == ("Wait.", [], "cancelled")
        assert await transcript(session) == [
            "user | go",
            "assistant | Wait. | call-1 wait ",
            "tool call-1 wait | ended with 0",
        ]
        stops = [(event, data["was_immediate"]) for event, data in recorder.events if event.startswith("cancel:")]
        assert stops == [(CANCEL_REQUESTED, False), (CANCEL_COMPLETED, False)]


@pytest.mark.parametrize("loop", LOOPS[:2])
async def test_of_two_processes_the_one_that_has_ended_keeps_its_result(loop: str) -> None:
    """Side by side, one call done and one running: the stop cuts only the running one."""
    tool, quick = ProcessTool(), MockTool("quick", "done")
    script = [ScriptedReply(tool_calls=[("wait", {}), ("quick", {}), ("wait", {})])]
    async with session_with(loop, script, tool, quick) as session:
        turn = asyncio.create_task(session.execute("go"))
        assert await wait_for(lambda: len(tool.running) == 2 and quick.call_count, timeout=10)
        await session.coordinator.request_cancel(immediate=True)
        assert await turn == "Stopped before there was an answer."
        assert tool.running == []
        assert await transcript(session) == [
            "user | go",
            "assistant | call-1 wait  | call-2 quick  | call-3 wait ",
            f"tool call-1 wait (error) | {STOPPED}",
            "tool call-2 quick | done",
            f"tool call-3 wait (error) | {STOPPED}",
        ]


class ChildTool:
    """A tool that lets a child session do the work."""

    name = "delegate"
    description = "Delegates."
    input_schema: dict[str, Any] = {"type": "object", "properties": {}}

    def __init__(self, tool: ProcessTool) -> None:
        self.tool = tool
        self.parent: AmplifierSession | None = None
        self.child: AmplifierSession | None = None
        self.conversation: list[str] = []

    async def execute(self, input: dict[str, Any]) -> str:
        assert self.parent is not None
        child = self.child = self.parent.fork()
        async with child:
            script = [ScriptedReply("Wait.", tool_calls=[("wait", {}), ("wait", {})])]
            child.coordinator.mount("providers", MockProvider(script), name="mock")
            child.coordinator.mount("tools", self.tool)
            try:
                return await child.execute("wait for me")
            finally:
                self.conversation = await transcript(child)


ALL_ENDINGS = {
    "graceful": ("Delegating.", ["tool call-1 delegate | Wait."], ["ended with 0", "ended with 0"]),
    "immediate": ("Delegating.", [f"tool call-1 delegate (error) | {STOPPED}"], [STOPPED, STOPPED]),
    "cancel": ("cancelled", [f"tool call-1 delegate (error) | {STOPPED}"], [STOPPED, STOPPED]),
}


@pytest.mark.parametrize("way", ALL_ENDINGS)
@pytest.mark.parametrize("loop", LOOPS[:2])
async def test_a_child_session_stops_with_its_parent(loop: str, way: str) -> None:
    """What is asked of a session reaches the sessions that its tools have started, and their tools' processes."""
    tool = ProcessTool()
    delegate = ChildTool(tool)
    script = [ScriptedReply("Delegating.", tool_calls=[("delegate", {})])]
    async with session_with(loop, script, delegate) as session:
        delegate.parent = session
        turn = asyncio.create_task(session.execute("go"))
        assert await wait_for(lambda: len(tool.running) == 2, timeout=10)
        if way == "cancel":
            turn.cancel()
        else:
            await session.coordinator.request_cancel(immediate=way == "immediate")
            if way == "graceful":
                tool.let_end()
        await asyncio.wait({turn})
        answer, results, of_child = ALL_ENDINGS[way]
        assert (tool.running, "cancelled" if turn.cancelled() else turn.result()) == ([], answer)
        assert await transcript(session) == ["user | go", "assistant | Delegating. | call-1 delegate ", *results]
        mark = "" if way == "graceful" else " (error)"
        assert delegate.conversation == [
            "user | wait for me",
            "assistant | Wait. | call-1 wait  | call-2 wait ",
            *(f"tool call-{number} wait{mark} | {text}" for number, text in enumerate(of_child, 1)),
        ]
        assert delegate.child is not None
        assert delegate.child.status.status == "cancelled"


async def test_calls_that_wait_for_their_turn_are_told_from_those_that_ran() -> None:
    """One by one, the first running: the others have not begun, and their results say so."""
    tool = ProcessTool()
    script = [ScriptedReply(tool_calls=[("wait", {})] * 3)]
    async with session_with("loop-events", script, tool) as session:
        turn = asyncio.create_task(session.execute("go"))
        assert await wait_for(lambda: tool.running, timeout=10)
        await session.coordinator.request_cancel(immediate=True)
        await turn
        assert (tool.running, len(tool.processes)) == ([], 1)
        assert (await transcript(session))[2:] == [
            f"tool call-1 wait (error) | {STOPPED}",
            f"tool call-2 wait (error) | {NOT_STARTED}",
            f"tool call-3 wait (error) | {NOT_STARTED}",
        ]


PROGRAM = textwrap.dedent(
    """
    import asyncio, json, signal, sys
    from amplifier_core.session import AmplifierSession
    from amplifier_core.testing import MockProvider, ScriptedReply

    class Wait:
        name, description, input_schema = "wait", "Waits.", {"type": "object", "properties": {}}

        async def execute(self, input):
            process = await asyncio.create_subprocess_exec("sleep", "1000")
            print(json.dumps(process.pid), flush=True)
            try:
                if sys.argv[1] == "interrupt in the tool":
                    await asyncio.to_thread(sys.stdin.readline)
                    raise KeyboardInterrupt
                return str(await process.wait())
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()

    async def main():
        plan = {"session": {"orchestrator": sys.argv[2], "context": "context-simple"}}
        async with AmplifierSession(plan) as session:
            session.coordinator.mount("providers", MockProvider([ScriptedReply("Wait.", tool_calls=[("wait", {})])]))
            session.coordinator.mount("tools", Wait())
            if sys.argv[1] == "handler":
                stop = session.coordinator.cancellation.request_immediate
                asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stop)
            told = []
            session.coordinator.hooks.tap(lambda event, data: keep(told, event))
            try:
                await session.execute("go")
            finally:
                messages = await session.coordinator.get("context").get_messages()
                print(json.dumps([told[-4:], messages]), flush=True)

    async def keep(told, event):
        told.append(event)

    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        print(json.dumps("interrupted"), flush=True)
    """
)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
@pytest.mark.parametrize(
    ("case", "loop", "is_interrupted"),
    [
        ("handler", "loop-basic", False),
        ("no handler", "loop-streaming", True),
        ("interrupt in the tool", "loop-events", True),
    ],
)
async def test_an_interrupted_program_ends_its_turn_first(case: str, loop: str, is_interrupted: bool) -> None:
    """Control-C, with a handler of the application or without: the tool's process is gone and its call has a result."""
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, case, loop, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert program.stdout is not None
    assert program.stdin is not None
    pid = json.loads(await program.stdout.readline())
    assert _is_there(pid)
    if case == "interrupt in the tool":
        program.stdin.write(b"\n")
    else:
        program.send_signal(signal.SIGINT)
    output, _ = await program.communicate()
    (told, messages), *rest = map(json.loads, output.splitlines())
    assert not _is_there(pid)
    assert parted_calls(messages) == []
    assert [told_message(message) for message in messages] == [
        "user | go",
        "assistant | Wait. | call-1 wait ",
        f"tool call-1 wait (error) | {STOPPED}",
    ]
    closing = ["execution:end", "prompt:complete", "orchestrator:complete"]
    assert [event for event in told if event in closing] == closing
    assert (rest, program.returncode) == (["interrupted"] if is_interrupted else [], 0)
