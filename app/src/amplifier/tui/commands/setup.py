"""Commands that show, and in part change, how the session is set up: settings, rules, modes, tools, hooks, agents."""

from __future__ import annotations

import os
from typing import Any, cast

from amplifier.problems import Problem
from amplifier.tui.commands.command import Command, Desk, table
from amplifier.tui.picker import Choice
from amplifier.tui.talk import MODES

_ABOUT_MODES = {
    "default": "what changes something is asked about",
    "accept-edits": "edits inside the working directory run; the rest is asked about",
    "plan": "only reading",
    "dont-ask": "what is not allowed by a rule is refused",
    "bypass": "everything runs; only denials hold",
}
_MCP = "mcp_"


async def config(desk: Desk, argument: str) -> None:
    """The settings with where they come from; with a key, those below it."""
    settings = desk.talk.opening.settings
    rows = [
        (key, str(settings.shown(key, value)), str(origin))
        for key, value, origin in settings.all()
        if not argument or key == argument or key.startswith(f"{argument}.")
    ]
    if not rows:
        raise Problem(f"There is nothing set for '{argument}'.", "/config lists all that is set.")
    desk.say(table(("setting", "value", "from"), rows) + "\n\nChange one outside: `amplifier config set KEY VALUE`")


async def permissions(desk: Desk, argument: str) -> None:
    """The mode and the rules that hold, with those that answers have added."""
    section = desk.talk.opening.settings.section("permissions")
    learned = cast("list[Any]", getattr(desk.talk.capability("approval.desk"), "learned", []))
    rules = [(kind, str(rule)) for kind in ("deny", "ask", "allow") for rule in section.get(kind) or ()]
    rules += [("allow, this session", str(rule)) for rule in learned]
    listed = table(("", "rule"), rules) if rules else "There are no rules."
    desk.say(f"Mode: `{desk.talk.mode or 'nothing asks'}`\n\n{listed}")


async def modes(desk: Desk, argument: str) -> None:
    """Changes how much is asked; without a mode, has the user choose."""
    wanted = argument or await _choose_mode(desk)
    if wanted is not None:
        await desk.talk.set_mode(wanted)
        desk.notice(f"mode: {desk.talk.mode}")


async def _choose_mode(desk: Desk) -> str | None:
    now = desk.talk.mode
    start = MODES.index(now) if now in MODES else 0
    choices = [Choice(name, f"{_ABOUT_MODES[name]}{' · now' if name == now else ''}") for name in MODES]
    chosen = await desk.choose("Modes: what becomes of what no rule decides", choices, start)
    return None if chosen is None else MODES[chosen]


async def plan(desk: Desk, argument: str) -> str | None:
    """Lets the agent only read; with a text, that is said to it at once."""
    await desk.talk.set_mode("plan")
    desk.notice("mode: plan; the agent reads and plans, and changes nothing. Shift+Tab leaves it.")
    return argument or None


async def tools(desk: Desk, argument: str) -> None:
    """The tools that the model has."""
    mounted = cast("dict[str, Any]", desk.talk.runtime.session.coordinator.get("tools"))
    rows = [(name, _first_sentence(mounted[name])) for name in sorted(mounted)]
    desk.say(table(("tool", "what it does"), rows) if rows else "The model has no tools.")


async def mcp(desk: Desk, argument: str) -> None:
    """The servers of the Model Context Protocol and the tools that they bring."""
    servers = cast("dict[str, Any]", desk.talk.opening.settings.section("mcp").get("servers") or {})
    names = [name for name in desk.talk.runtime.tool_names if name.startswith(_MCP)]
    rows = [(name, ", ".join(each for each in names if each.startswith(f"{_MCP}{name}_"))) for name in servers]
    listed = table(("server", "tools"), rows) if rows else "The settings name no servers (`mcp.servers`)."
    known = {each for name in servers for each in names if each.startswith(f"{_MCP}{name}_")}
    others = [name for name in names if name not in known]
    desk.say(listed + (f"\n\nTools of others: {', '.join(f'`{name}`' for name in others)}" if others else ""))


async def hooks(desk: Desk, argument: str) -> None:
    """What listens to which events."""
    handlers = desk.talk.runtime.session.coordinator.hooks.list_handlers()
    rows = [(event, ", ".join(names)) for event, names in sorted(handlers.items()) if names]
    desk.say(table(("event", "handlers, in order"), rows))


async def agents(desk: Desk, argument: str) -> None:
    """The agents to which the model can give work."""
    known = desk.talk.opening.plan.agents
    rows = [(name, agent.description) for name, agent in sorted(known.items())]
    desk.say(table(("agent", "for"), rows) if rows else "The bundle has no agents.")


async def doctor(desk: Desk, argument: str) -> None:
    """Looks at the installation, without the network."""
    import asyncio

    from amplifier.inspector.doctor import diagnose

    places = desk.talk.opening.places
    found = await asyncio.to_thread(lambda: list(diagnose(places, os.environ, is_online=False)))
    rows = [(each.state, each.name, " ".join(filter(None, (each.message, each.fix)))) for each in found]
    desk.say(table(("", "what", "found"), rows))


def _first_sentence(tool: Any) -> str:
    text = " ".join(str(getattr(tool, "description", "")).split())
    return text.split(". ")[0]


SETUP = (
    Command("config", "The settings, and where they come from.", config, "[KEY]", is_quick=True),
    Command("permissions", "The mode and the rules that hold.", permissions, is_quick=True),
    Command("modes", "How much is asked; without a name, choose.", modes, "[MODE]", is_quick=True),
    Command("plan", "Let the agent only read and plan.", plan, "[TEXT]"),
    Command("tools", "The tools that the model has.", tools, is_quick=True),
    Command("mcp", "The MCP servers and their tools.", mcp, is_quick=True),
    Command("hooks", "What listens to which events.", hooks, is_quick=True),
    Command("agents", "The agents that can be given work.", agents, is_quick=True),
    Command("doctor", "Look at the installation.", doctor, is_quick=True),
)
