"""The mount plan of a session: a bundle, what settings and overrides change, and the system prompt."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast

from amplifier.bundles.bundle import MODULE_SECTIONS, AgentSpec, Bundle, Way
from amplifier.bundles.catalog import BUILT_IN
from amplifier.bundles.draft import ROLES, Draft, origin_near
from amplifier.bundles.from_settings import apply_settings
from amplifier.bundles.installed import IsInstalled, is_installed
from amplifier.bundles.instruction import PromptWriter
from amplifier.bundles.mentions import Passage
from amplifier.bundles.merge import Entry, merge_session, short_name
from amplifier.bundles.providers import add_providers
from amplifier.bundles.variables import expand_variables
from amplifier.paths import Places
from amplifier.problems import BundleProblem
from amplifier.settings import Settings, load_keys
from amplifier.settings.expansion import masked
from amplifier.settings.origins import Origin

MASK = "***"
_OVERRIDES = Origin("flags", name="the command")


@dataclass(frozen=True, slots=True)
class MountPlan:
    """What a session is made of, and why."""

    bundle: str
    """The name of the bundle."""
    ref: str
    """What to load for the same bundle again, in whatever directory."""
    plan: dict[str, Any]
    """The mount plan as the kernel takes it; may have secrets."""
    instruction: str
    """The system prompt."""
    agents: dict[str, AgentSpec]
    origins: dict[str, Origin]
    """Where each value comes from, by its dotted path; a module of a list is named by its id."""
    warnings: list[str]
    secrets: frozenset[str]

    def shown(self) -> dict[str, Any]:
        """The plan as it may be shown: without secrets, and without the instructions of agents."""
        from amplifier_core.utils.truncate import REDACTED, redact_config

        agents = {name: _without_instruction(agent) for name, agent in self.plan["agents"].items()}
        plan = {**self.plan, "agents": agents}
        return cast("dict[str, Any]", masked(redact_config(plan), {*self.secrets, REDACTED}, MASK))


def make_plan(
    bundle: Bundle,
    settings: Settings,
    places: Places,
    *,
    overrides: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    has_module: IsInstalled = is_installed,
) -> MountPlan:
    """The mount plan of ``bundle`` with what ``settings`` say.

    ``overrides`` come last: ``session``, ``providers``, ``tools`` and ``hooks`` as in a bundle, their lists replacing
    others; ``instruction`` in the place of the bundle's; ``append_instruction`` behind it. Raises ``BundleProblem`` for
    a module that is nowhere, and ``ProviderProblem`` for a provider that was asked for in vain.
    """
    overrides = overrides or {}
    variables = ChainMap(dict(os.environ if environ is None else environ), cast("dict[str, str]", load_keys(places)))
    draft = Draft(bundle)
    secrets = expand_variables(draft, variables)
    is_closed = bundle.flags.get("only_own_providers", False)
    add_providers(draft, settings, variables, has_module, is_closed=is_closed)
    apply_settings(draft, settings, places)
    _apply_overrides(draft, overrides)
    _require_session(draft, bundle)
    _require_modules(draft, bundle.agents.values(), has_module)
    writer = PromptWriter(places, bundle.namespaces, has_project=bundle.flags.get("project_instructions", True))
    instruction = _instruction(writer, bundle, overrides, places)
    agents = {name: _agent(agent, writer) for name, agent in bundle.agents.items()}
    return MountPlan(
        bundle.name,
        bundle.name if bundle.file.parent == BUILT_IN else str(bundle.file.absolute()),
        _plan(draft, agents),
        instruction,
        bundle.agents,
        _dotted_origins(draft, bundle),
        [*bundle.warnings, *draft.warnings, *writer.warnings],
        frozenset(secrets),
    )


def _apply_overrides(draft: Draft, overrides: Mapping[str, Any]) -> None:
    for section in MODULE_SECTIONS:
        for entry in cast("Iterable[Entry]", overrides.get(section) or ()):
            draft.add(section, entry, _OVERRIDES)
    session = cast("Entry", overrides.get("session") or {})
    draft.session = merge_session(draft.session, session, joins_lists=False)
    for key, value in session.items():
        draft.trace(("session", key), value, _OVERRIDES)


def _require_session(draft: Draft, bundle: Bundle) -> None:
    for role in ROLES:
        if not draft.session.get(role, {}).get("module"):
            raise BundleProblem(
                f"{bundle.file}: the bundle '{bundle.name}' names no session.{role}, without which there is no session",
                "Name one, or build on a bundle that does: includes: [{bundle: minimal}]",
            )


def _require_modules(draft: Draft, agents: Iterable[AgentSpec], has_module: IsInstalled) -> None:
    """Refuses modules that are neither installed nor have a source; warns of those that must be fetched."""
    placed = [(origin_near(draft, way), entry) for way, entry in draft.modules()]
    for agent in agents:
        entries = (entry for name in MODULE_SECTIONS for entry in agent.overlay.get(name, ()))
        placed += [(agent.origin, entry) for entry in entries]
    for origin, entry in placed:
        module = str(entry.get("module"))
        if has_module(module):
            continue
        place = origin.place or origin.scope if origin else ""
        if entry.get("source") is None:
            raise BundleProblem(
                f"{place}: the module '{module}' is not installed, and the bundle names no source for it",
                f"Install the package that has it, or take it out; is the id right? {_kind_told(module)}",
            )
        draft.warnings.append(f"{place}: the module '{module}' is not installed; it would come from its source")


def _kind_told(module: str) -> str:
    kinds = ("provider-", "tool-", "hooks-", "loop-", "context-")
    return "" if module.startswith(kinds) else f"Ids begin with {', '.join(kinds)}."


def _instruction(writer: PromptWriter, bundle: Bundle, overrides: Mapping[str, Any], places: Places) -> str:
    given = overrides.get("instruction")
    typed = Passage(str(given), places.working_dir / "the command line", 1, (places.project_dir,), is_own=True)
    passage = bundle.passage if given is None else typed
    text = writer.write(passage, bundle.context)
    more = overrides.get("append_instruction")
    return "\n\n".join(part for part in (text, str(more or "")) if part)


def _agent(agent: AgentSpec, writer: PromptWriter) -> Entry:
    told = {"description": agent.description, **agent.overlay}
    return {**told, "instruction": writer.write(agent.passage, {})} if agent.passage else told


def _plan(draft: Draft, agents: dict[str, Entry]) -> dict[str, Any]:
    plan: dict[str, Any] = {"session": draft.session, **draft.sections}
    plan["providers"] = [_as_instance(entry) for entry in draft.sections["providers"]]
    return deepcopy({**plan, **({"spawn": draft.spawn} if draft.spawn else {}), "agents": agents})


def _as_instance(entry: Entry) -> Entry:
    """A provider as the kernel has it: the name it is mounted under, if it has one of its own, is ``instance_id``."""
    given = entry.get("instance_id") or entry.get("id")
    rest = {key: value for key, value in entry.items() if key not in ("id", "instance_id")}
    is_own = given and given not in (entry["module"], short_name(entry["module"]))
    return {**rest, "instance_id": given} if is_own else rest


def _without_instruction(agent: Any) -> Any:
    return {key: value for key, value in agent.items() if key != "instruction"}


def _dotted_origins(draft: Draft, bundle: Bundle) -> dict[str, Origin]:
    """The origins of what is in the plan; of values that others replaced nothing is told."""
    origins: dict[str, Origin] = {}
    _collect(draft, ("session",), draft.session, origins)
    for way, entry in draft.modules():
        if way[0] != "session":
            _collect(draft, way, entry, origins)
    if draft.spawn:
        _collect(draft, ("spawn",), draft.spawn, origins)
    named = {f"agents.{name}": agent.origin for name, agent in bundle.agents.items() if agent.origin}
    return {**origins, **named}


def _collect(draft: Draft, way: Way, value: Any, origins: dict[str, Origin], shown: str = "") -> None:
    dotted = shown or ".".join(way)
    origins[dotted] = origin_near(draft, way)
    if isinstance(value, dict):
        for key, inner in cast("Entry", value).items():
            _collect(draft, (*way, key), inner, origins, f"{dotted}.{key}")
    elif isinstance(value, list):
        for place, inner in enumerate(cast("list[Any]", value)):
            _collect(draft, (*way, repr(inner)), inner, origins, f"{dotted}[{place}]")
