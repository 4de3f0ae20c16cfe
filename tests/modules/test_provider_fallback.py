"""The provider that has others answer: who is asked when, what leads on, who rests, and what is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import amplifier_module_provider_fallback
from amplifier_core import AmplifierSession, ChatRequest, ChatResponse, Message, ModelInfo, ProviderInfo, ToolCall
from amplifier_core.llm_errors import (
    AuthenticationError,
    ConfigurationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    LLMError,
    LLMTimeoutError,
    NetworkError,
    NotFoundError,
    QuotaExceededError,
    RateLimitError,
    StreamError,
)
from amplifier_core.message_models import TextBlock, ToolCallBlock
from amplifier_core.testing import EventRecorder, TestCoordinator
from amplifier_core.validation import ProviderValidator
from amplifier_core.validation.behavioral import ProviderBehaviorTests
from amplifier_core.validation.structural import ProviderStructuralTests
from amplifier_module_provider_fallback import mount
from amplifier_module_provider_fallback.config import FallbackConfig
from amplifier_module_provider_fallback.provider import PROVIDER_FALLBACK, FallbackProvider

PACKAGE = Path(amplifier_module_provider_fallback.__file__).parent
ASKED = ChatRequest(messages=[Message(role="user", content="hello")], model="big")


class Other:
    """A provider that fails as it is told, then answers with its name."""

    def __init__(self, name: str, *failures: LLMError, window: int | None = None) -> None:
        self.name = name
        self.failures = list(failures)
        self.window = window
        self.models: list[str | None] = []

    def get_info(self) -> ProviderInfo:
        limits = {} if self.window is None else {"context_window": self.window}
        return ProviderInfo(id=self.name, display_name=self.name, defaults={"model": f"{self.name}-1", **limits})

    async def list_models(self) -> list[ModelInfo]:
        if self.failures:
            raise self.failures[0]
        return [ModelInfo(id=f"{self.name}-1", display_name=self.name, context_window=1, max_output_tokens=1)]

    async def complete(self, request: ChatRequest, **kwargs: Any) -> ChatResponse:
        self.models.append(request.model)
        if self.failures:
            raise self.failures.pop(0)
        return ChatResponse(content=[TextBlock(text=self.name), ToolCallBlock(id="c", name="t", input={})])

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        return [ToolCall(id=f"read by {self.name}", name="t", arguments={})]


class World:
    """A fallback over some providers, a clock that stands still, and what was told."""

    def __init__(self, *others: Other, **config: Any) -> None:
        self.coordinator = TestCoordinator()
        self.others = others
        self.now_s = 100.0
        self.told = EventRecorder()
        for other in others:
            self.coordinator.mount("providers", other)
        settings = FallbackConfig.read({"providers": [other.name for other in others], **config})
        self.fallback = FallbackProvider(settings, self.coordinator, lambda: self.now_s)
        self.coordinator.mount("providers", self.fallback)
        self.coordinator.hooks.register(PROVIDER_FALLBACK, self.told)

    async def answer(self) -> str:
        """Who answers."""
        response = await self.fallback.complete(ASKED)
        (call,) = self.fallback.parse_tool_calls(response)
        block = response.content[0]
        assert isinstance(block, TextBlock)
        assert call.id == f"read by {block.text}"
        return block.text

    def events(self) -> list[tuple[Any, ...]]:
        """Who failed, who follows, why, and for how long the first rests."""
        keys = ("provider", "next", "condition", "rest_s", "error_type")
        return [tuple(data[key] for key in keys) for _, data in self.told.events]


class TestContract(ProviderBehaviorTests, ProviderStructuralTests):
    """Everything a provider promises."""

    @pytest.fixture
    def module_path(self) -> Path:
        return PACKAGE

    @pytest.fixture
    def amplifier_module_config(self) -> dict[str, Any]:
        return {"providers": ["first", "second"]}


async def test_the_validator_finds_nothing_to_complain_about() -> None:
    """All checks of the provider contract pass."""
    result = await ProviderValidator().validate(PACKAGE, config={"providers": ["first"]})
    assert [check.message for check in result.checks if not check.passed] == []


@pytest.mark.parametrize(
    ("error", "condition"),
    [
        (NetworkError("away"), "unavailable"),
        (LLMTimeoutError("slow"), "unavailable"),
        (StreamError("broke"), "unavailable"),
        (RateLimitError("much"), "rate_limit"),
        (QuotaExceededError("none left"), "rate_limit"),
        (ContextLengthError("long"), "context_length"),
        (AuthenticationError("who?"), "authentication"),
        (ContentFilterError("no"), "content_filter"),
        (NotFoundError("what?"), "not_found"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
async def test_a_failure_leads_on_only_under_its_condition(error: LLMError, condition: Any) -> None:
    """With the condition the second answers and it is told; with all others the error comes out."""
    world = World(Other("first", error), Other("second"), on=[condition])
    assert await world.answer() == "second"
    rest_s = 0.0 if condition in ("context_length", "content_filter") else 60.0
    assert world.events() == [("first", "second", condition, rest_s, type(error).__name__)]
    others = {"unavailable", "rate_limit", "context_length", "authentication", "content_filter", "not_found"}
    strict = World(Other("first", error), Other("second"), on=sorted(others - {condition}))
    with pytest.raises(type(error), match=str(error).replace("?", r"\?")):
        await strict.answer()
    assert strict.events() == []


async def test_a_bad_request_is_nobody_elses_matter() -> None:
    """An error of the request itself comes out at once, and the second is not asked."""
    world = World(Other("first", InvalidRequestError("odd")), Other("second"))
    with pytest.raises(InvalidRequestError, match="odd"):
        await world.answer()
    assert world.others[1].models == []


async def test_who_failed_rests_and_comes_back() -> None:
    """During its rest the first is passed over without being asked; afterwards it is asked first again."""
    world = World(Other("first", NetworkError("away")), Other("second"), cooldown_seconds=30)
    assert [await world.answer(), await world.answer()] == ["second", "second"]
    world.now_s += 30
    assert await world.answer() == "first"
    assert (len(world.others[0].models), len(world.events())) == (2, 1)


async def test_a_provider_may_ask_for_a_longer_rest_and_a_choice_have_its_own() -> None:
    """The longer of what the provider asks for and what the config says counts."""
    first = {"provider": "first", "cooldown_seconds": 5}
    world = World(
        Other("first", RateLimitError("x", retry_after=90), NetworkError("y")),
        Other("second"),
        providers=[first, "second"],
    )
    await world.answer()
    world.now_s += 90
    await world.answer()
    assert [event[3] for event in world.events()] == [90.0, 5.0]


async def test_when_all_rest_they_are_asked_nevertheless() -> None:
    """The error of the last is raised; the next request asks in the usual order, though all rest."""
    world = World(Other("first", NetworkError("1")), Other("second", NetworkError("2")))
    with pytest.raises(NetworkError, match="2"):
        await world.answer()
    assert await world.answer() == "first"


async def test_a_request_that_is_too_long_for_one_says_nothing_about_the_next() -> None:
    """After a context length error the first is asked again with the next request."""
    world = World(Other("first", ContextLengthError("long")), Other("second"), on=["context_length"])
    assert [await world.answer(), await world.answer()] == ["second", "first"]


async def test_models_are_asked_for_where_they_are_known() -> None:
    """The request's model goes to the first choice only; a choice with a model of its own is asked for that."""
    away = NetworkError("away")
    world = World(Other("a", away), Other("b", away), Other("c"), providers=["a", "b", "c/small"])
    assert await world.answer() == "c"
    assert [other.models for other in world.others] == [["big"], [None], ["small"]]


