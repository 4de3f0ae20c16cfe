"""One tool call: hooks judge what runs, and whatever a tool or a hook does, there is a result and every event."""

from __future__ import annotations

import asyncio
import gc
import threading
from contextlib import suppress
from typing import Any

import pytest

from amplifier_core.events import TOOL_ERROR, TOOL_POST, TOOL_PRE
from amplifier_core.models import HookResult, ToolResult
from amplifier_core.testing import EventRecorder, MockContextManager, MockTool, TestCoordinator
from amplifier_modkit.current_call import current_call_id
from amplifier_modkit.turns.calls import RequestedCall
from amplifier_modkit.turns.gate import HookGate
from amplifier_modkit.turns.results import to_text
from amplifier_modkit.turns.tool_step import ToolStep

IDS = {"tool_call_id": "c1", "parallel_group_id": "g1"}


class Bench:
    """A tool step with everything it tells on record."""

    def __init__(self, *tools: Any, answer: str = "Allow", **settings: Any) -> None:
        self.coordinator = TestCoordinator()
        self.coordinator.approval_system.answer = answer
        self.context = MockContextManager()
        self.coordinator.mount("context", self.context)
        self.hooks = EventRecorder()
        self.token = self.coordinator.cancellation
        self.gate = HookGate(self.hooks, self.coordinator)
        self.step = ToolStep(self.gate, {tool.name: tool for tool in tools}, self.token, **settings)

    def on(self, event: str, answer: Any, **how: Any) -> None:
        """Has ``answer``, or what it gives for the data, said to ``event``."""
        self.hooks.register(event, lambda name, data: answer(data) if callable(answer) else answer, **how)

    async def run(self, arguments: Any = None, name: str = "t") -> ToolResult:
        """The result of a call."""
        return await self.step.run(RequestedCall("c1", name, arguments), "g1")

    @property
    def told(self) -> list[tuple[str, dict[str, Any]]]:
        """The events with their data, durations checked and left out."""
        for _, data in self.hooks.events:
            assert data.get("duration_ms", 0) >= 0
        drop = {"duration_ms", "timestamp"}
        return [(event, {k: v for k, v in data.items() if k not in drop}) for event, data in self.hooks.events]


def modify(**changes: Any) -> Any:
    """An answer that changes some fields of the event."""
    return lambda data: HookResult(action="modify", data={**data, **changes})


class Doing:
    """A tool that does what it is given."""

    name = "t"
    description = "does it"

    def __init__(self, do: Any) -> None:
        self._do = do

    async def execute(self, input: dict[str, Any]) -> Any:
        done = self._do(input)
        return await done if asyncio.iscoroutine(done) else done


@pytest.mark.parametrize("timeout_s", [None, 5.0])
async def test_a_tool_finds_the_id_of_its_call(timeout_s: float | None) -> None:
    """So that it can tell whose work it is; calls side by side have their own, and afterwards there is none."""
    both = asyncio.Barrier(2)
    found: dict[str, str | None] = {}

    async def do(given: dict[str, Any]) -> str:
        await both.wait()
        found[given["a"]] = current_call_id()
        return "done"

    bench = Bench(Doing(do), timeout_s=timeout_s)
    calls = [RequestedCall(f"c{number}", "t", {"a": f"{number}"}) for number in (1, 2)]
    await asyncio.gather(*(bench.step.run(call, "g1") for call in calls))
    assert found == {"1": "c1", "2": "c2"}
    await bench.step.run(RequestedCall("c3", "missing", {}), "g1")
    assert current_call_id() is None


async def test_a_call_is_told_before_and_after_with_all_its_facts() -> None:
    """Both events name the call, its group, the tool and its input; the second has the very result and its data."""
    result = ToolResult(output={"n": 1})
    bench = Bench(MockTool("t", return_value=result))
    assert await bench.run({"a": 1}) is result
    facts = {"tool_name": "t", **IDS, "tool_input": {"a": 1}}
    shown = {"success": True, "output": {"n": 1}, "error": None}
    assert bench.told == [(TOOL_PRE, facts), (TOOL_POST, {**facts, "tool_result": result, "result": shown})]
    assert bench.hooks.events[1][1]["tool_result"] is result
    assert "duration_ms" in bench.hooks.events[1][1]


