"""Where the files of a user, a project and a session are: the one answer for all modules that keep any."""

from __future__ import annotations

import os
import re
from pathlib import Path

_PLACEHOLDER = re.compile(r"\{(session_id|project)\}")
_SEPARATORS = re.compile(r"[/\\:]")
_UNSAFE = re.compile(r"[/\\\x00]")
# What file systems take as one name.
_MOST_NAME_BYTES = 255


def amplifier_home() -> Path:
    """The folder of everything that belongs to a user: ``$AMPLIFIER_HOME``, else ``~/.amplifier``."""
    return Path(os.environ.get("AMPLIFIER_HOME") or "~/.amplifier").expanduser()


def project_slug(working_dir: Path) -> str:
    """The name of a working directory among the projects: the whole path in one file name."""
    return _SEPARATORS.sub("-", str(working_dir))


def session_file(name: str, session_id: str, working_dir: Path, *, setting: str) -> Path:
    """The usual path of a session's file called ``name``; see ``filled`` for ``setting`` and what is raised."""
    folder = amplifier_home() / "projects" / project_slug(working_dir) / "sessions"
    return folder / _as_file_name(session_id, name, setting) / name


def filled(template: str, session_id: str, working_dir: Path, *, setting: str) -> Path:
    """The path that ``template`` gives with ``{session_id}`` and ``{project}`` filled in, and nothing else replaced.

    Raises ``ValueError`` for a session id that is needed and cannot be the name of a file; ``setting`` is what the
    message tells to change, such as "'transcript_path' of context-persistent".
    """
    path = _PLACEHOLDER.sub(
        lambda found: (
            project_slug(working_dir) if found[1] == "project" else _as_file_name(session_id, template, setting)
        ),
        template,
    )
    return working_dir / Path(path).expanduser()


def _as_file_name(session_id: str, wanted_for: str, setting: str) -> str:
    # Lone surrogates may be part of a str, and of no file name.
    size = len(session_id.encode("utf-8", "surrogatepass"))
    is_text = session_id == session_id.encode("utf-8", "replace").decode()
    if _UNSAFE.search(session_id) or session_id in ("", ".", "..") or size > _MOST_NAME_BYTES or not is_text:
        raise ValueError(
            f"The session id {session_id[:80]!r} cannot be the name of a folder, which the path of {wanted_for!r} "
            f"needs: expected 1 to {_MOST_NAME_BYTES} bytes without '/', '\\', NUL, and not '.' or '..'. Start the "
            f"session with another id, or set {setting} to a path without {{session_id}}."
        )
    return session_id
