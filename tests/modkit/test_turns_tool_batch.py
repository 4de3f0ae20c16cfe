"""The tool calls of one answer: side by side, in order, and every one with its result, however the turn ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from amplifier_core.events import CANCEL_REQUESTED, EXECUTION_END, ORCHESTRATOR_COMPLETE, TOOL_POST, TOOL_PRE
from amplifier_core.message_models import ToolCall
from amplifier_core.models import HookResult, ToolResult
from amplifier_core.testing import (
    EventRecorder,
    MockContextManager,
    MockProvider,
    MockTool,
    ScriptedReply,
    TestCoordinator,
)
from amplifier_modkit.turns import stopping, tool_batch
from amplifier_modkit.turns.calls import RequestedCall
from amplifier_modkit.turns.rounds import run_rounds
from amplifier_modkit.turns.settings import LoopSettings
from amplifier_modkit.turns.tool_batch import NOT_STARTED, is_sequential
from amplifier_modkit.turns.tool_step import STOPPED
from amplifier_modkit.turns.turn import Turn, World


class Doing:
    """A tool that does what it is given, with its own name."""

    description = "does it"

    def __init__(self, name: str, do: Callable[[], Any], **attributes: Any) -> None:
        self.name = name
        self._do = do
        vars(self).update(attributes)

    async def execute(self, input: dict[str, Any]) -> Any:
        done = self._do()
        return await done if asyncio.iscoroutine(done) else done


class Scene:
    """A turn whose first answer calls ``names``, each by an id of its own, and whose second is ``done``."""

    def __init__(self, names: list[str], *tools: Any, **settings: Any) -> None:
        calls = [ToolCall(id=f"c{number}", name=name, arguments={}) for number, name in enumerate(names, 1)]
        self.coordinator = TestCoordinator()
        self.token = self.coordinator.cancellation
        self.context = MockContextManager()
        self.coordinator.mount("context", self.context)
        self.hooks = EventRecorder()
        self.provider = MockProvider([ScriptedReply(tool_calls=calls), "done"])
        mounted = {tool.name: tool for tool in tools}
        world = World(self.context, {"mock": self.provider}, mounted, self.hooks, self.coordinator)
        self.turn = Turn("loop-test", world, LoopSettings(**settings))

    async def run(self) -> str:
        """The answer."""
        return await self.turn.run("go", run_rounds)

    @property
    def results(self) -> list[tuple[str, str]]:
        """The stored results, as id and text."""
        return [(each["tool_call_id"], each["content"]) for each in self.context.messages if each["role"] == "tool"]

    def require_pairs(self) -> None:
        """Directly behind the message with the calls stand their results, in their order."""
        messages = self.context.messages
        place = next(at for at, message in enumerate(messages) if message.get("tool_calls"))
        made = [call["id"] for call in messages[place]["tool_calls"]]
        assert [each.get("tool_call_id") for each in messages[place + 1 : place + 1 + len(made)]] == made

    @property
    def status(self) -> str:
        """How the turn ended, by its one closing event."""
        (closing,) = self.hooks.get_events(ORCHESTRATOR_COMPLETE)
        return closing[1]["status"]


async def until(condition: Callable[[], bool]) -> None:
    """Lets other tasks run until ``condition`` holds."""
    for _ in range(10_000):
        if condition():
            return
        await asyncio.sleep(0)
    pytest.fail("it did not come so far")


class Meeting:
    """Counts how many are inside at the same time; each waits until ``together`` have come."""

    def __init__(self, together: int) -> None:
        self.inside = self.most = 0
        self._together = together
        self._all_there = asyncio.Event()

    async def attend(self) -> str:
        self.inside += 1
        self.most = max(self.most, self.inside)
        if self.inside >= self._together:
            self._all_there.set()
        await self._all_there.wait()
        self.inside -= 1
        return "met"


async def test_calls_run_side_by_side() -> None:
    """Five calls that wait for each other all come to an end."""
    meeting = Meeting(5)
    scene = Scene(["t"] * 5, Doing("t", meeting.attend))
    assert await scene.run() == "done"
    assert (meeting.most, scene.results) == (5, [(f"c{number}", "met") for number in range(1, 6)])


@pytest.mark.parametrize(("limit", "most"), [(1, 1), (2, 2), (0, 6), (9, 6)])
async def test_no_more_calls_run_than_the_limit_allows(limit: int, most: int) -> None:
    """Zero is no limit."""
    meeting = Meeting(most)
    scene = Scene(["t"] * 6, Doing("t", meeting.attend), max_parallel_tools=limit)
    await scene.run()
    assert (meeting.most, len(scene.results)) == (most, 6)


async def test_results_are_stored_in_the_order_of_the_calls_as_soon_as_they_can_be() -> None:
    """The last call ends first; a result that is due is stored while later calls still run."""
    first, third = asyncio.Event(), asyncio.Event()
    scene = Scene(
        ["a", "b", "c"], *(Doing(name, do) for name, do in (("a", first.wait), ("b", str), ("c", third.wait)))
    )
    turn = asyncio.create_task(scene.run())
    await until(lambda: any(data["tool_name"] == "b" for _, data in scene.hooks.get_events(TOOL_POST)))
    assert scene.results == []
    first.set()
    await until(lambda: len(scene.results) >= 2)
    assert [call for call, _ in scene.results] == ["c1", "c2"]
    third.set()
    await turn
    assert [call for call, _ in scene.results] == ["c1", "c2", "c3"]
    scene.require_pairs()


async def test_a_sequential_tool_runs_alone() -> None:
    """What was called before it has ended, and what was called behind it begins afterwards."""
    running: set[str] = set()
    seen: list[set[str]] = []

    def noting(name: str) -> Callable[[], Any]:
        async def run() -> None:
            running.add(name)
            for _ in range(3):
                await asyncio.sleep(0)
            seen.append(set(running))
            running.discard(name)

        return run

    tools = [Doing(name, noting(name)) for name in "abde"]
    tools += [Doing("x", noting("x"), sequential=True), Doing("y", noting("y"), metadata={"sequential": True})]
    scene = Scene(["a", "b", "x", "y", "d", "e"], *tools)
    await scene.run()
    assert [each for each in seen if each & {"x", "y"}] == [{"x"}, {"y"}]
    assert any(each >= {"a", "b"} for each in seen)
    assert any(each >= {"d", "e"} for each in seen)
    scene.require_pairs()


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        (SimpleNamespace(sequential=True), True),
        (SimpleNamespace(sequential=False, metadata={"sequential": True}), False),
        (SimpleNamespace(metadata={"sequential": True}), True),
        (SimpleNamespace(sequential=None, metadata={}), False),
        (SimpleNamespace(sequential="yes"), False),
        (SimpleNamespace(metadata="sequential"), False),
        (None, False),
    ],
)
def test_a_tool_declares_itself_sequential(tool: Any, expected: bool) -> None:
    """By an attribute, else in its metadata, and only by ``True``."""
    assert is_sequential(tool) is expected


async def test_one_call_that_fails_does_not_touch_the_others() -> None:
    """Each has its own result."""

    def fail() -> None:
        raise OSError("gone")

    scene = Scene(["t", "bad", "unknown", "t"], MockTool("t", "fine"), Doing("bad", fail))
    assert await scene.run() == "done"
    assert scene.results == [
        ("c1", "fine"),
        ("c2", "OSError: gone"),
        ("c3", "There is no tool 'unknown'. Available tools: bad, t."),
        ("c4", "fine"),
    ]


@pytest.mark.parametrize("count", [1, 3])
async def test_a_tool_that_cancels_its_own_task_is_a_failed_call(count: int) -> None:
    """Nobody asked the turn to stop, so it goes on."""

    async def cancel() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    scene = Scene(["bad"] + ["t"] * (count - 1), Doing("bad", cancel), MockTool("t", "fine"))
    assert await scene.run() == "done"
    assert scene.results[0] == ("c1", "The tool cancelled itself; it may have had effects already.")
    assert scene.status == "success"
    scene.require_pairs()


async def test_a_graceful_stop_lets_running_tools_finish_and_begins_nothing() -> None:
    """A tool that is running gives its result, those in line learn that they were not run, and no model is asked."""
    scene = Scene(["a", "b", "b"], Doing("a", lambda: scene.token.request_graceful() and "ended"), max_parallel_tools=1)
    assert await scene.run() == "Stopped before there was an answer."
    assert scene.results == [("c1", "ended"), ("c2", NOT_STARTED), ("c3", NOT_STARTED)]
    assert len(scene.hooks.get_events(TOOL_PRE)) == 1
    assert (len(scene.provider.requests), scene.status) == (1, "cancelled")
    assert [data["was_immediate"] for _, data in scene.hooks.get_events(CANCEL_REQUESTED)] == [False]


async def hang() -> None:
    """Waits for ever."""
    await asyncio.Event().wait()


async def all_running(scene: Scene, count: int) -> None:
    """Waits until so many tools run."""
    await until(lambda: len(scene.token.running_tools) >= count)


@pytest.mark.parametrize("stops", [False, True], ids=["task", "token"])
@pytest.mark.parametrize("names", [["hang"], ["fine", "hang", "hang", "fine"]], ids=["alone", "among others"])
async def test_a_stop_at_once_ends_the_tools_and_leaves_a_result_for_every_call(names: list[str], stops: bool) -> None:
    """By the token or the task: what had ended keeps its result, the rest says that it was stopped."""
    scene = Scene(names, Doing("hang", hang), MockTool("fine", "fine"))
    turn = asyncio.create_task(scene.run())
    await all_running(scene, names.count("hang"))
    await until(lambda: len(scene.hooks.get_events(TOOL_POST)) >= names.count("fine"))
    if stops:
        scene.token.request_immediate()
    else:
        turn.cancel()
    await asyncio.wait([turn])
    assert turn.cancelled() is not stops
    texts = {"fine": "fine", "hang": STOPPED}
    assert scene.results == [(f"c{number}", texts[name]) for number, name in enumerate(names, 1)]
    assert (scene.token.running_tools, scene.status, len(scene.provider.requests)) == (set(), "cancelled", 1)
    scene.require_pairs()
    if stops:
        assert turn.result() == "Stopped before there was an answer."


async def test_calls_that_still_wait_for_their_turn_learn_that_they_did_not_begin() -> None:
    """They had no effects, and the model should know."""
    scene = Scene(
        ["hang", "t", "x"], Doing("hang", hang), MockTool("t"), Doing("x", str, sequential=True), max_parallel_tools=1
    )
    turn = asyncio.create_task(scene.run())
    await all_running(scene, 1)
    turn.cancel()
    await asyncio.wait([turn])
    assert scene.results == [("c1", STOPPED), ("c2", NOT_STARTED), ("c3", NOT_STARTED)]


async def test_a_cancellation_while_the_answer_is_being_stored_leaves_no_call_open() -> None:
    """The calls are in the context, so their results must be."""
    scene = Scene(["t", "t"], tool := MockTool("t"))
    storing, may_store = asyncio.Event(), asyncio.Event()

    async def slow(message: dict[str, Any]) -> None:
        if message["role"] == "assistant":
            storing.set()
            await may_store.wait()
        scene.context.messages.append(message)

    scene.context.add_message.side_effect = slow
    turn = asyncio.create_task(scene.run())
    await storing.wait()
    for _ in range(2):
        turn.cancel()
        await asyncio.sleep(0)
    may_store.set()
    await asyncio.wait([turn])
    assert (turn.cancelled(), tool.call_count) == (True, 0)
    assert scene.results == [("c1", NOT_STARTED), ("c2", NOT_STARTED)]
    scene.require_pairs()


async def test_a_cancellation_while_results_are_being_stored_loses_none_and_doubles_none() -> None:
    """However often it is cancelled meanwhile."""
    scene = Scene(["t", "t", "t"], MockTool("t", "fine"))

    async def slow(message: dict[str, Any]) -> None:
        for _ in range(3):
            if message["role"] == "tool":
                turn.cancel()
            await asyncio.sleep(0)
        scene.context.messages.append(message)

    scene.context.add_message.side_effect = slow
    turn = asyncio.create_task(scene.run())
    await asyncio.wait([turn])
    assert turn.cancelled()
    assert scene.results == [(f"c{number}", "fine") for number in (1, 2, 3)]
    scene.require_pairs()


@pytest.mark.parametrize("cut", range(60))
async def test_wherever_a_turn_is_cut_every_call_has_one_result_behind_it(cut: int) -> None:
    """The task is cancelled at each of its steps in turn, and once more right behind."""

    async def wait_a_little() -> str:
        for _ in range(3):
            await asyncio.sleep(0)
        return "fine"

    async def slow(message: dict[str, Any]) -> None:
        await asyncio.sleep(0)
        scene.context.messages.append(message)

    scene = Scene(["t", "t"], Doing("t", wait_a_little))
    scene.context.add_message.side_effect = slow
    turn = asyncio.create_task(scene.run())
    for _ in range(cut):
        await asyncio.sleep(0)
    for _ in range(2):
        turn.cancel()
        await asyncio.sleep(0)
    await asyncio.wait([turn])
    if any(message.get("tool_calls") for message in scene.context.messages):
        scene.require_pairs()
    assert len(scene.results) in (0, 2)
    assert len(scene.hooks.get_events(EXECUTION_END)) in ((0, 1) if cut == 0 else (1,))


async def test_a_tool_that_ends_well_in_spite_of_its_cancellation_keeps_its_result() -> None:
    """What it did is what the model should know."""

    async def stubborn() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "saved what there was"
        return ""

    for names in (["t"], ["t", "t"]):
        scene = Scene(names, Doing("t", stubborn))
        turn = asyncio.create_task(scene.run())
        await all_running(scene, len(names))
        turn.cancel()
        await asyncio.wait([turn])
        assert turn.cancelled()
        assert {text for _, text in scene.results} == {"saved what there was"}


@pytest.mark.parametrize("names", [["t"], ["t", "t"]], ids=["alone", "two"])
async def test_a_tool_that_ignores_its_cancellation_is_left_behind(
    names: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The turn ends after a while with a result for the call, says so in the log, and stores nothing later."""
    for module in (stopping, tool_batch):
        monkeypatch.setattr(module, "GRACE_S", 0.01)
    may_end = asyncio.Event()

    async def ignore() -> str:
        while not may_end.is_set():
            try:
                await may_end.wait()
            except asyncio.CancelledError:
                continue
        return "at last"

    scene = Scene(names, Doing("t", ignore))
    turn = asyncio.create_task(scene.run())
    await all_running(scene, len(names))
    with caplog.at_level(logging.ERROR):
        turn.cancel()
        await asyncio.wait([turn])
    stopped = [(f"c{number}", STOPPED) for number, _ in enumerate(names, 1)]
    assert (turn.cancelled(), scene.results) == (True, stopped)
    assert caplog.messages[0].startswith("A tool ignores its cancellation for 0.01 s and is left behind: ")
    may_end.set()
    for _ in range(10):
        await asyncio.sleep(0)
    assert scene.results == stopped
    scene.require_pairs()


