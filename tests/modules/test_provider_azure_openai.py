"""The Azure provider as a module: endpoint, version, deployment and credential by config; the rest is OpenAI's."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from tests.modkit.responses_world import answer, answered, asked, said, thought
from tests.modules.llm_server import Seen, serving
from tests.modules.openai_world import streamed, text_in, whole

import amplifier_module_provider_azure_openai
from amplifier_core.testing import TestCoordinator
from amplifier_core.validation import ProviderValidator
from amplifier_core.validation.behavioral import ProviderBehaviorTests
from amplifier_core.validation.structural import ProviderStructuralTests
from amplifier_kit.chaos import ProviderChaosTests
from amplifier_module_provider_azure_openai import mount
from amplifier_module_provider_azure_openai.service import base_url_of

PACKAGE = Path(amplifier_module_provider_azure_openai.__file__).parent
CONFIG = {"api_key": "key", "endpoint": "http://127.0.0.1:1", "max_retries": 0}
VARIABLES = (
    "AZURE_OPENAI_ENDPOINT",
    "AZURE_OPENAI_API_KEY",
    "AZURE_OPENAI_AD_TOKEN",
    "AZURE_OPENAI_AUTH_TOKEN",
    "OPENAI_API_VERSION",
)


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that this machine has set matters."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


class OfThisModule:
    """Tests of this module with a key, and nobody at its endpoint."""

    @pytest.fixture
    def module_path(self) -> Path:
        return PACKAGE

    @pytest.fixture
    def amplifier_module_config(self) -> dict[str, Any]:
        return dict(CONFIG)


class TestContract(OfThisModule, ProviderBehaviorTests, ProviderStructuralTests):
    """Everything a provider promises."""


class TestUnderChaos(OfThisModule, ProviderChaosTests):
    """And under every fault."""


async def test_the_validator_finds_nothing_to_complain_about() -> None:
    """All checks of the provider contract pass."""
    result = await ProviderValidator().validate(PACKAGE, config=CONFIG)
    assert [check.message for check in result.checks if not check.passed] == []


async def seen_by_azure(config: dict[str, Any], model: str | None = None) -> Seen:
    """The request that a provider with that config sends to a resource."""
    async with serving(streamed(answer(said("hello")))) as service:
        coordinator = TestCoordinator()
        close = await mount(coordinator, {"endpoint": service.url, **config})
        assert close is not None
        response = await coordinator.get("providers", "azure-openai").complete(asked("hi", model=model))
        await close()
    assert text_in(response) == "hello"
    (request,) = service.requests
    return request


async def test_a_key_goes_into_azures_own_header() -> None:
    """The current API needs no version, and a model is deployed under its own name unless the config says otherwise."""
    request = await seen_by_azure({"api_key": "k1"})
    assert (request.path, request.headers["api-key"]) == ("/openai/v1/responses", "k1")
    assert "authorization" not in request.headers
    assert request.body["model"] == "gpt-6.1-sol"


async def test_a_token_of_entra_id_goes_before_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the config, it goes before everything; of the environment, only where the config has no key."""
    request = await seen_by_azure({"api_key": "k1", "azure_ad_token": "t1"})
    assert (request.headers["authorization"], "api-key" in request.headers) == ("Bearer t1", False)
    monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", "t2")
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k2")
    assert (await seen_by_azure({})).headers["authorization"] == "Bearer t2"
    assert (await seen_by_azure({"api_key": "k1"})).headers["api-key"] == "k1"


async def test_a_function_gives_a_token_for_each_request() -> None:
    """Tokens run out; a function can get another."""
    tokens = iter(["t1", "t2"])
    async with serving(whole(answer(said("a"))), whole(answer(said("b")))) as service:
        coordinator = TestCoordinator()
        close = await mount(coordinator, {"endpoint": service.url, "azure_ad_token_provider": lambda: next(tokens)})
        assert close is not None
        for _ in range(2):
            await coordinator.get("providers", "azure-openai").complete(asked("hi"))
        await close()
    assert [request.headers["authorization"] for request in service.requests] == ["Bearer t1", "Bearer t2"]


async def test_version_and_deployments_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the model can do is still known by its own name: no temperature, reasoning encrypted."""
    config = {"api_key": "k", "api_version": "preview", "deployment": "mine", "deployments": {"gpt-6-luna": "small"}}
    request = await seen_by_azure({**config, "temperature": 0.5})
    assert (request.path, request.body["model"]) == ("/openai/v1/responses?api-version=preview", "mine")
    assert "temperature" not in request.body
    assert request.body["include"] == ["reasoning.encrypted_content"]
    assert (await seen_by_azure(config, "gpt-6-luna")).body["model"] == "small"
    assert (await seen_by_azure(config, "gpt-6-astra")).body["model"] == "gpt-6-astra"
    monkeypatch.setenv("OPENAI_API_VERSION", "2026-10-01")
    assert (await seen_by_azure({"api_key": "k"})).path.endswith("?api-version=2026-10-01")


async def test_without_an_endpoint_or_a_credential_nothing_is_mounted(caplog: pytest.LogCaptureFixture) -> None:
    """The warnings name the variables."""
    coordinator = TestCoordinator()
    with caplog.at_level(logging.WARNING):
        assert await mount(coordinator, {"api_key": "k"}) is None
        assert await mount(coordinator, {"endpoint": "http://x", "api_key": " "}) is None
    assert coordinator.get_mounted("providers") == {}
    assert "set AZURE_OPENAI_ENDPOINT, or 'endpoint'" in caplog.text
    assert "AZURE_OPENAI_API_KEY or AZURE_OPENAI_AD_TOKEN" in caplog.text


async def test_the_environment_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Endpoint and key come from the usual variables; a whole base URL is taken as it is."""
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    async with serving(whole(answer(said("a"))), whole(answer(said("b")))) as service:
        for config in ({}, {"base_url": f"{service.url}/own"}):
            monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", service.url)
            coordinator = TestCoordinator()
            close = await mount(coordinator, config)
            assert close is not None
            await coordinator.get("providers", "azure-openai").complete(asked("hi"))
            await close()
    assert [request.path for request in service.requests] == ["/openai/v1/responses", "/own/responses"]


async def test_what_one_resource_encrypted_is_not_sent_to_another() -> None:
    """Its reasoning is left out there, and what it said stays."""
    async with serving(streamed(answer(thought(), said("a"))), streamed(answer(said("b")))) as service:
        answers: list[Any] = []
        for root in (service.url, f"{service.url}/other"):
            coordinator = TestCoordinator()
            close = await mount(coordinator, {"api_key": "k", "endpoint": root})
            assert close is not None
            request = asked("q", *answers, "and?") if answers else asked("q")
            answers.append(answered(await coordinator.get("providers", "azure-openai").complete(request)))
            await close()
    assert [item.get("type") or item["role"] for item in service.bodies[1]["input"]] == ["user", "assistant", "user"]


@pytest.mark.parametrize(
    "endpoint",
    ["https://x.openai.azure.com", "https://x.openai.azure.com/openai/", "https://x.openai.azure.com/openai/v1/"],
)
def test_an_endpoint_is_understood_in_every_form(endpoint: str) -> None:
    """With and without the path of the API."""
    assert base_url_of(endpoint) == "https://x.openai.azure.com/openai/v1"
