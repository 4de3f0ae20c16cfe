"""The module ``loop-events``: schedulers choose tools, and all else is as in every loop."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import amplifier_module_loop_events
from amplifier_core.events import (
    ORCHESTRATOR_COMPLETE,
    PROVIDER_ERROR,
    PROVIDER_REQUEST,
    SESSION_END,
    SESSION_START,
    TOOL_ERROR,
    TOOL_POST,
    TOOL_PRE,
)
from amplifier_core.llm_errors import AuthenticationError
from amplifier_core.message_models import ChatResponse, ToolCall
from amplifier_core.models import HookResult, ToolResult
from amplifier_core.session import AmplifierSession
from amplifier_core.testing import (
    EventRecorder,
    MockContextManager,
    MockProvider,
    MockTool,
    ScriptedReply,
    TestCoordinator,
)
from amplifier_core.validation import OrchestratorValidator
from amplifier_core.validation.behavioral import OrchestratorBehaviorTests
from amplifier_core.validation.structural import OrchestratorStructuralTests
from amplifier_kit.chaos import OrchestratorChaosTests
from amplifier_modkit.events import ERROR_PROVIDER, ERROR_TOOL, TOOL_SELECTED, TOOL_SELECTING
from amplifier_modkit.turns import stopping, tool_batch
from amplifier_module_loop_events import mount
from amplifier_module_loop_events.config import EventsSettings
from amplifier_module_loop_events.loop import EventsLoop

PACKAGE = Path(amplifier_module_loop_events.__file__).parent


class OfThisModule:
    """Tests of this module with its default config."""

    @pytest.fixture
    def module_path(self) -> Path:
        return PACKAGE


class TestContract(OfThisModule, OrchestratorBehaviorTests, OrchestratorStructuralTests):
    """Everything an orchestrator promises."""


class TestUnderChaos(OfThisModule, OrchestratorChaosTests):
    """And under every fault."""


class TestUnderChaosSideBySide(OfThisModule, OrchestratorChaosTests):
    """With tools that run together."""

    @pytest.fixture
    def amplifier_module_config(self) -> dict[str, Any]:
        return {"max_parallel_tools": 4, "max_iterations": 3}


async def test_the_validator_finds_nothing_to_complain_about() -> None:
    """All checks of the orchestrator contract pass."""
    result = await OrchestratorValidator().validate(PACKAGE)
    assert [check.message for check in result.checks if not check.passed] == []


async def test_it_announces_the_events_of_its_own() -> None:
    """On the channel where observers look for them."""
    coordinator = TestCoordinator()
    await mount(coordinator)
    assert isinstance(coordinator.get("orchestrator"), EventsLoop)
    assert await coordinator.collect_contributions("observability.events") == [
        ["error:provider", "error:tool", "tool:selected", "tool:selecting"]
    ]
    assert amplifier_module_loop_events.__amplifier_module_type__ == "orchestrator"
    assert amplifier_module_loop_events.__amplifier_config__ is EventsSettings


class Scene:
    """A turn of this loop among fakes."""

    def __init__(self, replies: list[Any], *tools: Any, settings: EventsSettings | None = None) -> None:
        self.coordinator = TestCoordinator()
        self.context, self.hooks, self.provider = MockContextManager(), EventRecorder(), MockProvider(replies)
        self.coordinator.mount("context", self.context)
        self.tools = {tool.name: tool for tool in tools}
        self.loop = EventsLoop(settings)

    async def run(self, **options: Any) -> str:
        """The answer."""
        providers: dict[str, Any] = {"mock": self.provider}
        return await self.loop.execute(
            "go", self.context, providers, self.tools, self.hooks, self.coordinator, **options
        )

    def on(self, event: str, answer: Any) -> None:
        """Has ``answer``, or what it gives for the data, said to ``event``."""
        self.hooks.register(event, lambda name, data: answer(data) if callable(answer) else answer)

    def told(self, *names: str) -> list[tuple[str, dict[str, Any]]]:
        """The events of these names, without times."""
        drop = {"timestamp", "duration_ms"}
        return [
            (event, {key: value for key, value in data.items() if key not in drop})
            for event, data in self.hooks.events
            if event in names
        ]

    @property
    def results(self) -> list[tuple[str, str]]:
        """Name and text of each stored result."""
        return [(each["name"], each["content"]) for each in self.context.messages if each["role"] == "tool"]


def choosing(**changes: Any) -> Any:
    """A scheduler that changes these fields."""
    return lambda data: HookResult(action="modify", data={**data, **changes})


SEARCH = ScriptedReply(tool_calls=[("search", {"query": "x"})])


async def test_schedulers_are_asked_before_a_tool_runs() -> None:
    """Both events name the tool in both ways, so that every scheduler finds it; without objection it runs."""
    scene = Scene([SEARCH, "done"], MockTool("search", "found"), MockTool("read"))
    assert await scene.run() == "done"
    names = {"tool_name": "search", "tool": "search", "tool_input": {"query": "x"}, "tool_call_id": "call-1"}
    told = scene.told(TOOL_SELECTING, TOOL_SELECTED, TOOL_PRE, TOOL_POST)
    assert [event for event, _ in told] == [TOOL_SELECTING, TOOL_SELECTED, TOOL_PRE, TOOL_POST]
    selecting, selected = told[0][1], told[1][1]
    assert {key: selecting[key] for key in names} == names
    assert selecting["available_tools"] == ["search", "read"]
    assert {key: selected[key] for key in names} == names
    assert (selected["source"], selected["original_tool"]) == ("llm", "search")


@pytest.mark.parametrize("field", ["tool_name", "tool"])
async def test_a_scheduler_may_choose_another_tool_under_either_name(field: str) -> None:
    """It runs with the same arguments; the result answers the call that the model made."""
    scene = Scene([SEARCH, "done"], search := MockTool("search"), cheap := MockTool("cheap", "cheap result"))
    scene.on(TOOL_SELECTING, choosing(**{field: "cheap"}))
    await scene.run()
    assert (search.call_count, cheap.last_input) == (0, {"query": "x"})
    assert scene.results == [("search", "cheap result")]
    ((_, selected),) = scene.told(TOOL_SELECTED)
    assert (selected["tool_name"], selected["tool"], selected["source"], selected["original_tool"]) == (
        "cheap",
        "cheap",
        "scheduler",
        "search",
    )
    assert [data["tool_name"] for _, data in scene.told(TOOL_PRE, TOOL_POST)] == ["cheap", "cheap"]


async def test_a_scheduler_may_change_the_arguments() -> None:
    """By a modify; writing into what it was shown changes nothing."""
    scene = Scene([SEARCH, "done"], tool := MockTool("search"))
    scene.on(TOOL_SELECTING, choosing(tool_input={"query": "y"}))
    await scene.run()
    assert tool.last_input == {"query": "y"}
    ((_, selected),) = scene.told(TOOL_SELECTED)
    assert (selected["source"], selected["tool_input"]) == ("llm", {"query": "y"})
    other = Scene([SEARCH, "done"], tool := MockTool("search"))
    for event in (TOOL_SELECTING, TOOL_SELECTED):
        other.on(event, lambda data: data["tool_input"].update(query="z"))
    await other.run()
    assert tool.last_input == {"query": "x"}


@pytest.mark.parametrize("event", [TOOL_SELECTING, TOOL_SELECTED])
async def test_a_scheduler_may_refuse(event: str) -> None:
    """The reason is the result; the tool's own events do not happen."""
    scene = Scene([SEARCH, "done"], tool := MockTool("search"))
    scene.on(event, HookResult(action="deny", reason="budget spent"))
    assert await scene.run() == "done"
    assert (scene.results, tool.call_count) == ([("search", "Denied: budget spent")], 0)
    assert scene.told(TOOL_PRE, TOOL_POST, TOOL_ERROR) == []


