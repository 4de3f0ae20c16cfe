"""What was typed in a project, kept for the next time; readable by the user alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from amplifier.paths import Places

if TYPE_CHECKING:
    from prompt_toolkit.history import History


def history_file(places: Places) -> Path:
    """Where the input of a project is kept."""
    return places.sessions_root / places.project_slug / "history"


def history_in(file: Path | None) -> History:
    """The history in a file; one that is forgotten at the end where there is no file, or none can be written."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    if file is None:
        return InMemoryHistory()
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.touch(mode=0o600)
        with file.open("ab"):
            return FileHistory(str(file))
    except OSError:
        return InMemoryHistory()
