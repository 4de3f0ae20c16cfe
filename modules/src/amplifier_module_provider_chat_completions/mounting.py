"""Makes the provider of a session from the module's config."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.models import ConfigField
from amplifier_modkit.llm.catalogue import Catalogue
from amplifier_modkit.llm.mounting import Cleanup, mount_http_provider
from amplifier_modkit.llm.vendor import Vendor
from amplifier_modkit.llm_chat.mounting import address_in, authorised_by, to_wire
from amplifier_modkit.llm_chat.parts import VENDOR_NAME
from amplifier_modkit.llm_chat.places import is_near, to_base_url
from amplifier_modkit.llm_chat.provider import UNNAMED, ChatProvider, judge
from amplifier_modkit.llm_chat.settings import ChatSettings

logger = logging.getLogger(__name__)

KEY_VAR = "CHAT_COMPLETIONS_API_KEY"
URL_VAR = "CHAT_COMPLETIONS_BASE_URL"

_FIELDS = (
    ConfigField(id="base_url", display_name="Address", prompt="Where is the server?", env_var=URL_VAR),
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


def vendor_for(settings: ChatSettings, base_url: str) -> Vendor:
    """The server of a config: a key is needed only where the config names the variable that has it."""
    named = settings.api_key_env
    return Vendor(
        name="chat-completions",
        display_name="OpenAI-compatible server",
        base_url=base_url,
        default_model=UNNAMED,
        catalogue=Catalogue(()),
        origin=VENDOR_NAME,
        key_vars=(named,) if named else (KEY_VAR,),
        needs_key=named is not None,
        authorise=authorised_by(settings.headers),
        config_fields=_FIELDS,
        judge=judge,
    )


async def mount_provider(coordinator: ModuleCoordinator, config: Mapping[str, Any]) -> Cleanup | None:
    """Mounts the provider, unless nobody says where its server is."""
    settings = ChatSettings.read(config)
    address = address_in(settings.base_url, (URL_VAR,))
    if address is None:
        logger.warning("No OpenAI-compatible server is mounted: nobody says where; set 'base_url' or %s", URL_VAR)
        return None
    base_url = to_base_url(address)
    return await mount_http_provider(
        coordinator,
        {**config, "base_url": base_url},
        vendor=vendor_for(settings, base_url),
        settings_class=ChatSettings,
        make_wire=to_wire,
        make_provider=ChatProvider,
        asks_first=is_near(base_url) and settings.context_window is None,
    )
