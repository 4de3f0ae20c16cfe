"""The module ``loop-streaming``: it keeps the orchestrator contract, mounts by its config, and says what it offers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import amplifier_module_loop_streaming
from amplifier_core.events import CONTENT_BLOCK_DELTA, EXECUTION_END, ORCHESTRATOR_COMPLETE, PROMPT_COMPLETE
from amplifier_core.interfaces import Orchestrator
from amplifier_core.kernel_events import KERNEL_EVENTS
from amplifier_core.loader import ModuleLoader
from amplifier_core.session import AmplifierSession
from amplifier_core.testing import EventRecorder, MockContextManager, MockProvider, ScriptedReply, TestCoordinator
from amplifier_core.validation import OrchestratorValidator
from amplifier_core.validation.behavioral import OrchestratorBehaviorTests
from amplifier_core.validation.structural import OrchestratorStructuralTests
from amplifier_kit.chaos import OrchestratorChaosTests
from amplifier_modkit import events
from amplifier_modkit.turns.settings import LoopSettings
from amplifier_module_loop_streaming import mount
from amplifier_module_loop_streaming.config import StreamingSettings
from amplifier_module_loop_streaming.loop import StreamingLoop

PACKAGE = Path(amplifier_module_loop_streaming.__file__).parent

OWN_EVENTS = [
    events.LLM_STREAM_ABORTED,
    events.LLM_STREAM_BLOCK_DELTA,
    events.LLM_STREAM_BLOCK_END,
    events.LLM_STREAM_BLOCK_START,
    events.ORCHESTRATOR_GOAL_PROGRESS,
    events.ORCHESTRATOR_RATE_LIMIT_DELAY,
    events.ORCHESTRATOR_STEERING_INJECTED,
]


class OfThisModule:
    """Tests of this module."""

    @pytest.fixture
    def module_path(self) -> Path:
        return PACKAGE


class TestContract(OfThisModule, OrchestratorBehaviorTests, OrchestratorStructuralTests):
    """Everything an orchestrator promises."""


class TestUnderChaos(OfThisModule, OrchestratorChaosTests):
    """And under every fault."""


class TestUnderChaosWithLimits(OfThisModule, OrchestratorChaosTests):
    """With a limit of model calls, a pace and a delay, so that there are more places to be cut at."""

    @pytest.fixture
    def amplifier_module_config(self) -> dict[str, Any]:
        return {"max_iterations": 2, "min_delay_between_calls_ms": 0.01, "stream_delay": 0.0001, "min_retry_delay": 0}


class Loader(ModuleLoader):
    """Finds modules by entry point, and has a context and a provider of its own."""

    async def load(self, module_id: str, *args: Any, **kwargs: Any) -> Any:
        def mount_provider(coordinator: Any) -> MockProvider:
            return MockProvider([ScriptedReply(["Hello", " there"]), "Bye"], hooks=coordinator.hooks)

        own = {"context-fake": lambda _: MockContextManager(), "provider-fake": mount_provider}
        return own[module_id] if module_id in own else await super().load(module_id, *args, **kwargs)


def session_with(**config: Any) -> AmplifierSession:
    """A session with this loop, a context that keeps everything, and a model that streams two answers."""
    loop = {"module": "loop-streaming", "config": config}
    plan = {"session": {"orchestrator": loop, "context": "context-fake"}, "providers": ["provider-fake"]}
    return AmplifierSession(plan, loader=Loader())


async def test_the_validator_finds_nothing_to_complain_about() -> None:
    """All checks of the orchestrator contract pass."""
    result = await OrchestratorValidator().validate(PACKAGE)
    assert [check.message for check in result.checks if not check.passed] == []


async def test_it_mounts_a_loop_the_capability_to_steer_and_the_list_of_its_events() -> None:
    """Nothing but these three is there afterwards; each asking gets a list of its own."""
    coordinator = TestCoordinator()
    await mount(coordinator)
    loop = coordinator.get("orchestrator")
    assert isinstance(loop, StreamingLoop)
    assert isinstance(loop, Orchestrator)
    assert coordinator.capabilities == {"session.steer": loop.steering.steer}
    first, second = [await coordinator.collect_contributions("observability.events") for _ in range(2)]
    assert first == second == [OWN_EVENTS]
    assert first[0] is not second[0]


async def test_a_session_finds_it_by_its_id_streams_and_counts() -> None:
    """Events of a stream come out of ``session.stream``, and the session's status knows what was used."""
    async with session_with() as session:
        told = [item async for item in session.stream("hi") if isinstance(item, tuple)]
        assert [data["text"] for event, data in told if event == CONTENT_BLOCK_DELTA] == ["Hello", " there"]
        assert (await session.execute("go")) == "Bye"
        assert (session.status.total_messages, session.status.total_input_tokens) == (4, 20)


