"""The module ``loop-basic``: it keeps the orchestrator contract, alone, in a session, and under every fault."""

from __future__ import annotations

import inspect
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

import amplifier_module_loop_basic
from amplifier_core.events import (
    ORCHESTRATOR_COMPLETE,
    PROMPT_COMPLETE,
    PROMPT_SUBMIT,
    PROVIDER_RESOLVE,
    TOOL_POST,
    TOOL_PRE,
)
from amplifier_core.interfaces import Orchestrator
from amplifier_core.message_models import Usage
from amplifier_core.models import HookResult, ToolResult
from amplifier_core.module_sources import ModuleLoadError
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
from amplifier_modkit.turns.settings import LoopSettings
from amplifier_module_loop_basic import mount
from amplifier_module_loop_basic.loop import BasicLoop

PACKAGE = Path(amplifier_module_loop_basic.__file__).parent


class OfThisModule:
    """Tests of this module with its default config."""

    @pytest.fixture
    def module_path(self) -> Path:
        return PACKAGE


class TestContract(OfThisModule, OrchestratorBehaviorTests, OrchestratorStructuralTests):
    """Everything an orchestrator promises."""


class TestUnderChaos(OfThisModule, OrchestratorChaosTests):
    """And under every fault."""


class TestUnderChaosOneByOne(OfThisModule, OrchestratorChaosTests):
    """With tools one after another, few rounds and no retries."""

    @pytest.fixture
    def amplifier_module_config(self) -> dict[str, Any]:
        return {"max_parallel_tools": 1, "max_iterations": 2, "max_retries": 0, "tool_timeout": 30, "timeout": 30}


async def test_the_validator_finds_nothing_to_complain_about() -> None:
    """All checks of the orchestrator contract pass."""
    result = await OrchestratorValidator().validate(PACKAGE)
    assert [check.message for check in result.checks if not check.passed] == []


async def test_it_mounts_with_and_without_a_config() -> None:
    """``None`` is an empty config; keys it does not know are left to the kernel to report."""
    for config in (None, {}, {"max_iterations": 3, "unheard_of": 1}):
        coordinator = TestCoordinator()
        await mount(coordinator, config)
        assert isinstance(coordinator.get("orchestrator"), Orchestrator)
    with pytest.raises(ValidationError):
        await mount(TestCoordinator(), {"max_iterations": "many"})


def test_the_package_declares_its_kind_and_its_config() -> None:
    """As the kernel reads it."""
    assert amplifier_module_loop_basic.__amplifier_module_type__ == "orchestrator"
    assert amplifier_module_loop_basic.__amplifier_config__ is LoopSettings


def test_execute_has_the_five_arguments_of_the_contract_first() -> None:
    """Old callers pass them by name, some by position."""
    names = list(inspect.signature(BasicLoop.execute).parameters)
    assert names[:6] == ["self", "prompt", "context", "providers", "tools", "hooks"]


async def test_it_works_with_the_five_arguments_alone() -> None:
    """Without a coordinator and without settings."""
    context = MockContextManager()
    replies = [ScriptedReply(tool_calls=[("t", {})]), "done"]
    answer = await BasicLoop().execute(
        prompt="go",
        context=context,
        providers={"mock": MockProvider(replies)},
        tools={"t": MockTool("t")},
        hooks=EventRecorder(),
    )
    assert answer == "done"
    assert [message["role"] for message in context.messages] == ["user", "assistant", "tool", "assistant"]


async def test_it_tells_its_name() -> None:
    """Observers know which loop ran."""
    hooks = EventRecorder()
    await BasicLoop().execute("go", MockContextManager(), {"mock": MockProvider(["x"])}, {}, hooks)
    assert hooks.events[-1][0] == ORCHESTRATOR_COMPLETE
    assert hooks.events[-1][1]["orchestrator"] == "loop-basic"


async def test_options_of_a_turn_go_before_the_config() -> None:
    """For that turn alone."""
    loop, provider = BasicLoop(LoopSettings(model="big")), MockProvider(["a", "b", "c"])
    turns: list[dict[str, Any]] = [{"model": "small"}, {}, {"model": None}]
    for options in turns:
        await loop.execute("go", MockContextManager(), {"mock": provider}, {}, EventRecorder(), **options)
    assert [request.model for request in provider.requests] == ["small", "big", "big"]


@pytest.mark.parametrize("options", [{"modell": "x"}, {"timeout": "soon"}, {"max_iterations": -5}])
async def test_an_option_that_is_not_right_is_an_error_before_anything_happens(options: dict[str, Any]) -> None:
    """No event, no message, no request."""
    hooks, context, provider = EventRecorder(), MockContextManager(), MockProvider(["x"])
    with pytest.raises(TypeError, match="^An option of execute\\(\\) is not right: "):
        await BasicLoop().execute("go", context, {"mock": provider}, {}, hooks, **options)
    assert (hooks.events, context.messages, provider.requests) == ([], [], [])


async def test_a_provider_can_be_chosen_for_one_turn() -> None:
    """By the name it is mounted under; one that is not there is an error with all closing events."""
    hooks = EventRecorder()
    providers: dict[str, Any] = {"one": MockProvider(["from one"]), "two": MockProvider(["from two"])}
    answer = await BasicLoop().execute("go", MockContextManager(), providers, {}, hooks, provider="two")
    assert answer == "from two"
    ((_, resolved),) = hooks.get_events(PROVIDER_RESOLVE)
    assert (resolved["provider"], resolved["reason"]) == ("two", "asked for")
    with pytest.raises(RuntimeError, match="^No provider 'three' is mounted; there is: one, two$"):
        await BasicLoop().execute("go", MockContextManager(), providers, {}, hooks, provider="three")
    assert len(hooks.get_events(ORCHESTRATOR_COMPLETE)) == 2


