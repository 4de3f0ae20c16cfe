"""Makes the provider of a session from the module's config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amplifier_core.capabilities import LOCAL, STREAMING, THINKING, TOOLS
from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.models import ConfigField
from amplifier_modkit.llm.catalogue import Catalogue
from amplifier_modkit.llm.mounting import Cleanup
from amplifier_modkit.llm.vendor import Vendor
from amplifier_modkit.llm_chat.mounting import address_in, mount_near_server
from amplifier_modkit.llm_chat.parts import VENDOR_NAME
from amplifier_modkit.llm_chat.places import to_base_url
from amplifier_modkit.llm_chat.provider import judge
from amplifier_modkit.pricing import Price, PriceList
from amplifier_module_provider_ollama.config import OllamaSettings
from amplifier_module_provider_ollama.provider import OllamaProvider
from amplifier_module_provider_ollama.wire import OllamaWire

HOST_VAR = "OLLAMA_HOST"
KEY_VAR = "OLLAMA_API_KEY"
_DEFAULT_MODEL = "llama3.2:3b"
_DEFAULT_HOST = "http://localhost:11434"
_DEFAULT_PORT = 11434

_FIELDS = (
    ConfigField(
        id="host",
        display_name="Host",
        prompt="Where is Ollama?",
        env_var=HOST_VAR,
        required=False,
        default=_DEFAULT_HOST,
    ),
    ConfigField(
        id="default_model",
        display_name="Model",
        prompt="Which model?",
        required=False,
        default=_DEFAULT_MODEL,
        requires_model=True,
    ),
)


async def mount_provider(coordinator: ModuleCoordinator, config: Mapping[str, Any]) -> Cleanup | None:
    """Mounts the provider and asks the server about its model."""
    settings = OllamaSettings.read(config)
    address = address_in(settings.host or settings.base_url, (HOST_VAR,)) or _DEFAULT_HOST
    base_url = to_base_url(address, default_path="", default_port=_DEFAULT_PORT).removesuffix("/v1")
    is_raw = settings.raw or settings.debug or settings.raw_debug
    vendor = Vendor(
        name="ollama",
        display_name="Ollama",
        base_url=base_url,
        default_model=_DEFAULT_MODEL,
        # What one runs oneself has no price per token.
        catalogue=Catalogue((), PriceList({"*": Price.of("0", "0")})),
        origin=VENDOR_NAME,
        key_vars=(KEY_VAR,),
        needs_key=False,
        capabilities=(TOOLS, STREAMING, THINKING, LOCAL),
        config_fields=_FIELDS,
        judge=judge,
    )
    return await mount_near_server(
        coordinator,
        {**config, "base_url": base_url, "raw": is_raw},
        vendor=vendor,
        settings_class=OllamaSettings,
        make_wire=OllamaWire,
        make_provider=OllamaProvider,
    )
