"""What is known about a stored session beside its conversation: the file ``metadata.json`` of its folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self, cast

from amplifier.problems import SettingsProblem, StorageProblem
from amplifier.settings.files import locked, write_atomically

FILE_NAME = "metadata.json"


@dataclass(frozen=True, slots=True)
class Metadata:
    """Every key with its default; keys of others are kept in ``extra``."""

    session_id: str = ""
    name: str | None = None
    created: str = ""
    updated: str = ""
    bundle: str | None = None
    provider: str | None = None
    model: str | None = None
    turn_count: int = 0
    working_dir: str | None = None
    parent_id: str | None = None
    agent: str | None = None
    status: str | None = None
    """How the last turn ended: ``running``, ``success``, ``incomplete``, ``cancelled``, ``error``."""
    cost_usd: str | None = None
    total_tokens: int | None = None
    overrides: dict[str, Any] | None = None
    """What options said when the session was made, so that a resumed one is the same."""
    extra: dict[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Reads what is understood; a value of another type counts as missing."""
        names = {each.name: each for each in fields(cls) if each.name != "extra"}
        known = {name: data[name] for name in names if name in data and _fits(name, data[name])}
        return cls(**known, extra={key: value for key, value in data.items() if key not in names})

    def to_dict(self) -> dict[str, Any]:
        """The file's keys; what is not known is left out."""
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "extra"}
        return {**self.extra, **{key: value for key, value in own.items() if value is not None}}


def read(path: Path) -> Metadata | None:
    """The metadata in a file; ``None`` if there is none, and what can be told of a broken one: nothing."""
    try:
        data: Any = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (ValueError, OSError):
        return Metadata()
    return Metadata.from_dict(cast("Mapping[str, Any]", data)) if isinstance(data, dict) else Metadata()


def update(path: Path, **changes: Any) -> Metadata:
    """Changes some keys, under a lock and all at once; gives the outcome."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(path) as target:
            changed = replace(read(target) or Metadata(), **changes)
            write_atomically(target, json.dumps(changed.to_dict(), indent=2) + "\n", 0o600)
    except SettingsProblem as problem:
        raise StorageProblem(problem.message, problem.hint) from None
    except OSError as error:
        raise StorageProblem(
            f"{path} cannot be written: {error.strerror}.", "Choose another place with AMPLIFIER_HOME."
        ) from None
    return changed


_NUMBERS = frozenset({"turn_count", "total_tokens"})


def _fits(name: str, value: Any) -> bool:
    if name in _NUMBERS:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, dict) if name == "overrides" else isinstance(value, str)
