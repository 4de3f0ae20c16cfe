"""Gemini over Google's own API: thoughts that come back unchanged, tools, images, and answers longer than one call."""

from __future__ import annotations

from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_modkit.llm.mounting import Cleanup, mount_http_provider
from amplifier_module_provider_gemini.config import GeminiConfig
from amplifier_module_provider_gemini.models import GEMINI
from amplifier_module_provider_gemini.provider import GeminiProvider
from amplifier_module_provider_gemini.wire import GeminiWire

__amplifier_module_type__ = "provider"
__amplifier_config__ = GeminiConfig


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any] | None = None) -> Cleanup | None:
    """Mounts the provider, or nothing where there is no key."""
    return await mount_http_provider(
        coordinator,
        config,
        vendor=GEMINI,
        settings_class=GeminiConfig,
        make_wire=GeminiWire,
        make_provider=GeminiProvider,
    )
