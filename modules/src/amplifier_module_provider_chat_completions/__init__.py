"""A provider for any server that speaks chat completions as OpenAI does: one's own, or a service."""

from __future__ import annotations

from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_modkit.llm.mounting import Cleanup
from amplifier_modkit.llm_chat.settings import ChatSettings
from amplifier_module_provider_chat_completions.mounting import mount_provider

__amplifier_module_type__ = "provider"
__amplifier_config__ = ChatSettings


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any] | None = None) -> Cleanup | None:
    """Mounts the provider of the server at ``base_url``; without one, nothing, with a warning."""
    return await mount_provider(coordinator, config or {})