async def test_a_failed_result_is_told_as_a_result() -> None:
    """``tool:error`` is for what raises, never both."""
    bench = Bench(MockTool("t", return_value=ToolResult(success=False, output="no")))
    assert not (await bench.run()).success
    assert [event for event, _ in bench.told] == [TOOL_PRE, TOOL_POST]


@pytest.mark.parametrize(
    "raised", [OSError("gone"), KeyError("k"), asyncio.CancelledError("inner"), TimeoutError("own")]
)
async def test_a_tool_that_raises_is_told_as_an_error(raised: BaseException) -> None:
    """The model learns the kind and the text; a cancellation that nobody asked for is the tool's own failure."""

    def fail(given: Any) -> Any:
        raise raised

    bench = Bench(Doing(fail))
    result = await bench.run({"a": 1})
    kind = type(raised).__name__
    is_own = isinstance(raised, asyncio.CancelledError)
    told = "The tool cancelled itself; it may have had effects already." if is_own else f"{kind}: {raised}"
    assert result == ToolResult(success=False, output=told, error={"message": told, "type": kind})
    facts = {"tool_name": "t", **IDS, "tool_input": {"a": 1}}
    assert bench.told == [(TOOL_PRE, facts), (TOOL_ERROR, {**facts, "error": {"type": kind, "msg": str(raised)}})]
    assert "duration_ms" in bench.hooks.events[1][1]


async def test_an_unknown_tool_is_answered_with_those_that_exist() -> None:
    """In the order of the alphabet, at most fifty; no hook is asked about a call that cannot be."""
    bench = Bench(MockTool("write"), MockTool("read"))
    told = "There is no tool 'remove'. Available tools: read, write."
    assert to_text(await bench.run(name="remove")) == told
    facts = {"tool_name": "remove", **IDS, "error": {"type": "CallError", "msg": told}}
    assert bench.told == [(TOOL_ERROR, facts)]
    assert to_text(await Bench().run(name="")) == "There is no tool ''. Available tools: none."
    endless = to_text(await Bench(MockTool("t")).run(name="x" * 1_000_000))
    assert len(endless) < 300
    many = await Bench(*(MockTool(f"t{number:03}") for number in range(200))).run(name="x")
    assert to_text(many).count("t0") == 50


@pytest.mark.parametrize("arguments", ["{", "[1]", 5, [{}], "[" * 100_000])
async def test_arguments_that_cannot_be_read_are_answered(arguments: Any) -> None:
    """Neither hooks nor the tool see such a call; the model learns what is wrong."""
    bench = Bench(tool := MockTool("t"))
    result = await bench.run(arguments)
    assert to_text(result).startswith("The arguments of tool 't' ")
    assert ([event for event, _ in bench.told], tool.call_count) == ([TOOL_ERROR], 0)


STRICT = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}


async def test_arguments_that_miss_the_schema_are_answered() -> None:
    """Unless the check is switched off."""
    bench = Bench(tool := MockTool("t", input_schema=STRICT))
    result = await bench.run({"n": "one"})
    assert to_text(result).startswith('The arguments of tool \'t\' do not fit: n: "one" is not of type "integer".')
    assert tool.call_count == 0
    assert (await Bench(tool, checks_arguments=False).run({"n": "one"})).success
    assert tool.last_input == {"n": "one"}


@pytest.mark.parametrize("arguments", ['{"\\ud800": 1}', {"\ud800": 1}, '{"n": 1e999}', {"n": float("nan")}])
async def test_odd_values_in_arguments_do_not_end_the_turn(arguments: Any) -> None:
    """Text that is no Unicode and numbers that JSON does not have lead to a result like any other."""
    result = await Bench(MockTool("t", input_schema=STRICT)).run(arguments)
    assert "do not fit" in to_text(result)


async def test_a_tool_that_cannot_even_be_asked_for_its_schema_still_gets_a_result() -> None:
    """A mistake nobody foresaw is told like an error of the tool."""

    class Odd:
        name = "t"
        description = ""

        @property
        def input_schema(self) -> Any:
            raise RuntimeError("not today")

    bench = Bench(Odd())
    assert to_text(await bench.run()) == "RuntimeError: not today"
    assert [event for event, _ in bench.told] == [TOOL_ERROR]


