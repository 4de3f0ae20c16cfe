"""Which sources a project uses: those of its bundles and of the modules in the plan of a session."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from amplifier.bundles.active import active_bundle
from amplifier.bundles.load import load_bundle
from amplifier.bundles.plan import make_plan
from amplifier.cli.invocation import Invocation
from amplifier.nearest import nearest
from amplifier.problems import SourceProblem, UsageProblem
from amplifier.sources import Found, Pin, SourceResolver, Sources, sources_in
from amplifier.sources.address import source_text

_OF_PROJECT = ("project", "local")


@dataclass(frozen=True, slots=True)
class Use:
    """A source that something is made from."""

    label: str
    """The module, or ``bundle``."""
    source: str
    found: Found | None
    """``None`` where it could not be had."""
    problem: str = ""

    @property
    def name(self) -> str:
        """What the lock knows it by."""
        return self.source if self.found is None else self.found.name


class Collection:
    """The sources of a project, as they are found; ``uses`` has those so far when something fails."""

    def __init__(self, invocation: Invocation, sources: Sources, *, is_tolerant: bool = False) -> None:
        """``is_tolerant`` notes modules that cannot be had and goes on."""
        self._invocation = invocation
        self._sources = sources
        self._is_tolerant = is_tolerant
        self.uses: list[Use] = []

    def collect(self, refs: Iterable[str] = ()) -> list[Use]:
        """Finds the sources of the active bundle, of the bundles that the project adds, and of ``refs``."""
        settings, places = self._invocation.settings, self._invocation.places
        for ref in (None, *refs):
            bundle = active_bundle(settings, places, ref, fetch=self._fetch_bundle)
            for module, source in sources_in(make_plan(bundle, settings, places).plan):
                self._add_module(module, source)
        added = settings.section("bundle.added")
        for name in added:
            if settings.origin(f'bundle.added."{name}"').scope in _OF_PROJECT:
                load_bundle(name, places, added=added, fetch=self._fetch_bundle)
        return self.uses

    def _fetch_bundle(self, ref: str) -> Any:
        found = self._sources.find(ref)
        self._note(Use("bundle", ref, found))
        return found.folder

    def _add_module(self, module: str, source: Any) -> None:
        try:
            self._note(Use(module, source_text(source), self._sources.find(source)))
        except SourceProblem as problem:
            if not self._is_tolerant:
                raise
            self._note(Use(module, str(source), None, problem.message))

    def _note(self, use: Use) -> None:
        if use not in self.uses:
            self.uses.append(use)


def pins_of(sources: Sources, uses: Iterable[Use]) -> dict[str, Pin]:
    """What each source is to the byte, with the packages that modules need, by its name."""
    resolver = SourceResolver(sources)
    pins: dict[str, Pin] = {}
    for use, found in [(use, use.found) for use in uses if use.found is not None]:
        pin = pins.get(use.name) or sources.pin_of(found)
        is_module = use.label != "bundle"
        # Several modules of one source share what they need.
        requires = {*pin.requires, *(resolver.requires_of(found) if is_module else ())}
        pins[use.name] = replace(pin, requires=tuple(sorted(requires)))
    return pins


def named(uses: Iterable[Use], wanted: str) -> list[Use]:
    """The uses that ``wanted`` names: a module, or a source as it is written; raises ``UsageProblem`` for none."""
    listed = list(uses)
    found = [use for use in listed if wanted in (use.label, use.source, use.name)]
    if not found:
        near = nearest(wanted, [use.label for use in listed])
        meant = f"; did you mean '{near}'?" if near else "."
        raise UsageProblem(
            f"Nothing here has the source '{wanted}'{meant}", "amplifier source list tells what there is."
        )
    return found
