"""Gemini's provider as a module: mounted, asked over a socket, and gone on with."""

from __future__ import annotations

import logging
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.modules.gemini_world import ARGON, MODEL, PATH, answer, frames_of, make, refusal
from tests.modules.llm_server import json_answer, serving, sse_answer
from tests.modules.provider_faults import KEY, question

import amplifier_module_provider_gemini
from amplifier_core.events import PROVIDER_RETRY
from amplifier_core.hooks import HookRegistry
from amplifier_core.llm_errors import (
    AccessDeniedError,
    AuthenticationError,
    ContextLengthError,
    LLMError,
    ProviderUnavailableError,
    QuotaExceededError,
    RateLimitError,
)
from amplifier_core.message_models import TextBlock
from amplifier_core.session import AmplifierSession
from amplifier_core.testing import TestCoordinator
from amplifier_core.validation import ProviderValidator
from amplifier_core.validation.behavioral import ProviderBehaviorTests
from amplifier_core.validation.structural import ProviderStructuralTests
from amplifier_kit.chaos import ProviderChaosTests
from amplifier_modkit.events import LLM_STREAM_BLOCK_START
from amplifier_module_provider_gemini import mount
from amplifier_module_provider_gemini.listing import read_models
from amplifier_module_provider_gemini.models import GEMINI
from amplifier_module_provider_gemini.provider import GeminiProvider
from amplifier_module_provider_gemini.usage import read_usage, sum_of

PACKAGE = Path(str(amplifier_module_provider_gemini.__file__)).parent
NOWHERE = {"api_key": KEY, "base_url": "http://127.0.0.1:9", "max_retries": 0}


class OfThisModule:
    """Tests of this module with a service that is not there."""

    @pytest.fixture
    def module_path(self) -> Path:
        return PACKAGE

    @pytest.fixture
    def amplifier_module_config(self) -> dict[str, Any]:
        return NOWHERE


class TestContract(OfThisModule, ProviderBehaviorTests, ProviderStructuralTests):
    """Everything a provider promises."""


@pytest.mark.slow
class TestUnderChaos(OfThisModule, ProviderChaosTests):
    """And under every fault."""


async def test_the_validator_finds_nothing_to_complain_about() -> None:
    """All checks of the provider contract pass."""
    result = await ProviderValidator().validate(PACKAGE, config=NOWHERE)
    assert [check.message for check in result.checks if not check.passed] == []


