"""A compacting context: what it takes, what it gives, and what its subclasses can rely on."""

from __future__ import annotations

import logging
import re
from datetime import UTC, datetime
from typing import Any

import pytest

from amplifier_core.message_models import TextBlock, ToolCallBlock
from amplifier_core.testing import EventRecorder, FakeClock, TestCoordinator
from amplifier_modkit.events import CONTEXT_HEALED
from amplifier_modkit.memory.context import CompactingContext, CompactionPolicy, ContextConfig, Plan

Message = dict[str, Any]
NOW = "2025-01-01T00:00:00+00:00"


def context_with(coordinator: Any = None, **settings: Any) -> CompactingContext:
    """A context with these settings."""
    return CompactingContext(ContextConfig.model_validate(settings).policy(), coordinator=coordinator)


def said(role: str, content: Any, **metadata: Any) -> Message:
    """A message."""
    return {"role": role, "content": content, **({"metadata": metadata} if metadata else {})}


def contents(messages: list[Message]) -> list[Any]:
    """What messages say."""
    return [message["content"] for message in messages]


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("hello", "A message must be a dict with a 'role', got str"),
        (None, "A message must be a dict with a 'role', got NoneType"),
        ({"content": "hello"}, "Message must have 'role' field with a text such as 'user', got None"),
        ({"role": ""}, "Message must have 'role' field with a text such as 'user', got ''"),
        ({"role": 5}, "Message must have 'role' field with a text such as 'user', got 5"),
    ],
)
async def test_what_is_no_message_is_refused(message: Any, told: str) -> None:
    """The error names what came, and nothing is stored."""
    context = context_with()
    with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
        await context.add_message(message)
    assert await context.get_messages() == []


async def test_a_message_that_contains_itself_is_refused() -> None:
    """Nothing that cannot be written down enters the history."""
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="contains itself, or is nested too deep"):
        await context_with().add_message(said("user", loop))


async def test_messages_are_stored_as_plain_data_with_the_time() -> None:
    """Models inside become data; a time that is there stays, whatever else is in the metadata."""
    context = context_with(TestCoordinator(clock=FakeClock(datetime(2025, 1, 1, tzinfo=UTC))))
    await context.add_message(said("user", [TextBlock(text="x"), ToolCallBlock(id="a", name="b", input={})]))
    await context.add_message(said("user", "early", timestamp="before", note=1))
    await context.add_message({"role": "user", "content": "none", "metadata": None})
    await context.add_message({"role": "user", "content": "odd", "metadata": "text"})
    assert await context.get_messages() == [
        {
            "role": "user",
            "content": [{"type": "text", "text": "x"}, {"type": "tool_call", "id": "a", "name": "b", "input": {}}],
            "metadata": {"timestamp": NOW},
        },
        {"role": "user", "content": "early", "metadata": {"timestamp": "before", "note": 1}},
        {"role": "user", "content": "none", "metadata": {"timestamp": NOW}},
        {"role": "user", "content": "odd", "metadata": "text"},
    ]


async def test_without_a_coordinator_the_time_is_the_systems() -> None:
    """A context made by hand stamps messages as well."""
    context = context_with()
    await context.add_message(said("user", "x"))
    (message,) = await context.get_messages()
    assert datetime.fromisoformat(message["metadata"]["timestamp"]).tzinfo == UTC


async def test_tool_results_are_clipped_on_entry() -> None:
    """What a tool says beyond the limit never enters; what people say is not touched, and zero is no limit."""
    limited, free = context_with(max_tool_result_bytes=100), context_with(max_tool_result_bytes=0)
    for context in (limited, free):
        await context.add_message({"role": "tool", "tool_call_id": "a", "content": "r" * 500})
        await context.add_message(said("user", "u" * 500))
    lengths = [[len(text) for text in contents(await context.get_messages())] for context in (limited, free)]
    assert lengths == [[100, 500], [500, 500]]


async def test_what_is_given_out_cannot_change_the_history() -> None:
    """The last message of a request may be written into; a transcript is a copy through and through."""
    context = context_with()
    await context.add_message(said("user", [{"type": "text", "text": "kept"}]))
    view = await context.get_messages_for_request()
    view[-1]["content"][0]["text"] = "changed"
    view.clear()
    whole = await context.get_messages()
    whole[0]["content"].clear()
    assert contents(await context.get_messages_for_request()) == [[{"type": "text", "text": "kept"}]]


async def test_the_system_prompt_is_made_for_each_request() -> None:
    """It comes first; stored instructions give way to it, unless a hook put them in."""
    context = context_with()
    await context.add_message(said("system", "stored"))
    await context.add_message(said("system", "hooked", source="hook"))
    await context.add_message(said("user", "hello"))
    prompts = iter(["one", "two", ""])
    context.set_system_prompt_factory(lambda: next(prompts))
    assert [contents(await context.get_messages_for_request()) for _ in range(3)] == [
        ["one", "hooked", "hello"],
        ["two", "hooked", "hello"],
        ["hooked", "hello"],
    ]
    assert contents(await context.get_messages()) == ["stored", "hooked", "hello"]

    async def later() -> str:
        return "awaited"

    context.set_system_prompt_factory(later)
    await context.add_message(said("developer", "stored as well"))
    assert contents(await context.get_messages_for_request()) == ["awaited", "hooked", "hello"]
    context.set_system_prompt_factory(None)
    assert contents(await context.get_messages_for_request()) == ["stored", "hooked", "hello", "stored as well"]


