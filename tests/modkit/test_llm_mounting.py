"""A provider over HTTP gets into a session."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError
from tests.modkit.llm_world import TOY, ToyWire
from tests.modules.llm_server import json_answer, serving

from amplifier_core.testing import TestCoordinator
from amplifier_modkit.llm.mounting import mount_http_provider
from amplifier_modkit.llm.provider import HttpProvider
from amplifier_modkit.llm.settings import ProviderSettings
from amplifier_modkit.llm.telling import STREAM_EVENTS
from amplifier_modkit.llm.vendor import Vendor, bearer


async def mounted(config: dict[str, Any] | None, vendor: Vendor = TOY) -> tuple[TestCoordinator, Any]:
    """A session with the toy provider, and what its mount returned."""
    coordinator = TestCoordinator()
    close = await mount_http_provider(
        coordinator,
        config,
        vendor=vendor,
        settings_class=ProviderSettings,
        make_wire=lambda settings: ToyWire(),
    )
    return coordinator, close


@pytest.fixture(autouse=True)
def without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the vendor is set."""
    for name in (*TOY.key_vars, *TOY.url_vars):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("config", [None, {}, {"api_key": "  "}])
async def test_without_a_key_nothing_is_mounted_and_the_variable_is_named(
    config: dict[str, Any] | None, caplog: pytest.LogCaptureFixture
) -> None:
    """The warning says what to set."""
    with caplog.at_level(logging.WARNING):
        coordinator, close = await mounted(config)
    assert close is None
    assert coordinator.get_mounted("providers") == {}
    assert caplog.messages == ["Toy is not mounted: there is no key; set TOY_API_KEY or TOY_KEY, or 'api_key'"]


async def test_a_vendor_may_need_no_key() -> None:
    """A local server often has none, and then none is sent."""
    coordinator, close = await mounted({}, replace(TOY, needs_key=False))
    assert isinstance(coordinator.get("providers", "toy"), HttpProvider)
    assert bearer(None) == {}
    await close()


@pytest.mark.parametrize(
    ("config", "variables", "key"),
    [
        ({"api_key": "mine"}, {"TOY_API_KEY": "env"}, "mine"),
        ({}, {"TOY_API_KEY": "env", "TOY_KEY": "other"}, "env"),
        ({"api_key": ""}, {"TOY_API_KEY": " ", "TOY_KEY": "other"}, "other"),
    ],
)
async def test_the_key_of_the_config_goes_before_that_of_the_environment(
    config: dict[str, Any], variables: dict[str, str], key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is sent with every request; the place may come from the environment as well."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    async with serving(paths={"/models": json_answer({"models": ["toy-1"]})}) as server:
        monkeypatch.setenv("TOY_BASE_URL", server.url)
        coordinator, close = await mounted(config)
        provider = coordinator.get("providers", "toy")
        assert [model.id for model in await provider.list_models()] == ["toy-1"]
        assert server.requests[0].headers["authorization"] == f"Bearer {key}"
        await close()


async def test_a_key_that_is_none_is_told_without_showing_it() -> None:
    """The error names the setting and what is wrong with it; the other rules of configs hold as well."""
    with pytest.raises(ValidationError) as raised:
        await mounted({"api_key": ["s3cret"]})
    assert "api_key" in str(raised.value)
    assert "s3cret" not in str(raised.value)
    rules = ProviderSettings.model_config
    assert (rules.get("extra"), rules.get("frozen")) == ("forbid", True)


async def test_a_mounted_provider_offers_its_costs_and_its_events() -> None:
    """Other modules find them on the usual channels; the instance knows its name."""
    coordinator, close = await mounted({"api_key": "x", "base_url": "http://127.0.0.1:9"})
    assert await coordinator.collect_contributions("observability.events") == [list(STREAM_EVENTS)]
    assert await coordinator.collect_contributions("session.cost") == []
    provider = coordinator.get("providers", "toy")
    assert provider.instance_id == "toy"
    await close()