async def test_a_choice_may_have_conditions_of_its_own() -> None:
    """What leads on from one need not lead on from another."""
    rigid = {"provider": "first", "on": []}
    world = World(Other("first", NetworkError("away")), Other("second"), providers=[rigid, "second"])
    with pytest.raises(NetworkError):
        await world.answer()
    assert world.events() == []


async def test_what_is_not_mounted_is_passed_over_and_itself_too() -> None:
    """A missing provider, and its own name, are no candidates."""
    world = World(Other("there"), providers=["missing", "fallback", "there"])
    assert await world.answer() == "there"


async def test_nobody_mounted_is_told_with_what_to_do() -> None:
    """The error names whom it looked for and who is there; its description says so, too."""
    world = World(Other("other"), providers=["missing"])
    with pytest.raises(ConfigurationError, match=r"of 'missing' none is mounted. Mounted are: other\."):
        await world.answer()
    assert world.fallback.get_info().display_name == "Fallback: none of its providers is mounted"
    alone = World(providers=["missing"])
    with pytest.raises(ConfigurationError, match=r"Mounted are: none\."):
        await alone.answer()


@pytest.mark.parametrize(
    ("config", "window"),
    [
        ({}, 100),
        ({"on": ["context_length"]}, 300),
        ({"providers": [{"provider": "small", "on": ["context_length"]}, "middle", "large"]}, 200),
        ({"providers": ["unknown"]}, None),
    ],
    ids=["smallest", "last", "all but the first", "unknown"],
)
def test_the_window_is_one_that_every_request_fits(config: dict[str, Any], window: int | None) -> None:
    """The smallest counts, except of those that hand on what is too long for them."""
    sizes = {"small": 100, "middle": 200, "large": 300, "unknown": None}
    world = World(*(Other(name, window=size) for name, size in sizes.items()), **config)
    assert world.fallback.get_info().defaults.get("context_window") == window


