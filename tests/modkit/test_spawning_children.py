"""Children of a session: made from an agent, limited, watched, cleaned up, and resumed."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest
from tests.modkit.spawning_world import Modules, Noting, call, model, plan, said, shelf

from amplifier_core import AmplifierSession, HookResult
from amplifier_core.events import SESSION_END, SESSION_FORK, SESSION_RESUME, SESSION_START, TOOL_PRE
from amplifier_core.llm_errors import ProviderUnavailableError
from amplifier_core.testing import EventRecorder, MockContextManager, RecordingApproval, TestCoordinator, wait_for
from amplifier_modkit.spawning.children import CHILDREN, RESUME, SPAWN, Children, offer_children
from amplifier_modkit.spawning.errors import SpawnError
from amplifier_modkit.spawning.handing_down import HANDED_DOWN
from amplifier_modkit.spawning.watching import SESSION_CHILD_EVENT

PRICE = {"input_tokens": 10, "output_tokens": 5, "cost_usd": "0.25"}


def parent_of(agents: dict[str, Any], modules: Modules | None = None, **more: Any) -> AmplifierSession:
    """A session whose agents are given, named ``root``."""
    return AmplifierSession(plan(agents=agents, **more), loader=shelf(modules or {}), session_id="root")


async def spawn(parent: AmplifierSession, agent: str, instruction: str = "go", **more: Any) -> dict[str, Any]:
    """Starts a child the way a module does: by the capability."""
    offer_children(parent.coordinator)
    start = parent.coordinator.get_capability(SPAWN)
    return await start(agent, instruction, parent, parent.config["agents"], **more)


async def resume(parent: AmplifierSession, session_id: str, instruction: str = "go on") -> dict[str, Any]:
    """Lets a child go on."""
    return await parent.coordinator.get_capability(RESUME)(session_id, instruction)


def children_of(parent: AmplifierSession) -> Children:
    """What the parent knows of its children."""
    return parent.coordinator.get_capability(CHILDREN)


async def test_a_child_works_by_the_config_of_its_agent() -> None:
    """It has the agent's instructions and model, its answer comes back, and it is taken down again."""
    seen: list[Any] = []

    def answer(request: Any) -> str:
        seen.append([(message.role, message.content) for message in request.messages])
        return "It is red."

    usage = {"input_tokens": 10, "output_tokens": 5}
    agents = {"painter": {"instruction": "You paint.", "providers": model(answer, usage=usage)}}
    async with parent_of(agents) as parent:
        told = await spawn(parent, "painter", "Which colour?", sub_session_id="root-child")
        assert told == {
            "output": "It is red.",
            "session_id": "root-child",
            "status": "success",
            "turn_count": 1,
            "metadata": {"agent": "painter", "input_tokens": 10, "output_tokens": 5, "tool_calls": 0},
        }
        assert seen == [[("system", "You paint."), ("user", "Which colour?")]]


async def test_a_child_tells_where_it_comes_from() -> None:
    """Its events carry its id and the parent's, and its start names the agent; the parent hears of each of them."""
    heard = EventRecorder()
    async with parent_of({"painter": {"providers": model("red")}}) as parent:
        parent.coordinator.hooks.register(SESSION_CHILD_EVENT, heard)
        await spawn(parent, "painter", sub_session_id="root-child")
    told = [data for _, data in heard.events]
    assert {(each["child_session_id"], each["agent"], each["session_id"]) for each in told} == {
        ("root-child", "painter", "root")
    }
    assert {(each["data"]["session_id"], each["data"]["parent_id"]) for each in told} == {("root-child", "root")}
    events = [each["event"] for each in told]
    assert events[:2] == [SESSION_FORK, SESSION_START]
    assert events[-1] == SESSION_END
    assert told[1]["data"]["metadata"] == {"agent": "painter", "parent_session_id": "root"}


async def test_nothing_is_told_again_when_nobody_listens() -> None:
    """The event of the parent is made for listeners only, and is not announced to those who log everything."""
    async with parent_of({"painter": {"providers": model("red")}}) as parent:
        await spawn(parent, "painter")
        announced = await parent.coordinator.collect_contributions("observability.events")
    assert SESSION_CHILD_EVENT not in [event for events in announced for event in events]


