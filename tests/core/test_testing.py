"""The fakes for module authors: each fits the kernel, records what it was asked, and works inside a real session."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import amplifier_core
from amplifier_core import testing
from amplifier_core.events import ALL_EVENTS, PROVIDER_REQUEST, PROVIDER_RESPONSE, TOOL_POST, TOOL_PRE
from amplifier_core.hooks import HookRegistry
from amplifier_core.interfaces import ContextManager, Orchestrator, Provider, Tool, implements
from amplifier_core.message_models import (
    ChatRequest,
    ChatResponse,
    Message,
    TextBlock,
    ToolCall,
    ToolCallBlock,
    ToolSpec,
)
from amplifier_core.models import HookResult, ToolResult
from amplifier_core.session import AmplifierSession
from amplifier_core.testing import (
    EventRecorder,
    FakeClock,
    MockContextManager,
    MockCoordinator,
    MockProvider,
    MockTool,
    RecordingApproval,
    ScriptedOrchestrator,
    SequentialIds,
    TestCoordinator,
    create_test_coordinator,
    wait_for,
)

PLAN = {"session": {"orchestrator": "loop", "context": "memory"}, "providers": ["model"], "tools": ["tool"]}


class Shelf:
    """A loader that mounts the very modules it was given, by module id."""

    def __init__(self, **modules: tuple[str, Any]) -> None:
        self._modules = modules

    async def load(
        self, module_id: str, config: Any = None, source_hint: Any = None, coordinator: Any = None
    ) -> Callable[[Any], Any]:
        point, module = self._modules[module_id]
        return lambda target: target.mount(point, module)


class SmallLoop:
    """The shortest agent loop: asks the provider, runs the tools it calls, until it answers."""

    async def execute(
        self,
        prompt: str,
        context: ContextManager,
        providers: dict[str, Provider],
        tools: dict[str, Tool],
        hooks: HookRegistry,
    ) -> str:
        provider = next(iter(providers.values()))
        await context.add_message({"role": "user", "content": prompt})
        while True:
            messages = await context.get_messages_for_request(provider=provider)
            await hooks.emit(PROVIDER_REQUEST, {"provider": provider.name, "messages": messages})
            specs = [ToolSpec.from_tool(tool) for tool in tools.values()]
            request = ChatRequest(messages=[Message.model_validate(message) for message in messages], tools=specs)
            response = await provider.complete(request)
            await hooks.emit(PROVIDER_RESPONSE, {"provider": provider.name, "usage": response.usage})
            calls = provider.parse_tool_calls(response)
            content = [block.model_dump(exclude_none=True) for block in response.content]
            await context.add_message({"role": "assistant", "content": content})
            if not calls:
                return "".join(block.text for block in response.content if isinstance(block, TextBlock))
            for each in calls:
                await hooks.emit(TOOL_PRE, {"tool_name": each.name, "tool_input": each.arguments})
                result = await tools[each.name].execute(each.arguments)
                await hooks.emit(TOOL_POST, {"tool_name": each.name, "tool_result": result})
                told = {"role": "tool", "tool_call_id": each.id, "content": result.get_serialized_output()}
                await context.add_message(told)


def asking_for(name: str, **arguments: Any) -> ChatResponse:
    """A response that calls one tool."""
    return ChatResponse(
        content=[ToolCallBlock(id="call-1", name=name, input=arguments)],
        tool_calls=[ToolCall(id="call-1", name=name, arguments=arguments)],
    )


@pytest.mark.parametrize(
    ("kind", "protocol", "fake"),
    [
        ("tool", Tool, MockTool()),
        ("provider", Provider, MockProvider()),
        ("context", ContextManager, MockContextManager()),
        ("orchestrator", Orchestrator, ScriptedOrchestrator([])),
        ("hook", amplifier_core.HookHandler, EventRecorder()),
    ],
)
def test_a_fake_implements_its_kind(kind: str, protocol: type, fake: object) -> None:
    """The kernel's check and the protocol accept it."""
    assert implements(kind, fake)
    assert isinstance(fake, protocol)


