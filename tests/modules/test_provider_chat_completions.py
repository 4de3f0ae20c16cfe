"""The provider of OpenAI-compatible servers: as a module, and with servers that have their own ways."""

from __future__ import annotations

import asyncio
import logging
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.modules.chat_servers import FREE, VENDOR, body, delta, frames, lines, question, refusal, world
from tests.modules.llm_server import Answer, frame_bytes, json_answer, serving, sse_answer
from tests.modules.provider_faults import FAULTS, Fault, text_of

import amplifier_module_provider_chat_completions
from amplifier_core.events import LLM_REQUEST, LLM_RESPONSE, PROVIDER_RETRY
from amplifier_core.interfaces import Provider
from amplifier_core.llm_errors import (
    ContextLengthError,
    InvalidRequestError,
    InvalidToolCallError,
    NetworkError,
    ProviderUnavailableError,
)
from amplifier_core.message_models import ChatRequest, Degradation, Message, TextBlock, ThinkingBlock, ToolSpec
from amplifier_core.testing import TestCoordinator
from amplifier_core.validation import ProviderValidator
from amplifier_core.validation.behavioral import ProviderBehaviorTests
from amplifier_core.validation.structural import ProviderStructuralTests
from amplifier_kit.chaos import ProviderChaosTests
from amplifier_modkit.events import LLM_STREAM_BLOCK_DELTA
from amplifier_modkit.llm.errors import BrokenStreamError
from amplifier_modkit.llm.sse import SseOverflowError
from amplifier_modkit.llm_chat.settings import ChatSettings
from amplifier_modkit.llm_chat.stream_client import LineDecoder
from amplifier_module_provider_chat_completions import mount

PACKAGE = Path(amplifier_module_provider_chat_completions.__file__).parent
NAME = "chat-completions"
AWAY = {"base_url": "http://127.0.0.1:1/v1", "max_retries": 0}


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that this machine has set matters."""
    for name in ("CHAT_COMPLETIONS_API_KEY", "CHAT_COMPLETIONS_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


class OfThisModule:
    """Tests of this module with nobody at its address."""

    @pytest.fixture
    def module_path(self) -> Path:
        return PACKAGE

    @pytest.fixture
    def amplifier_module_config(self) -> dict[str, Any]:
        return AWAY


class TestContract(OfThisModule, ProviderBehaviorTests, ProviderStructuralTests):
    """Everything a provider promises."""


class TestUnderChaos(OfThisModule, ProviderChaosTests):
    """And under every fault."""


@pytest.mark.parametrize("fault", FAULTS, ids=str)
async def test_a_fault_ends_as_it_should(fault: Fault) -> None:
    """Each fault becomes the error that fits, told once, with what came; what is no fault makes no difference."""
    await fault.check_with(VENDOR)


async def test_the_validator_finds_nothing_to_complain_about() -> None:
    """All checks of the provider contract pass."""
    result = await ProviderValidator().validate(PACKAGE, config=AWAY)
    assert [check.message for check in result.checks if not check.passed] == []


async def test_without_an_address_nothing_is_mounted(caplog: pytest.LogCaptureFixture) -> None:
    """The warning names the key and the variable."""
    coordinator = TestCoordinator()
    assert await mount(coordinator) is None
    assert coordinator.get_mounted("providers") == {}
    assert caplog.messages == [
        "No OpenAI-compatible server is mounted: nobody says where; set 'base_url' or CHAT_COMPLETIONS_BASE_URL"
    ]


async def test_a_key_is_needed_only_where_its_variable_is_named(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Servers of one's own want none; a named variable that is empty is a mistake."""
    coordinator = TestCoordinator()
    assert await mount(coordinator, {**AWAY, "api_key_env": "MY_KEY"}) is None
    assert "set MY_KEY" in caplog.text
    monkeypatch.setenv("MY_KEY", "sk-mine")
    async with world(
        mount,
        NAME,
        sse_answer(frames("ok")),
        api_key_env="MY_KEY",
        headers={"X-Title": "t"},
        default_model="m",
        context_window=99,
    ) as here:
        await here.provider.complete(question())
    (seen,) = here.server.requests
    assert (seen.path, seen.headers["authorization"], seen.headers["x-title"]) == (
        "/v1/chat/completions",
        "Bearer sk-mine",
        "t",
    )


