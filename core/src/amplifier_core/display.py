"""How the kernel shows a hook's message to a person; the application supplies the system that shows it."""

from __future__ import annotations

from typing import Literal, Protocol


class DisplaySystem(Protocol):
    """Shows short messages beside the conversation; synchronous, so it must not block."""

    def show_message(self, message: str, level: Literal["info", "warning", "error"], source: str = "hook") -> None:
        """Shows ``message``; ``source`` names the hook it comes from."""
        ...
