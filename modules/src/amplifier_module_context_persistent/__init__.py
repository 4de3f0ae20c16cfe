"""The module ``context-persistent``: a conversation kept in a journal on disk, so that a session can be resumed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from amplifier_module_context_persistent.config import PersistentContextConfig
from amplifier_module_context_persistent.context import JOURNAL_EVENTS, PersistentContext

__amplifier_module_type__ = "context"
__amplifier_config__ = PersistentContextConfig


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> Callable[[], Awaitable[None]]:
    """Mounts the conversation of the session's journal; returns the clean-up that closes it."""
    context = await PersistentContext.begin(PersistentContextConfig.read(config), coordinator)
    disconnect = context.connect("context-persistent")
    coordinator.register_contributor("observability.events", "context-persistent", lambda: list(JOURNAL_EVENTS))
    await coordinator.mount("context", context)

    async def clean_up() -> None:
        disconnect()
        await context.close()

    return clean_up


async def on_session_ready(coordinator: Any) -> None:
    """Tells the session's hooks what happened while its journal was opened."""
    context = coordinator.get("context")
    if isinstance(context, PersistentContext):
        await context.tell_beginning()
