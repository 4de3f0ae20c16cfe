"""tool-task in whole sessions: parents and children with scripted models, up to three levels."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any

import pytest
from tests.modkit.spawning_world import LoopClock, Modules, Noting, call, model, plan, said, shelf

from amplifier_core import AmplifierSession, HookResult
from amplifier_core.events import TOOL_PRE
from amplifier_core.testing import EventRecorder, SequentialIds, TestCoordinator, wait_for
from amplifier_modkit.spawning.children import RESUME, SPAWN
from amplifier_module_tool_task import mount
from amplifier_module_tool_task.telling import event_names

PRICE = {"input_tokens": 10, "output_tokens": 5, "cost_usd": "0.25"}
ALWAYS_THERE = {"timestamp", "session_id", "parent_id"}


@asynccontextmanager
async def session_with(
    *script: Any, modules: Modules | None = None, agents: Any = None, task: Any = None, **more: Any
) -> AsyncIterator[AmplifierSession]:
    """A session named root whose model plays ``script`` and may give tasks; ``task`` is the config of the tool."""
    tools = [{"module": "tool-task", "config": task or {}}, *more.pop("tools", [])]
    whole = plan(*script, agents=agents or {}, tools=tools, **more)
    async with AmplifierSession(
        whole, loader=shelf(modules or {}), session_id="root", new_id=SequentialIds()
    ) as session:
        yield session


async def results(session: AmplifierSession) -> list[Any]:
    """What the tool calls of a session gave, as data where they are JSON."""
    told: list[Any] = []
    for role, text in await said(session):
        if role == "tool":
            told.append(json.loads(text) if text.startswith("{") else text)
    return told


def task(instruction: str = "go", agent: str = "a", **more: Any) -> dict[str, Any]:
    """An answer of a model that gives one task."""
    return call("task", instruction=instruction, agent=agent, **more)


def listen(session: AmplifierSession) -> EventRecorder:
    """Records the events of the tool."""
    recorder = EventRecorder()
    for event in event_names(["task", "delegate"]):
        session.coordinator.hooks.register(event, recorder)
    return recorder


def facts(recorder: EventRecorder) -> list[Any]:
    """What was heard, without what differs from run to run."""
    left_out = {*ALWAYS_THERE, "duration_ms", "sub_session_id"}
    return [(event, {key: data[key] for key in data if key not in left_out}) for event, data in recorder.events]


async def test_an_agent_does_a_task_and_the_model_reads_its_report() -> None:
    """The result has answer, id, tokens and cost of the child, and hooks hear of its beginning and its end."""
    agents = {"a": {"providers": model("Blue.", usage=PRICE)}}
    async with session_with(task("Which colour?"), "It is {{tool.response}}", agents=agents) as session:
        heard = listen(session)
        assert await session.execute("go") == "It is Blue."
        [result] = await results(session)
        spent = {"agent": "a", "input_tokens": 10, "output_tokens": 5, "tool_calls": 0, "cost_usd": "0.25"}
        assert result == {
            "agent": "a",
            "session_id": result["session_id"],
            "status": "success",
            "response": "Blue.",
            "turn_count": 1,
            "metadata": spent,
        }
        assert result["session_id"].startswith("root-")
        assert result["session_id"].endswith("_a")
        about = {"agent": "a", "parent_session_id": "root", "tool_name": "task", "tool_call_id": "call-1"}
        assert facts(heard) == [
            ("task:agent_spawned", about),
            ("task:agent_completed", {**about, "success": True, "status": "success", "metadata": spent}),
        ]
        assert {data["sub_session_id"] for _, data in heard.events} == {result["session_id"]}
        assert session.status.cost_usd == Decimal("0.25")


async def test_the_tool_works_as_delegate_too() -> None:
    """Under that name it has the events of that name; the config may leave ``task`` out."""
    agents = {"a": {"providers": model("Blue.")}}
    script = (call("delegate", instruction="go", agent="a", context_depth="none"), "done")
    async with session_with(*script, agents=agents, task={"tool_names": ["delegate"]}) as session:
        heard = listen(session)
        await session.execute("go")
        assert list(session.coordinator.get("tools")) == ["delegate"]
    assert [event for event, _ in heard.events] == ["delegate:agent_spawned", "delegate:agent_completed"]


async def test_a_task_goes_on_where_it_ended() -> None:
    """With the session id of the result the same agent is asked again, and knows what was said before."""
    seen: list[list[str]] = []

    def answer(request: Any) -> str:
        seen.append([str(message.content) for message in request.messages])
        return f"answer {len(seen)}"

    again = call("task", instruction="And?", session_id="{{tool.session_id}}")
    async with session_with(task("One."), again, "done", agents={"a": {"providers": model(answer)}}) as session:
        heard = listen(session)
        await session.execute("go")
        first, second = await results(session)
    assert (first["response"], second["response"], second["agent"]) == ("answer 1", "answer 2", "a")
    assert first["session_id"] == second["session_id"]
    assert seen[1] == ["One.", "answer 1", "And?"]
    assert [event for event, _ in heard.events] == [
        "task:agent_spawned",
        "task:agent_completed",
        "task:agent_resumed",
        "task:agent_completed",
    ]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"instruction": "x"}, "'agent' is missing: name one of a, self."),
        ({"instruction": "x", "agent": "b"}, "There is no agent 'b'. Agents: a, self."),
        ({"instruction": " ", "agent": "a"}, "'instruction' is missing: say what the agent shall do and report."),
        (
            {"instruction": "x", "session_id": "somebody-elses"},
            "Session 'somebody-elses' was not started from this one, so it cannot be resumed here. Name an agent "
            "instead: a, self.",
        ),
        (
            {"instruction": "x", "session_id": "root-0123456789abcdef_a-0123456789abcdef_b"},
            "Session 'root-0123456789abcdef_a-0123456789abcdef_b' was not started from this one, so it cannot be "
            "resumed here. Name an agent instead: a, self.",
        ),
    ],
)
async def test_a_task_that_is_not_begun_says_why(arguments: dict[str, Any], told: str) -> None:
    """The model reads what exists; no session is made, and nobody hears of one."""
    async with session_with(call("task", **arguments), "done", agents={"a": {}}) as session:
        heard = listen(session)
        await session.execute("go")
        assert await results(session) == [told]
        assert heard.events == []
        assert session.status.tool_failures == 1


async def test_a_session_of_this_one_that_nobody_has_is_a_failure() -> None:
    """The id could be right, and is of no child that is kept."""
    script = (call("task", instruction="x", session_id="root-0123456789abcdef_a"), "done")
    async with session_with(*script) as session:
        await session.execute("go")
        [result] = await results(session)
    assert result.startswith(
        "Error: Agent 'a' failed: There is no session 'root-0123456789abcdef_a' to resume. There is: none"
    )


async def test_a_child_that_fails_is_a_result() -> None:
    """It names agent and error, has what was said by then and what it cost, and tells how to go on."""
    broken = model(
        {"text": "I begin.", **call("note")},
        {"error": {"type": "ProviderUnavailableError", "message": "the model is away"}},
        usage=PRICE,
    )
    agents = {"a": {"providers": broken, "tools": ["tool-note"]}}
    modules: Modules = {"tool-note": lambda coordinator, config: Noting("note")}
    async with session_with(task(), "done", agents=agents, modules=modules) as session:
        heard = listen(session)
        await session.execute("go")
        [result] = await results(session)
    head, _, body = result.partition("\n\n")
    told = json.loads(body)
    assert head == (
        "Error: Agent 'a' failed: ProviderUnavailableError: the model is away. To let it go on, call again with "
        f"session_id '{told['session_id']}'."
    )
    assert (told["status"], told["response"], told["metadata"]["cost_usd"]) == ("failed", "I begin.", "0.25")
    assert facts(heard)[1][1]["success"] is False


async def test_an_agent_that_ends_early_is_told_with_what_it_has() -> None:
    """The limit of model calls is the tool's, whatever the agent's own config says."""
    loop = {"session": {"orchestrator": {"config": {"max_iterations": 99}}}}
    agents = {"a": {**loop, "providers": model(call("note"), "so far"), "tools": ["tool-note"]}}
    modules: Modules = {"tool-note": lambda coordinator, config: Noting("note")}
    async with session_with(task(), "done", agents=agents, modules=modules, task={"max_iterations": 1}) as session:
        await session.execute("go")
        [result] = await results(session)
    head, _, body = result.partition("\n\n")
    assert head == "Error: Agent 'a' ended early (incomplete: max_iterations); 'response' is what it has."
    assert (json.loads(body)["response"], json.loads(body)["turn_count"]) == ("so far", 2)


async def test_a_child_reads_of_the_conversation_what_the_model_lets_it() -> None:
    """Recent turns as text in front of the instruction; by default nothing."""
    seen: list[str] = []

    def answer(request: Any) -> str:
        seen.append(str(request.messages[-1].content))
        return "ok"

    script = (
        task("Zero."),
        "It is done.",
        task("One.", inherit_context="recent", inherit_context_turns=1),
        task("All.", inherit_context="all"),
        "done",
    )
    async with session_with(*script, agents={"a": {"providers": model(answer)}}) as session:
        await session.execute("first")
        await session.execute("second")
    head = "The conversation that your task comes from, for information:\n\n"
    tail = "\n\n---\n\nYour task:\n\n"
    assert seen == [
        "Zero.",
        f"{head}User: second{tail}One.",
        f"{head}User: first\n\nAssistant: It is done.\n\nUser: second{tail}All.",
    ]


async def test_the_model_of_a_child_can_be_preferred() -> None:
    """The preferences of the call choose the provider."""
    providers = [
        *model(task("go", "self", provider_preferences=[{"provider": "be*"}]), "{{tool.response}}"),
        {"module": "provider-mock", "instance_id": "best", "config": {"script": ["best"]}},
    ]
    async with session_with(providers=providers) as session:
        assert await session.execute("go") == "best"


def line_of(depth: int, **child_config: Any) -> dict[str, Any]:
    """Agents ``a1``, ``a2``, …: each gives a task to the next, and the last answers."""
    agents: dict[str, Any] = {}
    for level in range(1, depth + 1):
        script = ["deep"] if level == depth else [task("down", f"a{level + 1}"), "{{last_tool_result}}"]
        tools = [{"module": "tool-task", "config": child_config}] if child_config else []
        agents[f"a{level}"] = {"providers": model(*script, usage=PRICE), "tools": tools}
    return agents


async def test_three_levels() -> None:
    """A task goes down three levels and its answer comes up again; ids tell the line, and everything is counted."""
    script = (task("down", "a1"), "done")
    async with session_with(*script, agents=line_of(3), task={"max_recursion_depth": 3}) as session:
        await session.execute("go")
        told = (await results(session))[0]
        ids = [told["session_id"]]
        for _ in range(2):
            told = json.loads(told["response"])
            ids.append(told["session_id"])
        assert told["response"] == "deep"
        assert [below.startswith(f"{above}-") for above, below in zip(["root", *ids], ids, strict=False)] == [True] * 3
        assert session.status.cost_usd == Decimal("0.25") * 5
        assert await session.coordinator.collect_contributions("session.cost") == [{"cost_usd": "1.25"}]


@pytest.mark.parametrize(
    ("limit", "child_config", "deepest"),
    [(1, {}, 1), (2, {}, 2), (1, {"max_recursion_depth": 9}, 1), (3, {"max_recursion_depth": 1}, 1)],
    ids=["one", "two", "a child that wants more", "a child that wants less"],
)
async def test_the_limit_of_depth_holds_along_the_line(limit: int, child_config: Any, deepest: int) -> None:
    """It is the smallest of all configs above, so the config of a child cannot raise it."""
    script = (task("down", "a1"), "done")
    config = {"max_recursion_depth": limit}
    async with session_with(*script, agents=line_of(4, **child_config), task=config) as session:
        await session.execute("go")
        told = (await results(session))[0]
        for _ in range(deepest - 1):
            told = json.loads(told["response"])
    assert told["response"] == (
        f"No agent can be started from here: this session is at depth {deepest}, and the limit is {deepest}. "
        "Do the task yourself."
    )


async def test_without_room_below_no_agent_is_offered() -> None:
    """The description says so in one line."""
    async with session_with("x", agents={"a": {}}, task={"max_recursion_depth": 0}) as session:
        tool = session.coordinator.get("tools", "task")
        assert tool.description == "No agent can be started from this session: it is as deep as it may be."


async def test_an_agent_calls_whom_it_may() -> None:
    """``agents`` of an agent is what its own children can be; ``none`` takes even ``self`` away."""
    seen: list[str] = []

    def look(request: Any) -> str:
        [tool] = request.tools
        seen.append(str(tool.description).partition("Agents:")[2])
        return "ok"

    agents = {"a": {"providers": model(look), "agents": ["b"]}, "b": {"providers": model(look), "agents": "none"}}
    script = (task(agent="a"), task(agent="b"), "done")
    async with session_with(*script, agents=agents, task={"max_recursion_depth": 5}) as session:
        await session.execute("go")
    assert seen == ["\n- b: (no description)", ""]


async def test_a_guard_of_the_first_session_denies_a_call_of_the_last() -> None:
    """Guards reach through all levels, and no config in between takes them away."""
    denied: list[str] = []

    async def guard(event: str, data: dict[str, Any]) -> HookResult:
        if data["tool_name"] != "note":
            return HookResult()
        denied.append(data["session_id"].rpartition("_")[2])
        return HookResult(action="deny", reason="not in this house")

    calls: list[str] = []
    modules: Modules = {"tool-note": lambda coordinator, config: Noting("note", calls)}
    agents: dict[str, Any] = line_of(3)
    agents["a3"] = {"providers": model(call("note"), "{{last_tool_result}}"), "tools": ["tool-note"], "hooks": []}
    config = {"max_recursion_depth": 3, "exclude_hooks": ["*"]}
    async with session_with(task("down", "a1"), "done", agents=agents, task=config, modules=modules) as session:
        session.coordinator.hooks.register(TOOL_PRE, guard, on_error="deny")
        await session.execute("go")
        told = (await results(session))[0]
    assert "Denied: not in this house" in told["response"]
    assert (denied, calls) == (["a3"], [])


async def test_children_work_side_by_side_up_to_the_limit() -> None:
    """Of four tasks two are at work at a time; every result is that of its call."""
    working: list[str] = []
    most: list[int] = []
    go_on = asyncio.Event()

    async def answer(request: Any) -> str:
        prompt = str(request.messages[-1].content)
        working.append(prompt)
        most.append(len(working))
        await go_on.wait()
        working.remove(prompt)
        return f"to {prompt}"

    calls = [{"name": "task", "arguments": {"instruction": name, "agent": "a"}} for name in ("p", "q", "r", "s")]
    agents = {"a": {"providers": model(answer)}}
    script = ({"tool_calls": calls}, "done")
    async with session_with(*script, agents=agents, task={"max_concurrent": 2}) as session:
        turn = asyncio.create_task(session.execute("go"))
        assert await wait_for(lambda: len(working) == 2)
        go_on.set()
        await turn
        assert [result["response"] for result in await results(session)] == ["to p", "to q", "to r", "to s"]
    assert (max(most), len(most)) == (2, 4)


async def test_a_task_has_its_time() -> None:
    """After half an hour the child is stopped and cleaned up, and the model reads so, and how to go on."""
    started = asyncio.Event()
    ended: list[str] = []

    async def hang(request: Any) -> Any:
        started.set()
        await asyncio.Event().wait()

    def note(coordinator: Any, config: Any) -> Any:
        coordinator.register_cleanup(lambda: ended.append(coordinator.session_id))
        return Noting("note")

    agents = {"a": {"providers": model({"text": "Looking.", **call("note")}, hang, "never"), "tools": ["tool-note"]}}
    async with session_with(task(), "late", agents=agents, modules={"tool-note": note}) as session:
        heard = listen(session)
        clock = LoopClock()
        turn = asyncio.create_task(session.execute("go"))
        await started.wait()
        clock.advance(1799)
        await asyncio.sleep(0)
        assert not turn.done()
        clock.advance(2)
        assert await turn == "late"
        [result] = await results(session)
    head, _, body = result.partition("\n\n")
    told = json.loads(body)
    assert head == (
        "Error: Agent 'a' did not finish within 1800 s and was stopped. To let it go on, call again with session_id "
        f"'{told['session_id']}'."
    )
    assert (told["status"], told["response"], ended) == ("timeout", "Looking.", [told["session_id"]])
    assert facts(heard)[1][1]["status"] == "timeout"


async def test_a_time_out_inside_a_child_is_its_failure() -> None:
    """It is not mistaken for the tool's own limit."""
    agents = {"a": {"providers": model({"error": {"type": "TimeoutError", "message": "too slow"}})}}
    async with session_with(task(), "done", agents=agents) as session:
        await session.execute("go")
        [result] = await results(session)
    assert result.startswith("Error: Agent 'a' failed: TimeoutError: too slow")


