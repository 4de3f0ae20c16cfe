"""How the kernel asks a person for approval; the application supplies the system that does the asking."""

from __future__ import annotations

from typing import Literal, Protocol


class ApprovalTimeoutError(Exception):
    """Nobody answered in time. Only this error counts as a time-out; a builtin ``TimeoutError`` does not."""


class ApprovalSystem(Protocol):
    """Asks one question at a time and keeps the time limit itself."""

    async def request_approval(
        self, prompt: str, options: list[str], timeout: float, default: Literal["allow", "deny"]
    ) -> str:
        """Shows ``prompt`` and answers the option that was chosen.

        Raises ``ApprovalTimeoutError`` when ``timeout`` seconds pass; the caller then applies ``default``.
        """
        ...
