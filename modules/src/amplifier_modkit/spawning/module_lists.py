"""Lists of modules in a mount plan: merged by id, and filtered by what a child inherits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal, cast

from amplifier_modkit.spawning.errors import SpawnError

Entry = dict[str, Any]
Section = Literal["tools", "hooks"]

_PREFIXES = ("provider-", "tool-", "hooks-", "hook-")


def entries_in(plan: Mapping[str, Any], section: str, owner: str) -> list[Entry]:
    """The modules of one section as dicts; raises ``SpawnError`` for a section that is no list of modules."""
    given: Any = plan.get(section) or []
    items: list[Any] = cast("list[Any]", given) if isinstance(given, list) else [None]
    if not all(isinstance(item, str | dict) for item in items):
        raise SpawnError(f"'{section}' of {owner} must be a list of module ids and dicts with 'module'")
    return [{"module": item} if isinstance(item, str) else cast("Entry", item) for item in items]


def module_of(entry: Entry) -> str:
    """The id of the module; empty for an entry that names none."""
    return str(entry.get("module") or "")


def config_of(entry: Entry) -> dict[str, Any]:
    """The config of the module."""
    config = entry.get("config")
    return cast("dict[str, Any]", config) if isinstance(config, dict) else {}


def short_name(module_id: str) -> str:
    """The id without the word for its kind: ``tool-bash`` is ``bash``."""
    return next((module_id.removeprefix(prefix) for prefix in _PREFIXES if module_id.startswith(prefix)), module_id)


def merge_modules(base: Sequence[Entry], overlay: Sequence[Entry]) -> list[Entry]:
    """Both lists as one: a module that is in both has the config of both, and where they disagree the overlay's."""
    merged = {_key(entry): entry for entry in base}
    for entry in overlay:
        known = merged.get(_key(entry), {})
        merged[_key(entry)] = _merged(known, entry)
    return list(merged.values())


@dataclass(frozen=True, slots=True)
class Inheritance:
    """Which of the parent's modules a child gets, by patterns of ids, of ids without prefix, and of tool names.

    What is excluded stays out even where it is listed to be inherited.
    """

    inherited: tuple[str, ...] | None = None
    excluded: tuple[str, ...] = ()

    @classmethod
    def read(cls, section: Section, given: Mapping[str, Any] | None) -> Inheritance:
        """What ``{"inherit_tools": […], "exclude_tools": […]}`` says, or the same for hooks."""
        fields = given or {}
        inherited, excluded = fields.get(f"inherit_{section}"), fields.get(f"exclude_{section}")
        return cls(None if inherited is None else tuple(inherited), tuple(excluded or ()))

    def admits_module(self, module_id: str, tool_names: Iterable[str] = ()) -> bool:
        """Whether the module is mounted: it, or one of its tools, is inherited."""
        names = (module_id, short_name(module_id))
        if _matches(names, self.excluded):
            return False
        return self.inherited is None or _matches((*names, *tool_names), self.inherited)

    def admits_tool(self, module_id: str, name: str) -> bool:
        """Whether a tool that this module has mounted stays."""
        names = (module_id, short_name(module_id), name)
        return not _matches(names, self.excluded) and (self.inherited is None or _matches(names, self.inherited))


def _matches(names: Iterable[str], patterns: Iterable[str]) -> bool:
    patterns = tuple(patterns)
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _key(entry: Entry) -> str:
    return str(entry.get("instance_id") or entry.get("id") or module_of(entry))


def _merged(below: Entry, above: Entry) -> Entry:
    merged = {**below, **above}
    for key, value in above.items():
        lower = below.get(key)
        if isinstance(lower, dict) and isinstance(value, dict):
            merged[key] = _merged(cast("Entry", lower), cast("Entry", value))
    return merged
