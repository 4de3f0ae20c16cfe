"""Claude over the Messages API: caching that keeps, thinking that comes back unchanged, tools of either side."""

from __future__ import annotations

from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_modkit.llm.mounting import Cleanup, mount_http_provider
from amplifier_module_provider_anthropic.config import AnthropicConfig
from amplifier_module_provider_anthropic.models import ANTHROPIC
from amplifier_module_provider_anthropic.provider import AnthropicProvider
from amplifier_module_provider_anthropic.wire import AnthropicWire

__amplifier_module_type__ = "provider"
__amplifier_config__ = AnthropicConfig


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any] | None = None) -> Cleanup | None:
    """Mounts the provider, or nothing where there is no key."""
    return await mount_http_provider(
        coordinator,
        config,
        vendor=ANTHROPIC,
        settings_class=AnthropicConfig,
        make_wire=AnthropicWire,
        make_provider=AnthropicProvider,
    )
