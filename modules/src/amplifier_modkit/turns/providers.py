"""Which provider answers: the one that is asked for, else the one with the lowest priority; the others follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from amplifier_core.interfaces import Provider

_DEFAULT_PRIORITY = 100


@dataclass(frozen=True, slots=True)
class Candidate:
    """A provider that may answer, the name it is mounted under, and why it stands where it does."""

    name: str
    provider: Provider
    reason: str


def rank(providers: Mapping[str, Provider], wanted: str | None = None, default: str | None = None) -> list[Candidate]:
    """The providers in the order in which they are to be asked.

    ``wanted`` must be mounted; ``default`` is only preferred. Raises ``RuntimeError`` when nobody can answer.
    """
    if not providers:
        raise RuntimeError("No provider is mounted, so nobody can answer; add one to 'providers' in the mount plan")
    if wanted is not None and wanted not in providers:
        raise RuntimeError(f"No provider '{wanted}' is mounted; there is: {', '.join(providers)}")
    by_priority = sorted(providers, key=lambda name: priority_of(providers[name]))
    first = wanted or (default if default in providers else None)
    if first is None:
        missing = f"; '{default}', the default, is not mounted" if default else ""
        return [Candidate(name, providers[name], f"by priority{missing}") for name in by_priority]
    asked = Candidate(first, providers[first], "asked for" if wanted else "the default")
    rest = [Candidate(name, providers[name], "by priority") for name in by_priority if name != first]
    return [asked, *rest]


def priority_of(provider: Any) -> float:
    """The priority a provider declares, as an attribute or in its config; 100 without one."""
    config = getattr(provider, "config", None)
    configured = cast("Mapping[str, Any]", config).get("priority") if isinstance(config, Mapping) else None
    for declared in (getattr(provider, "priority", None), configured):
        if isinstance(declared, int | float) and not isinstance(declared, bool):
            return declared
    return _DEFAULT_PRIORITY


def model_of(provider: Any) -> str | None:
    """The model that a provider uses unless it is told otherwise, where it says so."""
    declared = getattr(provider, "default_model", None)
    if isinstance(declared, str):
        return declared
    try:
        found: Any = provider.get_info().defaults["model"]
    except Exception:
        return None  # it only serves observers; a provider without description can still answer
    return found if isinstance(found, str) else None
