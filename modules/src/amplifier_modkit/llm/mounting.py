"""Puts a provider over HTTP into a session: finds the key, mounts, and offers what it costs and tells."""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_modkit.llm.provider import HttpProvider
from amplifier_modkit.llm.settings import ProviderSettings
from amplifier_modkit.llm.telling import STREAM_EVENTS
from amplifier_modkit.llm.vendor import Vendor
from amplifier_modkit.llm.wire import Wire

logger = logging.getLogger(__name__)

SettingsT = TypeVar("SettingsT", bound=ProviderSettings)
Cleanup = Callable[[], Awaitable[None]]


async def mount_http_provider(
    coordinator: ModuleCoordinator,
    config: Mapping[str, Any] | None,
    *,
    vendor: Vendor,
    settings_class: type[SettingsT],
    make_wire: Callable[[SettingsT], Wire],
    make_provider: Callable[..., HttpProvider] = HttpProvider,
    **extras: Any,
) -> Cleanup | None:
    """Mounts the provider of ``vendor`` and returns what closes its connections.

    Without a key nothing is mounted, and a warning names the variable that is missing. ``make_provider`` is called as
    ``HttpProvider`` is, with the ``extras`` besides.
    """
    settings = settings_class.read(config)
    key = key_for(settings, vendor)
    if key is None and vendor.needs_key:
        names = " or ".join(vendor.key_vars)
        logger.warning("%s is not mounted: there is no key; set %s, or 'api_key'", vendor.display_name, names)
        return None
    url = settings.base_url or _first_set(vendor.url_vars)
    if url is not None:
        settings = settings.model_copy(update={"base_url": url})

    def mounted() -> Mapping[str, Any]:
        return coordinator.get("providers") or {}

    provider = make_provider(
        make_wire(settings),
        settings,
        vendor,
        key=key,
        hooks=coordinator.hooks,
        mounted=mounted,
        **extras,
    )
    await coordinator.mount("providers", provider, name=vendor.name)
    coordinator.register_contributor("observability.events", vendor.name, lambda: list(STREAM_EVENTS))
    coordinator.register_contributor("session.cost", vendor.name, provider.cost)
    return provider.close


def key_for(settings: ProviderSettings, vendor: Vendor) -> str | None:
    """The key of the config, else that of the environment; what is empty is none."""
    given = settings.api_key.get_secret_value().strip() if settings.api_key is not None else ""
    return given or _first_set(vendor.key_vars)


def _first_set(variables: tuple[str, ...]) -> str | None:
    values = (os.environ.get(name, "").strip() for name in variables)
    return next((value for value in values if value), None)