async def test_what_a_child_uses_is_added_to_what_its_parent_uses() -> None:
    """Tokens, tool calls and money, in the status, on the channel, and in the answer; a resumed child adds its part."""
    agents = {"worker": {"providers": model(call("note"), "done", usage=PRICE), "tools": ["tool-note"]}}
    async with parent_of(agents, {"tool-note": lambda coordinator, config: Noting("note")}) as parent:
        told = await spawn(parent, "worker", sub_session_id="root-child")
        assert told["metadata"] == {
            "agent": "worker",
            "input_tokens": 20,
            "output_tokens": 10,
            "tool_calls": 1,
            "cost_usd": "0.50",
        }
        status = parent.status
        assert (status.total_input_tokens, status.total_output_tokens, status.cost_usd) == (20, 10, Decimal("0.50"))
        assert (status.tool_invocations, status.tool_successes, status.tool_failures) == (1, 1, 0)
        assert status.total_messages == 4
        await resume(parent, "root-child")
        assert status.cost_usd == Decimal("1.00")
        assert await parent.coordinator.collect_contributions("session.cost") == [{"cost_usd": "1.00"}]


async def test_the_cost_of_a_child_at_work_is_known() -> None:
    """The channel counts what a running child has spent so far; without prices there is nothing to say."""
    started, go_on = asyncio.Event(), asyncio.Event()

    async def wait(coordinator: Any, config: Any) -> Any:
        class Wait(Noting):
            async def execute(self, input: dict[str, Any]) -> str:
                started.set()
                await go_on.wait()
                return "waited"

        return Wait("wait")

    agents = {
        "free": {"providers": model("nothing")},
        "dear": {"providers": model(call("wait"), "done", usage=PRICE), "tools": ["tool-wait"]},
    }
    async with parent_of(agents, {"tool-wait": wait}) as parent:
        await spawn(parent, "free")
        assert await parent.coordinator.collect_contributions("session.cost") == []
        work = asyncio.create_task(spawn(parent, "dear"))
        await started.wait()
        assert await parent.coordinator.collect_contributions("session.cost") == [{"cost_usd": "0.25"}]
        go_on.set()
        await work
        assert await parent.coordinator.collect_contributions("session.cost") == [{"cost_usd": "0.50"}]


async def test_a_child_that_fails_is_cleaned_up_and_counted() -> None:
    """Its error comes out as it is; what it used until then is the parent's, and it can be resumed."""
    failing = model(
        call("note"), {"error": {"type": "ProviderUnavailableError", "message": "gone"}}, "back", usage=PRICE
    )
    agents = {"worker": {"providers": failing, "tools": ["tool-note"]}}
    ends: list[str] = []

    def note(coordinator: Any, config: Any) -> Any:
        coordinator.register_cleanup(lambda: ends.append(coordinator.session_id))
        return Noting("note")

    async with parent_of(agents, {"tool-note": note}) as parent:
        with pytest.raises(ProviderUnavailableError, match="gone"):
            await spawn(parent, "worker", sub_session_id="root-child")
        assert ends == ["root-child"]
        assert parent.status.cost_usd == Decimal("0.25")
        record = children_of(parent).record("root-child")
        assert record is not None
        assert (record.is_resumable, record.last_words, len(record.messages)) == (True, "", 3)


async def test_a_child_that_cannot_be_set_up_leaves_nothing() -> None:
    """The error of its set-up comes out, and there is no conversation to resume."""
    async with parent_of({"odd": {"session": {"orchestrator": "loop-nobody-has"}}}) as parent:
        with pytest.raises(RuntimeError, match="Cannot initialize without orchestrator"):
            await spawn(parent, "odd", sub_session_id="root-child")
        with pytest.raises(SpawnError) as caught:
            await resume(parent, "root-child")
        assert str(caught.value) == "There is no session 'root-child' to resume. There is: none"


