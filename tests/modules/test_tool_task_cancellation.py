"""Stopping a session stops the agents that it has started, on every level, with the processes of their tools."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

import pytest
from tests.modkit.spawning_world import LoopClock, Modules, call, model, plan, said, shelf

from amplifier_core import AmplifierSession
from amplifier_core.events import SESSION_END
from amplifier_core.testing import EventRecorder, SequentialIds, wait_for
from amplifier_modkit.turns.tool_step import STOPPED
from amplifier_module_tool_task.telling import TASK_AGENT_COMPLETED

# Waits until its input ends, so that nothing is left behind even if the test dies.
WAITS = "import sys; sys.stdin.read()"
LOOPS = ("loop-basic", "loop-streaming")

pytestmark = pytest.mark.slow  # real processes have to begin and end


class ProcessTool:
    """A tool that waits for a process."""

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


class Family:
    """A session that gives tasks, an agent that passes its task on, and two workers at the bottom that wait."""

    def __init__(self, loop: str) -> None:
        self.tool = ProcessTool()
        self.sessions: list[AmplifierSession] = []
        self.ends = EventRecorder()
        waiting = {"providers": model({"text": "Waiting.", **call("wait")}, "done"), "tools": ["tool-wait"]}
        tasks = [{"name": "task", "arguments": {"instruction": name, "agent": "worker"}} for name in ("one", "two")]
        agents = {
            "chief": {"providers": model({"text": "Passing on.", "tool_calls": tasks}, "all done")},
            "worker": waiting,
        }
        whole = plan({"text": "Delegating.", **call("task", instruction="go", agent="chief")}, "done", agents=agents)
        whole["session"]["orchestrator"]["module"] = loop
        whole["tools"] = [{"module": "tool-task", "config": {"max_recursion_depth": 2}}]
        whole["hooks"] = ["hooks-notes"]
        modules: Modules = {"tool-wait": lambda coordinator, config: self.tool, "hooks-notes": self._note}
        self.parent = AmplifierSession(whole, loader=shelf(modules), session_id="root", new_id=SequentialIds())
        self.completed = EventRecorder()

    def _note(self, coordinator: Any, config: Any) -> None:
        self.sessions.append(coordinator.session)
        coordinator.hooks.register(SESSION_END, self.ends)
        coordinator.hooks.register(TASK_AGENT_COMPLETED, self.completed)

    @property
    def endings(self) -> list[tuple[str, str]]:
        """Who ended, and how, in the order of the ends."""
        return [(_agent(data["session_id"]), data["status"]) for _, data in self.ends.events]


def _agent(session_id: str) -> str:
    return session_id.rpartition("_")[2]


@pytest.mark.parametrize("way", ["immediate", "task"])
@pytest.mark.parametrize("loop", LOOPS)
async def test_a_cut_turn_takes_all_levels_with_it(loop: str, way: str) -> None:
    """No process is left, every child is cleaned up before the turn ends, and the call has a result."""
    family = Family(loop)
    async with family.parent as session:
        turn = asyncio.create_task(session.execute("go"))
        assert await wait_for(lambda: len(family.tool.running) == 2, timeout=10)
        if way == "task":
            turn.cancel()
        else:
            await session.coordinator.request_cancel(immediate=True)
        await asyncio.wait({turn})
        assert ("cancelled" if turn.cancelled() else turn.result()) == ("cancelled" if way == "task" else "Delegating.")
        assert family.tool.running == []
        assert family.endings == [("worker", "cancelled"), ("worker", "cancelled"), ("chief", "cancelled")]
        assert [each.initialized for each in family.sessions] == [True, False, False, False]
        told = [(data["agent"], data["success"], data["status"]) for _, data in family.completed.events]
        assert told == [("worker", False, "cancelled"), ("worker", False, "cancelled"), ("chief", False, "cancelled")]
        assert (await said(session))[-1] == ("tool", STOPPED)


@pytest.mark.parametrize("loop", LOOPS)
async def test_a_graceful_stop_lets_what_runs_end_on_all_levels(loop: str) -> None:
    """The processes end in their own time, nobody asks a model again, and each level reports what it had said."""
    family = Family(loop)
    async with family.parent as session:
        turn = asyncio.create_task(session.execute("go"))
        assert await wait_for(lambda: len(family.tool.running) == 2, timeout=10)
        await session.coordinator.request_cancel()
        assert [each.coordinator.cancellation.state for each in family.sessions] == ["graceful"] * 4
        family.tool.let_end()
        assert await turn == "Delegating."
        assert family.tool.running == []
        head, _, body = (await said(session))[-1][1].partition("\n\n")
        told = json.loads(body)
    assert head == ("Error: Agent 'chief' was stopped before it had finished; 'response' is what it had said by then.")
    assert (told["status"], told["response"]) == ("cancelled", "Passing on.")
    assert family.endings == [
        ("worker", "cancelled"),
        ("worker", "cancelled"),
        ("chief", "cancelled"),
        ("root", "cancelled"),
    ]


async def test_a_time_limit_ends_the_processes_of_the_child() -> None:
    """The child's tool is stopped with the child, and the parent goes on."""
    tool = ProcessTool()
    agents = {"a": {"providers": model({"text": "Waiting.", **call("wait")}), "tools": ["tool-wait"]}}
    whole = plan(call("task", instruction="go", agent="a"), "went on", agents=agents, tools=["tool-task"])
    async with AmplifierSession(whole, loader=shelf({"tool-wait": lambda coordinator, config: tool})) as session:
        clock = LoopClock()
        turn = asyncio.create_task(session.execute("go"))
        assert await wait_for(lambda: tool.running, timeout=10)
        clock.advance(1801)
        assert await turn == "went on"
        assert tool.running == []
        assert (await said(session))[2][1].startswith("Error: Agent 'a' did not finish within 1800 s and was stopped.")


async def test_one_call_can_be_cancelled_beside_others() -> None:
    """The cancelled child is gone when the call is; the other one works on and answers."""
    tool = ProcessTool()
    agents = {"a": {"providers": model(call("wait"), "{{last_tool_result}}"), "tools": ["tool-wait"]}}
    whole = plan("x", agents=agents, tools=["tool-task"])
    async with AmplifierSession(whole, loader=shelf({"tool-wait": lambda coordinator, config: tool})) as session:
        execute = session.coordinator.get("tools", "task").execute
        first = asyncio.create_task(execute({"instruction": "one", "agent": "a"}))
        assert await wait_for(lambda: len(tool.running) == 1, timeout=10)
        second = asyncio.create_task(execute({"instruction": "two", "agent": "a"}))
        assert await wait_for(lambda: len(tool.running) == 2, timeout=10)
        first.cancel()
        await asyncio.wait({first})
        assert first.cancelled()
        assert len(tool.running) == 1
        tool.let_end()
        result = await second
        assert result.output is not None
        assert (result.success, result.output["response"]) == (True, "ended with 0")
