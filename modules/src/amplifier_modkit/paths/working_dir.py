"""Where the relative paths of a session start."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def working_dir_of(coordinator: Any, configured: str | None = None) -> Path:
    """The directory that a module's config names, else the capability ``session.working_dir``, else the process's own.

    To be asked once, when a module is mounted: a process that changes its directory later does not move a session.
    """
    of_session = Path(coordinator.get_capability("session.working_dir") or Path.cwd()).expanduser()
    return (of_session / Path(configured or "").expanduser()).resolve()
