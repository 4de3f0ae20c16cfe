"""A provider that speaks to OpenAI's models as they are deployed on Azure."""

from __future__ import annotations

from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_modkit.llm.mounting import Cleanup
from amplifier_module_provider_azure_openai.config import AzureConfig
from amplifier_module_provider_azure_openai.mounting import mount_azure

__amplifier_module_type__ = "provider"
__amplifier_config__ = AzureConfig


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any] | None = None) -> Cleanup | None:
    """Mounts the provider as ``azure-openai``; without an endpoint or a credential it warns and mounts nothing."""
    return await mount_azure(coordinator, config or {})
