"""Everything that is looked at when somebody asks why it does not work, from the machine to the stored sessions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from amplifier.inspector.finding import Finding
from amplifier.inspector.machine import (
    look_at_disk,
    look_at_extras,
    look_at_network,
    look_at_programs,
    look_at_python,
    look_at_sandbox,
)
from amplifier.inspector.provider_list import keys_present
from amplifier.inspector.upkeep import (
    look_at_home,
    look_at_index,
    look_at_keys,
    look_at_plan,
    look_at_sessions,
    look_at_settings,
)
from amplifier.paths import Places
from amplifier.problems import Problem
from amplifier.settings import load_keys


def diagnose(places: Places, environ: Mapping[str, str], *, is_online: bool) -> Iterator[Finding]:
    """All findings, in the order in which things stand on each other; the network only if ``is_online``."""
    yield look_at_python()
    yield from look_at_extras()
    yield from look_at_programs()
    yield look_at_sandbox()
    yield from look_at_home(places)
    yield look_at_disk(places.home)
    settings, found = look_at_settings(places, environ)
    yield from found
    yield from look_at_keys(places, environ)
    if settings is not None:
        yield from look_at_plan(places, settings)
    yield from look_at_sessions(places)
    yield look_at_index(places)
    if is_online:
        yield from look_at_network(_providers_with_key(places, environ))


def _providers_with_key(places: Places, environ: Mapping[str, str]) -> list[str]:
    try:
        kept = list(load_keys(places))
    except Problem:  # has been told already
        kept = []
    return list(keys_present(environ, kept))