async def test_a_child_that_cancels_itself_is_its_failure() -> None:
    """Nobody has stopped the turn, so it goes on."""

    async def give_up(**wishes: Any) -> Any:
        raise asyncio.CancelledError("by myself")

    async with session_with(task(), "done", agents={"a": {}}) as session:
        session.coordinator.register_capability(SPAWN, give_up)
        assert await session.execute("go") == "done"
        [result] = await results(session)
    assert result.startswith("Error: Agent 'a' failed: CancelledError: by myself")


async def test_the_applications_own_sessions_are_used() -> None:
    """Its capabilities get what the convention says, and no more; its short answers are enough."""
    asked: list[dict[str, Any]] = []

    async def start(**wishes: Any) -> dict[str, Any]:
        asked.append(wishes)
        return {"output": "from the app", "session_id": wishes["sub_session_id"]}

    def go_on(sub_session_id: str, instruction: str) -> dict[str, Any]:
        asked.append({"sub_session_id": sub_session_id, "instruction": instruction})
        return {"output": "more from the app", "session_id": sub_session_id}

    again = call("task", instruction="And?", session_id="{{tool.session_id}}")
    config = {"exclude_tools": ["tool-task"], "inherit_hooks": ["hooks-x"], "max_iterations": 20}
    async with session_with(task("One."), again, "done", agents={"a": {"x": 1}}, task=config) as session:
        session.coordinator.register_capability(SPAWN, start)
        session.coordinator.register_capability(RESUME, go_on)
        await session.execute("go")
        first, second = await results(session)
        assert (first["response"], second["response"]) == ("from the app", "more from the app")
        assert asked == [
            {
                "agent_name": "a",
                "instruction": "One.",
                "parent_session": session,
                "agent_configs": {"a": {"x": 1}},
                "sub_session_id": first["session_id"],
                "tool_inheritance": {"exclude_tools": ["tool-task"]},
                "hook_inheritance": {"inherit_hooks": ["hooks-x"]},
                "orchestrator_config": {"max_retries": 0, "max_iterations": 20},
                "provider_preferences": None,
            },
            {"sub_session_id": first["session_id"], "instruction": "And?"},
        ]


