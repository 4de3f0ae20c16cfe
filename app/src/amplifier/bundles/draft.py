"""A mount plan in the making: the sections of a bundle, what settings add to them, and where each value comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, cast

from amplifier.bundles.bundle import MODULE_SECTIONS, Bundle, ModuleSection, Way
from amplifier.bundles.merge import Entry, deep_merge, entry_key, merge_entry, merge_modules, short_name
from amplifier.settings.origins import Origin

ROLES = ("orchestrator", "context")


class Placed(NamedTuple):
    """A module of the draft, and the way to it."""

    way: Way
    entry: Entry


class Draft:
    """A mount plan in the making. What settings say wins; their lists replace those of bundles."""

    def __init__(self, bundle: Bundle) -> None:
        self.session = bundle.session
        self.spawn = bundle.spawn
        self.sections: dict[str, list[Entry]] = {name: getattr(bundle, name) for name in MODULE_SECTIONS}
        self.origins = dict(bundle.origins)
        self.warnings: list[str] = []

    def modules(self) -> Iterator[Placed]:
        """Every module: those of the session first, then the lists."""
        for role in ROLES:
            if role in self.session:
                yield Placed(("session", role), self.session[role])
        for name, entries in self.sections.items():
            yield from (Placed((name, entry_key(entry)), entry) for entry in entries)

    def has(self, section: ModuleSection, module: str) -> bool:
        """Whether a module of this id is in a list."""
        return any(entry.get("module") == module for entry in self.sections[section])

    def add(self, section: ModuleSection, entry: Entry, origin: Origin) -> None:
        """Puts a module at the end of a list, or merges it into the one that is there already."""
        self.sections[section] = merge_modules(self.sections[section], [entry], joins_lists=False)
        way = (section, entry_key(entry))
        listed = self.origins.get(way)
        self.trace(way, entry, origin)
        self.origins[way] = listed or origin

    def merge_at(self, way: Way, change: Entry, origin: Origin) -> None:
        """Merges a change into the module at ``way``."""
        self._replace(way, lambda entry: merge_entry(entry, change, joins_lists=False))
        for key, value in change.items():
            self.trace((*way, key), value, origin)

    def replace_config(self, way: Way, config: Entry) -> None:
        """Puts another config in the place of that of the module at ``way``; its origin stays."""
        self._replace(way, lambda entry: {**entry, "config": config})

    def _replace(self, way: Way, change: Callable[[Entry], Entry]) -> None:
        section, key = way
        if section == "session":
            self.session = {**self.session, key: change(self.session[key])}
        else:
            entries = self.sections[section]
            self.sections[section] = [change(entry) if entry_key(entry) == key else entry for entry in entries]

    def configure(self, module: str, config: Mapping[str, Any], origin: Origin) -> bool:
        """Merges ``config`` into that of every entry of a module; whether there is any."""
        ways = [placed.way for placed in self.modules() if placed.entry.get("module") == module]
        for way in ways:
            self.merge_at(way, {"config": dict(config)}, origin)
        return bool(ways)

    def set_session(self, key: str, value: Any, origin: Origin) -> None:
        """Sets one value of the session."""
        self.session = deep_merge(self.session, {key: value}, joins_lists=False)
        self.trace(("session", key), value, origin)

    def trace(self, way: Way, value: Any, origin: Origin) -> None:
        """Notes that ``value`` and all inside it come from ``origin``."""
        self.origins[way] = origin
        if isinstance(value, dict):
            for key, inner in cast("Entry", value).items():
                self.trace((*way, key), inner, origin)
        elif isinstance(value, list):
            for inner in cast("list[Any]", value):
                self.trace((*way, repr(inner)), inner, origin)


def config_of(entry: Entry) -> dict[str, Any]:
    """The config of a module; empty where it has none."""
    return cast("dict[str, Any]", entry.get("config") or {})


def mounted_name(entry: Entry) -> str:
    """The name that a provider is mounted under."""
    given = entry.get("instance_id") or entry.get("id") or config_of(entry).get("name")
    return str(given or short_name(str(entry.get("module"))))


def is_named(entry: Entry, name: str) -> bool:
    """Whether people may call the module so: by its id, without the word for its kind, or as it is mounted."""
    module = str(entry.get("module"))
    return name in (module, short_name(module), mounted_name(entry))


def origin_near(draft: Draft, way: Way) -> Origin:
    """Where a value comes from, or the nearest value around it of which that is known."""
    known = (draft.origins[way[:length]] for length in range(len(way), 0, -1) if way[:length] in draft.origins)
    return next(known, Origin("default"))
