"""Where a setting comes from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SCOPES = ("default", "user", "project", "local", "environment", "flags", "managed")
"""The scopes of settings; each counts more than those before it."""


@dataclass(frozen=True)
class Origin:
    """Where a value was written: its scope, and the file and line, the variable or the option."""

    scope: str
    file: Path | None = None
    line: int | None = None
    name: str | None = None
    """The environment variable or the option, where it is no file."""

    def __str__(self) -> str:
        place = self.place
        return f"{self.scope} ({place})" if place else self.scope

    @property
    def place(self) -> str:
        """``file:line``, the variable or the option; empty for defaults."""
        if self.file is None:
            return self.name or ""
        return f"{self.file}:{self.line}" if self.line else str(self.file)

    def to_dict(self) -> dict[str, str | int | None]:
        """The origin as it stands in JSON."""
        return {
            "scope": self.scope,
            "file": None if self.file is None else str(self.file),
            "line": self.line,
            "name": self.name,
        }
