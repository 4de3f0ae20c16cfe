"""The module ``provider-fallback``: asks other providers of the session in order, until one answers."""

from __future__ import annotations

from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_module_provider_fallback.config import FallbackConfig
from amplifier_module_provider_fallback.provider import PROVIDER_FALLBACK, FallbackProvider

__amplifier_module_type__ = "provider"
__amplifier_config__ = FallbackConfig


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any] | None = None) -> None:
    """Mounts the provider; those it asks may be mounted later, and may be missing as long as one is there."""
    provider = FallbackProvider(FallbackConfig.read(config), coordinator)
    await coordinator.mount("providers", provider)
    coordinator.register_contributor("observability.events", provider.name, lambda: [PROVIDER_FALLBACK])
