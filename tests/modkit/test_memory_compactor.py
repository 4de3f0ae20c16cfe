"""When a view is shortened, and when not: thresholds, rests, hooks, reports of providers, tasks at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import TypeAdapter

from amplifier_core.event_payloads import ContextCompaction, ContextPostCompact, ContextPreCompact
from amplifier_core.events import (
    CONTEXT_COMPACTION,
    CONTEXT_POST_COMPACT,
    CONTEXT_PRE_COMPACT,
    LLM_RESPONSE,
    PROVIDER_RESPONSE,
)
from amplifier_core.message_models import Usage
from amplifier_core.models import HookResult
from amplifier_core.testing import EventRecorder, TestCoordinator
from amplifier_modkit.memory.context import CompactingContext, ContextConfig

Message = dict[str, Any]
PAYLOADS: dict[str, Any] = {
    CONTEXT_PRE_COMPACT: ContextPreCompact,
    CONTEXT_POST_COMPACT: ContextPostCompact,
    CONTEXT_COMPACTION: ContextCompaction,
}


class World:
    """A context in a session, and what it tells."""

    def __init__(self, plan: dict[str, Any] | None = None, **settings: Any) -> None:
        self.coordinator = TestCoordinator(plan)
        self.seen = EventRecorder()
        for event in PAYLOADS:
            self.coordinator.hooks.register(event, self.seen)
        config = ContextConfig.model_validate({"max_tokens": 1_000, **settings})
        self.context = CompactingContext(config.policy(), coordinator=self.coordinator)
        self.coordinator.mount("context", self.context)
        self.context.connect("context-test")

    async def say(self, tokens: int, role: str = "assistant", times: int = 1) -> None:
        """Adds messages of that many tokens."""
        for _ in range(times):
            await self.context.add_message({"role": role, "content": "w" * 4 * (tokens - 4)})

    async def ask(self, **options: Any) -> list[Message]:
        """The messages for a request."""
        return await self.context.get_messages_for_request(**options)

    def compactions(self) -> list[dict[str, Any]]:
        """The figures of the compactions so far."""
        return [data for event, data in self.seen.events if event == CONTEXT_COMPACTION]

    def listen(self, event: str, handler: Callable[[dict[str, Any]], Awaitable[HookResult | None]]) -> None:
        """Registers a handler for one event."""

        async def handle(_: str, data: dict[str, Any]) -> HookResult:
            return await handler(data) or HookResult()

        self.coordinator.hooks.register(event, handle)

    async def report(self, event: str, tokens: int, as_object: bool = False) -> None:
        """Tells that a call took so many tokens."""
        usage = Usage(input_tokens=tokens, output_tokens=1, total_tokens=tokens + 1)
        await self.coordinator.hooks.emit(event, {"usage": usage if as_object else usage.model_dump()})


async def test_a_view_is_shortened_when_it_passes_the_threshold() -> None:
    """Up to the threshold it is whole; beyond, it goes down to the target in one step. The payloads are as declared."""
    world = World()
    await world.say(92, times=10)
    assert len(await world.ask()) == 10
    await world.say(10)
    await world.ask()
    (figures,) = world.compactions()
    assert (figures["before_tokens"], figures["after_tokens"] <= 500) == (930, True)
    for event, data in world.seen.events:
        TypeAdapter(PAYLOADS[event]).validate_python(data)


async def test_the_notice_is_at_the_end_and_stays_where_it_is() -> None:
    """The next messages come behind it; a second compaction has one of its own instead."""
    world = World()
    await world.say(100, times=10)
    first = await world.ask()
    await world.say(100, times=2)
    assert (await world.ask())[: len(first)] == first
    await world.say(100, times=5)
    kinds = [message["metadata"].get("kind") for message in await world.ask()]
    assert (kinds.count("compaction_notice"), kinds[-1]) == (1, "compaction_notice")
    assert len(world.compactions()) == 2


async def test_the_notice_is_never_between_a_call_and_its_result() -> None:
    """Asked while a tool runs, the view has a stand-in for the result, and the notice behind it, before and after."""
    world = World()
    await world.say(100, times=10)
    await world.context.add_message({"role": "assistant", "content": "", "tool_calls": [{"id": "a", "name": "bash"}]})
    assert [message["role"] for message in (await world.ask())[-3:]] == ["assistant", "tool", "user"]
    await world.context.add_message({"role": "tool", "tool_call_id": "a", "content": "done"})
    view = await world.ask()
    assert [message["role"] for message in view[-3:]] == ["assistant", "tool", "user"]
    assert (view[-2]["content"], len(world.compactions())) == ("done", 1)


async def test_one_message_that_is_too_large_causes_no_storm() -> None:
    """What cannot be shortened is tried again only after real growth, not on every request."""
    world = World()
    await world.context.add_message({"role": "system", "content": "s" * 3_800})
    await world.say(20, "user")
    attempts = 0
    for _ in range(40):
        before = len(world.compactions())
        await world.say(20)
        await world.ask()
        attempts += len(world.compactions()) > before
    assert 1 <= attempts <= 40 * 20 / 105 + 1


async def test_an_attempt_that_can_do_nothing_tells_nothing() -> None:
    """Where there is nothing to shorten no hook is asked."""
    world = World()
    await world.context.add_message({"role": "system", "content": "s" * 8_000})
    assert len(await world.ask()) == 1
    assert world.seen.events == []


async def test_a_smaller_budget_is_tried_at_once() -> None:
    """A loop whose request was refused asks for less, and gets it."""
    world = World(compaction_notice_enabled=False)
    await world.say(100, times=10)
    await world.ask()
    tokens = world.compactions()[-1]["after_tokens"]
    await world.ask(token_budget=tokens)
    assert [figures["budget"] for figures in world.compactions()] == [1_000, tokens]
    assert world.compactions()[-1]["after_tokens"] <= tokens / 2


async def test_what_the_user_said_before_can_go_once_the_user_goes_on() -> None:
    """Over the budget, a large prompt is protected only until the next one comes."""
    world = World()
    await world.say(300, "system")
    await world.say(800, "user")
    await world.ask()
    await world.say(20)
    await world.ask()
    assert world.compactions() == []
    await world.say(20, "user")
    view = await world.ask()
    assert [message["role"] for message in view] == ["system", "user", "assistant", "user", "user"]
    assert world.compactions()[0]["user_messages_stubbed"] == 1


async def test_a_budget_of_nothing_still_gives_the_last_word() -> None:
    """There is always something to send."""
    world = World()
    await world.say(50, "user", times=20)
    assert len(await world.ask(token_budget=0)) == 1
    assert await World().ask(token_budget=0) == []


async def test_a_hook_may_ask_for_messages_and_add_some_while_it_is_told() -> None:
    """Neither waits for the compaction, not even in a task of its own; what is added comes behind the notice."""
    world = World()
    asked: list[int] = []

    async def be_curious(data: dict[str, Any]) -> HookResult:
        asked.append(len(await world.ask()))
        asked.append(len(await asyncio.create_task(world.ask())))
        return HookResult(action="inject_context", context_injection="Mind the plan.", context_injection_role="user")

    world.listen(CONTEXT_PRE_COMPACT, be_curious)
    await world.say(100, times=10)
    view = await world.ask()
    assert asked == [10, 10]
    assert [message["content"][:16] for message in view[-2:]] == ["<system-reminder", "Mind the plan."]
    assert len(world.compactions()) == 1


async def test_an_answer_that_cannot_be_carried_out_counts_as_a_refusal(caplog: pytest.LogCaptureFixture) -> None:
    """A hook that injects more than allowed costs the compaction, not the request."""
    world = World({"session": {"injection_size_limit": 3}})

    async def inject(data: dict[str, Any]) -> HookResult:
        return HookResult(action="inject_context", context_injection="far too long")

    world.listen(CONTEXT_PRE_COMPACT, inject)
    await world.say(100, times=10)
    assert len(await world.ask()) == 10
    assert world.compactions() == []
    assert any("could not be carried out" in message for message in caplog.messages)


async def test_requests_at_the_same_time_share_one_compaction() -> None:
    """Both get the same view; what is added meanwhile is neither lost nor doubled."""
    world = World()
    is_told, may_go_on = asyncio.Event(), asyncio.Event()

    async def wait(data: dict[str, Any]) -> None:
        is_told.set()
        await may_go_on.wait()

    world.listen(CONTEXT_PRE_COMPACT, wait)
    await world.say(100, times=10)
    requests = [asyncio.create_task(world.ask()) for _ in range(2)]
    await is_told.wait()
    await world.context.add_message({"role": "user", "content": "meanwhile"})
    may_go_on.set()
    first, second = await asyncio.gather(*requests)
    assert first == second
    assert first[-1]["content"] == "meanwhile"
    assert (len(world.compactions()), len(await world.context.get_messages())) == (1, 11)


async def test_a_compaction_of_what_was_cleared_meanwhile_is_dropped() -> None:
    """A plan for one history is never applied to another."""
    world = World()

    async def clear(data: dict[str, Any]) -> None:
        await world.context.clear()
        await world.say(30, "user", times=3)

    world.listen(CONTEXT_PRE_COMPACT, clear)
    await world.say(100, times=10)
    assert len(await world.ask()) == 3
    assert world.compactions() == []


async def test_a_cancelled_compaction_changes_nothing() -> None:
    """The view is as it was, and the next request compacts."""
    world = World()
    is_told = asyncio.Event()
    waits: list[Any] = [asyncio.Event()]

    async def wait(data: dict[str, Any]) -> None:
        is_told.set()
        if waits:
            await waits.pop().wait()

    world.listen(CONTEXT_PRE_COMPACT, wait)
    await world.say(100, times=10)
    request = asyncio.create_task(world.ask())
    await is_told.wait()
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert (len(await world.ask()) < 10, len(world.compactions())) == (True, 1)


@pytest.mark.parametrize("as_object", [True, False])
async def test_reported_tokens_take_the_place_of_the_estimate(as_object: bool) -> None:
    """A request that was larger than estimated brings the next compaction nearer."""
    world = World()
    await world.say(100, times=5)
    await world.ask()
    await world.report(PROVIDER_RESPONSE, 900, as_object)
    assert len(await world.ask()) == 5
    await world.say(50)
    await world.ask()
    assert [figures["before_tokens"] for figures in world.compactions()] == [950]


async def test_usage_may_stand_in_the_response() -> None:
    """A loop that tells only the response tells the usage with it; other things are no numbers."""
    world = World()
    await world.say(100, times=5)
    await world.ask()
    usage = Usage(input_tokens=900, output_tokens=1, total_tokens=901)
    await world.coordinator.hooks.emit(PROVIDER_RESPONSE, {"response": SimpleNamespace(usage=usage), "usage": None})
    await world.coordinator.hooks.emit(PROVIDER_RESPONSE, {"usage": {"input_tokens": "many"}})
    await world.coordinator.hooks.emit(PROVIDER_RESPONSE, {})
    await world.say(50)
    await world.ask()
    assert [figures["before_tokens"] for figures in world.compactions()] == [950]


async def test_the_providers_own_word_counts_until_the_loop_speaks() -> None:
    """Somebody else may use the provider; the loop's reports are about the loop's requests."""
    world = World()
    await world.say(100, times=5)
    await world.ask()
    await world.report(LLM_RESPONSE, 700)
    await world.report(PROVIDER_RESPONSE, 600)
    await world.report(LLM_RESPONSE, 900)
    await world.say(50)
    await world.ask()
    await world.say(300)
    await world.ask()
    assert [figures["before_tokens"] for figures in world.compactions()] == [950]


async def test_reports_before_any_request_and_of_summaries_are_about_nothing() -> None:
    """Only a request of this context can be measured by a report."""
    world = World(strategy="summarize")

    class Reporting:
        async def complete(self, request: Any) -> Any:
            await world.report(LLM_RESPONSE, 5_000)
            return SimpleNamespace(content="short")

    await world.report(LLM_RESPONSE, 5_000)
    world.coordinator.mount("providers", Reporting(), name="main")
    await world.say(100, times=10)
    view = await world.ask()
    assert "short" in view[0]["content"]
    assert world.compactions()[0]["after_tokens"] < 600


async def test_a_meter_that_only_estimates_does_not_listen() -> None:
    """With ``token_meter: estimate`` no report changes anything."""
    world = World(token_meter="estimate")
    await world.say(100, times=5)
    await world.ask()
    await world.report(PROVIDER_RESPONSE, 900)
    await world.say(50)
    assert len(await world.ask()) == 6
