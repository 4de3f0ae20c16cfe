"""Mounts a provider of the Responses API, whichever service it speaks to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_modkit.llm.mounting import Cleanup, mount_http_provider
from amplifier_modkit.llm.vendor import Vendor
from amplifier_modkit.llm_responses.chain import ResponseChain
from amplifier_modkit.llm_responses.config import ResponsesConfig
from amplifier_modkit.llm_responses.events import RESPONSES_EVENTS
from amplifier_modkit.llm_responses.provider import ResponsesProvider
from amplifier_modkit.llm_responses.wire import ResponsesWire, ServiceForm


async def mount_responses_provider(
    coordinator: ModuleCoordinator,
    config: Mapping[str, Any] | None,
    vendor: Vendor,
    settings_class: type[ResponsesConfig] = ResponsesConfig,
    *,
    query: str = "",
    deployment_of: Callable[[str], str] = str,
) -> Cleanup | None:
    """Mounts the provider of ``vendor``, if there is a key; returns what closes its connections."""

    def make_wire(settings: ResponsesConfig) -> ResponsesWire:
        form = ServiceForm(
            origin=vendor.mark,
            catalogue=vendor.catalogue,
            wishes=settings.wishes,
            query=query,
            stores=settings.stores,
            deployment_of=deployment_of,
        )
        return ResponsesWire(form, ResponseChain() if settings.chains else None)

    close = await mount_http_provider(
        coordinator,
        config,
        vendor=vendor,
        settings_class=settings_class,
        make_wire=make_wire,
        make_provider=ResponsesProvider,
    )
    if close is not None:
        name = f"{vendor.name}-responses"
        coordinator.register_contributor("observability.events", name, lambda: list(RESPONSES_EVENTS))
    return close