async def test_a_refused_call_does_not_run_and_its_reason_is_the_result() -> None:
    """Whoever refuses, with or without a reason."""
    for reason, told in (("not allowed", "not allowed"), (None, "a hook refused 'tool:pre' without giving a reason")):
        bench = Bench(tool := MockTool("t"))
        bench.on(TOOL_PRE, HookResult(action="deny", reason=reason))
        result = await bench.run()
        assert result == ToolResult(
            success=False, output=f"Denied: {told}", error={"message": f"Denied: {told}", "type": "denied"}
        )
        assert ([event for event, _ in bench.told], tool.call_count) == ([TOOL_PRE], 0)


@pytest.mark.parametrize(("answer", "runs"), [("Allow", 1), ("Deny", 0)])
async def test_the_user_decides_where_a_hook_asks(answer: str, runs: int) -> None:
    """An approval lets the tool run, a refusal becomes the result."""
    bench = Bench(tool := MockTool("t", "done"), answer=answer)
    bench.on(TOOL_PRE, HookResult(action="ask_user", approval_prompt="Run it?"))
    assert to_text(await bench.run()) == ("done" if runs else "Denied: User denied: Run it?")
    assert tool.call_count == runs


async def test_hooks_that_write_into_what_they_are_shown_change_nothing() -> None:
    """Neither the input of this event, nor one that a hook kept from the model's answer, is what runs."""
    arguments = {"command": {"line": "ls"}}
    bench = Bench(tool := MockTool("t"))

    def scribble(data: dict[str, Any]) -> HookResult:
        data["tool_input"]["command"]["line"] = "rm"
        arguments["command"]["line"] = "rm"
        return HookResult()

    bench.on(TOOL_PRE, scribble)
    await bench.run(arguments)
    assert tool.last_input == {"command": {"line": "ls"}}


async def test_a_modified_input_is_what_runs_and_what_is_told() -> None:
    """Guards, which are registered to deny on errors, judge it even if they come first."""
    seen: list[Any] = []
    bench = Bench(tool := MockTool("t"))
    bench.on(TOOL_PRE, lambda data: seen.append(data["tool_input"]), priority=-1, on_error="deny")
    changed = {"a": {"b": 2}}
    bench.on(TOOL_PRE, modify(tool_input=changed))
    await bench.run({"a": {"b": 1}})
    assert (tool.last_input, seen) == ({"a": {"b": 2}}, [{"a": {"b": 1}}, {"a": {"b": 2}}])
    assert tool.last_input is not changed
    assert bench.told[1][1]["tool_input"] == {"a": {"b": 2}}


async def test_a_guard_that_refuses_the_modified_input_prevails() -> None:
    """A later hook cannot slip something past an earlier guard."""
    bench = Bench(tool := MockTool("t"))

    def guard(data: dict[str, Any]) -> HookResult:
        is_fine = data["tool_input"] == {"command": "ls"}
        return HookResult() if is_fine else HookResult(action="deny", reason="not that")

    bench.on(TOOL_PRE, guard, priority=-1, on_error="deny")
    bench.on(TOOL_PRE, modify(tool_input={"command": "rm"}))
    assert (to_text(await bench.run({"command": "ls"})), tool.call_count) == ("Denied: not that", 0)


async def test_a_modified_name_runs_the_tool_that_guards_judged() -> None:
    """What was allowed under one name never runs under another; ids cannot be changed."""
    bench = Bench(bash := MockTool("bash"), look := MockTool("look"))
    bench.on(TOOL_PRE, modify(tool_name="look", tool_call_id="other", parallel_group_id="other"))
    await bench.run({"a": 1}, name="bash")
    assert (bash.call_count, look.last_input) == (0, {"a": 1})
    assert {key: bench.told[1][1][key] for key in ("tool_name", *IDS)} == {"tool_name": "look", **IDS}


@pytest.mark.parametrize("name", ["gone", None, ["look"]])
async def test_a_modified_name_that_no_tool_has_runs_nothing(name: Any) -> None:
    """The model learns that there is no such tool."""
    bench = Bench(tool := MockTool("t"))
    bench.on(TOOL_PRE, modify(tool_name=name))
    result = await bench.run()
    assert (result.success, tool.call_count, [event for event, _ in bench.told]) == (False, 0, [TOOL_PRE, TOOL_ERROR])