async def test_a_system_prompt_is_a_text() -> None:
    """No agent runs without its instructions because a factory gave something else."""
    context = context_with()
    context.set_system_prompt_factory(lambda: None)
    with pytest.raises(TypeError, match="A system prompt factory must give a text, got NoneType"):
        await context.get_messages_for_request()


async def test_the_system_prompt_counts() -> None:
    """A long one leaves less room for messages; stored instructions that are hidden take none."""
    context = context_with(max_tokens=1_000)
    await context.add_message(said("system", "s" * 4_000))
    for _ in range(5):
        await context.add_message(said("assistant", "a" * 396))
    context.set_system_prompt_factory(lambda: "p" * 400)
    assert len(await context.get_messages_for_request()) == 6
    context.set_system_prompt_factory(lambda: "p" * 2_000)
    assert len(await context.get_messages_for_request()) < 6


async def test_a_context_tells_whether_it_is_too_long() -> None:
    """By the budget of the last request; one that must not compact by itself only tells."""
    context = context_with(auto_compact=False, max_tokens=100)
    assert context.should_compact() is False
    await context.add_message(said("user", "u" * 400))
    assert context.should_compact() is True
    assert len(await context.get_messages_for_request(token_budget=1_000)) == 1
    assert context.should_compact() is False


class Stored(CompactingContext):
    """A context that writes down what it is to keep, and may fail to."""

    def __init__(self, policy: CompactionPolicy) -> None:
        super().__init__(policy)
        self.log: list[Any] = []
        self.failure: Exception | None = None

    async def _keep(self, message: Message) -> None:
        if self.failure is not None:
            raise self.failure
        self.log.append(message["content"])

    async def _keep_plan(self, plan: Plan) -> None:
        if self.failure is not None:
            raise self.failure
        self.log.append(plan)

    async def _forget(self) -> None:
        self.log.append("forget")


async def test_subclasses_keep_what_enters() -> None:
    """Each message before it is in memory, and word when everything is to be forgotten."""
    context = Stored(CompactionPolicy())
    await context.add_message(said("user", "one"))
    await context.set_messages([said("user", "two"), said("user", "three")])
    await context.clear()
    assert context.log == ["one", "forget", "two", "three", "forget"]
    context.failure = OSError("disk full")
    with pytest.raises(OSError, match="disk full"):
        await context.add_message(said("user", "lost"))
    assert await context.get_messages() == []


async def test_subclasses_keep_plans_and_a_lost_one_is_no_disaster(caplog: pytest.LogCaptureFixture) -> None:
    """A plan is stored before it is followed; if that fails the view is shortened all the same, and the log tells."""
    context = Stored(CompactionPolicy(max_tokens=1_000))
    for _ in range(10):
        await context.add_message(said("assistant", "a" * 400))
    view = await context.get_messages_for_request()
    plan = context.log[-1]
    assert (plan.covers, plan.dropped) == (10, ((0, 6),))
    assert len(view) == 5
    for _ in range(6):
        await context.add_message(said("assistant", "a" * 400))
    context.failure = OSError("disk full")
    assert len(await context.get_messages_for_request()) < 8
    assert caplog.messages == [
        "The compaction holds, but its plan could not be stored for a later resume: OSError('disk full')"
    ]


async def test_a_restored_context_goes_on_as_it_was() -> None:
    """The stored history and plan give the stored view; nothing is stored again."""
    context = Stored(CompactionPolicy())
    context.restore([said("user", "one"), said("user", "two"), said("user", "three")], Plan(2, dropped=((0, 1),)))
    assert contents(await context.get_messages_for_request()) == ["two", "three"]
    assert contents(await context.get_messages()) == ["one", "two", "three"]
    assert context.log == []


async def test_a_plan_for_more_than_there_is_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    """A history that lost its end is shown whole, and the log tells."""
    context = context_with()
    context.restore([said("user", "one")], Plan(2, dropped=((0, 1),)))
    assert contents(await context.get_messages_for_request()) == ["one"]
    assert caplog.messages == ["The stored plan is about 2 messages, but there are 1; it is left out"]


async def test_repairs_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """A broken history is healed in every view, and each repair is news only the first time."""
    coordinator, seen = TestCoordinator(), EventRecorder()
    coordinator.hooks.register(CONTEXT_HEALED, seen)
    context = context_with(coordinator)
    await context.add_message({"role": "tool", "tool_call_id": "a", "content": "x"})
    await context.add_message({"role": "tool", "tool_call_id": "a", "content": "x"})
    for _ in range(3):
        assert await context.get_messages_for_request() == []
    await context.add_message({"role": "tool", "tool_call_id": "b", "content": "x"})
    assert await context.get_messages_for_request() == []
    notes = [f"A result of tool call '{each}' is left out: no call is waiting for it" for each in "ab"]
    assert [(data["notes"], data["count"]) for _, data in seen.events] == [([notes[0]], 1), ([notes[1]], 1)]
    assert caplog.messages == [f"The conversation was repaired for the request: {note}" for note in notes]


async def test_without_a_coordinator_a_context_works_alone(caplog: pytest.LogCaptureFixture) -> None:
    """There is nobody to hear, to tell, or to be asked."""
    caplog.set_level(logging.WARNING)
    context = context_with(max_tokens=1_000, strategy="summarize")
    context.connect("alone")()
    for _ in range(10):
        await context.add_message(said("assistant", "a" * 400))
    assert len(await context.get_messages_for_request()) < 10
    assert [message.partition(":")[0] for message in caplog.messages] == ["7 messages are left out without a summary"]
