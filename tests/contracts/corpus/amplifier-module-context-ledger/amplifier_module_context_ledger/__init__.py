"""A context that keeps a ledger of messages and shortens it when it gets long."""

import logging
from typing import Any

logger = logging.getLogger(__name__)


class LedgerContext:
    def __init__(self, max_tokens: int = 200_000, compact_threshold: float = 0.92, hooks=None):
        self.messages: list[dict[str, Any]] = []
        self.max_tokens = max_tokens
        self.compact_threshold = compact_threshold
        self._hooks = hooks

    async def add_message(self, message: dict[str, Any]) -> None:
        self.messages.append(message)

    async def get_messages_for_request(self, token_budget: int | None = None, provider: Any | None = None):
        if await self._should_compact():
            await self._compact_internal()
        return self.messages.copy()

    async def get_messages(self) -> list[dict[str, Any]]:
        return self.messages.copy()

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        self.messages = messages.copy()

    async def clear(self) -> None:
        self.messages = []

    async def _should_compact(self) -> bool:
        return sum(len(str(m)) // 4 for m in self.messages) > self.max_tokens * self.compact_threshold

    async def _compact_internal(self) -> None:
        if self._hooks:
            await self._hooks.emit("context:pre_compact", {"message_count": len(self.messages)})
        system = [m for m in self.messages if m.get("role") == "system"]
        self.messages = system + [m for m in self.messages[-10:] if m.get("role") != "system"]
        if self._hooks:
            await self._hooks.emit("context:post_compact", {"message_count": len(self.messages)})


async def mount(coordinator, config: dict[str, Any] | None = None):
    config = config or {}
    context = LedgerContext(
        max_tokens=config.get("max_tokens", 200_000),
        compact_threshold=config.get("compact_threshold", 0.92),
        hooks=coordinator.hooks,
    )
    await coordinator.mount("context", context)
    logger.info("Mounted LedgerContext")
    return