@pytest.mark.parametrize("changed", [None, "rm", ["rm"], {"n": "one"}, {"lock": threading.Lock()}])
async def test_a_modified_input_that_is_none_runs_nothing(changed: Any) -> None:
    """What a hook makes of the arguments has to fit as well."""
    bench = Bench(tool := MockTool("t", input_schema=STRICT))
    bench.on(TOOL_PRE, modify(tool_input=changed))
    result = await bench.run({"n": 1})
    assert (result.success, tool.call_count, [event for event, _ in bench.told]) == (False, 0, [TOOL_PRE, TOOL_ERROR])


async def test_a_tool_may_change_its_input_without_anybody_noticing() -> None:
    """What is told afterwards, and what the model said, is what it was given."""
    arguments = {"list": [1]}
    bench = Bench(Doing(lambda given: given["list"].append(2) or given.clear()))
    await bench.run(arguments)
    assert (arguments, bench.told[1][1]["tool_input"]) == ({"list": [1]}, {"list": [1]})


async def test_a_tool_need_not_be_async() -> None:
    """One that gives its result at once, or something to await, works as well."""

    class Plain(MockTool):
        def __init__(self, result: Any) -> None:
            super().__init__("t")
            self.execute = lambda given: result  # pyright: ignore[reportAttributeAccessIssue]

    future = asyncio.get_running_loop().create_future()
    future.set_result("later")
    assert [to_text(await Bench(Plain(each)).run()) for each in ("at once", future)] == ["at once", "later"]


@pytest.mark.parametrize("field", ["result", "tool_result"])
@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("hidden", "hidden"),
        ({"success": True, "output": "hidden", "error": None}, "hidden"),
        (ToolResult(output="hidden"), "hidden"),
        (None, "Success"),
        ({"success": "banana"}, '{"success": "banana"}'),
    ],
)
async def test_a_hook_may_replace_the_result_under_either_name(field: str, given: Any, read: str) -> None:
    """As a result, its data, or just the output."""
    bench = Bench(MockTool("t", "secret"))
    bench.on(TOOL_POST, modify(**{field: given}))
    assert to_text(await bench.run()) == read


async def test_a_hook_may_write_into_the_result_and_hand_it_back() -> None:
    """The way most hooks are written: change the data in place, answer with a modify."""
    for field, write in (
        ("result", lambda data: data["result"].update(output="hidden")),
        ("tool_result", lambda data: setattr(data["tool_result"], "output", "hidden")),
    ):
        bench = Bench(MockTool("t", "secret"))
        bench.on(TOOL_POST, lambda data, write=write: write(data) or HookResult(action="modify", data=data))
        assert to_text(await bench.run()) == "hidden", field


