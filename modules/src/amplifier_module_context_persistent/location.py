"""Where the journal of a session is: from the config, the session's id and its working directory to a path."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

_PLACEHOLDER = re.compile(r"\{(session_id|project)\}")
_SEPARATORS = re.compile(r"[/\\:]")
_UNSAFE = re.compile(r"[/\\\x00]")
# What file systems take as one name.
_MOST_NAME_BYTES = 255


def working_dir_of(coordinator: Any) -> Path:
    """Where relative paths of a session start: the capability ``session.working_dir``, else the process's directory."""
    found = coordinator.get_capability("session.working_dir")
    return Path(found or Path.cwd()).expanduser().resolve()


def journal_path(template: str | None, session_id: str, working_dir: Path) -> Path:
    """The path that ``template`` gives with ``{session_id}`` and ``{project}`` filled in, else the usual one.

    Nothing else in the template is replaced. Raises ``ValueError`` for a session id that is needed and cannot be the
    name of a file.
    """
    if template is None:
        folder = amplifier_home() / "projects" / project_slug(working_dir) / "sessions"
        return folder / _as_file_name(session_id) / "transcript.jsonl"
    filled = _PLACEHOLDER.sub(
        lambda found: project_slug(working_dir) if found[1] == "project" else _as_file_name(session_id), template
    )
    return working_dir / Path(filled).expanduser()


def amplifier_home() -> Path:
    """The folder of everything that belongs to a user: ``$AMPLIFIER_HOME``, else ``~/.amplifier``."""
    return Path(os.environ.get("AMPLIFIER_HOME") or "~/.amplifier").expanduser()


def project_slug(working_dir: Path) -> str:
    """The name of a working directory among the projects: the whole path in one file name."""
    return _SEPARATORS.sub("-", str(working_dir))


def _as_file_name(session_id: str) -> str:
    # Lone surrogates may be part of a str, and of no file name.
    size = len(session_id.encode("utf-8", "surrogatepass"))
    is_text = session_id == session_id.encode("utf-8", "replace").decode()
    if _UNSAFE.search(session_id) or session_id in ("", ".", "..") or size > _MOST_NAME_BYTES or not is_text:
        raise ValueError(
            f"The session id {session_id[:80]!r} cannot be the name of a folder, which the path of its journal needs: "
            f"expected 1 to {_MOST_NAME_BYTES} bytes without '/', '\\', NUL, and not '.' or '..'. Start the session "
            "with another id, or set 'transcript_path' of context-persistent to a path without {session_id}."
        )
    return session_id
