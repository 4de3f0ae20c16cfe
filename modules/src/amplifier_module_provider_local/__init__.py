"""A small language model inside the process: works offline after one download, for demonstrations and tests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_module_provider_local.config import LocalConfig
from amplifier_module_provider_local.mounting import mount_local

__amplifier_module_type__ = "provider"
__amplifier_config__ = LocalConfig


async def mount(
    coordinator: ModuleCoordinator, config: dict[str, Any] | None = None
) -> Callable[[], Awaitable[None]] | None:
    """Mounts the provider as ``local``; nothing where the library that runs models is missing."""
    return await mount_local(coordinator, config)
