"""The module ``hooks-shell``: runs the user's own commands as hooks, with JSON on their standard input."""

from __future__ import annotations

from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_module_hooks_shell.bridge import ShellHooks
from amplifier_module_hooks_shell.config import ShellHooksConfig

__amplifier_module_type__ = "hook"
__amplifier_config__ = ShellHooksConfig


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any] | None = None) -> Any:
    """Registers the commands of the config and of the files it names; returns the clean-up."""
    hooks = ShellHooks(coordinator, ShellHooksConfig.read(config))
    hooks.register()
    return hooks.remove
