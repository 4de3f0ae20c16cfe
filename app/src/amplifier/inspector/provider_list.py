"""The providers of a plan and those that could be in it, told without mounting any: who, why, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

from amplifier.bundles.draft import mounted_name
from amplifier.bundles.merge import entry_key, short_name
from amplifier.bundles.plan import MountPlan
from amplifier.bundles.providers import BY_VARIABLE
from amplifier.problems import ProviderProblem


class ListedProvider(NamedTuple):
    """A provider, in the plan or only installed."""

    name: str
    module: str
    is_used: bool
    model: str | None
    """The model that its config names; without one it has its own default."""
    why: str
    """Where the plan has it from, or what would put it there."""


def listed_providers(plan: MountPlan, installed: Iterable[str]) -> list[ListedProvider]:
    """Those of the plan, the one that is asked first in front, then those that are installed and not used."""
    entries = cast("list[dict[str, Any]]", plan.plan["providers"])
    used = [_used(plan, entry) for entry in sorted(entries, key=_priority)]
    modules = {each.module for each in used}
    others = [ListedProvider(short_name(each), each, False, None, _way_in(each)) for each in installed]
    return [*used, *(each for each in others if each.module not in modules)]


def variables_of(module: str) -> tuple[str, ...]:
    """The variables that make a provider usable; none for one that needs none."""
    return next((names for each, names in BY_VARIABLE if each == module), ())


def keys_present(environ: Mapping[str, str], kept: Iterable[str]) -> dict[str, list[str]]:
    """The names of variables that are set or kept, by the provider that they make usable; never their values."""
    stored = set(kept)
    found = {module: [name for name in names if environ.get(name) or name in stored] for module, names in BY_VARIABLE}
    return {module: names for module, names in found.items() if names}


def require_provider(session: Any, name: str | None) -> tuple[str, Any]:
    """A mounted provider by name or module; without a name the one that is asked first.

    Raises ``ProviderProblem`` where there is none.
    """
    mounted = cast("dict[str, Any]", session.coordinator.get("providers"))
    problems = (*session.report.failed, *session.report.skipped)
    if not mounted:
        reasons = "; ".join(map(str, problems))
        raise ProviderProblem(
            f"No provider is there. {reasons}".rstrip(),
            "Set a key (amplifier config set-key NAME), or run: amplifier init",
        )
    if name is None:
        return min(mounted.items(), key=lambda each: getattr(each[1], "priority", 100))
    wanted = name if name in mounted else short_name(name)
    if wanted not in mounted:
        reason = next((f": {each.reason}" for each in problems if short_name(each.module_id) == wanted), ".")
        raise ProviderProblem(f"The provider '{name}' is not mounted{reason}", f"There is: {', '.join(mounted)}.")
    return wanted, mounted[wanted]


def _used(plan: MountPlan, entry: dict[str, Any]) -> ListedProvider:
    config = cast("dict[str, Any]", entry.get("config") or {})
    model = config.get("model") or config.get("default_model")
    why = str(plan.origins.get(f"providers.{entry_key(entry)}", "bundle"))
    return ListedProvider(mounted_name(entry), entry["module"], True, model, why)


def _way_in(module: str) -> str:
    variables = variables_of(module)
    named = f"amplifier provider use {short_name(module)}"
    return f"set {' or '.join(variables)}, or {named}" if variables else named


def _priority(entry: dict[str, Any]) -> int:
    priority = cast("dict[str, Any]", entry.get("config") or {}).get("priority")
    return priority if isinstance(priority, int) else 100