async def test_a_child_cannot_be_made_from_nothing() -> None:
    """An unknown agent, a missing parent and an id that is taken are told before anything is made."""
    async with parent_of({"a": {"providers": model("one", "two")}}) as parent:
        with pytest.raises(SpawnError, match="There is no agent 'b'. Agents: a, self."):
            await spawn(parent, "b")
        start = parent.coordinator.get_capability(SPAWN)
        with pytest.raises(SpawnError, match="There is no session that agent 'a' could be a child of"):
            await start("a", "go", None, {"a": {}})
        await spawn(parent, "a", sub_session_id="root-child")
        with pytest.raises(SpawnError, match="There is a child session 'root-child' already; resume it"):
            await spawn(parent, "a", sub_session_id="root-child")


async def test_a_child_without_a_given_id_gets_one() -> None:
    """The id names parent and agent."""
    async with parent_of({"a": {"providers": model("one")}}) as parent:
        told = await spawn(parent, "a")
    assert told["session_id"].startswith("root-")
    assert told["session_id"].endswith("_a")


async def test_a_child_has_the_tools_that_it_inherits_and_its_own() -> None:
    """Modules that are left out are not mounted, single tools are taken out, late ones too; its own tools stay."""
    mounted: list[str] = []

    def two(coordinator: Any, config: Any) -> None:
        mounted.append(coordinator.session_id)
        for name in ("read", "write"):
            coordinator.mount("tools", Noting(name))

    def late(coordinator: Any, config: Any) -> None:
        coordinator.mount("tools", Noting("late"))
        coordinator.hooks.register(SESSION_START, lambda event, data: None)

    seen: list[Any] = []

    def answer(request: Any) -> str:
        seen.append([tool.name for tool in request.tools or []])
        return "done"

    modules: Modules = {
        "tool-two": two,
        "tool-bash": lambda coordinator, config: Noting("bash"),
        "tool-own": lambda coordinator, config: Noting("own"),
        "hooks-late": late,
    }
    agents = {"a": {"tools": ["tool-own"], "providers": model(answer, answer, answer)}}
    sections: dict[str, Any] = {"tools": ["tool-two", "tool-bash"], "hooks": ["hooks-late"]}
    async with parent_of(agents, modules, **sections) as parent:
        await spawn(parent, "a")
        await spawn(parent, "a", tool_inheritance={"inherit_tools": ["read"], "exclude_tools": ["own"]})
        await spawn(parent, "a", tool_inheritance={"exclude_tools": ["tool-two", "late"]})
        assert len(mounted) == 3
    assert seen == [["read", "write", "bash", "own", "late"], ["read", "own"], ["bash", "own"]]


async def test_the_parents_guards_hold_in_a_child_that_leaves_their_module_out() -> None:
    """A hook module that is not inherited is not mounted, and its guard still denies: rules are only ever tightened."""
    mounted: list[str] = []

    async def no_notes(event: str, data: dict[str, Any]) -> HookResult:
        if data["tool_name"] == "note":
            return HookResult(action="deny", reason="nothing is noted here")
        return HookResult()

    def guard(coordinator: Any, config: Any) -> None:
        mounted.append(coordinator.session_id)
        coordinator.hooks.register(TOOL_PRE, no_notes, on_error="deny")

    calls: list[str] = []
    modules: Modules = {"hooks-guard": guard, "tool-note": lambda coordinator, config: Noting("note", calls)}
    agents = {"a": {"hooks": [], "providers": model(call("note"), "I was told: {{last_tool_result}}")}}
    async with parent_of(agents, modules, hooks=["hooks-guard"], tools=["tool-note"]) as parent:
        told = await spawn(parent, "a", hook_inheritance={"exclude_hooks": ["*"]})
    assert (told["output"], calls, mounted) == ("I was told: Denied: nothing is noted here", [], ["root"])