async def test_without_a_key_the_variables_are_named(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is mounted, and the warning says what to set."""
    for name in GEMINI.key_vars:
        monkeypatch.delenv(name, raising=False)
    coordinator = TestCoordinator()
    with caplog.at_level(logging.WARNING):
        assert await mount(coordinator) is None
    assert coordinator.get_mounted("providers") == {}
    assert caplog.messages == [
        "Google Gemini is not mounted: there is no key; set GEMINI_API_KEY or GOOGLE_API_KEY, or 'api_key'"
    ]


async def test_it_mounts_under_its_name_and_describes_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Key and place may come from the environment; the limits are those of the default model."""
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    async with serving(json_answer(answer({"text": "hi"}))) as server:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        coordinator = TestCoordinator()
        close = await mount(coordinator)
        provider = coordinator.get("providers", "gemini")
        assert isinstance(provider, GeminiProvider)
        await provider.complete(question())
        assert server.requests[0].headers["x-goog-api-key"] == KEY
    info = provider.get_info()
    assert info.defaults == {
        "model": "gemini-3.8-flash",
        "context_window": 1_048_576,
        "max_output_tokens": 65_536,
        "max_tokens": 65_536,
        "timeout": 600.0,
    }
    assert [field.id for field in info.config_fields] == ["api_key", "base_url", "default_model"]
    assert info.credential_env_vars == ["GEMINI_API_KEY", "GOOGLE_API_KEY"]
    assert close is not None
    await close()


@pytest.mark.slow
async def test_a_turn_with_tools_goes_through_a_session(tmp_path: Path) -> None:
    """The loop gets the call, the service its result with the signature; thoughts are paid for as output."""
    (tmp_path / "a.txt").write_text("forty-two", encoding="utf-8")
    usage = {"promptTokenCount": 1_000, "candidatesTokenCount": 400, "thoughtsTokenCount": 600}
    call = {
        "functionCall": {"name": "read_file", "args": {"file_path": str(tmp_path / "a.txt")}},
        "thoughtSignature": "s",
    }
    first = answer({"text": "I look.", "thought": True}, call, usageMetadata=usage)
    second = answer({"text": "42"}, responseId="r2")
    async with serving(sse_answer(frames_of(first)), sse_answer(frames_of(second))) as server:
        plan = {
            "session": {"orchestrator": "loop-basic", "context": "context-simple"},
            "providers": [
                {
                    "module": "provider-gemini",
                    "source": str(PACKAGE),
                    "config": {"api_key": KEY, "base_url": server.url},
                }
            ],
            "tools": [{"module": "tool-filesystem", "config": {"working_dir": str(tmp_path)}}],
        }
        async with AmplifierSession(plan) as session:
            assert await session.execute("What is in a.txt?") == "42"
            (cost,) = await session.coordinator.collect_contributions("session.cost")
    assert server.requests[0].path == f"{PATH}:streamGenerateContent?alt=sse"
    model, result = server.bodies[1]["contents"][-2:]
    assert model["parts"] == [{"text": "I look.", "thought": True}, call]
    assert "forty-two" in result["parts"][0]["functionResponse"]["response"]["output"]
    assert "id" not in result["parts"][0]["functionResponse"]
    assert Decimal(cost["cost_usd"]) == (1011 * Decimal("1.50") + 1005 * Decimal("7.50")) / 1_000_000


@pytest.mark.parametrize("streams", [True, False])
async def test_an_answer_longer_than_a_call_goes_on_by_itself(streams: bool) -> None:
    """The same call is made with the service's token, until the answer is whole; the usage is that of all calls."""
    parts = [answer({"text": text}, reason="CONTINUATION", responseId=text) for text in ("On", "ce upon")]
    for number, part in enumerate(parts):
        part["candidates"][0]["continuationToken"] = f"t{number}"
    whole = [*parts, answer({"text": " a time"})]
    answers = [sse_answer(frames_of(each, 1)) if streams else json_answer(each) for each in whole]
    async with serving(*answers) as server:
        hooks, begun = HookRegistry(), list[int]()

        async def note(event: str, data: dict[str, Any]) -> None:
            begun.append(data["block_index"])

        hooks.register(LLM_STREAM_BLOCK_START, note)
        provider = make(server.url, hooks, KEY, use_streaming=streams, default_model=ARGON, max_tokens=32_000)
        response = await provider.complete(question())
        await provider.close()
        first = server.bodies[0]
        assert server.bodies[1:] == [{**first, "continuationToken": "t0"}, {**first, "continuationToken": "t1"}]
    assert response.content == [TextBlock(text="Once upon a time")]
    assert response.finish_reason == "stop"
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (33, 15)
    assert begun == ([0, 1, 1] if streams else [])


async def test_an_answer_that_pauses_for_ever_is_given_as_it_is() -> None:
    """After so many calls it is enough; one without a token cannot go on at all."""
    part = answer({"text": "."}, reason="CONTINUATION")
    bare = answer({"text": "."}, reason="CONTINUATION")
    part["candidates"][0]["continuationToken"] = "t"
    async with serving(*[json_answer(part)] * 33, json_answer(bare)) as server:
        provider = make(server.url, None, KEY, use_streaming=False)
        response = await provider.complete(question())
        assert (response.finish_reason, len(server.requests)) == ("pause", 33)
        assert (await provider.complete(question())).finish_reason == "pause"
        await provider.close()


def test_usages_are_added_where_they_are_known() -> None:
    """Thoughts and what the cache gave, too."""
    first = read_usage({"promptTokenCount": 1, "thoughtsTokenCount": 2, "cachedContentTokenCount": 1})
    rest = read_usage({"promptTokenCount": 3, "candidatesTokenCount": 4})
    total = sum_of(first, rest)
    assert total is not None
    assert total.model_dump(exclude_none=True) == {
        "input_tokens": 4,
        "output_tokens": 6,
        "total_tokens": 10,
        "reasoning_tokens": 2,
        "cache_read_tokens": 1,
    }
    assert sum_of(None, rest) == sum_of(rest, None) == rest


async def test_tokens_are_counted_by_the_service() -> None:
    """For the default model unless another is named."""
    counted = json_answer({"totalTokens": 42})
    async with serving(counted, counted, counted) as server:
        provider = make(server.url, None, KEY)
        assert await provider.count_tokens(question()) == 42
        await provider.count_tokens(question(model=ARGON))
        await provider.count_tokens(question(), "gemini-3.1-flash-lite")
        await provider.close()
        assert [body["generateContentRequest"]["model"] for body in server.bodies] == [
            f"models/{each}" for each in (MODEL, ARGON, "gemini-3.1-flash-lite")
        ]


def listed(name: str, *methods: str, **fields: Any) -> dict[str, Any]:
    """A model as the service lists it."""
    return {"name": f"models/{name}", "supportedGenerationMethods": list(methods or ["generateContent"]), **fields}


async def test_models_are_listed_page_by_page_or_from_the_catalogue() -> None:
    """Live, with the key; from what is known where that fails, or is no list."""
    pages = [
        json_answer({"models": [listed("gemini-4-argon")], "nextPageToken": "a&b"}),
        json_answer({"models": [listed("gemini-9-flash", displayName="Nine", inputTokenLimit=5, outputTokenLimit=3)]}),
        json_answer([1]),
    ]
    async with serving(*pages) as server:
        provider = make(server.url, None, KEY)
        models = await provider.list_models()
        fallback = await provider.list_models()
        await provider.close()
        assert [seen.path for seen in server.requests[:2]] == [
            "/v1beta/models?pageSize=1000",
            "/v1beta/models?pageSize=1000&pageToken=a%26b",
        ]
    assert [(each.id, each.context_window, each.max_output_tokens) for each in models] == [
        ("gemini-4-argon", 1_048_576, 65_536),
        ("gemini-9-flash", 5, 3),
    ]
    assert models[0].pricing is not None
    assert [each.id for each in fallback] == [
        "gemini-4-argon",
        "gemini-3.8-flash",
        "gemini-3.1-pro-preview",
        "gemini-3.1-flash-lite",
    ]


async def test_pages_without_end_are_not_followed_for_ever() -> None:
    """After twenty it is enough."""
    page = json_answer({"models": [], "nextPageToken": "x"})
    async with serving(paths={"/v1beta/models": page}) as server:
        provider = make(server.url, None, KEY)
        assert await provider.list_models() == []
        await provider.close()
        assert len(server.requests) == 21


def test_the_latest_of_each_family_is_listed() -> None:
    """What holds no conversation is left out; so is what is older or special, unless everything is wanted."""
    body = {
        "models": [
            listed("gemini-3.7-flash"),
            listed("gemini-3.8-flash", displayName="Flash"),
            listed("gemini-2.5-flash"),
            listed("gemini-3.1-flash-image", thinking=False),
            listed("gemini-embedding-001", "embedContent"),
            listed("gemini-flash-latest"),
            {"name": "models/aqa"},
        ]
    }
    assert [each.id for each in read_models(body, only_latest=True)] == ["gemini-3.8-flash"]
    everything = read_models(body, only_latest=False)
    assert [each.id for each in everything] == [
        "gemini-3.7-flash",
        "gemini-3.8-flash",
        "gemini-2.5-flash",
        "gemini-3.1-flash-image",
        "gemini-flash-latest",
    ]
    thinking = ["thinking" in each.capabilities for each in everything]
    assert thinking == [True, True, True, False, True]


QUOTA = "You exceeded your current quota, please check your plan and billing details."
WAIT = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "38.5s"}]


