"""Makes the provider of a session from the module's config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amplifier_core.capabilities import LOCAL, STREAMING, TOOLS
from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.models import ConfigField
from amplifier_modkit.llm.catalogue import Catalogue
from amplifier_modkit.llm.mounting import Cleanup
from amplifier_modkit.llm.vendor import Vendor
from amplifier_modkit.llm_chat.mounting import address_in, authorised_by, mount_near_server, to_wire
from amplifier_modkit.llm_chat.parts import VENDOR_NAME
from amplifier_modkit.llm_chat.places import to_base_url
from amplifier_modkit.llm_chat.provider import UNNAMED, judge
from amplifier_modkit.llm_chat.wire import ChatWire
from amplifier_modkit.pricing import Price, PriceList
from amplifier_module_provider_vllm.config import VllmSettings

KEY_VAR = "VLLM_API_KEY"
URL_VAR = "VLLM_BASE_URL"
_DEFAULT_URL = "http://localhost:8000/v1"

_FIELDS = (
    ConfigField(
        id="base_url",
        display_name="Address",
        prompt="Where is the vLLM server?",
        env_var=URL_VAR,
        required=False,
        default=_DEFAULT_URL,
    ),
    ConfigField(
        id="api_key",
        display_name="Key",
        prompt="Its key, if it wants one?",
        field_type="secret",
        env_var=KEY_VAR,
        required=False,
    ),
    ConfigField(id="default_model", display_name="Model", prompt="Which model?", required=False, requires_model=True),
)


def vendor_for(settings: VllmSettings, base_url: str) -> Vendor:
    """The server of a config; what one runs oneself has no price per token."""
    named = settings.api_key_env
    return Vendor(
        name="vllm",
        display_name="vLLM",
        base_url=base_url,
        default_model=UNNAMED,
        catalogue=Catalogue((), PriceList({"*": Price.of("0", "0")})),
        origin=VENDOR_NAME,
        key_vars=(named,) if named else (KEY_VAR,),
        needs_key=named is not None,
        authorise=authorised_by(settings.headers),
        capabilities=(TOOLS, STREAMING, LOCAL),
        config_fields=_FIELDS,
        judge=judge,
    )


async def mount_provider(coordinator: ModuleCoordinator, config: Mapping[str, Any]) -> Cleanup | None:
    """Mounts the provider and asks the server for its models."""
    settings = VllmSettings.read(config)
    base_url = to_base_url(address_in(settings.base_url, (URL_VAR,)) or _DEFAULT_URL)
    return await mount_near_server(
        coordinator,
        {**config, "base_url": base_url},
        vendor=vendor_for(settings, base_url),
        settings_class=VllmSettings,
        make_wire=_to_wire,
    )


def _to_wire(settings: VllmSettings) -> ChatWire:
    return to_wire(settings, settings.template_arguments)
