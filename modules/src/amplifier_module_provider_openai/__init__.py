"""A provider that speaks to OpenAI's models, and to any other service with the Responses API, by ``base_url``."""

from __future__ import annotations

from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_modkit.llm.mounting import Cleanup
from amplifier_modkit.llm_responses.config import ResponsesConfig
from amplifier_modkit.llm_responses.mounting import mount_responses_provider
from amplifier_module_provider_openai.service import service_for

__amplifier_module_type__ = "provider"
__amplifier_config__ = ResponsesConfig


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any] | None = None) -> Cleanup | None:
    """Mounts the provider as ``openai``; without a key it warns and mounts nothing."""
    return await mount_responses_provider(coordinator, config, service_for(config or {}))