async def test_a_result_that_cannot_be_stored_is_replaced_by_one_that_says_so() -> None:
    """The error ends the turn, and the call has a result all the same."""

    async def picky(message: dict[str, Any]) -> None:
        if message["content"] == "secret":
            raise ValueError("this cannot be stored")
        scene.context.messages.append(message)

    for names in (["bad"], ["fine", "bad", "fine"]):
        scene = Scene(names, MockTool("bad", "secret"), MockTool("fine", "fine"))
        scene.context.add_message.side_effect = picky
        with pytest.raises(ValueError, match="this cannot be stored"):
            await scene.run()
        texts = dict(scene.results)
        assert len(texts) == len(names)
        assert texts[f"c{names.index('bad') + 1}"] == (
            "The result could not be stored: ValueError: this cannot be stored"
        )
        scene.require_pairs()


async def test_a_context_that_is_broken_for_good_ends_the_turn_with_its_error(caplog: pytest.LogCaptureFixture) -> None:
    """There is nowhere to put a result; the log names the call."""

    async def broken(message: dict[str, Any]) -> None:
        if message["role"] == "tool":
            raise OSError("disk full")
        scene.context.messages.append(message)

    scene = Scene(["t"], MockTool("t"))
    scene.context.add_message.side_effect = broken
    with pytest.raises(OSError, match="disk full"):
        await scene.run()
    assert "The call 'c1' of tool 't' is left without a result: OSError('disk full')" in caplog.messages