async def test_a_question_about_one_call_is_asked_once() -> None:
    """A child has the parent's guard and its own copy of it; by what is handed down they see that one has asked."""

    def asking(coordinator: Any, config: Any) -> None:
        asked = coordinator.get_capability("asking.asked")
        asked = {} if asked is None else asked
        me = object()

        async def ask(event: str, data: dict[str, Any]) -> HookResult:
            call_of = (data["session_id"], data["tool_call_id"], str(data["tool_input"]))
            if asked.setdefault(call_of, me) is not me:
                return HookResult()
            return HookResult(action="ask_user", approval_prompt=f"{data['session_id']}: {data['tool_name']}?")

        coordinator.hooks.register(TOOL_PRE, ask, on_error="deny")
        coordinator.register_contributor(HANDED_DOWN, "hooks-asking", lambda: {"asking.asked": asked})

    calls: list[str] = []
    modules: Modules = {"hooks-asking": asking, "tool-note": lambda coordinator, config: Noting("note", calls)}
    agents = {"a": {"providers": model(call("note"), call("note"), "done")}}
    approval = RecordingApproval("Allow")
    async with AmplifierSession(
        plan(agents=agents, hooks=["hooks-asking"], tools=["tool-note"]),
        loader=shelf(modules),
        session_id="root",
        approval_system=approval,
    ) as parent:
        await spawn(parent, "a", sub_session_id="root-child")
    assert calls == ["note", "note"]
    assert [each.args[0] for each in approval.request_approval.call_args_list] == ["root-child: note?"] * 2


async def test_a_preferred_provider_answers() -> None:
    """The caller's preferences count, else the agent's; who is chosen is asked although another is the default."""
    providers = [
        {"module": "provider-mock", "config": {"script": ["cheap"] * 3, "priority": -5}},
        {"module": "provider-mock", "instance_id": "best", "config": {"script": ["best"], "model": "b-1"}},
    ]
    session = {
        "orchestrator": {"module": "loop-basic", "config": {"default_provider": "mock"}},
        "context": "context-simple",
    }
    agents = {"a": {}, "b": {"provider_preferences": [{"provider": "best", "model": "b-*"}]}}
    async with parent_of(agents, providers=providers, session=session) as parent:
        plain = await spawn(parent, "a")
        preferred = await spawn(parent, "a", provider_preferences=[{"provider": "be*"}])
        of_agent = await spawn(parent, "b")
        overruled = await spawn(parent, "b", provider_preferences=[{"provider": "mock"}])
    assert [each["output"] for each in (plain, preferred, of_agent, overruled)] == ["cheap", "best", "best", "cheap"]


async def test_the_callers_limit_of_model_calls_holds() -> None:
    """The child is wrapped up at the limit, and the answer says why."""
    agents = {"a": {"providers": model(call("note"), call("note"), "as far as I came"), "tools": ["tool-note"]}}
    async with parent_of(agents, {"tool-note": lambda coordinator, config: Noting("note")}) as parent:
        told = await spawn(parent, "a", orchestrator_config={"max_iterations": 2})
    assert (told["output"], told["status"], told["reason"], told["turn_count"]) == (
        "as far as I came",
        "incomplete",
        "max_iterations",
        3,
    )


async def test_a_loop_that_does_not_tell_its_end_is_judged_by_the_session() -> None:
    """Whoever answers without the event has done its work."""

    class Silent:
        async def execute(self, prompt: str, context: Any, providers: Any, tools: Any, hooks: Any) -> str:
            return prompt.upper()

    agents = {"a": {"session": {"orchestrator": "loop-silent"}}}
    async with parent_of(agents, {"loop-silent": lambda coordinator, config: Silent()}) as parent:
        told = await spawn(parent, "a", "loud")
    assert (told["output"], told["status"], told["turn_count"], "reason" in told) == ("LOUD", "success", 0, False)