async def test_depth_is_counted_in_the_applications_own_sessions_too() -> None:
    """A child that the application makes by hand inside the call is below the parent, whatever its plan says."""

    async def start(**wishes: Any) -> dict[str, Any]:
        parent = wishes["parent_session"]
        own = plan(task("more"), "{{last_tool_result}}", agents={"a": {}})
        own["tools"] = [{"module": "tool-task", "config": {"max_recursion_depth": 9}}]
        async with AmplifierSession(own, session_id="any-name", parent_id=parent.session_id) as child:
            return {"output": await child.execute(wishes["instruction"]), "session_id": "any-name"}

    async with session_with(task(), "done", agents={"a": {}}) as session:
        session.coordinator.register_capability(SPAWN, start)
        await session.execute("go")
        [result] = await results(session)
    assert result["response"].startswith("No agent can be started from here: this session is at depth 1")


async def test_depth_is_read_from_the_id_where_a_child_runs_elsewhere() -> None:
    """A child in a process of its own is below its parent by its id."""
    own = plan(task(), "{{last_tool_result}}", agents={"a": {}}, tools=["tool-task"])
    async with AmplifierSession(own, session_id="root-0123456789abcdef_a") as child:
        told = await child.execute("go")
    assert told.startswith("No agent can be started from here: this session is at depth 1")