async def test_a_scheduler_that_chooses_nothing_sensible_gets_an_answer_all_the_same() -> None:
    """The model learns that there is no such tool."""
    for choice in ("gone", None, 5, ["search"]):
        scene = Scene([SEARCH, "done"], tool := MockTool("search"))
        scene.on(TOOL_SELECTING, choosing(tool_name=choice))
        assert await scene.run() == "done"
        assert tool.call_count == 0
        assert scene.results == [("search", f"There is no tool '{choice}'. Available tools: search.")]


@pytest.mark.parametrize("arguments", ['{"query": ', "[1]", None, '{"query": "x"}'])
async def test_arguments_in_any_form_pass_through_the_schedulers(arguments: Any) -> None:
    """They see what the provider made of them, and the tool step reads it as in every loop."""
    call = ToolCall.model_construct(id="a", name="search", arguments=arguments)
    reply = ChatResponse.model_construct(content=[], tool_calls=[call], usage=None, finish_reason=None)
    scene = Scene([reply, "done"], tool := MockTool("search"))
    assert await scene.run() == "done"
    assert scene.told(TOOL_SELECTING)[0][1]["tool_input"] == arguments
    assert tool.call_count == (1 if arguments in (None, '{"query": "x"}') else 0)


async def test_tools_run_one_after_another_unless_told_otherwise() -> None:
    """As schedulers that count costs rely on; the config and an option change it."""
    for settings, most in ((None, 1), (EventsSettings(max_parallel_tools=0), 3)):
        inside, seen = [], []

        async def overlap(given: Any, inside: list[int] = inside, seen: list[int] = seen) -> str:
            inside.append(1)
            seen.append(len(inside))
            for _ in range(4):
                await asyncio.sleep(0)
            inside.pop()
            return "x"

        tool = MockTool("t")
        tool.execute.side_effect = overlap
        calls = ScriptedReply(tool_calls=[("t", {"n": number}) for number in range(3)])
        await Scene([calls, "done"], tool, settings=settings).run()
        assert max(seen) == most


