"""Agents as a mount plan describes them: who there is, and what each of them says about its session.

An agent is a dict under ``agents``; ``self`` is there without being listed and stands for the session as it is. A name
with anything but a dict is no agent, which is how a child loses those that its own agent may not call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from amplifier_modkit.spawning.errors import SpawnError

Agent = Mapping[str, Any]

SELF = "self"
_SELF_TOLD = "This very agent once more, with the same instructions and tools, and a conversation of its own."


def agents_in(configs: Any) -> dict[str, Agent]:
    """The agents by name, in the order of the plan, ``self`` last unless it is listed."""
    listed: dict[Any, Any] = {}
    if isinstance(configs, Mapping):
        listed.update(cast("Mapping[Any, Any]", configs))
    listed.setdefault(SELF, {"description": _SELF_TOLD})
    return {name: agent for name, agent in listed.items() if isinstance(name, str) and isinstance(agent, Mapping)}


def require_agent(name: str, configs: Any) -> Agent:
    """The agent of that name; raises ``SpawnError``, which names those there are."""
    agents = agents_in(configs)
    if name not in agents:
        raise SpawnError(f"There is no agent '{name[:100]}'. Agents: {', '.join(agents) or 'none'}.")
    return agents[name]


def description_of(agent: Agent) -> str:
    """What the agent is for, in the words of its author."""
    for holder in (agent, agent.get("meta")):
        told = cast("Agent", holder).get("description") if isinstance(holder, Mapping) else None
        if isinstance(told, str):
            return told
    return ""


def system_prompt_of(agent: Agent) -> str | None:
    """The instructions that the agent's session works by."""
    system = agent.get("system")
    nested = cast("Agent", system).get("instruction") if isinstance(system, Mapping) else system
    for told in (agent.get("instruction"), agent.get("system_prompt"), nested):
        if isinstance(told, str) and told:
            return told
    return None


def callable_agents(agent: Agent, configs: Any) -> dict[str, Any]:
    """The changes to ``agents`` that leave a session of ``agent`` those whom it may call.

    ``agents`` of an agent is ``all``, ``none``, a list of names, or a dict of agents of its own.
    """
    allowed: Any = agent.get("agents")
    if isinstance(allowed, Mapping):
        return dict(cast("Mapping[str, Any]", allowed))
    if allowed is None or allowed == "all":
        return {}
    if allowed != "none" and not isinstance(allowed, list):
        raise SpawnError(f"'agents' of an agent must be 'all', 'none', a list of names or a dict, got {allowed!r:.80}")
    names: Iterable[Any] = () if allowed == "none" else cast("list[Any]", allowed)
    return dict.fromkeys(agents_in(configs).keys() - set(map(str, names)))