async def test_a_loop_whose_own_step_fails_leaves_no_call_open() -> None:
    """The error comes out, what runs beside is stopped, and every call has a result."""

    class Broken(Turn):
        async def run_tool(self, call: RequestedCall, group_id: str) -> ToolResult:
            if call.name == "bad":
                raise KeyError("bug of the loop")
            return await super().run_tool(call, group_id)

    for names in (["bad"], ["hang", "bad"]):
        scene = Scene(names, Doing("hang", hang))
        scene.turn = Broken("loop-test", scene.turn.world, LoopSettings())
        with pytest.raises(KeyError, match="bug of the loop"):
            await scene.run()
        assert [text for _, text in scene.results] == [STOPPED] * len(names)
        scene.require_pairs()


async def test_an_answer_that_cannot_be_stored_runs_no_tool() -> None:
    """Without the calls in the context there must be no results either."""
    scene = Scene(["t"], tool := MockTool("t"))

    async def broken(message: dict[str, Any]) -> None:
        if message["role"] == "assistant":
            raise OSError("disk full")
        scene.context.messages.append(message)

    scene.context.add_message.side_effect = broken
    with pytest.raises(OSError, match="disk full"):
        await scene.run()
    assert (tool.call_count, scene.results) == (0, [])


@pytest.mark.parametrize("event", [TOOL_PRE, TOOL_POST])
async def test_nothing_that_hooks_store_stands_between_a_call_and_its_result(event: str) -> None:
    """Injections of parallel calls wait until all results are stored, also when the turn is cut."""
    for is_cut in (False, True):
        last = Doing("hang", hang) if is_cut else MockTool("hang")
        scene = Scene(["t", "t", "hang"], MockTool("t"), last)
        scene.hooks.register(event, lambda event, data: HookResult(action="inject_context", context_injection="note"))
        turn = asyncio.create_task(scene.run())
        if is_cut:
            await all_running(scene, 1)
            turn.cancel()
        await asyncio.wait([turn])
        scene.require_pairs()
        notes = [message["content"] for message in scene.context.messages if message["role"] == "system"]
        assert notes == ["note"] * (2 if is_cut and event == TOOL_POST else 3)


