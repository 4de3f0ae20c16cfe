"""The conversation of one demo session, kept in memory as it was told."""

from __future__ import annotations

from typing import Any

from amplifier_core.coordinator import ModuleCoordinator


class ListContext:
    """Keeps every message in order and hides none from the model; lives as long as its session."""

    def __init__(self) -> None:
        self._messages: list[dict[str, Any]] = []

    async def add_message(self, message: dict[str, Any]) -> None:
        """Appends ``message``, which needs a role."""
        if not message.get("role"):
            raise ValueError(f"A message needs a 'role' (system, user, assistant, tool), got keys: {sorted(message)}")
        self._messages.append(message)

    async def get_messages_for_request(
        self, token_budget: int | None = None, provider: Any = None
    ) -> list[dict[str, Any]]:
        """All messages: one turn of the demo fits into any budget."""
        return list(self._messages)

    async def get_messages(self) -> list[dict[str, Any]]:
        """All messages, as a list of the caller's own."""
        return list(self._messages)

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        """Puts ``messages`` in the place of the conversation, for a resumed session."""
        self._messages = list(messages)

    async def clear(self) -> None:
        """Starts the conversation anew."""
        self._messages = []


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any]) -> None:
    """Mounts an empty conversation as the session's context."""
    await coordinator.mount("context", ListContext())