async def test_a_resumed_child_goes_on_with_its_conversation() -> None:
    """It has the same id, agent, tools and instructions, and says that it was resumed."""
    seen: list[Any] = []

    def answer(request: Any) -> str:
        seen.append([(message.role, message.content) for message in request.messages])
        return f"answer {len(seen)}"

    agents = {"a": {"instruction": "You answer.", "providers": model(answer)}}
    heard = EventRecorder()
    async with parent_of(agents) as parent:
        parent.coordinator.hooks.register(SESSION_CHILD_EVENT, heard)
        first = await spawn(parent, "a", "one")
        second = await resume(parent, first["session_id"], "two")
        third = await resume(parent, first["session_id"], "three")
    assert [each["output"] for each in (first, second, third)] == ["answer 1", "answer 2", "answer 3"]
    assert {each["session_id"] for each in (first, second, third)} == {first["session_id"]}
    assert seen[2] == [
        ("system", "You answer."),
        ("user", "one"),
        ("assistant", "answer 1"),
        ("user", "two"),
        ("assistant", "answer 2"),
        ("user", "three"),
    ]
    starts = [data["event"] for _, data in heard.events if data["event"] in (SESSION_START, SESSION_RESUME)]
    assert starts == [SESSION_START, SESSION_RESUME, SESSION_RESUME]


async def test_only_the_latest_children_can_be_resumed() -> None:
    """Memory is bounded: of those that have ended so many are kept, and a resumed one counts as the latest."""
    async with parent_of({"a": {"providers": model("x")}}) as parent:
        children = Children(parent.coordinator, most_kept=2)
        for name in ("one", "two"):
            await children.spawn("a", "go", parent, parent.config["agents"], sub_session_id=name)
        await children.resume("one", "go")
        await children.spawn("a", "go", parent, parent.config["agents"], sub_session_id="three")
        assert [children.record(name) is not None for name in ("one", "two", "three")] == [True, False, True]
        with pytest.raises(SpawnError) as caught:
            await children.resume("two", "go")
    assert str(caught.value) == "There is no session 'two' to resume. There is: one, three"


async def test_a_child_at_work_is_not_resumed() -> None:
    """Whoever wants to go on with it waits for its result."""
    started = asyncio.Event()

    async def hang(request: Any) -> str:
        started.set()
        await asyncio.Event().wait()
        return "never"

    async with parent_of({"a": {"providers": model(hang)}}) as parent:
        work = asyncio.create_task(spawn(parent, "a", sub_session_id="root-child"))
        await started.wait()
        with pytest.raises(SpawnError, match="Session 'root-child' is still at work; wait for its result"):
            await resume(parent, "root-child")
        with pytest.raises(SpawnError, match="There is a child session 'root-child' already"):
            await spawn(parent, "a", sub_session_id="root-child")
        work.cancel()
        await asyncio.wait({work})
        assert work.cancelled()


async def test_a_context_without_a_place_for_instructions_gets_them_as_a_message() -> None:
    """Once, at the beginning; a resumed conversation has it already. Without instructions there is nothing to put."""
    agents = {"a": {"instruction": "You answer.", "providers": model("x")}, "b": {"providers": model("x")}}
    session = {"orchestrator": "loop-basic", "context": "context-plain"}
    modules: Modules = {"context-plain": lambda coordinator, config: MockContextManager()}
    async with parent_of(agents, modules, session=session) as parent:
        told = await spawn(parent, "a")
        await resume(parent, told["session_id"], "more")
        other = await spawn(parent, "b")
        records = [children_of(parent).record(each["session_id"]) for each in (told, other)]
    assert [[message["role"] for message in record.messages] for record in records if record] == [
        ["system", "user", "assistant", "user", "assistant"],
        ["user", "assistant"],
    ]


async def test_a_conversation_that_cannot_be_read_cannot_be_resumed(caplog: pytest.LogCaptureFixture) -> None:
    """The answer comes back all the same."""

    def forgetful(coordinator: Any, config: Any) -> Any:
        context = MockContextManager()
        context.get_messages.side_effect = OSError("disk")
        return context

    session = {"orchestrator": "loop-basic", "context": "context-forgetful"}
    modules: Modules = {"context-forgetful": forgetful}
    async with parent_of({"a": {"providers": model("x")}}, modules, session=session) as parent:
        told = await spawn(parent, "a", sub_session_id="root-child")
        assert told["output"] == "x"
        with pytest.raises(SpawnError, match="There is no session 'root-child' to resume"):
            await resume(parent, "root-child")
    assert [each for each in caplog.messages if "not to be had" in each] == [
        "Session 'root-child' cannot be resumed, its conversation is not to be had: OSError('disk')"
    ]


