"""Puts a provider of this protocol into a session."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_modkit.llm.mounting import Cleanup, mount_http_provider
from amplifier_modkit.llm.settings import ProviderSettings
from amplifier_modkit.llm.vendor import Vendor
from amplifier_modkit.llm_chat.provider import ChatProvider
from amplifier_modkit.llm_chat.settings import ChatSettings
from amplifier_modkit.llm_chat.wire import ChatWire

logger = logging.getLogger(__name__)

SettingsT = TypeVar("SettingsT", bound=ProviderSettings)


def to_wire(settings: ChatSettings, extra_body: Mapping[str, Any] | None = None) -> ChatWire:
    """The wire for a server with those settings."""
    return ChatWire(
        settings.quirks.to_dialect(),
        windows=settings.windows,
        defaults=settings.defaults,
        extra_body={**(extra_body or {}), **settings.extra_body},
    )


def authorised_by(headers: Mapping[str, str]) -> Callable[[str | None], Mapping[str, str]]:
    """How a key is shown to a server that wants further headers; one of these may stand for the key."""

    def authorise(key: str | None) -> Mapping[str, str]:
        shown = {"authorization": f"Bearer {key}"} if key else {}
        return {**shown, **{name.lower(): value for name, value in headers.items()}}

    return authorise


def address_in(given: str | None, variables: tuple[str, ...]) -> str | None:
    """The address of a server: as given, else from the first variable that has one."""
    found = (given, *(os.environ.get(name) for name in variables))
    return next((address.strip() for address in found if address and address.strip()), None)


async def mount_near_server(
    coordinator: ModuleCoordinator,
    config: Mapping[str, Any],
    *,
    vendor: Vendor,
    settings_class: type[SettingsT],
    make_wire: Callable[[SettingsT], ChatWire],
    make_provider: Callable[..., ChatProvider] = ChatProvider,
) -> Cleanup | None:
    """Mounts the provider of a server of one's own, and asks the server at once what its models can take.

    A server that is away may come later: the provider is mounted all the same, with a warning.
    """
    made: list[ChatProvider] = []

    def make(*args: Any, **others: Any) -> ChatProvider:
        made.append(make_provider(*args, asks_first=True, **others))
        return made[-1]

    close = await mount_http_provider(
        coordinator,
        config,
        vendor=vendor,
        settings_class=settings_class,
        make_wire=make_wire,
        make_provider=make,
    )
    for provider in made:
        complaint = await provider.discover()
        if complaint is not None:
            told = "%s cannot be asked yet; the provider is mounted and will try again with the first request: %s"
            logger.warning(told, vendor.display_name, complaint)
    return close
