"""The module ``context-simple``: mounted, under the suites of its kind, and in the situations of its contract."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amplifier_core.events import CONTEXT_COMPACTION, CONTEXT_POST_COMPACT, CONTEXT_PRE_COMPACT
from amplifier_core.models import HookResult
from amplifier_core.session import AmplifierSession
from amplifier_core.testing import EventRecorder, MockProvider, TestCoordinator
from amplifier_core.validation import ContextValidator
from amplifier_core.validation.behavioral import ContextBehaviorTests
from amplifier_core.validation.structural import ContextStructuralTests
from amplifier_kit.chaos import ContextChaosTests
from amplifier_modkit.events import CONTEXT_HEALED
from amplifier_module_context_simple import mount
from amplifier_module_context_simple.context import SimpleContext

PACKAGE = Path(__file__).parents[2] / "modules/src/amplifier_module_context_simple"


class Packaged:
    """Tests of the package as it is shipped."""

    @pytest.fixture
    def module_path(self) -> Path:
        return PACKAGE


class TestContract(Packaged, ContextBehaviorTests, ContextStructuralTests):
    """Everything a context promises."""


class TestUnderChaos(Packaged, ContextChaosTests):
    """What it promises under every fault of its kind."""


async def test_the_validator_finds_nothing_to_complain_about() -> None:
    """The whole check of its kind passes, without warnings."""
    result = await ContextValidator().validate(PACKAGE)
    assert [
        (check.name, check.message) for check in result.checks if not check.passed or check.severity != "info"
    ] == []


async def test_messages_are_kept_in_order_until_they_are_cleared() -> None:
    """What is added can be read for a request and as a transcript, and is gone after ``clear``."""
    context = SimpleContext(max_tokens=1000)
    await context.add_message({"role": "user", "content": "Hello"})
    await context.add_message({"role": "assistant", "content": "Hi there!"})
    messages = await context.get_messages_for_request()
    assert [(message["role"], message["content"]) for message in messages] == [
        ("user", "Hello"),
        ("assistant", "Hi there!"),
    ]
    assert len(await context.get_messages()) == 2
    await context.clear()
    assert await context.get_messages() == []
    assert await context.get_messages_for_request() == []


async def test_compaction_keeps_calls_and_results_together() -> None:
    """However far the view is shortened, no result is there without its call."""
    context = SimpleContext(max_tokens=100, compaction_threshold=0.5)
    await context.add_message({"role": "user", "content": "Read file.txt"})
    calls = [{"id": "call_123", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}]
    await context.add_message({"role": "assistant", "content": None, "tool_calls": calls})
    await context.add_message({"role": "tool", "tool_call_id": "call_123", "content": "File contents..."})
    for number in range(50):
        await context.add_message({"role": "user", "content": f"Message {number}"})
    messages = await context.get_messages_for_request()
    made = {call["id"] for message in messages for call in message.get("tool_calls", [])}
    answered = {message.get("tool_call_id") for message in messages if message["role"] == "tool"}
    assert answered == made == {"call_123"}
    assert len(messages) < 53 == len(await context.get_messages())
    assert messages[-1]["content"] == "Message 49"


async def test_a_saved_conversation_is_resumed() -> None:
    """``set_messages`` puts another history in place; one bad message leaves everything as it was."""
    context = SimpleContext(max_tokens=1000)
    await context.add_message({"role": "user", "content": "forgotten"})
    saved = [
        {"role": "user", "content": "Previous conversation"},
        {"role": "assistant", "content": "Previous response"},
    ]
    await context.set_messages(saved)
    with pytest.raises(ValueError, match="Message must have 'role' field"):
        await context.set_messages([{"role": "user", "content": "other"}, {"content": "no role"}])
    assert [message["content"] for message in await context.get_messages()] == [
        "Previous conversation",
        "Previous response",
    ]
    assert "metadata" not in saved[0]


async def test_settings_of_that_name_do_not_exist() -> None:
    """A misspelt setting is refused where the context is made by hand."""
    with pytest.raises(ValueError, match="max_token\\b"):
        SimpleContext(max_token=1000)


async def test_mounting_reads_the_config_and_announces_the_events() -> None:
    """``mount`` puts the context in place; unknown keys are the kernel's to tell, and do not stop it."""
    coordinator = TestCoordinator()
    disconnect = await mount(coordinator, {"max_tokens": 1000, "compaction_threshold": 0.5, "no_such_key": 1})
    context = coordinator.get("context")
    assert isinstance(context, SimpleContext)
    announced = await coordinator.collect_contributions("observability.events")
    assert announced == [[CONTEXT_PRE_COMPACT, CONTEXT_POST_COMPACT, CONTEXT_COMPACTION, CONTEXT_HEALED]]
    assert set(coordinator.hooks.list_handlers()) == {"provider:response", "llm:response"}
    disconnect()
    assert coordinator.hooks.list_handlers() == {"provider:response": [], "llm:response": []}