async def test_a_cancelled_child_is_cleaned_up_before_the_cancellation_comes_out() -> None:
    """Its turn is closed, its conversation kept, and the parent no longer passes cancellations on to it."""
    started = asyncio.Event()
    children: list[Any] = []

    async def hang(request: Any) -> str:
        started.set()
        await asyncio.Event().wait()
        return "never"

    def watching(coordinator: Any, config: Any) -> Any:
        children.append(coordinator.session)
        return Noting("x")

    agents = {"a": {"providers": model(hang), "tools": ["tool-x"]}}
    async with parent_of(agents, {"tool-x": watching}) as parent:
        work = asyncio.create_task(spawn(parent, "a", sub_session_id="root-child"))
        await started.wait()
        work.cancel()
        await asyncio.wait({work})
        assert work.cancelled()
        assert (children[0].initialized, children[0].status.status) == (False, "cancelled")
        record = children_of(parent).record("root-child")
        assert record is not None
        assert [message["content"] for message in record.messages] == ["go"]
        await parent.coordinator.request_cancel(immediate=True)
        assert children[0].coordinator.cancellation.is_cancelled is False


async def test_children_at_work_stop_when_the_session_ends() -> None:
    """Taking the parent down asks them to stop at once, and forgets those that have ended."""
    started = asyncio.Event()

    async def hang(request: Any) -> str:
        started.set()
        await asyncio.Event().wait()
        return "never"

    parent = parent_of({"a": {"providers": model("x", hang)}, "b": {"providers": model(hang)}})
    await parent.initialize()
    ended = await spawn(parent, "a")
    children = children_of(parent)
    work = asyncio.create_task(spawn(parent, "b"))
    await started.wait()
    await parent.cleanup()
    told = await work
    assert (told["status"], told["output"]) == ("cancelled", "Stopped before there was an answer.")
    assert children.record(ended["session_id"]) is None


async def test_a_grandchild_is_told_and_counted_up_to_the_top() -> None:
    """Its events reach the first session with its own id, and its cost is counted once."""

    def delegating(coordinator: Any, config: Any) -> Any:
        offer_children(coordinator)

        class Ask(Noting):
            async def execute(self, input: dict[str, Any]) -> str:
                return (await spawn(coordinator.session, "low", sub_session_id="root-b-c"))["output"]

        return Ask("ask")

    agents = {
        "high": {"providers": model(call("ask"), "told: {{last_tool_result}}", usage=PRICE), "tools": ["tool-ask"]},
        "low": {"providers": model("deep", usage=PRICE)},
    }
    heard = EventRecorder()
    async with parent_of(agents, {"tool-ask": delegating}) as parent:
        parent.coordinator.hooks.register(SESSION_CHILD_EVENT, heard)
        told = await spawn(parent, "high", sub_session_id="root-b")
        assert told["output"] == "told: deep"
        assert (told["metadata"]["cost_usd"], parent.status.cost_usd) == ("0.75", Decimal("0.75"))
        assert await parent.coordinator.collect_contributions("session.cost") == [{"cost_usd": "0.75"}]
    starts = [
        (data["child_session_id"], data["agent"], data["data"]["parent_id"], data["session_id"])
        for _, data in heard.events
        if data["event"] == SESSION_START
    ]
    assert starts == [("root-b", "high", "root", "root"), ("root-b-c", "low", "root-b", "root")]


async def test_the_parent_hands_capabilities_down() -> None:
    """Those of the application, and what modules contribute; what is of the wrong shape is left out."""
    found: list[Any] = []

    def look(coordinator: Any, config: Any) -> Any:
        found.append({name: coordinator.get_capability(name) for name in ("session.working_dir", "own.thing", "other")})
        return Noting("look")

    async with parent_of({"a": {"providers": model("x"), "tools": ["tool-look"]}}, {"tool-look": look}) as parent:
        coordinator = parent.coordinator
        coordinator.register_capability("session.working_dir", "somewhere")
        coordinator.register_capability("other", "stays here")
        coordinator.register_contributor(HANDED_DOWN, "x", lambda: {"own.thing": 7})
        coordinator.register_contributor(HANDED_DOWN, "y", lambda: ["no dict"])
        await spawn(parent, "a")
    assert found == [{"session.working_dir": "somewhere", "own.thing": 7, "other": None}]