@pytest.mark.parametrize(
    ("status", "error", "expected", "wait"),
    [
        (400, {"message": "API key not valid. Please pass a valid API key."}, AuthenticationError, None),
        (400, {"message": "User location is not supported for the API use."}, AccessDeniedError, None),
        (
            400,
            {"message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."},
            ContextLengthError,
            None,
        ),
        (429, {"message": f"{QUOTA} Quota exceeded for metric: x, limit: 15", "details": WAIT}, RateLimitError, 38.5),
        (429, {"message": f"{QUOTA} Quota exceeded for metric: x, limit: 0"}, QuotaExceededError, None),
        (429, {"message": "Your prepayment credits are depleted."}, QuotaExceededError, None),
        (503, {"message": "The model is overloaded.", "status": "UNAVAILABLE"}, ProviderUnavailableError, None),
    ],
)
async def test_the_words_of_the_service_become_errors(
    status: int, error: dict[str, Any], expected: type[LLMError], wait: float | None
) -> None:
    """A key that is wrong, a place that is not served, a quota that is spent, and one that only needs a pause."""
    told = refusal("", **error) if "status" in error else refusal("", "INVALID_ARGUMENT", **error)
    async with serving(json_answer(told, status)) as server:
        provider = make(server.url, None, KEY, max_retries=0)
        with pytest.raises(LLMError) as raised:
            await provider.complete(question())
        await provider.close()
    assert type(raised.value) is expected
    assert raised.value.retry_after == wait


async def test_a_model_that_went_astray_is_asked_again() -> None:
    """A malformed call is no answer; the next attempt is."""
    astray = answer(reason="MALFORMED_FUNCTION_CALL")
    fine = sse_answer(frames_of(answer({"text": "hi"}), 1))
    async with serving(sse_answer([(None, astray)]), fine) as server:
        hooks, retried = HookRegistry(), list[str]()

        async def note(event: str, data: dict[str, Any]) -> None:
            retried.append(data["error_type"])

        hooks.register(PROVIDER_RETRY, note)
        provider = make(server.url, hooks, KEY, max_retries=1, min_retry_delay=0.0, retry_jitter=False)
        response = await provider.complete(question())
        await provider.close()
    assert response.content == [TextBlock(text="hi")]
    assert retried == ["ProviderUnavailableError"]


async def test_a_blocked_prompt_ends_a_turn_with_a_word() -> None:
    """The answer that the user gets says that the model declined."""
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "modelVersion": MODEL}
    async with serving(json_answer(blocked)) as server:
        plan = {
            "session": {"orchestrator": "loop-basic", "context": "context-simple"},
            "providers": [
                {
                    "module": "provider-gemini",
                    "source": str(PACKAGE),
                    "config": {"api_key": KEY, "base_url": server.url},
                }
            ],
        }
        async with AmplifierSession(plan) as session:
            said = await session.execute("hello")
    assert said != ""