@pytest.mark.parametrize(
    "method",
    [
        MockTool().execute,
        MockProvider().complete,
        MockProvider().list_models,
        ScriptedOrchestrator([]).execute,
        EventRecorder().emit,
        RecordingApproval().request_approval,
        MockContextManager()._should_compact,  # pyright: ignore[reportPrivateUsage]
        *(getattr(MockContextManager(), name) for name in ("add_message", "get_messages", "set_messages", "clear")),
    ],
)
def test_what_the_contract_has_as_async_is_async(method: Any) -> None:
    """Checks that look at the function itself, as validators do, are satisfied."""
    assert inspect.iscoroutinefunction(method)


def test_recorded_methods_have_the_parameters_of_the_contract() -> None:
    """The signature is the real one, not a pair of stars."""
    contracts: list[tuple[Any, Any]] = [
        (MockTool().execute, Tool.execute),
        (MockProvider().complete, Provider.complete),
        (MockContextManager().add_message, ContextManager.add_message),
        (MockContextManager().get_messages_for_request, ContextManager.get_messages_for_request),
        (MockContextManager().set_messages, ContextManager.set_messages),
    ]
    for recorded, contract in contracts:
        assert list(inspect.signature(recorded).parameters) == list(inspect.signature(contract).parameters)[1:]


def test_the_package_exports_the_kit() -> None:
    """The names of the front door are those of the submodule, and both names of the coordinator are one class."""
    for name in ("EventRecorder", "MockContextManager", "MockCoordinator", "MockTool", "ScriptedOrchestrator"):
        assert getattr(amplifier_core, name) is getattr(testing, name)
    assert amplifier_core.create_test_coordinator is create_test_coordinator
    assert amplifier_core.wait_for is wait_for
    assert TestCoordinator is MockCoordinator
    assert all(hasattr(testing, name) for name in testing.__all__)


def test_pytest_does_not_take_the_coordinator_for_tests() -> None:
    """This file imports it under a name that begins with Test, and is collected without a warning."""
    assert TestCoordinator.__test__ is False


