"""The module ``hooks-logging``: everything that happens in a session, as JSON lines in a file of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from amplifier_module_hooks_logging.config import LoggingConfig
from amplifier_module_hooks_logging.event_log import LOG, EventLog

__amplifier_module_type__ = "hook"
__amplifier_config__ = LoggingConfig


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> Callable[[], Awaitable[None]] | None:
    """Begins the log with what has gone wrong before and what every session tells; returns what writes the rest."""
    log = EventLog.begin(LoggingConfig.read(config), coordinator)
    if log is None:
        return None
    coordinator.register_capability(LOG, log)
    return log.flush


async def on_session_ready(coordinator: Any) -> None:
    """Logs what the modules of this session tell beside that."""
    log = coordinator.get_capability(LOG)
    if isinstance(log, EventLog):
        await log.discover()
