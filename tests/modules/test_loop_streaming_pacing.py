"""Model calls keep a least distance in time, and hooks hear why the loop waits."""

from __future__ import annotations

from typing import Any

from amplifier_core.testing import (
    EventRecorder,
    MockContextManager,
    MockCoordinator,
    MockProvider,
    MockTool,
    ScriptedReply,
)
from amplifier_modkit.events import ORCHESTRATOR_RATE_LIMIT_DELAY
from amplifier_module_loop_streaming.config import StreamingSettings
from amplifier_module_loop_streaming.loop import StreamingLoop
from amplifier_module_loop_streaming.pacing import Pace


class Time:
    """Time that passes when somebody sleeps, and when it is told to."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds


async def run(time: Time, loop: StreamingLoop, *answers: Any, **options: Any) -> list[dict[str, Any]]:
    """Runs a turn in which each answer takes a quarter of a second; gives what hooks heard of waiting."""

    def taking_time(answer: Any) -> Any:
        def give(request: Any) -> Any:
            time.now_s += 0.25
            return answer

        return give

    hooks = EventRecorder()
    provider = MockProvider([taking_time(answer) for answer in answers])
    await loop.execute("go", MockContextManager(), {"mock": provider}, {"look": MockTool("look")}, hooks, **options)
    return [data for _, data in hooks.get_events(ORCHESTRATOR_RATE_LIMIT_DELAY)]


LOOK = ScriptedReply(tool_calls=[("look", {})])


async def test_a_call_that_comes_too_soon_waits_for_the_rest_of_the_time() -> None:
    """The distance is measured from the beginning of the call before; the first call never waits."""
    time = Time()
    loop = StreamingLoop(StreamingSettings(min_delay_between_calls_ms=1000), Pace(time, time.sleep))
    assert await run(time, loop, LOOK, "done") == [
        {"delay_ms": 750.0, "configured_ms": 1000.0, "elapsed_ms": 250.0, "iteration": 2}
    ]
    assert time.slept == [0.75]


async def test_the_distance_holds_from_one_turn_to_the_next() -> None:
    """Services count requests, not turns."""
    time = Time()
    loop = StreamingLoop(StreamingSettings(min_delay_between_calls_ms=1000), Pace(time, time.sleep))
    assert await run(time, loop, "one") == []
    assert [facts["iteration"] for facts in await run(time, loop, "two")] == [1]
    time.now_s += 10
    assert await run(time, loop, "three") == []


async def test_the_call_that_wraps_a_turn_up_waits_as_well() -> None:
    """A limit of model calls does not break the pace, and an option of the turn sets it."""
    time = Time()
    loop = StreamingLoop(StreamingSettings(max_iterations=1), Pace(time, time.sleep))
    waits = await run(time, loop, LOOK, "done", min_delay_between_calls_ms=500)
    assert [facts["delay_ms"] for facts in waits] == [250.0]


async def test_without_a_distance_nobody_waits() -> None:
    """The default is to ask at once."""
    time = Time()
    assert await run(time, StreamingLoop(pace=Pace(time, time.sleep)), LOOK, LOOK, "done") == []
    assert time.slept == []


async def test_the_judge_of_a_goal_waits_as_well() -> None:
    """Its call is a request like any other."""
    time, coordinator = Time(), MockCoordinator()
    coordinator.session_state["goal"] = {"condition": "x"}
    loop = StreamingLoop(StreamingSettings(min_delay_between_calls_ms=1000), Pace(time, time.sleep))
    assert len(await run(time, loop, "done", "ACHIEVED", coordinator=coordinator)) == 1
    assert time.slept == [0.75]