@pytest.mark.slow
def test_the_kit_needs_neither_pytest_nor_mock() -> None:
    """It can be imported where pytest is not installed, and brings no mock library along."""
    code = (
        "import sys; sys.modules['pytest'] = None; import amplifier_core.testing; print('unittest.mock' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("False\n", "", 0)


def test_a_coordinator_stands_for_a_test_session() -> None:
    """Id, plan and loader are fixed, and no two coordinators share a plan."""
    coordinator = MockCoordinator()
    assert coordinator.config == {"session": {"orchestrator": "test-orchestrator", "context": "test-context"}}
    assert (coordinator.session_id, coordinator.parent_id, coordinator.loader) == ("test-session", None, None)
    assert coordinator.session.session_id == "test-session"
    assert coordinator.config is not MockCoordinator().config
    assert (coordinator.mount_history, coordinator.unmount_history) == ([], [])


def test_a_coordinators_plan_clock_and_ids_can_be_given() -> None:
    """Limits of the plan count, and time and ids are the given ones."""
    coordinator = MockCoordinator({"session": {"injection_size_limit": 5}}, clock=FakeClock(), new_id=lambda: "x")
    assert coordinator.injection_size_limit == 5
    assert (coordinator.timestamp(), coordinator.new_id()) == ("2025-01-01T00:00:00+00:00", "x")
    assert MockCoordinator({}).config == {}


async def test_mounting_is_remembered_with_the_name_as_passed() -> None:
    """Mounts and unmounts take effect when called, awaited or not, and stand in the histories in order."""
    coordinator, tool, context = MockCoordinator(), MockTool("hammer"), MockContextManager()
    coordinator.mount("tools", tool)
    await coordinator.mount("context", context, name="ignored")
    await coordinator.unmount("tools", "hammer")
    coordinator.unmount("context")
    assert coordinator.mount_history == [
        {"mount_point": "tools", "module": tool, "name": None},
        {"mount_point": "context", "module": context, "name": "ignored"},
    ]
    assert coordinator.unmount_history == [
        {"mount_point": "tools", "name": "hammer"},
        {"mount_point": "context", "name": None},
    ]
    assert (coordinator.get("tools"), coordinator.get("context")) == ({}, None)


def test_what_is_refused_is_not_remembered() -> None:
    """The errors are the kernel's, and the histories stay empty."""
    coordinator = MockCoordinator()
    with pytest.raises(ValueError, match="Unknown mount point: nowhere"):
        coordinator.mount("nowhere", object())
    with pytest.raises(ValueError, match="Name required to unmount from tools"):
        coordinator.unmount("tools")
    assert (coordinator.mount_history, coordinator.unmount_history) == ([], [])


def test_get_mounted_answers_a_dict_for_every_point() -> None:
    """Named points by name, single points by their own, nothing mounted as empty; a copy each time."""
    coordinator, tool, loop = MockCoordinator(), MockTool("hammer"), ScriptedOrchestrator([])
    coordinator.mount("tools", tool)
    coordinator.mount("session", loop, name="orchestrator")
    coordinator.hooks.register("tool:pre", EventRecorder(), name="watch")
    assert coordinator.get_mounted("tools") == {"hammer": tool}
    assert coordinator.get_mounted("providers") == {}
    assert coordinator.get_mounted("orchestrator") == {"orchestrator": loop}
    assert coordinator.get_mounted("context") == {}
    assert coordinator.get_mounted("session") == {"orchestrator": loop}
    assert coordinator.get_mounted("hooks") == {"tool:pre": ["watch"]}
    assert coordinator.get_mounted("tools") is not coordinator.get("tools")
    with pytest.raises(ValueError, match="Unknown mount point: nowhere"):
        coordinator.get_mounted("nowhere")


async def test_the_approval_system_refuses_until_told_otherwise() -> None:
    """A question is recorded and denied; with another answer, or return value, it is approved."""
    coordinator = MockCoordinator()
    question = HookResult(action="ask_user", approval_prompt="May I?", approval_timeout=5.0)
    denied = await coordinator.process_hook_result(question, "tool:pre", "guard")
    assert (denied.action, denied.reason) == ("deny", "User denied: May I?")
    coordinator.approval_system.request_approval.assert_called_once_with("May I?", ["Allow", "Deny"], 5.0, "deny")
    coordinator.approval_system.answer = "Allow"
    assert (await coordinator.process_hook_result(question, "tool:pre")).action == "continue"
    coordinator.approval_system.request_approval.return_value = "Deny"
    assert (await coordinator.process_hook_result(question, "tool:pre")).action == "deny"


async def test_the_display_keeps_what_it_is_to_show() -> None:
    """Messages of hooks are kept with level and source, and the call is recorded; showing is not async."""
    coordinator = MockCoordinator()
    told = HookResult(user_message="careful", user_message_level="warning")
    await coordinator.process_hook_result(told, "tool:pre", "guard")
    assert coordinator.display_system.messages == [("careful", "warning", "hook:guard")]
    coordinator.display_system.show_message.assert_called_once_with("careful", "warning", "hook:guard")
    assert coordinator.display_system.show_message("again", "info") is None
    assert coordinator.display_system.messages[1:] == [("again", "info", "hook")]


async def test_a_furnished_coordinator_has_two_tools_and_a_context() -> None:
    """The tools answer as documented; what was put in beforehand is not in the history."""
    coordinator = create_test_coordinator()
    assert list(coordinator.get_mounted("tools")) == ["echo", "fail"]
    assert isinstance(coordinator.get("context"), MockContextManager)
    assert await coordinator.get("tools", "echo").execute({}) == ToolResult(output="Echo response")
    assert await coordinator.get("tools", "fail").execute({}) == ToolResult(output=None)
    assert coordinator.mount_history == []


async def test_a_tool_succeeds_by_default() -> None:
    """Name, description, schema and result have their documented defaults."""
    tool = MockTool()
    assert (tool.name, tool.description) == ("mock_tool", "Mock tool: mock_tool")
    assert tool.input_schema == {"type": "object", "properties": {}}
    assert await tool.execute({}) == ToolResult(success=True, output="Success")
    assert ToolSpec.from_tool(tool).parameters == tool.input_schema


async def test_a_tool_counts_calls_and_keeps_the_last_input() -> None:
    """The input is known however it was passed."""
    tool = MockTool("hammer", "bang")
    assert (tool.call_count, tool.last_input) == (0, None)
    await tool.execute({"nail": 1})
    assert (tool.call_count, tool.last_input) == (1, {"nail": 1})
    await tool.execute(input={"nail": 2})
    assert (tool.call_count, tool.last_input) == (2, {"nail": 2})


@pytest.mark.parametrize("value", [None, "text", {"a": 1}, 0])
async def test_a_tools_return_value_is_the_output_of_a_success(value: Any) -> None:
    """Whatever it is, it goes before ``output``."""
    assert await MockTool(output="no", return_value=value).execute({}) == ToolResult(success=True, output=value)


async def test_a_tool_returns_a_result_as_it_is() -> None:
    """Failures and identity are kept, given under either name."""
    failure = ToolResult(success=False, error={"message": "broken"})
    assert await MockTool(return_value=failure).execute({}) is failure
    assert await MockTool(output=failure).execute({}) is failure


async def test_a_tools_description_and_schema_can_be_given() -> None:
    """An empty description stays empty."""
    tool = MockTool("t", description="", input_schema={"type": "object", "required": ["a"]})
    assert (tool.description, tool.input_schema) == ("", {"type": "object", "required": ["a"]})


async def test_a_test_may_change_what_a_tool_answers() -> None:
    """Return values and side effects of ``execute`` are those that mocks have."""
    tool = MockTool()
    tool.execute.side_effect = RuntimeError("jammed")
    with pytest.raises(RuntimeError, match="jammed"):
        await tool.execute({})
    tool.execute.side_effect = None
    tool.execute.return_value = ToolResult(output="other")
    assert (await tool.execute({})).output == "other"
    assert tool.call_count == 2


async def test_a_context_obeys_the_protocol() -> None:
    """Messages are added, replaced and forgotten; the list for requests is a copy, the other one live."""
    given = [{"role": "system", "content": "be brief"}]
    context = MockContextManager(given)
    await context.add_message({"role": "user", "content": "hi"})
    assert given == [{"role": "system", "content": "be brief"}]
    assert context.messages == [*given, {"role": "user", "content": "hi"}]
    assert await context.get_messages() is context.messages
    for_request = await context.get_messages_for_request(token_budget=10, provider=None)
    assert (for_request, for_request is context.messages) == (context.messages, False)
    await context.set_messages(given)
    assert (context.messages, context.messages is given) == (given, False)
    await context.clear()
    assert (context.messages, await context.get_messages(), len(for_request)) == ([], [], 2)


@pytest.mark.parametrize("message", [{}, {"role": None}, {"content": object()}, None, "text"])
async def test_a_context_takes_any_message(message: Any) -> None:
    """What real contexts may refuse is kept, so that a test can look at it."""
    context = MockContextManager()
    await context.add_message(message)
    assert context.messages == [message]


async def test_a_contexts_methods_are_recordings() -> None:
    """Calls can be claimed and answers changed, as with mocks."""
    context = MockContextManager()
    await context.add_message({"role": "user", "content": "hi"})
    context.add_message.assert_called_once_with({"role": "user", "content": "hi"})
    context.get_messages.assert_not_called()
    context.get_messages_for_request.return_value = [{"role": "user", "content": "compacted"}]
    assert await context.get_messages_for_request() == [{"role": "user", "content": "compacted"}]


async def test_a_context_never_compacts() -> None:
    """The two inner methods that suites look for exist; messages survive them."""
    context = MockContextManager([{"role": "user", "content": "hi"}])
    assert await context._should_compact() is False  # pyright: ignore[reportPrivateUsage]
    assert await context._compact_internal() is None  # pyright: ignore[reportPrivateUsage]
    assert len(context.messages) == 1


async def test_a_recorder_keeps_a_copy_of_each_event() -> None:
    """Emitting and recording are the same, the answer is to continue, and the data are a dict of its own."""
    recorder, data = EventRecorder(), {"tool_name": "Write", "tool_input": {"a": 1}}
    assert (await recorder.record("tool:pre", data)).action == "continue"
    assert (await recorder.emit("tool:post", {})).action == "continue"
    assert (await recorder("tool:error", {"error": "x"})).action == "continue"
    data["tool_name"] = "changed later"
    assert recorder.events == [
        ("tool:pre", {"tool_name": "Write", "tool_input": {"a": 1}}),
        ("tool:post", {}),
        ("tool:error", {"error": "x"}),
    ]
    assert recorder.events[0][1]["tool_input"] is data["tool_input"]
    recorder.clear()
    assert (recorder.events, recorder.get_events()) == ([], [])


@given(st.lists(st.sampled_from(ALL_EVENTS)))
async def test_events_of_one_name_are_a_part_of_all_in_order(emitted: list[str]) -> None:
    """Asking by name selects, and asking for all gives every event as it came."""
    recorder = EventRecorder()
    for number, event in enumerate(emitted):
        await recorder.emit(event, {"number": number})
    assert [event for event, _ in recorder.get_events()] == emitted
    for name in set(emitted):
        assert recorder.get_events(name) == [entry for entry in recorder.events if entry[0] == name]


@pytest.mark.parametrize(
    ("data", "kept"), [(None, {}), ("text", {}), (TextBlock(text="a"), {"type": "text", "text": "a"})]
)
async def test_odd_data_are_kept_as_a_registry_reads_them(data: Any, kept: dict[str, Any]) -> None:
    """What is no mapping counts as empty, a model as its fields."""
    recorder = EventRecorder()
    await recorder.emit("x", data)
    assert recorder.events == [("x", {**kept, "visibility": None} if kept else {})]


async def test_a_recorder_as_registry_tells_its_handlers() -> None:
    """Handlers registered with it are asked, and what is kept is what was emitted before they changed it."""
    recorder = EventRecorder(clock=FakeClock(), new_id=SequentialIds())

    async def change(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="modify", data={**data, "tool_input": "changed"})

    remove = recorder.register("tool:pre", change)
    result = await recorder.emit("tool:pre", {"tool_input": "original"})
    assert (result.action, result.data) == (
        "modify",
        {"tool_input": "changed", "timestamp": "2025-01-01T00:00:00.000000+00:00"},
    )
    remove()
    assert await recorder.emit_and_collect("tool:pre", {"second": True}) == []
    assert recorder.events == [("tool:pre", {"tool_input": "original"}), ("tool:pre", {"second": True})]
    assert isinstance(recorder, HookRegistry)
    assert recorder.has_listeners("anything")


async def test_a_recorder_as_handler_sees_the_events_of_another_registry() -> None:
    """Registered like any handler, it keeps what the registry tells and lets it go on."""
    hooks, recorder = HookRegistry(clock=FakeClock()), EventRecorder()
    hooks.set_default_fields(session_id="s")
    hooks.register("tool:pre", recorder)
    assert (await hooks.emit("tool:pre", {"a": 1})).action == "continue"
    assert recorder.get_events("tool:pre") == [
        ("tool:pre", {"session_id": "s", "a": 1, "timestamp": "2025-01-01T00:00:00.000000+00:00"})
    ]


async def run_session(loop: Any, provider: MockProvider, tool: MockTool) -> tuple[list[Any], list[tuple[str, Any]]]:
    """Two turns of a session made of fakes: what they answered, and every event with its data."""
    clock, context = FakeClock(), MockContextManager()
    shelf = Shelf(
        loop=("orchestrator", loop), memory=("context", context), model=("providers", provider), tool=("tools", tool)
    )
    session = AmplifierSession(PLAN, loader=shelf, clock=clock, new_id=SequentialIds("made"))
    log: list[tuple[str, Any]] = []

    async def note(event: str, data: dict[str, Any]) -> None:
        log.append((event, data))
        clock.advance(0.5)

    session.coordinator.hooks.tap(note)
    async with session:
        answers = [await session.execute(prompt) for prompt in ("first", "second")]
    return answers, log


async def test_a_scripted_orchestrator_works_inside_a_session() -> None:
    """It answers turn by turn, and leaves the session's start and end to the session."""
    answers, log = await run_session(ScriptedOrchestrator(["hello", "bye"]), MockProvider(), MockTool("tool"))
    assert answers == ["hello", "bye"]
    assert [event for event, _ in log] == [
        "session:start",
        "prompt:submit",
        "prompt:complete",
        "prompt:submit",
        "prompt:complete",
        "session:end",
    ]
    facts = {"response": "hello", "response_preview": "hello", "length": 5}
    assert facts.items() <= log[2][1].items()


async def test_provider_tool_and_context_serve_a_real_loop() -> None:
    """The loop calls the tool the script asks for and answers; each fake knows what it was asked."""
    provider, tool = MockProvider([asking_for("tool", path="a"), "It is there."]), MockTool("tool", {"found": 1})
    answers, log = await run_session(SmallLoop(), provider, tool)
    assert answers == ["It is there.", "DONE"]
    assert (tool.call_count, tool.last_input) == (1, {"path": "a"})
    assert [len(request.messages) for request in provider.requests] == [1, 3, 5]
    assert provider.requests[1].messages[-1] == Message(role="tool", tool_call_id="call-1", content='{"found": 1}')
    assert [spec.name for spec in provider.requests[0].tools or ()] == ["tool"]
    assert [event for event, _ in log if event.startswith("tool:")] == ["tool:pre", "tool:post"]


async def test_with_clock_and_ids_a_session_repeats_itself() -> None:
    """Two runs give the very same events, times and ids included, and time goes as the clock says."""
    logs = [(await run_session(SmallLoop(), MockProvider([asking_for("tool")]), MockTool("tool")))[1] for _ in range(2)]
    assert logs[0] == logs[1]
    assert [data["timestamp"] for _, data in logs[0]] == [
        (datetime(2025, 1, 1, tzinfo=UTC) + timedelta(seconds=0.5 * step)).isoformat(timespec="microseconds")
        for step in range(len(logs[0]))
    ]
    assert {data["session_id"] for _, data in logs[0]} == {"made-1"}


@given(st.lists(st.integers(min_value=0, max_value=10**6)))
def test_a_fake_clock_moves_only_when_told(steps: list[int]) -> None:
    """Its time is the start and all steps together, however often it is asked."""
    start = datetime(2030, 5, 1, tzinfo=UTC)
    clock = FakeClock(start)
    for step in steps:
        assert clock.advance(step) == clock() == clock()
    assert clock() == start + timedelta(seconds=sum(steps))


def test_a_fake_clock_needs_a_time_zone() -> None:
    """A naive start is refused, since events are stamped in UTC."""
    assert FakeClock()().tzinfo is UTC
    with pytest.raises(ValueError, match=r"needs a start with a time zone, got .*; add tzinfo=UTC"):
        FakeClock(datetime(2025, 1, 1))


def test_ids_are_counted() -> None:
    """Each source counts for itself, from one."""
    ids, others = SequentialIds(), SequentialIds("call")
    assert [ids(), ids(), others(), ids()] == ["id-1", "id-2", "call-1", "id-3"]


async def test_waiting_ends_when_the_condition_holds() -> None:
    """The condition is asked again until it is true."""
    answers = iter([False, False, True])
    assert await wait_for(lambda: next(answers)) is True
    assert list(answers) == []


async def test_waiting_gives_up_after_the_timeout() -> None:
    """The condition is asked at least once, and an async one is awaited."""
    asked: list[str] = []

    async def never() -> bool:
        asked.append("asked")
        return False

    assert await wait_for(never, timeout=0) is False
    assert asked == ["asked"]
