"""The bundle of a session: the one that was asked for or is active, with those that settings put onto every other."""

from __future__ import annotations

from dataclasses import replace

from amplifier.bundles.bundle import Bundle
from amplifier.bundles.compose import compose
from amplifier.bundles.load import Fetch, load_bundle
from amplifier.paths import Places
from amplifier.settings import Settings


def active_bundle(settings: Settings, places: Places, ref: str | None = None, *, fetch: Fetch | None = None) -> Bundle:
    """The bundle ``ref``, or the active one, composed with those of ``bundle.app``; it keeps its name and its text."""
    added = settings.section("bundle.added")
    bundle = load_bundle(ref or settings.get("bundle.active", "default"), places, added=added, fetch=fetch)
    onto = [load_bundle(each, places, added=added, fetch=fetch) for each in settings.get("bundle.app", [])]
    if not onto:
        return bundle
    both = compose([bundle, *onto])
    return replace(
        both,
        name=bundle.name,
        file=bundle.file,
        root=bundle.root,
        version=bundle.version,
        description=bundle.description,
        includes=bundle.includes,
        passage=bundle.passage or both.passage,
    )