async def test_failures_are_told_under_the_names_that_schedulers_know() -> None:
    """A tool that fails, raises or is refused; a provider that fails comes out as its error."""

    def fail(given: Any) -> Any:
        raise OSError("gone")

    broken, sorry = MockTool("broken"), MockTool("sorry", return_value=ToolResult(success=False, output="no"))
    broken.execute.side_effect = fail
    names = ("broken", "sorry", "unknown", "fine")
    calls = ScriptedReply(tool_calls=[ToolCall(id=name, name=name, arguments={}) for name in names])
    scene = Scene([calls, AuthenticationError("no key")], broken, sorry, MockTool("fine"))
    with pytest.raises(AuthenticationError):
        await scene.run()
    failed = [(data["tool_name"], data["error_type"], data["error_message"]) for _, data in scene.told(ERROR_TOOL)]
    assert failed == [
        ("broken", "OSError", "OSError: gone"),
        ("sorry", "ToolFailure", ""),
        ("unknown", "CallError", "There is no tool 'unknown'. Available tools: broken, fine, sorry."),
    ]
    assert {data["severity"] for _, data in scene.told(ERROR_TOOL)} == {"error"}
    assert scene.told(ERROR_PROVIDER) == [
        (
            ERROR_PROVIDER,
            {"provider": "mock", "error_type": "AuthenticationError", "error_message": "no key", "severity": "error"},
        )
    ]
    assert len(scene.told(PROVIDER_ERROR)) == 1


async def test_a_refused_model_call_is_no_failure_of_the_provider() -> None:
    """It ends the turn with the reason."""
    scene = Scene(["x"])
    scene.on(PROVIDER_REQUEST, HookResult(action="deny", reason="enough"))
    assert (await scene.run(), scene.told(ERROR_PROVIDER)) == ("Denied: enough", [])


async def test_a_scheduler_that_never_lets_go_cannot_bring_a_tool_past_the_guards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """When it answers at last, after the turn was cancelled and is over, nothing runs."""
    for module in (stopping, tool_batch):
        monkeypatch.setattr(module, "GRACE_S", 0.01)
    asked, may_end = asyncio.Event(), asyncio.Event()

    async def ignore(event: str, data: dict[str, Any]) -> None:
        asked.set()
        while not may_end.is_set():
            with suppress(asyncio.CancelledError):
                await may_end.wait()

    scene = Scene([SEARCH, "done"], tool := MockTool("search"))
    scene.hooks.register(TOOL_SELECTING, ignore)
    scene.on(TOOL_PRE, HookResult(action="deny", reason="never"))
    turn = asyncio.create_task(scene.run())
    await asked.wait()
    turn.cancel()
    await asyncio.wait([turn])
    before = len(scene.hooks.events)
    may_end.set()
    for _ in range(20):
        await asyncio.sleep(0)
    assert (turn.cancelled(), tool.call_count, len(scene.hooks.events)) == (True, 0, before)


async def test_it_does_not_tell_the_session_events_that_are_the_sessions_own() -> None:
    """Observers see them once, whatever loop runs; the loop tells its own name."""
    scene = Scene([SEARCH, "done"], MockTool("search"))
    await scene.run()
    assert scene.told(SESSION_START, SESSION_END) == []
    assert scene.told(ORCHESTRATOR_COMPLETE)[0][1]["orchestrator"] == "loop-events"


async def test_options_of_a_turn_are_those_of_every_loop() -> None:
    """A limit, a provider, a schema."""
    scene = Scene([SEARCH, "so far"], MockTool("search"))
    assert await scene.run(max_iterations=1, provider="mock") == "so far"
    with pytest.raises(TypeError, match="Options are: "):
        await scene.run(unheard_of=1)


async def test_it_works_with_the_five_arguments_alone() -> None:
    """Without a coordinator."""
    answer = await EventsLoop().execute(
        prompt="go",
        context=MockContextManager(),
        providers={"mock": MockProvider([SEARCH, "done"])},
        tools={"search": MockTool("search")},
        hooks=EventRecorder(),
    )
    assert answer == "done"


async def test_in_a_session_a_cost_counting_scheduler_works() -> None:
    """The accounting and the choice of a cheaper tool both find what they need in the events."""
    costs, spent = {"dear": 10, "cheap": 1}, []

    async def select(event: str, data: dict[str, Any]) -> HookResult:
        if sum(spent) + costs[data["tool_name"]] > 12:
            return HookResult(action="modify", data={"tool_name": "cheap"})
        return HookResult()

    async def account(event: str, data: dict[str, Any]) -> HookResult:
        spent.append(costs[data["tool_name"]])
        return HookResult()

    plan = {
        "session": {"orchestrator": "loop-events", "context": "context-simple"},
        "providers": [{"module": "provider-mock"}],
    }
    calls = ScriptedReply(tool_calls=[("dear", {"n": number}) for number in range(3)])
    async with AmplifierSession(plan) as session:
        coordinator = session.coordinator
        coordinator.mount("providers", MockProvider([calls, "done"]), name="mock")
        dear, cheap = MockTool("dear"), MockTool("cheap")
        for tool in (dear, cheap):
            coordinator.mount("tools", tool)
        coordinator.hooks.register(TOOL_SELECTING, select)
        coordinator.hooks.register(TOOL_SELECTED, account)
        assert await session.execute("go") == "done"
        assert (dear.call_count, cheap.call_count, spent) == (1, 2, [10, 1, 1])
        assert session.status.tool_invocations == 3
