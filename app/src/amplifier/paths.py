"""Where everything of a user and of a project is: the one answer for the whole command."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_SEPARATORS = re.compile(r"[/\\:]")
_MANAGED_SETTINGS = "/etc/amplifier/settings.yaml"
_PROJECT_MARKS = (".amplifier", ".git")
_MOST_NAME_BYTES = 255
"""What file systems take as one name."""


@dataclass(frozen=True)
class Places:
    """The folders of one run of the command; nothing is created by asking for a path."""

    home: Path
    """Everything that belongs to the user: settings, keys, sessions."""
    cache: Path
    """What can be fetched or computed again."""
    working_dir: Path
    """Where the command was started, or was told to work."""
    project_dir: Path
    """The nearest folder above with ``.amplifier`` or ``.git``, else the working directory."""
    managed_settings: Path = field(default=Path(_MANAGED_SETTINGS))
    """Settings of the machine's owner, above all others."""

    @classmethod
    def find(cls, environ: Mapping[str, str], cwd: Path) -> Places:
        """The places for this environment and working directory; empty variables count as not set."""
        user_home = _user_home(environ)
        home = _home(environ, user_home)
        caches = environ.get("XDG_CACHE_HOME")
        is_elsewhere = bool(caches) and not environ.get("AMPLIFIER_HOME")
        return cls(
            home=home,
            cache=_expanded(str(caches), user_home) / "amplifier" if is_elsewhere else home / "cache",
            working_dir=cwd,
            project_dir=_project_dir(cwd, {home, user_home / ".amplifier"}),
            managed_settings=_expanded(environ.get("AMPLIFIER_MANAGED_SETTINGS") or _MANAGED_SETTINGS, user_home),
        )

    @property
    def user_settings(self) -> Path:
        """Settings for all projects of the user."""
        return self.home / "settings.yaml"

    @property
    def project_settings(self) -> Path:
        """Settings of the project, shared by those who work on it."""
        return self.project_dir / ".amplifier" / "settings.yaml"

    @property
    def local_settings(self) -> Path:
        """Settings of the project for this user alone; not for version control."""
        return self.project_dir / ".amplifier" / "settings.local.yaml"

    @property
    def keys_file(self) -> Path:
        """Keys of services, readable by the user alone."""
        return self.home / "keys.env"

    @property
    def sessions_root(self) -> Path:
        """The folder with one folder per project, which has the sessions."""
        return self.home / "projects"

    @property
    def project_slug(self) -> str:
        """The name of the working directory among the projects: the whole path in one file name."""
        # Bytes that are no text have no place in an index; what is left of them still tells folders apart.
        text = str(self.working_dir).encode("utf-8", "backslashreplace").decode()
        slug = _SEPARATORS.sub("-", text)
        return slug if len(slug.encode()) <= _MOST_NAME_BYTES else _cut(slug)


def _cut(slug: str) -> str:
    """The end of a slug that is too long for a name, with what tells it apart from others of that end."""
    from hashlib import sha256

    end = slug.encode()[-160:].decode("utf-8", "ignore")
    return f"{sha256(slug.encode()).hexdigest()[:16]}-{end}"


def _user_home(environ: Mapping[str, str]) -> Path:
    named = environ.get("HOME")
    return Path(named) if named else Path("~").expanduser()


def _expanded(text: str, user_home: Path) -> Path:
    if text == "~" or text.startswith("~/"):
        return user_home / text[2:]
    return Path(text).expanduser().absolute()


def _home(environ: Mapping[str, str], user_home: Path) -> Path:
    named, configs = environ.get("AMPLIFIER_HOME"), environ.get("XDG_CONFIG_HOME")
    if named:
        return _expanded(named, user_home)
    usual = user_home / ".amplifier"
    if configs and not usual.is_dir():
        return _expanded(configs, user_home) / "amplifier"
    return usual


def _project_dir(cwd: Path, homes: set[Path]) -> Path:
    for folder in (cwd, *cwd.parents):
        # The folder of a user's own settings does not make a project of what is around it.
        if any(mark.exists() for name in _PROJECT_MARKS if (mark := folder / name) not in homes):
            return folder
    return cwd
