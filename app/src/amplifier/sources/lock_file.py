"""``amplifier.lock``: which commit and which bytes every source of a project is, for everybody who works on it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from amplifier.paths import Places
from amplifier.problems import SettingsProblem, SourceProblem
from amplifier.settings.files import locked, read_text, write_atomically
from amplifier.sources.address import Kind

VERSION = 1
_REVISION_KEYS: dict[Kind, str | None] = {"git": "commit", "zip": "archive", "package": "version", "path": None}
_TREE = re.compile(r"sha256:[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Pin:
    """What a source is, to the byte."""

    kind: Kind
    tree: str
    """The hash of all its files."""
    revision: str = ""
    """The commit of a repository, the hash of an archive, the version of a package."""
    requires: tuple[str, ...] = ()
    """Packages that it needs beside what is installed, each with its version."""

    def to_dict(self) -> dict[str, Any]:
        """The pin as it stands in the file."""
        key = _REVISION_KEYS[self.kind]
        revision = {key: self.revision} if key else {}
        requires = {"requires": list(self.requires)} if self.requires else {}
        return {"kind": self.kind, **revision, "tree": self.tree, **requires}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Pin:
        """The pin that ``to_dict`` wrote; raises ``ValueError`` for anything else."""
        kind, tree = fields.get("kind"), fields.get("tree")
        if kind not in _REVISION_KEYS or not isinstance(tree, str) or not _TREE.fullmatch(tree):
            raise ValueError("'kind' and 'tree' are not those of a source")
        key = _REVISION_KEYS[kind]
        revision: Any = fields.get(key, "") if key else ""
        requires: Any = fields.get("requires", [])
        if not isinstance(revision, str) or (kind == "git" and not _COMMIT.fullmatch(revision)):
            raise ValueError(f"'{key}' is not one")
        if not isinstance(requires, list) or not all(isinstance(each, str) for each in cast("list[Any]", requires)):
            raise ValueError("'requires' is no list of texts")
        return cls(kind, tree, revision, tuple(cast("list[str]", requires)))


def lock_path(places: Places) -> Path:
    """Where the lock of a project is: with its settings, to be kept in version control."""
    return places.project_dir / ".amplifier" / "amplifier.lock"


def read_lock(path: Path) -> dict[str, Pin]:
    """The pins of a lock file by source; empty where there is none. Raises ``SourceProblem`` for a damaged file."""
    try:
        text = read_text(path)
        return {} if text is None else _pins(json.loads(text))
    except (ValueError, SettingsProblem) as error:
        raise SourceProblem(
            f"{path} cannot be used: {error}", "Take it from version control again, or write it anew: amplifier lock"
        ) from None


def write_lock(path: Path, pins: Mapping[str, Pin]) -> bool:
    """Writes the lock file, the same bytes for the same pins; says whether that changed it."""
    sources = {name: pins[name].to_dict() for name in sorted(pins)}
    wanted = json.dumps({"version": VERSION, "sources": sources}, indent=2, ensure_ascii=False) + "\n"
    with locked(path) as target:
        if read_text(target) == wanted:
            return False
        write_atomically(target, wanted)
    return True


def _pins(data: Any) -> dict[str, Pin]:
    fields = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    if fields.get("version") != VERSION:
        raise ValueError(f"it has version {fields.get('version')!r}; expected {VERSION}")
    sources: Any = fields.get("sources")
    if not isinstance(sources, dict):
        raise ValueError("it has no 'sources'")
    pins: dict[str, Pin] = {}
    for name, entry in cast("dict[str, Any]", sources).items():
        try:
            pins[name] = Pin.from_dict(cast("dict[str, Any]", entry) if isinstance(entry, dict) else {})
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return pins
