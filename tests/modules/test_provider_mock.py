"""The scripted provider as a module: it keeps the provider contract, mounts by its config, and tells what it is."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

import amplifier_module_provider_mock
from amplifier_core.interfaces import Provider
from amplifier_core.loader import ModuleLoader
from amplifier_core.message_models import ChatRequest, ChatResponse, Message, TextBlock, ToolCall, ToolCallBlock
from amplifier_core.models import ModelInfo, ProviderInfo
from amplifier_core.session import AmplifierSession
from amplifier_core.testing import FakeClock, MockContextManager, ScriptedOrchestrator, TestCoordinator, ask_provider
from amplifier_core.validation import ProviderValidator
from amplifier_core.validation.behavioral import ProviderBehaviorTests
from amplifier_core.validation.structural import ProviderStructuralTests
from amplifier_kit.chaos import ProviderChaosTests
from amplifier_module_provider_mock import mount
from amplifier_module_provider_mock.provider import DEFAULT_RESPONSES, MockProvider

PACKAGE = Path(amplifier_module_provider_mock.__file__).parent


def request_for(text: str = "hello") -> ChatRequest:
    """A request with one message."""
    return ChatRequest(messages=[Message(role="user", content=text)])


def text_of(response: ChatResponse) -> str:
    """The text of a response with one block."""
    (block,) = response.content
    assert isinstance(block, TextBlock)
    return block.text


class OfThisModule:
    """Tests of this module with its default config."""

    @pytest.fixture
    def module_path(self) -> Path:
        return PACKAGE


class TestContract(OfThisModule, ProviderBehaviorTests, ProviderStructuralTests):
    """Everything a provider promises."""


class TestUnderChaos(OfThisModule, ProviderChaosTests):
    """And under every fault."""


class TestUnderChaosWithAScript(OfThisModule, ProviderChaosTests):
    """With thinking, tool calls and broken arguments over and over."""

    @pytest.fixture
    def amplifier_module_config(self) -> dict[str, Any]:
        odd = {"thinking": "hm", "text": "x", "tool_calls": [{"name": "gone", "arguments": "{"}], "delay_s": 0.001}
        return {"script": [odd, ""], "at_end": "repeat", "raw": True, "chunk_chars": 1}


async def test_the_validator_finds_nothing_to_complain_about() -> None:
    """All checks of the provider contract pass."""
    result = await ProviderValidator().validate(PACKAGE)
    assert [check.message for check in result.checks if not check.passed] == []


async def test_it_mounts_under_its_name_and_describes_itself() -> None:
    """Limits and model are the defaults that contexts compute their budget from."""
    coordinator = TestCoordinator()
    await mount(coordinator)
    provider = coordinator.get("providers", "mock")
    assert isinstance(provider, MockProvider)
    assert isinstance(provider, Provider)
    abilities = ["tools", "streaming", "thinking"]
    assert provider.get_info() == ProviderInfo(
        id="mock",
        display_name="Scripted model: mock",
        capabilities=abilities,
        defaults={"model": "mock-model", "context_window": 200_000, "max_output_tokens": 8_192},
    )
    assert await provider.list_models() == [
        ModelInfo(
            id="mock-model",
            display_name="mock-model",
            context_window=200_000,
            max_output_tokens=8_192,
            capabilities=abilities,
        )
    ]
    assert (provider.priority, provider.calls, provider.requests) == (100, 0, [])


async def test_the_config_decides_name_priority_model_and_limits() -> None:
    """Two providers with other names live side by side."""
    coordinator = TestCoordinator()
    await mount(coordinator, {"name": "a", "priority": 1, "model": "m", "context_window": 9, "max_output_tokens": 3})
    await mount(coordinator, {"name": "b"})
    mounted = coordinator.get_mounted("providers")
    assert list(mounted) == ["a", "b"]
    assert (mounted["a"].name, mounted["a"].priority) == ("a", 1)
    assert mounted["a"].get_info().defaults == {"model": "m", "context_window": 9, "max_output_tokens": 3}


async def test_the_first_answer_is_the_first_entry_and_responses_begin_again() -> None:
    """Plain responses repeat; a word such as 'read' in the prompt has no magic."""
    provider = MockProvider(responses=["one", "two"])
    assert [text_of(await provider.complete(request_for("read it"))) for _ in range(3)] == ["one", "two", "one"]


async def test_without_a_script_there_are_three_default_answers() -> None:
    """An empty config is enough."""
    provider = MockProvider()
    assert tuple([text_of(await provider.complete(request_for())) for _ in range(3)]) == DEFAULT_RESPONSES


async def test_requests_are_recorded_as_they_were() -> None:
    """A caller that changes its request afterwards does not change the record."""
    provider = MockProvider(["answer"])
    request = request_for("before")
    await provider.complete(request, extended_thinking=True)
    request.messages[0].content = "after"
    assert (provider.calls, [message.content for message in provider.requests[0].messages]) == (1, ["before"])


async def test_concurrent_calls_take_consecutive_answers() -> None:
    """A call that waits keeps its place; the next one takes the next answer."""
    provider = MockProvider([{"text": "slow", "delay_s": 5}, "quick", "third"], clock=FakeClock())
    answers = await asyncio.gather(*(provider.complete(request_for()) for _ in range(3)))
    assert [text_of(answer) for answer in answers] == ["slow", "quick", "third"]


async def test_calls_are_found_in_the_content_where_the_list_is_missing() -> None:
    """A response of somebody else that has its calls as blocks only is read as well."""
    response = ChatResponse(content=[ToolCallBlock(id="c", name="dice", input={"sides": 6})])
    assert MockProvider().parse_tool_calls(response) == [ToolCall(id="c", name="dice", arguments={"sides": 6})]
    assert MockProvider().parse_tool_calls(ChatResponse(content=[])) == []


async def test_costs_add_up_on_the_channel_of_the_session() -> None:
    """Nothing is contributed while nothing has a price; then the sum, as text."""
    coordinator = TestCoordinator()
    usage = {"cost_usd": 0.1}
    await mount(coordinator, {"script": ["free", {"text": "a", "usage": usage}, {"text": "b", "usage": usage}]})
    provider = coordinator.get("providers", "mock")
    costs: list[Any] = []
    for _ in range(3):
        await provider.complete(request_for())
        costs.append(await coordinator.collect_contributions("session.cost"))
    assert costs == [[], [{"cost_usd": "0.1"}], [{"cost_usd": "0.2"}]]
    assert await coordinator.collect_contributions("observability.events") == [
        ["llm:stream_block_start", "llm:stream_block_delta", "llm:stream_block_end", "llm:stream_aborted"]
    ]


@pytest.mark.parametrize(("debug", "level"), [(True, logging.INFO), (False, logging.DEBUG)])
async def test_debug_makes_every_call_a_line_of_the_log(
    caplog: pytest.LogCaptureFixture, debug: bool, level: int
) -> None:
    """What was answered, and what failed, is told at the level that people see when they ask for it."""
    caplog.set_level(logging.DEBUG, logger="amplifier_module_provider_mock")
    provider = MockProvider(["fine", ValueError("no")], debug=debug)
    await provider.complete(request_for())
    with pytest.raises(ValueError, match="no"):
        await provider.complete(request_for())
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (level, "Call 1 of provider 'mock' is answered: stop"),
        (level, "Call 2 of provider 'mock' fails: ValueError('no')"),
    ]


class Loader(ModuleLoader):
    """Finds modules by entry point, and has a loop that asks the provider and a context of its own."""

    async def load(self, module_id: str, *args: Any, **kwargs: Any) -> Any:
        own = {"asking": lambda _: ScriptedOrchestrator([ask_provider]), "keeping": lambda _: MockContextManager()}
        return own[module_id] if module_id in own else await super().load(module_id, *args, **kwargs)


def session_with(*providers: dict[str, Any]) -> AmplifierSession:
    """A session with these entries under ``providers``."""
    plan = {"session": {"orchestrator": "asking", "context": "keeping"}, "providers": list(providers)}
    return AmplifierSession(plan, loader=Loader())


async def test_a_session_finds_it_by_its_id_and_tells_unknown_keys() -> None:
    """The kernel reports a key that nobody reads; the provider is mounted all the same."""
    config = {"responses": ["hi"], "respnses": []}
    async with session_with({"module": "provider-mock", "config": config}) as session:
        assert str(session.report).splitlines()[2:] == [
            "mounted: provider provider-mock as mock",
            "unread config: provider-mock: nobody reads config key 'respnses' (did you mean 'responses'?)",
        ]
        assert await session.execute("hello") == "hi"


async def test_two_instances_of_the_module_have_a_script_each() -> None:
    """An ``instance_id`` of the plan is the name the provider is mounted under."""
    first = {"module": "provider-mock", "instance_id": "first", "config": {"responses": ["1"]}}
    second = {"module": "provider-mock", "instance_id": "second", "config": {"responses": ["2"]}}
    async with session_with(first, second) as session:
        providers = session.coordinator.get("providers")
        answers = {name: text_of(await provider.complete(request_for())) for name, provider in providers.items()}
        assert answers == {"first": "1", "second": "2"}


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"responses": ["a"], "script": ["b"]}, "responses and script are scripts, and only one can be played"),
        ({"chunk_chars": 0}, "key 'chunk_chars': Input should be greater than 0"),
        ({"script": [{"txt": "a"}]}, "Answer 1 of the script, key 'txt': nobody reads it; did you mean 'text'?"),
    ],
)
async def test_a_wrong_config_is_told_in_the_report(config: dict[str, Any], reason: str) -> None:
    """The session says which module did not load and what to correct."""
    async with session_with({"module": "provider-mock", "config": config}) as session:
        (problem,) = session.report.failed
        assert (problem.module_id, reason in problem.reason) == ("provider-mock", True)