async def test_it_mounts_under_its_name_and_describes_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The address of the environment will do; limits come from the plan before anybody was asked."""
    monkeypatch.setenv("CHAT_COMPLETIONS_BASE_URL", "https://router.example/api")
    coordinator = TestCoordinator()
    settings = {"default_model": "big", "model_windows": {"big": 5000}, "max_tokens": 6000, "temperature": 0.5}
    close = await mount(coordinator, settings)
    assert close is not None
    provider = coordinator.get("providers", NAME)
    assert isinstance(provider, Provider)
    info = provider.get_info()
    assert (info.id, info.credential_env_vars) == (NAME, ["CHAT_COMPLETIONS_API_KEY"])
    limits = {"context_window": 5000, "max_output_tokens": 5000, "max_tokens": 5000}
    assert info.defaults == {"model": "big", "timeout": 600.0, **limits}
    assert [field.id for field in info.config_fields] == ["base_url", "api_key", "default_model"]
    await close()


def test_settings_are_read_strictly_and_become_a_dialect() -> None:
    """Quirks that are not given are left to be found out."""
    read = ChatSettings.read({"quirks": {"alternates": True, "left_out": ["stop"]}, "context_window": 7})
    dialect = read.quirks.to_dialect()
    assert (dialect.alternates, dialect.left_out, dialect.system_role) == (True, frozenset({"stop"}), "system")
    assert read.windows.window_of("any") == 7
    with pytest.raises(ValidationError, match="max_tokens_key"):
        ChatSettings.read({"quirks": {"max_tokens_key": "tokens"}})


async def test_a_whole_turn_is_told_and_counted() -> None:
    """Events, usage, cost by the model that answered, and what it is called."""
    told = (LLM_REQUEST, LLM_RESPONSE, LLM_STREAM_BLOCK_DELTA)
    answers = sse_answer(frames("Hello you"))
    async with world(mount, NAME, answers, events=told, default_model="gpt-6-luna", context_window=9) as here:
        response = await here.provider.complete(question())
    assert here.events == [LLM_REQUEST, *[LLM_STREAM_BLOCK_DELTA] * 3, LLM_RESPONSE]
    assert text_of(response) == "Hello you"
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.cost_usd) == (9, Decimal("0.0000024"))
    assert here.recorder.events[-1][1]["usage"]["cost_usd"] == str(response.usage.cost_usd)
    assert here.provider.cost() == {"cost_usd": str(response.usage.cost_usd)}


MODELS = json_answer({"data": [{"id": "first", "max_model_len": 4096}, {"id": "second"}]})


async def test_a_server_without_a_set_model_is_asked_for_one() -> None:
    """Once, before the first request; calls that overlap wait for it."""
    paths = {"/v1/models": MODELS}
    async with world(mount, NAME, sse_answer(frames("a")), sse_answer(frames("b")), paths=paths) as here:
        assert here.provider.get_info().defaults["model"] == "default"
        await asyncio.gather(here.provider.complete(question()), here.provider.complete(question()))
    assert [seen.path for seen in here.server.requests].count("/v1/models") == 1
    assert [seen["model"] for seen in here.server.bodies if seen] == ["first", "first"]
    assert here.provider.get_info().defaults == {
        "model": "first",
        "context_window": 4096,
        "max_output_tokens": 4096,
        "max_tokens": 4096,
        "timeout": 600.0,
    }


async def test_the_length_that_the_plan_sets_is_the_one_that_is_told() -> None:
    """Contexts keep that much free, and no more."""
    async with world(mount, NAME, paths={"/v1/models": MODELS}, default_model="first", max_tokens=100) as here:
        await here.provider.list_models()
        assert here.provider.get_info().defaults["max_output_tokens"] == 100


async def test_a_near_server_tells_its_window_before_the_first_request_and_a_far_one_is_not_asked() -> None:
    """One that cannot list its models is asked once and then left alone."""
    async with world(mount, NAME, sse_answer(frames("a")), paths={"/v1/models": MODELS}, default_model="first") as here:
        await here.provider.complete(question())
        assert here.provider.get_info().defaults["context_window"] == 4096
        assert [model.id for model in await here.provider.list_models()] == ["first", "second"]
    quiet = {"/v1/models": json_answer({"error": "no such thing"}, 404)}
    async with world(mount, NAME, *[sse_answer(frames("a"))] * 2, paths=quiet, default_model="m") as here:
        await here.provider.complete(question())
        await here.provider.complete(question())
    assert [seen.path for seen in here.server.requests].count("/v1/models") == 1
    async with world(mount, NAME, sse_answer(frames("a")), default_model="m", context_window=50) as here:
        await here.provider.complete(question(model="other"))
    assert [seen.path for seen in here.server.requests] == ["/v1/chat/completions"]


async def test_models_that_cannot_be_listed_are_told_as_such(caplog: pytest.LogCaptureFixture) -> None:
    """The list is that of the last time; the request itself then says what is wrong."""
    async with world(mount, NAME, json_answer({"data": [{"id": "m"}]}), json_answer([1])) as here:
        assert [model.id for model in await here.provider.list_models()] == ["m"]
        assert [model.id for model in await here.provider.list_models()] == ["m"]
    assert "chat-completions cannot list its models" in caplog.text
    coordinator = TestCoordinator()
    close = await mount(coordinator, AWAY)
    with pytest.raises(NetworkError):
        await coordinator.get("providers", NAME).complete(question())
    assert close is not None
    await close()


async def test_a_complaint_about_the_form_is_learnt_from_and_kept() -> None:
    """The request goes out in another way, is told as a further attempt, and the next one begins so."""
    complaints = [
        json_answer(refusal("'max_tokens' is not supported. Use 'max_completion_tokens' instead."), 400),
        json_answer(refusal("Conversation roles must alternate user/assistant"), 500),
        json_answer(refusal("reasoning_effort: Extra inputs are not permitted"), 422),
    ]
    told = (LLM_REQUEST, PROVIDER_RETRY, LLM_RESPONSE)
    request = ChatRequest(
        messages=[Message(role="user", content="a"), Message(role="user", content="b")],
        max_output_tokens=5,
        reasoning_effort="low",
    )
    good = [sse_answer(frames("ok"))] * 2
    async with world(mount, NAME, *complaints, *good, events=told, default_model="m", context_window=9) as here:
        response = await here.provider.complete(request)
        await here.provider.complete(request)
    assert here.events[:5] == [LLM_REQUEST, *[PROVIDER_RETRY] * 3, LLM_RESPONSE]
    assert text_of(response) == "ok"
    assert response.degradation == Degradation(
        requested="reasoning_effort='low'", actual="left out", reason="the server does not take it"
    )
    assert here.server.bodies[3] == here.server.bodies[4]
    assert here.server.bodies[3] == {
        "model": "m",
        "messages": [{"role": "user", "content": "a\n\nb"}],
        "max_completion_tokens": 5,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_a_server_that_changes_its_mind_is_not_asked_for_ever() -> None:
    """After five lessons its complaint comes out."""
    swap = [json_answer(refusal(f"Use '{key}' instead"), 400) for key in ("max_completion_tokens", "max_tokens") * 4]
    async with world(mount, NAME, *swap, default_model="m", context_window=9) as here:
        with pytest.raises(InvalidRequestError):
            await here.provider.complete(question(max_output_tokens=1))
    assert len(here.server.requests) == 6


async def test_a_complaint_that_teaches_nothing_comes_out() -> None:
    """So does one about the length, which the loop knows what to do with."""
    no = json_answer(refusal("nonsense"), 400)
    long = json_answer(refusal("This model's maximum context length is 4096 tokens"), 400)
    async with world(mount, NAME, no, long, default_model="m", context_window=9) as here:
        with pytest.raises(InvalidRequestError, match="nonsense"):
            await here.provider.complete(question())
        with pytest.raises(ContextLengthError):
            await here.provider.complete(question())


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"message": "Failed to call a function.", "code": "tool_use_failed"}),
        (500, {"message": "The model produced output that does not match the expected peg-native format"}),
    ],
)
async def test_a_call_that_the_model_got_wrong_is_told_as_one(status: int, error: dict[str, Any]) -> None:
    """The loop asks the model again, with a word about it; trying the same again would not help."""
    async with world(mount, NAME, json_answer({"error": error}, status), default_model="m", context_window=9) as here:
        with pytest.raises(InvalidToolCallError) as wrong:
            await here.provider.complete(question())
    assert (wrong.value.status_code, wrong.value.retryable, len(here.server.requests)) == (status, False, 1)


async def test_tools_are_not_streamed_where_a_server_cannot() -> None:
    """Learnt once; without tools it streams on."""
    tools = [ToolSpec(name="f", parameters={"type": "object"})]
    answers = [
        json_answer(refusal("Cannot use tools with stream"), 400),
        json_answer(body("ok")),
        sse_answer(frames("ok")),
    ]
    async with world(mount, NAME, *answers, default_model="m", context_window=9) as here:
        assert text_of(await here.provider.complete(question(tools=tools))) == "ok"
        assert text_of(await here.provider.complete(question())) == "ok"
    assert [seen.get("stream", False) for seen in here.server.bodies] == [True, False, True]


async def test_what_is_not_counted_is_estimated() -> None:
    """Every answer has a usage; an estimate says that it is one."""
    quiet = sse_answer([(None, delta("hello")), (None, delta(None, "stop"))])
    async with world(mount, NAME, quiet, default_model="m", context_window=9) as here:
        response = await here.provider.complete(question())
    assert response.usage is not None
    assert (response.usage.model_extra, response.usage.output_tokens > 0) == ({"is_estimate": True}, True)


@pytest.mark.parametrize("ending", ["end", "drop", "stall"])
async def test_an_answer_that_said_how_it_ended_is_whole_whatever_comes_then(ending: Any) -> None:
    """No last word, a connection that breaks, one that stays open in silence."""
    pieces = [frame_bytes(None, each) for each in (delta("hello"), delta(None, "stop"))]
    answer = Answer(200, {"content-type": "text/event-stream"}, pieces, ending)
    async with world(mount, NAME, answer, default_model="m", context_window=9, timeout=0.1) as here:
        assert text_of(await here.provider.complete(question())) == "hello"


async def test_a_last_event_without_its_empty_line_is_read() -> None:
    """Some servers end in the middle of the form."""
    pieces = [frame_bytes(None, delta("hello")), frame_bytes(None, delta(None, "stop")), b"data: [DONE]"]
    async with world(
        mount, NAME, Answer(200, {"content-type": "text/event-stream"}, pieces), default_model="m", context_window=9
    ) as here:
        assert text_of(await here.provider.complete(question())) == "hello"


async def test_a_stream_in_lines_is_read_as_one() -> None:
    """By what its header says; cut anywhere."""
    chunks = [delta("hel"), delta("lo"), delta(None, "stop")]
    async with world(mount, NAME, lines(chunks).cut(5), default_model="m", context_window=9) as here:
        assert text_of(await here.provider.complete(question())) == "hello"


def test_a_line_without_end_is_refused() -> None:
    """The memory of the client is not the server's."""
    decoder = LineDecoder(max_event_chars=5)
    assert list(decoder.feed(b"12345\n\n")) == [("message", "12345")]
    with pytest.raises(SseOverflowError, match="more than 5 characters"):
        list(decoder.feed(b"123456"))


