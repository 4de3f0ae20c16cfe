"""What others have to know of the room before there is any command: its profiles, its decisions, its limit."""

from __future__ import annotations

from typing import Literal

Decision = Literal["allow", "ask", "deny"]
Profile = Literal["strict", "standard", "permissive", "unrestricted"]
PROFILES: tuple[Profile, ...] = ("strict", "standard", "permissive", "unrestricted")

MAX_CHARS = 200_000
"""The longest text that is read; nobody can judge what a longer one does."""
