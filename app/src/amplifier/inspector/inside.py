"""What a module puts into a session: found by mounting it, through the kernel's loader, on a coordinator of its own."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from amplifier.inspector.installed_modules import InstalledModule

_DECLARED_CONFIG = "__amplifier_config__"


@dataclass(slots=True)
class Inside:
    """What came out of mounting one module."""

    mounted: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Names by mount point."""
    events: list[str] = field(default_factory=list[str])
    """The events it has handlers for."""
    capabilities: list[str] = field(default_factory=list[str])
    channels: list[str] = field(default_factory=list[str])
    """The contribution channels that it answers."""
    config: dict[str, Any] = field(default_factory=dict[str, Any])
    """The JSON Schema of each config key, as far as the module declares them."""
    problem: str | None = None
    """Why it does not mount."""

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        return asdict(self)


async def look_inside(module: InstalledModule, config: dict[str, Any], working_dir: Path) -> Inside:
    """Mounts a module, looks, and takes it down again; that it does not mount is an answer, too."""
    from amplifier_core.coordinator import ModuleCoordinator
    from amplifier_core.loader import ModuleLoader

    coordinator = ModuleCoordinator()
    coordinator.register_capability("session.working_dir", str(working_dir))
    before = set(coordinator.capabilities)
    loader = ModuleLoader(coordinator)
    inside = Inside()
    try:
        mount = await loader.load(module.id, config)
        inside.config = _declared_config(module)
        returned = await mount(coordinator)
        inside.mounted = _mounted(coordinator)
        inside.events = sorted(coordinator.hooks.list_handlers())
        inside.capabilities = sorted(set(coordinator.capabilities) - before)
        inside.channels = sorted(coordinator.channels)
        if callable(returned):
            coordinator.register_cleanup(returned)
        await coordinator.cleanup()
    except Exception as error:
        inside.problem = f"{type(error).__name__}: {error}"
    finally:
        loader.cleanup()
    return inside


def _mounted(coordinator: Any) -> dict[str, list[str]]:
    names = {point: sorted(coordinator.get(point)) for point in ("providers", "tools")}
    single = {
        point: [type(found).__name__] for point in ("orchestrator", "context") if (found := coordinator.get(point))
    }
    return {point: found for point, found in {**names, **single}.items() if found}


def _declared_config(module: InstalledModule) -> dict[str, Any]:
    """The config keys that a loaded module declares: of a pydantic model with types, of a list the names alone."""
    package = sys.modules.get(module.package.name) if module.package else None
    declared: Any = getattr(package, _DECLARED_CONFIG, None)
    if hasattr(declared, "model_json_schema"):
        return dict(declared.model_json_schema().get("properties", {}))
    return {str(name): {} for name in cast("list[Any]", declared or ())}
