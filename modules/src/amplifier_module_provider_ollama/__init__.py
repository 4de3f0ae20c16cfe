"""A provider for Ollama, over its own protocol, the one that honours the wanted window and reasoning."""

from __future__ import annotations

from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_modkit.llm.mounting import Cleanup
from amplifier_module_provider_ollama.config import OllamaSettings
from amplifier_module_provider_ollama.mounting import mount_provider

__amplifier_module_type__ = "provider"
__amplifier_config__ = OllamaSettings


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any] | None = None) -> Cleanup | None:
    """Mounts the provider, also when its server is away."""
    return await mount_provider(coordinator, config or {})