async def test_a_modify_that_changes_something_else_leaves_the_result_alone() -> None:
    """The very object of the tool stays the result, with its images."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    result = ToolResult(output="x", content=[image])
    bench = Bench(MockTool("t", return_value=result))
    bench.on(TOOL_POST, modify(note="seen"))
    assert await bench.run() is result


async def test_a_refused_result_is_not_shown_to_the_model() -> None:
    """The tool has run; the model learns only why it cannot see the result."""
    bench = Bench(MockTool("t", "secret"))
    bench.on(TOOL_POST, HookResult(action="deny", reason="private"))
    result = await bench.run()
    assert (result.success, to_text(result)) == (False, "Denied: private")


@pytest.mark.parametrize(("reason", "told"), [("hush", "Denied: hush"), (None, "Denied: no reason was given")])
async def test_a_refused_error_is_not_shown_to_the_model(reason: str | None, told: str) -> None:
    """As with results."""

    def fail(given: Any) -> Any:
        raise OSError("password is 123")

    bench = Bench(Doing(fail))
    bench.on(TOOL_ERROR, HookResult(action="deny", reason=reason))
    assert to_text(await bench.run()) == told


async def test_a_running_tool_is_known_to_the_token() -> None:
    """An application can say what it waits for; afterwards nothing is left, however the call ended."""
    seen: list[Any] = []
    bench = Bench(Doing(lambda given: seen.append((bench.token.running_tools, bench.token.running_tool_names))))
    await bench.run()
    assert seen == [({"c1"}, ["t"])]
    assert bench.token.running_tools == set()


async def test_a_tool_that_takes_too_long_is_stopped_and_told_so() -> None:
    """The limit is the loop's; a time-out of the tool's own keeps its own words."""
    was_cancelled = asyncio.Event()

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            was_cancelled.set()
            raise

    bench = Bench(Doing(lambda given: hang()), timeout_s=0.001)
    assert to_text(await bench.run()) == "TimeoutError: the tool did not end within 0.001 s and was stopped"
    assert was_cancelled.is_set()
    assert bench.told[1][1]["error"]["type"] == "TimeoutError"

    async def own() -> None:
        raise TimeoutError("server did not answer")

    assert to_text(await Bench(Doing(lambda given: own()), timeout_s=60).run()) == "TimeoutError: server did not answer"
    assert to_text(await Bench(MockTool("t", "in time"), timeout_s=60).run()) == "in time"


async def test_what_a_tool_raises_after_its_time_is_up_is_nobodys_business() -> None:
    """It was told that it took too long, and that stays so; nothing is reported as lost."""

    async def sulk() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise OSError("I was nearly done") from None

    bench = Bench(Doing(lambda given: sulk()), timeout_s=0.001)
    assert to_text(await bench.run()) == "TimeoutError: the tool did not end within 0.001 s and was stopped"


async def test_the_cancellation_of_the_task_goes_through() -> None:
    """It reaches the tool and comes out as what it is; the token knows that nothing runs any more."""
    began = asyncio.Event()

    async def hang() -> None:
        began.set()
        await asyncio.Event().wait()

    bench = Bench(Doing(lambda given: hang()))
    task = asyncio.create_task(bench.run())
    await began.wait()
    task.cancel()
    await asyncio.wait([task])
    assert (task.cancelled(), bench.token.running_tools) == (True, set())


async def test_a_hook_that_swallows_the_cancellation_lets_no_tool_begin() -> None:
    """Who cancelled the call must not see the tool run afterwards."""
    bench, asked = Bench(tool := MockTool("t")), asyncio.Event()

    async def swallow(event: str, data: dict[str, Any]) -> None:
        asked.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    bench.hooks.register(TOOL_PRE, swallow)
    task = asyncio.create_task(bench.run())
    await asked.wait()
    task.cancel()
    await asyncio.wait([task])
    assert (task.cancelled(), tool.call_count) == (True, 0)


async def test_a_hook_that_cancels_the_call_keeps_the_tool_from_running() -> None:
    """Without a refusal, just by the task."""

    def cancel(data: dict[str, Any]) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    bench = Bench(tool := MockTool("t"))
    bench.on(TOOL_PRE, cancel)
    task = asyncio.create_task(bench.run())
    await asyncio.wait([task])
    assert (task.cancelled(), tool.call_count) == (True, 0)


async def test_a_call_that_is_never_awaited_by_a_refusal_leaves_no_coroutine() -> None:
    """Nothing of a tool is even begun when it is refused."""
    bench = Bench(Doing(lambda given: asyncio.sleep(0)))
    bench.on(TOOL_PRE, HookResult(action="deny", reason="no"))
    await bench.run()
    assert gc.collect() >= 0  # a coroutine that was never awaited would warn here, and warnings are errors


@pytest.mark.parametrize("event", [TOOL_PRE, TOOL_POST, TOOL_ERROR])
@pytest.mark.parametrize("ephemeral", [False, True])
async def test_injections_at_every_event_of_a_call_are_carried_out(event: str, ephemeral: bool) -> None:
    """Stored ones go into the context, ephemeral ones wait for the next request."""

    def act(given: Any) -> Any:
        if event == TOOL_ERROR:
            raise OSError("no")

    bench = Bench(Doing(act))
    bench.on(event, HookResult(action="inject_context", context_injection="note", ephemeral=ephemeral))
    await bench.run()
    stored = [message["content"] for message in bench.context.messages]
    waiting = [item.content for item in bench.gate.take_injections()]
    assert (stored, waiting) == (([], ["note"]) if ephemeral else (["note"], []))