async def test_the_reference_is_offered_once_and_in_nobodys_place() -> None:
    """An application's own capability stays, and a second module shares the children of the first."""
    coordinator = TestCoordinator()

    async def own(**wishes: Any) -> dict[str, Any]:
        return {}

    coordinator.register_capability(SPAWN, own)
    first, second = offer_children(coordinator), offer_children(coordinator)
    assert first is second
    assert coordinator.get_capability(SPAWN) is own
    assert coordinator.get_capability(RESUME) == first.resume
    assert len(coordinator.channels["session.cost"]) == 1


async def test_children_side_by_side_do_not_meet() -> None:
    """Each has its own conversation and id, and both are counted."""
    started: list[int] = []
    go_on = asyncio.Event()

    async def answer(request: Any) -> Any:
        started.append(len(started))
        await go_on.wait()
        return {"text": f"to {request.messages[-1].content}", "usage": PRICE}

    async with parent_of({"a": {"providers": model(answer)}}) as parent:
        work = [asyncio.create_task(spawn(parent, "a", name)) for name in ("one", "two", "three")]
        assert await wait_for(lambda: len(started) == 3)
        go_on.set()
        told = await asyncio.gather(*work)
        assert [each["output"] for each in told] == ["to one", "to two", "to three"]
        assert len({each["session_id"] for each in told}) == 3
        assert parent.status.cost_usd == Decimal("0.75")
        assert await said(parent) == []


async def test_a_child_is_taken_down_at_whatever_moment_it_is_cancelled() -> None:
    """Cancelled a little later each time until it comes to its end: it is never left set up, or half taken down."""
    made: list[AmplifierSession] = []
    ended: list[AmplifierSession] = []

    async def slowly() -> None:
        for _ in range(3):
            await asyncio.sleep(0)

    async def answer(request: Any) -> Any:
        await slowly()
        return "done" if request.messages[-1].role == "tool" else call("note")

    async def note(coordinator: Any, config: Any) -> Any:
        made.append(coordinator.session)

        async def end() -> None:
            await slowly()
            ended.append(coordinator.session)

        coordinator.register_cleanup(end)
        await slowly()
        return Noting("note")

    agents = {"a": {"providers": model(answer, answer), "tools": ["tool-note"]}}
    async with parent_of(agents, {"tool-note": note}) as parent:
        children, moments = offer_children(parent.coordinator), 0
        while True:
            work = asyncio.create_task(spawn(parent, "a", sub_session_id=f"root-{moments}"))
            for _ in range(moments):
                await asyncio.sleep(0)
            work.cancel()
            await asyncio.wait({work})
            assert children._running == {}
            assert ended == made
            assert [each.initialized for each in made] == [False] * len(made)
            if not work.cancelled():
                assert work.result()["output"] == "done"
                break
            moments += 1
        assert moments > 12


async def test_a_child_of_an_earlier_process_can_be_adopted_and_resumed() -> None:
    """With its agent and its conversation it goes on where it was; an id that is known is refused."""
    seen: list[Any] = []

    def answer(request: Any) -> str:
        seen.append([message.content for message in request.messages])
        return "Still red."

    async with parent_of({"painter": {"providers": model(answer)}}) as parent:
        children = offer_children(parent.coordinator)
        said_before = [{"role": "user", "content": "Which colour?"}, {"role": "assistant", "content": "Red."}]
        children.adopt("root-child", "painter", parent, said_before)
        told = await resume(parent, "root-child", "Sure?")
        with pytest.raises(SpawnError, match="There is a child session 'root-child' already"):
            children.adopt("root-child", "painter", parent)
        with pytest.raises(SpawnError, match="ghost"):
            children.adopt("root-other", "ghost", parent)
    assert (told["output"], seen) == ("Still red.", [["Which colour?", "Red.", "Sure?"]])