async def test_mounting_needs_no_config() -> None:
    """Every setting has a default."""
    coordinator = TestCoordinator()
    await mount(coordinator)
    assert await coordinator.get("context").get_messages_for_request(provider=MockProvider()) == []


async def test_a_session_finds_the_module_by_its_id_and_tells_unknown_keys() -> None:
    """In a plan the module is ``context-simple``; a key that it does not know is in the session's report."""
    plan: dict[str, Any] = {
        "session": {
            "orchestrator": "loop-none",
            "context": {"module": "context-simple", "config": {"auto_compact": True, "max_token": 5}},
        }
    }
    session = AmplifierSession(plan)

    class Loop:
        async def execute(self, prompt: str, context: Any, providers: Any, tools: Any, hooks: Any) -> str:
            await context.add_message({"role": "user", "content": prompt})
            return str(len(await context.get_messages_for_request()))

    async def load(module_id: str, *arguments: Any, **named: Any) -> Any:
        if module_id != "loop-none":
            return await real_load(module_id, *arguments, **named)

        async def mount_loop(coordinator: Any) -> None:
            await coordinator.mount("orchestrator", Loop())
            await coordinator.mount("providers", MockProvider())

        return mount_loop

    real_load, session.loader.load = session.loader.load, load
    async with session:
        assert await session.execute("Hello") == "1"
    assert [(key.module_id, key.key, key.nearest) for key in session.report.unknown_keys] == [
        ("context-simple", "max_token", "max_tokens")
    ]


async def test_a_compaction_is_told_from_beginning_to_end() -> None:
    """Observers see the three events in order, with the figures of the view before and after."""
    coordinator, seen = TestCoordinator(), EventRecorder()
    for event in (CONTEXT_PRE_COMPACT, CONTEXT_POST_COMPACT, CONTEXT_COMPACTION):
        coordinator.hooks.register(event, seen)
    await mount(coordinator, {"max_tokens": 1_000})
    context = coordinator.get("context")
    await context.add_message({"role": "system", "content": "Be brief."})
    for number in range(10):
        await context.add_message({"role": "user", "content": f"question {number}"})
        await context.add_message({"role": "assistant", "content": "answer " * 100})
    view = await context.get_messages_for_request()
    assert [event for event, _ in seen.events] == [CONTEXT_PRE_COMPACT, CONTEXT_POST_COMPACT, CONTEXT_COMPACTION]
    before, after, figures = ({k: v for k, v in data.items() if k not in DEFAULTS} for _, data in seen.events)
    assert [message["role"] for message in before.pop("messages")] == ["system", *["user", "assistant"] * 10]
    assert before == {"message_count": 21, "token_count": 1_856}
    assert after == {"message_count": len(view), "token_count": figures["after_tokens"]}
    assert figures == {
        "before_tokens": 1_856,
        "after_tokens": figures["after_tokens"],
        "before_messages": 21,
        "after_messages": len(view),
        "messages_removed": figures["messages_removed"],
        "messages_truncated": 0,
        "user_messages_stubbed": figures["user_messages_stubbed"],
        "system_messages_preserved": 1,
        "strategy_level": 2,
        "budget": 1_000,
        "target_tokens": 500,
        "protected_recent": 0.3,
        "protected_tool_results": 5,
    }
    assert figures["after_tokens"] <= 500
    assert view[-1]["metadata"] == {"source": "context", "kind": "compaction_notice"}


DEFAULTS = {"session_id", "parent_id", "timestamp"}


async def test_a_hook_may_refuse_a_compaction() -> None:
    """After a deny the view stays whole, and the question comes again only when it has really grown."""
    coordinator = TestCoordinator()
    asked: list[int] = []

    async def refuse(event: str, data: dict[str, Any]) -> HookResult:
        asked.append(data["token_count"])
        return HookResult(action="deny", reason="not now")

    coordinator.hooks.register(CONTEXT_PRE_COMPACT, refuse)
    await mount(coordinator, {"max_tokens": 1_000})
    context = coordinator.get("context")
    for number in range(30):
        await context.add_message({"role": "assistant", "content": f"answer {number} " * 20})
        assert len(await context.get_messages_for_request()) == number + 1
    assert len(asked) < 10
    assert asked == sorted(asked)