async def test_steering_reaches_the_loop_by_the_session_capability() -> None:
    """What is said before a turn stands behind its prompt, and observers find the events of the loop."""
    async with session_with() as session:
        assert session.coordinator.get_capability("session.steer")("be brief") is True
        assert await session.execute("hi") == "Hello there"
        assert session.coordinator.get("context").messages == [
            {"role": "user", "content": "hi"},
            {"role": "user", "content": "be brief", "metadata": {"source": "steering"}},
            {"role": "assistant", "content": "Hello there"},
        ]
        announced = await session.coordinator.collect_contributions("observability.events")
        assert announced == [KERNEL_EVENTS, OWN_EVENTS]


async def test_a_config_key_that_nobody_reads_is_reported_and_the_loop_works() -> None:
    """The report names the key and the one that was perhaps meant."""
    async with session_with(stream_dely=1, max_iterations=3) as session:
        told = "unread config: loop-streaming: nobody reads config key 'stream_dely' (did you mean 'stream_delay'?)"
        assert told in str(session.report).splitlines()
        assert await session.execute("hi") == "Hello there"


async def test_a_config_value_that_is_wrong_keeps_the_session_from_starting() -> None:
    """The error names module, key and what was expected."""
    session = session_with(goal_busy_stall_min_overlap=2)
    with pytest.raises(RuntimeError, match="goal_busy_stall_min_overlap.*less than or equal to 1"):
        await session.initialize()


def test_the_settings_have_the_documented_defaults() -> None:
    """A plan without config has no limit, no delay and a judge that is patient."""
    own = StreamingSettings.model_fields.keys() - LoopSettings.model_fields.keys()
    assert StreamingSettings.read(None).model_dump(include=set(own)) == {
        "stream_delay": 0.0,
        "min_delay_between_calls_ms": 0,
        "goal_stall_threshold": 3,
        "goal_model_role": "fast",
        "goal_provider_preferences": [],
        "goal_busy_stall_window": 3,
        "goal_busy_stall_min_overlap": 0.5,
        "goal_summary_max_reasons": 20,
        "goal_clip_chars": 4000,
    }


async def test_options_of_a_turn_count_for_that_turn_only() -> None:
    """A limit given to ``execute()`` ends this turn, and the next one has none."""
    provider = MockProvider([ScriptedReply(tool_calls=[("gone", {})]), "wrapped up", "second"])
    loop, hooks = StreamingLoop(), EventRecorder()
    world: dict[str, Any] = {"context": MockContextManager(), "providers": {"mock": provider}, "tools": {}}
    assert await loop.execute("one", **world, hooks=hooks, max_iterations=1) == "wrapped up"
    assert await loop.execute("two", **world, hooks=hooks) == "second"
    with pytest.raises(TypeError, match=r"An option of execute\(\) is not right: max_iteration: Extra inputs"):
        await loop.execute("three", **world, hooks=hooks, max_iteration=1)
    assert [data["status"] for _, data in hooks.get_events(ORCHESTRATOR_COMPLETE)] == ["incomplete", "success"]


async def test_without_a_provider_a_turn_fails_with_its_closing_events() -> None:
    """Nobody answers with a text that looks like an answer."""
    hooks = EventRecorder()
    with pytest.raises(RuntimeError, match="No provider is mounted"):
        await StreamingLoop().execute("hi", MockContextManager(), {}, {}, hooks)
    assert [event for event, _ in hooks.events] == [EXECUTION_END, PROMPT_COMPLETE, ORCHESTRATOR_COMPLETE]
