"""Makes the provider of a session from the module's config."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_module_provider_mock.config import MockConfig
from amplifier_module_provider_mock.provider import MockProvider


def provider_for(coordinator: ModuleCoordinator, config: Mapping[str, Any]) -> MockProvider:
    """A provider that tells the session's hooks, on the session's clock if one can wait on that.

    Keys that nobody declares are left out: the kernel has told about them. A relative path of a scenario is looked up
    in the session's working directory.
    """
    settings = {key: value for key, value in config.items() if key in MockConfig.model_fields}
    if settings.get("scenario") is not None:
        base = coordinator.get_capability("session.working_dir") or "."
        settings["scenario"] = Path(base, Path(settings["scenario"]).expanduser())
    clock: Any = coordinator.clock
    return MockProvider(hooks=coordinator.hooks, clock=clock if hasattr(clock, "sleep") else None, **settings)