async def test_a_conversation_that_cannot_be_read_is_a_failure() -> None:
    """The child would not know what it was meant to know, so it is not started."""
    async with session_with(task(inherit_context="all"), "done", agents={"a": {}}) as session:
        context = session.coordinator.get("context")

        async def get_messages() -> Any:
            raise OSError("disk")

        tool = session.coordinator.get("tools", "task")
        context.get_messages = get_messages
        result = await tool.execute({"instruction": "x", "agent": "a", "inherit_context": "all"})
    assert (result.success, result.error) == (
        False,
        {"message": "Agent 'a' failed: OSError: disk.", "type": "failed"},
    )


async def test_a_hook_that_denies_the_start_of_a_task_keeps_it_from_starting() -> None:
    """The model reads the reason, and nothing is told of an end."""

    async def deny(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="deny", reason="no agents today")

    async with session_with(task(), "done", agents={"a": {"providers": model("never")}}) as session:
        heard = listen(session)
        session.coordinator.hooks.register("task:agent_spawned", deny)
        await session.execute("go")
        assert await results(session) == ["Denied: no agents today"]
    assert [event for event, _ in heard.events] == ["task:agent_spawned"]


async def test_a_coordinator_whose_plan_is_no_dict_has_self_alone() -> None:
    """The tool does not depend on what a plan looks like."""
    coordinator: Any = TestCoordinator()
    coordinator._config = None
    await mount(coordinator)
    result = await coordinator.get("tools", "task").execute({"instruction": "x", "agent": "b"})
    assert result.output == "There is no agent 'b'. Agents: self."