async def test_a_failure_of_the_batch_while_it_is_stopped_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The cancellation comes out, and what went wrong meanwhile is not lost."""

    async def broken(message: dict[str, Any]) -> None:
        if message["role"] == "tool":
            raise OSError("disk full")
        scene.context.messages.append(message)

    scene = Scene(["hang"], Doing("hang", hang))
    scene.context.add_message.side_effect = broken
    turn = asyncio.create_task(scene.run())
    await all_running(scene, 1)
    turn.cancel()
    await asyncio.wait([turn])
    assert turn.cancelled()
    assert "While a turn was being stopped, its tool calls failed: OSError('disk full')" in caplog.messages


async def test_a_tool_finds_out_which_call_it_serves() -> None:
    """By its task, while it runs: tools that start sessions of their own look it up there."""
    seen: list[Any] = []

    def look() -> None:
        seen.append(vars(scene.coordinator)["_tool_dispatch_contexts"][asyncio.current_task()])

    scene = Scene(["t", "t"], Doing("t", look))
    await scene.run()
    groups = {place["parallel_group_id"] for place in seen}
    assert [place["tool_call_id"] for place in seen] == ["c1", "c2"]
    assert groups == {data["parallel_group_id"] for _, data in scene.hooks.get_events(TOOL_PRE)}
    assert len(groups) == 1
    assert vars(scene.coordinator)["_tool_dispatch_contexts"] == {}


@pytest.mark.slow
async def test_two_hundred_calls_of_a_megabyte_are_no_trouble() -> None:
    """Huge outputs pass in order."""
    text = "x" * 1_000_000
    scene = Scene(["t"] * 200, MockTool("t", text))
    assert await scene.run() == "done"
    assert [call for call, _ in scene.results] == [f"c{number}" for number in range(1, 201)]
    assert {len(content) for _, content in scene.results} == {1_000_000}
