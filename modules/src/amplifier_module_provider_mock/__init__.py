"""A provider that plays a script instead of asking a model: for tests, demonstrations and faults on purpose."""

from __future__ import annotations

from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_module_provider_mock.config import MockConfig
from amplifier_module_provider_mock.mounting import provider_for
from amplifier_module_provider_mock.telling import STREAM_EVENTS

__amplifier_module_type__ = "provider"
__amplifier_config__ = MockConfig


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any] | None = None) -> None:
    """Mounts the provider under its name, and offers its events and what its answers cost."""
    provider = provider_for(coordinator, config or {})
    await coordinator.mount("providers", provider, name=provider.name)
    coordinator.register_contributor("observability.events", provider.name, lambda: list(STREAM_EVENTS))
    coordinator.register_contributor("session.cost", provider.name, provider.cost)
