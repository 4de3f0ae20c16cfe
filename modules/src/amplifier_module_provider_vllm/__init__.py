"""A provider for a vLLM server of one's own: its models and their windows are asked from it."""

from __future__ import annotations

from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_modkit.llm.mounting import Cleanup
from amplifier_module_provider_vllm.config import VllmSettings
from amplifier_module_provider_vllm.mounting import mount_provider

__amplifier_module_type__ = "provider"
__amplifier_config__ = VllmSettings


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any] | None = None) -> Cleanup | None:
    """Mounts the provider, also when its server is away."""
    return await mount_provider(coordinator, config or {})
