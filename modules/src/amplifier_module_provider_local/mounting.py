"""Puts the provider into a session, or says why not."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.llm_errors import LLMError
from amplifier_modkit.llm.telling import STREAM_EVENTS
from amplifier_module_provider_local.config import LocalConfig
from amplifier_module_provider_local.events import PROVIDER_MODEL_FETCH
from amplifier_module_provider_local.provider import LocalProvider

logger = logging.getLogger(__name__)


async def mount_local(
    coordinator: ModuleCoordinator,
    config: Mapping[str, Any] | None,
    make_provider: Callable[..., LocalProvider] = LocalProvider,
) -> Callable[[], Awaitable[None]] | None:
    """Mounts the provider and returns what gives its model back.

    Without the library nothing is mounted and a warning says what to install; with ``prepare``, nothing is mounted
    either where the model cannot be had, so that the session begins with the providers that can answer.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        logger.warning(
            "The embedded model is not mounted: the library xllamacpp is missing; "
            'pip install "amplifier-modules[local]" brings it'
        )
        return None
    settings = _located(LocalConfig.read(config), coordinator)
    provider = make_provider(settings, hooks=coordinator.hooks)
    if settings.prepare:
        try:
            await provider.prepare()
        except LLMError as error:
            logger.warning("The embedded model is not mounted: %s", error)
            return None
    await coordinator.mount("providers", provider, name=provider.name)
    events = [*STREAM_EVENTS, PROVIDER_MODEL_FETCH]
    coordinator.register_contributor("observability.events", provider.name, lambda: events)
    coordinator.register_contributor("session.cost", provider.name, provider.cost)
    return provider.close


def _located(settings: LocalConfig, coordinator: ModuleCoordinator) -> LocalConfig:
    """``settings`` with a relative path of the model looked up in the session's working directory."""
    if settings.model_path is None:
        return settings
    base = coordinator.get_capability("session.working_dir") or "."
    return settings.model_copy(update={"model_path": Path(base, settings.model_path.expanduser())})
