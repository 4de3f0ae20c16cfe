"""What is to be merged into a parent's plan to make that of a child: the agent's overlay, filters, limits, choices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from amplifier_modkit.spawning.agents import Agent, callable_agents, system_prompt_of
from amplifier_modkit.spawning.errors import SpawnError
from amplifier_modkit.spawning.module_lists import Entry, Inheritance, entries_in, merge_modules, module_of
from amplifier_modkit.spawning.preferences import Choice, promoted

Plan = Mapping[str, Any]

_LIMIT = "max_iterations"
_OF_THE_PARENT_ALONE = frozenset({"output_schema"})
_THE_PLAN = "the parent's plan"
_EVERYTHING = Inheritance()


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the caller of ``session.spawn`` wants beside the agent's own config."""

    tools: Inheritance = _EVERYTHING
    hooks: Inheritance = _EVERYTHING
    loop: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Config for the child's orchestrator; the agent's own wins, but a limit is never loosened."""
    choice: Choice | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the child tells of itself when it starts."""


@dataclass(frozen=True, slots=True)
class ChildPlan:
    """How to make a child, also a second time when it is resumed."""

    agent: str
    overlay: dict[str, Any]
    tools: Inheritance
    own_tools: frozenset[str]
    """Modules that the agent lists itself; what is inherited or not does not concern them."""
    system_prompt: str | None

    def admits_tool(self, module_id: str, name: str) -> bool:
        """Whether the child may have a tool that this module has mounted."""
        return module_id in self.own_tools or self.tools.admits_tool(module_id, name)


def child_plan(
    plan: Plan, name: str, agent: Agent, wishes: Wishes, tool_names: Mapping[str, Iterable[str]]
) -> ChildPlan:
    """The plan of a child of the session with ``plan``.

    ``tool_names`` are the tools that each of the parent's modules has mounted. Raises ``SpawnError`` for an agent whose
    config has the wrong shape.
    """
    owner = _told(name)
    own_tools = entries_in(agent, "tools", owner)
    providers = providers_for(plan, name, agent)
    tools = [
        entry
        for entry in entries_in(plan, "tools", _THE_PLAN)
        if wishes.tools.admits_module(module_of(entry), tool_names.get(module_of(entry), ()))
    ]
    hooks = [entry for entry in entries_in(plan, "hooks", _THE_PLAN) if wishes.hooks.admits_module(module_of(entry))]
    overlay: dict[str, Any] = {
        "session": _session(plan, agent, owner, wishes),
        "providers": providers if wishes.choice is None else promoted(providers, wishes.choice),
        "tools": merge_modules(tools, own_tools),
        "hooks": merge_modules(hooks, entries_in(agent, "hooks", owner)),
        "agents": callable_agents(agent, plan.get("agents")),
    }
    return ChildPlan(name, overlay, wishes.tools, frozenset(map(module_of, own_tools)), system_prompt_of(agent))


def providers_for(plan: Plan, name: str, agent: Agent) -> list[Entry]:
    """The providers of a child: the parent's with the agent's own."""
    return merge_modules(entries_in(plan, "providers", _THE_PLAN), entries_in(agent, "providers", _told(name)))


def loop_config(plan: Plan) -> dict[str, Any]:
    """The config of a plan's orchestrator, wherever it stands, without what is about this one session's answers."""
    config = _loop_in(plan, _THE_PLAN).config
    return {key: value for key, value in config.items() if key not in _OF_THE_PARENT_ALONE}


def tightest(limits: Iterable[Any]) -> int | None:
    """The smallest of the limits that are limits: negative ones, and what is no number, are none."""
    return min((each for each in limits if isinstance(each, int) and each >= 0), default=None)


class _Loop(NamedTuple):
    """The orchestrator in a plan; an agent need not name one."""

    module: str | None
    config: dict[str, Any]
    source: Any


def _session(plan: Plan, agent: Agent, owner: str, wishes: Wishes) -> dict[str, Any]:
    session = _dict_in(agent, "session", owner)
    metadata = {**_dict_in(session, "metadata", owner), **wishes.metadata}
    return {**session, "orchestrator": _loop(plan, agent, owner, wishes), "metadata": metadata}


def _loop(plan: Plan, agent: Agent, owner: str, wishes: Wishes) -> Entry:
    base, own = _loop_in(plan, _THE_PLAN), _loop_in(agent, owner)
    # The kernel merges this into the parent's config, so what is not to be inherited has to be overwritten.
    left_out = dict.fromkeys(base.config.keys() & _OF_THE_PARENT_ALONE)
    config = {**base.config, **left_out, **wishes.loop, **own.config}
    limit = tightest((wishes.loop.get(_LIMIT), own.config.get(_LIMIT), agent.get(_LIMIT)))
    if limit is not None:
        config[_LIMIT] = limit
    if wishes.choice is not None:
        config["default_provider"] = wishes.choice.provider
        if config.get("model"):
            config["model"] = wishes.choice.model
    source = own.source if own.module else base.source
    loop = {"module": own.module or base.module, "config": config}
    return loop if source is None else {**loop, "source": source}


def _loop_in(plan: Plan, owner: str) -> _Loop:
    session = _dict_in(plan, "session", owner)
    given = session.get("orchestrator")
    if isinstance(given, dict):
        entry = cast("Entry", given)
        return _Loop(module_of(entry) or None, _dict_in(entry, "config", owner), entry.get("source"))
    config = _dict_in(_dict_in(plan, "orchestrator", owner), "config", owner)
    return _Loop(given or None, config, session.get("orchestrator_source"))


def _dict_in(fields: Plan, key: str, owner: str) -> dict[str, Any]:
    value = fields.get(key)
    if value is not None and not isinstance(value, dict):
        raise SpawnError(f"'{key}' of {owner} must be a dict, got {type(value).__name__}")
    return cast("dict[str, Any]", value or {})


def _told(agent: str) -> str:
    return f"agent '{agent}'"
