"""What one look at the installation found, and how to mend it."""

from __future__ import annotations

from typing import Literal, NamedTuple

State = Literal["ok", "note", "broken"]


class Finding(NamedTuple):
    """One thing that was looked at: fine, worth knowing, or in the way of work."""

    name: str
    state: State
    message: str
    fix: str = ""
    """What to do; empty where nothing has to be done."""