async def test_it_keeps_nothing_between_turns() -> None:
    """Two turns of one loop know nothing of each other: reminders, counts and choices begin anew."""
    loop = BasicLoop(LoopSettings(repeat_reminder_after=2))
    call = ScriptedReply(tool_calls=[("t", {})])
    provider = MockProvider([call, "one", call, "two"])
    for _ in range(2):
        await loop.execute("go", MockContextManager(), {"mock": provider}, {"t": MockTool("t")}, EventRecorder())
    assert [len(request.messages) for request in provider.requests] == [1, 3, 1, 3]


class SessionOf:
    """A real session with this loop, a scripted provider and real modules around it."""

    def __init__(self, script: list[Any], config: dict[str, Any] | None = None, **session: Any) -> None:
        self.session = AmplifierSession(
            {
                "session": {
                    "orchestrator": {"module": "loop-basic", "config": config or {}},
                    "context": "context-simple",
                    **session,
                },
                "providers": [{"module": "provider-mock"}],
            }
        )
        self.provider = MockProvider(script)
        self.hooks = EventRecorder()

    async def __aenter__(self) -> AmplifierSession:
        await self.session.initialize()
        self.session.coordinator.mount("providers", self.provider, name="mock")
        for event in (PROMPT_SUBMIT, TOOL_PRE, TOOL_POST, PROMPT_COMPLETE, ORCHESTRATOR_COMPLETE):
            self.session.coordinator.hooks.register(event, self.hooks)
        return self.session

    async def __aexit__(self, *raised: Any) -> None:
        await self.session.cleanup()


async def test_a_session_accounts_for_what_its_turns_use() -> None:
    """Messages, tool calls, tokens and money are in the status afterwards."""
    usage = Usage(input_tokens=100, output_tokens=10, total_tokens=110, cost_usd=Decimal("0.001"))
    calls = ScriptedReply(tool_calls=[("good", {}), ("bad", {}), ("gone", {})], usage=usage)
    stage = SessionOf([calls, ScriptedReply("done", usage=usage), ScriptedReply("again", usage=usage)])
    async with stage as session:
        session.coordinator.mount("tools", MockTool("good"))
        session.coordinator.mount("tools", MockTool("bad", return_value=ToolResult(success=False, output="no")))
        assert await session.execute("go") == "done"
        assert await session.execute("more") == "again"
        status = session.status
        assert (status.tool_invocations, status.tool_successes, status.tool_failures) == (3, 1, 2)
        assert (status.total_input_tokens, status.total_output_tokens) == (300, 30)
        assert (status.cost_usd, status.total_messages, status.status) == (Decimal("0.003"), 8, "completed")


async def test_a_session_passes_its_options_on() -> None:
    """A JSON Schema for one call gives validated JSON; a model class does as well."""

    class Point(BaseModel):
        x: int

    stage = SessionOf(['```json\n{"x": 1}\n```', '{"x": 2}', "free text"])
    async with stage as session:
        assert await session.execute("a point", output_schema=Point.model_json_schema()) == '{"x": 1}'
        assert Point.model_validate_json(await session.execute("a point", output_schema=Point)) == Point(x=2)
        assert await session.execute("whatever") == "free text"


async def test_a_plan_may_ask_for_structured_answers() -> None:
    """In the config of the loop, for all turns."""
    stage = SessionOf(["nonsense", '{"x": 1}'], {"output_schema": {"type": "object", "required": ["x"]}})
    async with stage as session:
        assert await session.execute("go") == '{"x": 1}'


async def test_an_invalid_config_is_refused_when_the_plan_is_mounted() -> None:
    """The session does not begin, and says which key is wrong."""
    session = AmplifierSession(
        {
            "session": {
                "orchestrator": {"module": "loop-basic", "config": {"max_iterations": "many"}},
                "context": "context-simple",
            },
            "providers": [{"module": "provider-mock"}],
        }
    )
    with pytest.raises((RuntimeError, ModuleLoadError), match="max_iterations"):
        await session.initialize()


async def test_events_of_a_session_carry_its_id() -> None:
    """Each event of the turn, in order."""
    stage = SessionOf([ScriptedReply(tool_calls=[("t", {})]), "done"])
    async with stage as session:
        session.coordinator.mount("tools", MockTool("t"))
        await session.execute("go")
        assert [event for event, _ in stage.hooks.events] == [
            PROMPT_SUBMIT,
            TOOL_PRE,
            TOOL_POST,
            PROMPT_COMPLETE,
            ORCHESTRATOR_COMPLETE,
        ]
        assert {data["session_id"] for _, data in stage.hooks.events} == {session.session_id}


async def test_a_stopped_session_can_go_on_with_the_next_turn() -> None:
    """The conversation that the stop leaves is one that a model accepts."""

    def stop(event: str, data: dict[str, Any]) -> HookResult:
        if len(stage.provider.requests) == 1:
            session.coordinator.cancellation.request_immediate()
        return HookResult()

    stage = SessionOf([ScriptedReply(tool_calls=[("t", {}), ("t", {})]), "done"])
    async with stage as session:
        session.coordinator.mount("tools", MockTool("t"))
        session.coordinator.hooks.register(TOOL_PRE, stop)
        assert await session.execute("go") == "Stopped before there was an answer."
        assert session.status.status == "cancelled"
        session.coordinator.cancellation.reset()
        assert await session.execute("go on") == "done"
        roles = [message.role for message in stage.provider.requests[-1].messages]
        assert roles == ["user", "assistant", "tool", "tool", "user"]
