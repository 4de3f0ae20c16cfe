"""The provider of a vLLM server: it asks the server for its models, and waits for one that is away."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.modules.chat_servers import frames, question, world
from tests.modules.llm_server import json_answer, serving, sse_answer
from tests.modules.provider_faults import text_of

import amplifier_module_provider_vllm
from amplifier_core.testing import TestCoordinator
from amplifier_core.validation import ProviderValidator
from amplifier_core.validation.behavioral import ProviderBehaviorTests
from amplifier_core.validation.structural import ProviderStructuralTests
from amplifier_kit.chaos import ProviderChaosTests
from amplifier_module_provider_vllm import mount

PACKAGE = Path(amplifier_module_provider_vllm.__file__).parent
AWAY = {"base_url": "http://127.0.0.1:1/v1", "max_retries": 0}
MODELS = {"/v1/models": json_answer({"object": "list", "data": [{"id": "Qwen/Qwen3-8B", "max_model_len": 40960}]})}


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that this machine has set matters."""
    for name in ("VLLM_API_KEY", "VLLM_BASE_URL"):
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


async def test_the_validator_finds_nothing_to_complain_about() -> None:
    """All checks of the provider contract pass."""
    result = await ProviderValidator().validate(PACKAGE, config=AWAY)
    assert [check.message for check in result.checks if not check.passed] == []


async def test_the_model_and_its_window_are_known_after_mounting() -> None:
    """What one runs oneself costs nothing per token; reasoning is switched in the template."""
    answers = sse_answer(frames("ok"))
    async with world(mount, "vllm", answers, paths=MODELS, api_key="k", enable_thinking=False) as here:
        info = here.provider.get_info()
        response = await here.provider.complete(question())
    assert (info.id, info.defaults["model"], info.defaults["context_window"]) == ("vllm", "Qwen/Qwen3-8B", 40960)
    assert [seen.path for seen in here.server.requests] == ["/v1/models", "/v1/chat/completions"]
    assert here.server.requests[0].headers["authorization"] == "Bearer k"
    sent = here.server.bodies[1]
    assert (sent["model"], sent["chat_template_kwargs"]) == ("Qwen/Qwen3-8B", {"enable_thinking": False})
    assert response.usage is not None
    assert response.usage.cost_usd == Decimal(0)


async def test_a_server_that_is_away_is_mounted_with_one_warning_and_found_later(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address may come from the environment; the first request asks again."""
    async with serving(paths=MODELS) as server:
        monkeypatch.setenv("VLLM_BASE_URL", server.url)
        kept, server.paths = server.paths, {"/v1/models": json_answer({"error": "starting"}, 503)}
        coordinator = TestCoordinator()
        close = await mount(coordinator)
        assert len(caplog.messages) == 1
        assert caplog.messages[0].startswith("vLLM cannot be asked yet; the provider is mounted and will try again")
        server.paths, server.answers = kept, [sse_answer(frames("ok"))]
        provider = coordinator.get("providers", "vllm")
        assert text_of(await provider.complete(question())) == "ok"
        assert provider.get_info().defaults["model"] == "Qwen/Qwen3-8B"
        assert close is not None
        await close()
    assert "chat_template_kwargs" not in server.bodies[-1]
    assert len(caplog.messages) == 1


async def test_a_named_variable_without_a_key_is_a_mistake(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is mounted, and nobody is asked."""
    coordinator = TestCoordinator()
    assert await mount(coordinator, {**AWAY, "api_key_env": "MY_KEY"}) is None
    assert caplog.messages == ["vLLM is not mounted: there is no key; set MY_KEY, or 'api_key'"]