async def test_an_error_inside_a_stream_ends_it_as_its_kind() -> None:
    """Before anything came it is the refusal itself; later it is a broken stream with what came."""
    first = sse_answer([(None, {"error": {"message": "overloaded", "code": 503}})])
    later = sse_answer([(None, delta("hel")), (None, {"error": {"message": "overloaded", "code": 503}})])
    async with world(mount, NAME, first, later, default_model="m", context_window=9) as here:
        with pytest.raises(ProviderUnavailableError) as refused:
            await here.provider.complete(question())
        with pytest.raises(BrokenStreamError) as broken:
            await here.provider.complete(question())
    assert (refused.value.status_code, text_of(broken.value.partial)) == (503, "hel")


async def test_reasoning_of_another_vendor_is_left_out_and_ours_comes_back() -> None:
    """A session may change its provider in the middle."""
    chunks = [delta(None, reasoning_content="hm"), delta("ok"), delta(None, "stop")]
    called = [
        delta(None, "tool_calls", tool_calls=[{"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}}])
    ]
    first = sse_answer([(None, each) for each in [chunks[0], *called]])
    async with world(mount, NAME, first, sse_answer(frames("ok")), default_model="m", context_window=9) as here:
        answered = await here.provider.complete(question())
        foreign = ThinkingBlock.model_validate({"thinking": "x", "signature": "s", "vendor": "anthropic"})
        history = [
            Message(role="user", content="hi"),
            Message(role="assistant", content=[foreign, TextBlock(text="before")]),
            Message(role="user", content="go"),
            Message(role="assistant", content=answered.content),
        ]
        await here.provider.complete(ChatRequest(messages=history))
    sent = here.server.bodies[1]["messages"]
    assert [each.get("reasoning_content") for each in sent] == [None, None, None, "hm", None]
    assert sent[-1]["tool_call_id"] == "c1"


async def test_two_instances_have_nothing_in_common() -> None:
    """Each has its server, its key and its dialect."""
    async with serving(sse_answer(frames("one"))) as one, serving(sse_answer(frames("two"))) as two:
        providers = []
        for server, key in ((one, "k1"), (two, "k2")):
            coordinator = TestCoordinator()
            config = {**FREE, "base_url": server.url, "api_key": key, "default_model": "m", "context_window": 9}
            close = await mount(coordinator, config)
            assert close is not None
            providers.append((coordinator.get("providers", NAME), close))
        said = [text_of(await provider.complete(question())) for provider, _ in providers]
        for _, close in providers:
            await close()
        assert said == ["one", "two"]
        assert [server.requests[0].headers["authorization"] for server in (one, two)] == ["Bearer k1", "Bearer k2"]


async def test_mounting_a_service_asks_nobody_and_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """The first request opens the first connection."""
    with caplog.at_level(logging.INFO):
        close = await mount(TestCoordinator(), {"base_url": "https://api.example/v1", "default_model": "m"})
    assert close is not None
    await close()
    assert caplog.messages == []