def test_it_describes_its_first_choice() -> None:
    """Model and names are those of the choices that are mounted."""
    info = World(Other("a"), Other("b"), providers=["a/best", "b"]).fallback.get_info()
    assert (info.id, info.display_name, info.defaults) == ("fallback", "Fallback: a, b", {"model": "best"})


async def test_models_of_all_are_listed_but_for_those_that_cannot_be_asked(caplog: pytest.LogCaptureFixture) -> None:
    """A provider that fails to list is left out with a warning."""
    world = World(Other("a"), Other("b", NetworkError("away")))
    assert [model.id for model in await world.fallback.list_models()] == ["a-1"]
    assert "The models of provider 'b' cannot be listed" in caplog.text


def test_a_list_that_names_nobody_is_refused() -> None:
    """The config says what is expected."""
    with pytest.raises(ValidationError, match="at least 1 item"):
        FallbackConfig.read({"providers": []})
    with pytest.raises(ValidationError, match="Field required"):
        FallbackConfig.read({})


async def test_calls_that_the_answer_lists_are_kept_as_they_are() -> None:
    """Only an answer without a list of calls is read by its provider."""

    class Listing(Other):
        async def complete(self, request: ChatRequest, **kwargs: Any) -> ChatResponse:
            return ChatResponse(content=[], tool_calls=[ToolCall(id="own", name="t", arguments={})])

    world = World(Listing("first"))
    response = await world.fallback.complete(ASKED)
    assert [call.id for call in world.fallback.parse_tool_calls(response)] == ["own"]


async def test_it_announces_its_event_and_goes_before_others() -> None:
    """Mounted by its config, it has the priority that loops ask first."""
    coordinator = TestCoordinator()
    await mount(coordinator, {"providers": ["x"]})
    assert coordinator.get("providers", "fallback").priority == 0
    assert [PROVIDER_FALLBACK] in await coordinator.collect_contributions("observability.events")


async def test_a_whole_turn_is_answered_by_the_second() -> None:
    """In a session with a provider that is down and one that works, the loop asks the fallback and gets an answer."""
    down = {"module": "provider-mock", "instance_id": "down", "config": {"script": [{"error": {"type": "network"}}]}}
    up = {"module": "provider-mock", "instance_id": "up", "config": {"script": ["I am here."]}}
    plan = {
        "session": {"orchestrator": "loop-basic", "context": "context-simple"},
        "providers": [down, up, {"module": "provider-fallback", "config": {"providers": ["down", "up"]}}],
    }
    async with AmplifierSession(plan) as session:
        assert await session.execute("Anybody?") == "I am here."
