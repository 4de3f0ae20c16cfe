"""The OpenAI provider as a module: it keeps the provider contract, mounts by its config, and tells what it is."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.modules.llm_server import json_answer
from tests.modules.openai_world import KEY, world

import amplifier_module_provider_openai
from amplifier_core.interfaces import Provider
from amplifier_core.testing import TestCoordinator
from amplifier_core.validation import ProviderValidator
from amplifier_core.validation.behavioral import ProviderBehaviorTests
from amplifier_core.validation.structural import ProviderStructuralTests
from amplifier_kit.chaos import ProviderChaosTests
from amplifier_modkit.llm_responses.config import ResponsesConfig
from amplifier_modkit.llm_responses.events import RESPONSES_EVENTS
from amplifier_module_provider_openai import mount
from amplifier_module_provider_openai.service import OPENAI, service_for

PACKAGE = Path(amplifier_module_provider_openai.__file__).parent


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that this machine has set matters."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


class OfThisModule:
    """Tests of this module with a key, and nobody at its address."""

    @pytest.fixture
    def module_path(self) -> Path:
        return PACKAGE

    @pytest.fixture
    def amplifier_module_config(self) -> dict[str, Any]:
        return {"api_key": KEY, "base_url": "http://127.0.0.1:1", "max_retries": 0}


class TestContract(OfThisModule, ProviderBehaviorTests, ProviderStructuralTests):
    """Everything a provider promises."""


class TestUnderChaos(OfThisModule, ProviderChaosTests):
    """And under every fault."""


async def test_the_validator_finds_nothing_to_complain_about() -> None:
    """All checks of the provider contract pass."""
    result = await ProviderValidator().validate(PACKAGE, config={"api_key": KEY})
    assert [check.message for check in result.checks if not check.passed] == []


async def test_without_a_key_nothing_is_mounted(caplog: pytest.LogCaptureFixture) -> None:
    """The warning names the variable."""
    coordinator = TestCoordinator()
    with caplog.at_level(logging.WARNING):
        assert await mount(coordinator) is None
    assert coordinator.get_mounted("providers") == {}
    assert "OPENAI_API_KEY" in caplog.text


async def test_it_mounts_under_its_name_and_describes_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of the environment will do; the window is that up to which tokens cost what they usually cost."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    coordinator = TestCoordinator()
    close = await mount(coordinator)
    assert close is not None
    provider = coordinator.get("providers", "openai")
    assert isinstance(provider, Provider)
    info = provider.get_info()
    assert (info.id, info.credential_env_vars) == ("openai", ["OPENAI_API_KEY"])
    assert (
        info.defaults.items()
        >= {
            "model": "gpt-6.1-sol",
            "context_window": 400_000,
            "max_output_tokens": 128_000,
        }.items()
    )
    assert [field.id for field in info.config_fields] == ["api_key", "base_url", "default_model", "reasoning"]
    contributed = await coordinator.collect_contributions("observability.events")
    assert {name for names in contributed for name in names} >= set(RESPONSES_EVENTS)
    await close()


async def test_a_plan_can_have_the_long_window_and_a_limit_of_its_own() -> None:
    """Both show in what contexts compute their budget from."""
    coordinator = TestCoordinator()
    close = await mount(coordinator, {"api_key": KEY, "enable_long_context": True, "max_tokens": 100})
    assert close is not None
    defaults = coordinator.get("providers", "openai").get_info().defaults
    assert (defaults["context_window"], defaults["max_output_tokens"]) == (1_050_000, 100)
    await close()


async def test_models_are_listed_as_the_service_has_them() -> None:
    """Of known families the newest, or all of them; where it cannot be asked, the known ones."""
    ids = ["gpt-6.1-sol", "gpt-6-sol", "gpt-6-luna-2026-09-01", "chatgpt-thing", "whisper-2"]
    listed = json_answer({"data": [{"id": each, "created": 1} for each in ids]})
    async with world(listed) as here:
        found = await here.provider.list_models()
        known = await here.provider.list_models()
    assert [(model.id, model.context_window) for model in found] == [
        ("gpt-6.1-sol", 400_000),
        ("gpt-6-luna-2026-09-01", 400_000),
    ]
    assert found[0].pricing is not None
    assert known[0].id == "gpt-6.1-sol"
    async with world(listed, filtered=False) as here:
        assert [model.id for model in await here.provider.list_models()] == ids[:-1]
    async with world(json_answer({"data": [{"id": "my-own"}]})) as here:
        assert [model.id for model in await here.provider.list_models()] == ["my-own"]


def test_an_address_makes_another_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """What OpenAI encrypted is not sent to anybody else, and the other way round."""
    assert service_for({}) is OPENAI
    assert service_for({"base_url": "https://api.openai.com/v1"}) is OPENAI
    assert service_for({"base_url": "http://localhost:8080/v1"}).mark == "openai@localhost:8080"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere/v1")
    assert service_for({}).mark == "openai@elsewhere"


@pytest.mark.parametrize(
    ("config", "stores", "chains"),
    [
        ({}, False, False),
        ({"enable_state": True}, True, True),
        ({"enable_response_chaining": True}, True, True),
        ({"enable_state": True, "enable_response_chaining": False}, True, False),
    ],
    ids=["neither", "auto", "chained", "stored only"],
)
def test_answers_are_stored_only_if_somebody_wants_it(config: dict[str, Any], stores: bool, chains: bool) -> None:
    """A chain needs stored answers; stored answers are chained unless that is switched off."""
    settings = ResponsesConfig.read(config)
    assert (settings.stores, settings.chains) == (stores, chains)


@pytest.mark.parametrize(
    "config",
    [{"reasoning": "hardest"}, {"poll_interval": 0}, {"truncation": "yes"}, {"enable_response_chaining": "maybe"}],
    ids=lambda config: next(iter(config)),
)
def test_a_config_that_makes_no_sense_is_refused(config: dict[str, Any]) -> None:
    """The error names the key."""
    with pytest.raises(ValidationError, match=next(iter(config))):
        ResponsesConfig.read(config)
