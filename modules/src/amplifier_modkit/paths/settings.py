"""The config keys of the path policy, for modules that open files to inherit.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from pydantic import field_validator

from amplifier_modkit.module_config import ModuleConfig
from amplifier_modkit.paths.rules import has_wildcard

Paths = tuple[str, ...]


class PathSettings(ModuleConfig):
    """Where files may be read and written; relative paths start in the session's working directory."""

    working_dir: str | None = None
    """Where relative paths start, in place of the session's own."""
    allowed_read_paths: Paths | None = None
    """Folders and files that may be read; without it, everything."""
    allowed_write_paths: Paths | None = None
    """Folders and files that may be written; without it, the working directory."""
    denied_read_paths: Paths = ()
    """What may not be read, whatever else allows it; ``*``, ``**`` and ``?`` are wildcards."""
    denied_write_paths: Paths = ()
    """What may not be written, whatever else allows it."""
    allow_secrets: bool | Paths = False
    """Whether known places of secrets are like any other, or which of them are."""

    @field_validator("allowed_read_paths", "allowed_write_paths", "allow_secrets")
    @classmethod
    def _require_plain(cls, entries: bool | Paths | None) -> bool | Paths | None:
        wild = [entry for entry in entries if has_wildcard(entry)] if isinstance(entries, tuple) else []
        if wild:
            raise ValueError(f"{wild[0]!r} has wildcards, which only the lists of denied paths take; name a folder")
        return entries
