"""``amplifier agents``: the sub-agents of a bundle."""

from __future__ import annotations

from typing import Any

import click

from amplifier.cli.invocation import Invocation, common_options
from amplifier.cli.lazy_group import Entry, LazyGroup
from amplifier.cli.output import echo, echo_json, echo_table, plain, printable
from amplifier.cli.planning import bundle_option, json_option, planned
from amplifier.problems import UsageProblem

_HERE = "amplifier.cli.agents"


@click.group(
    cls=LazyGroup,
    sections={
        "Commands": {
            "list": Entry(f"{_HERE}:list_", "List the agents that a session may start."),
            "show": Entry(f"{_HERE}:show", "Show how an agent differs, and its instructions."),
        }
    },
)
def agents() -> None:
    """List and show the agents that a session may hand work to."""


@click.command("list")
@bundle_option
@json_option
@common_options
@click.pass_obj
def list_(invocation: Invocation, bundle: str | None, as_json: bool) -> None:
    """List the agents of a bundle, and where each is written."""
    found = [
        {"name": name, "description": agent.description, "origin": str(agent.origin or "")}
        for name, agent in planned(invocation, bundle).agents.items()
    ]
    if as_json:
        echo_json(found)
        return
    echo_table(["NAME", "DESCRIPTION", "FROM"], [tuple(each.values()) for each in found])


@click.command()
@click.argument("name")
@bundle_option
@json_option
@common_options
@click.pass_obj
def show(invocation: Invocation, name: str, bundle: str | None, as_json: bool) -> None:
    """Show the agent NAME: what it is for, how its session differs from the one that starts it, its instructions."""
    from amplifier.nearest import nearest

    plan = planned(invocation, bundle)
    if name not in plan.agents:
        near = nearest(name, plan.agents)
        meant = f"; did you mean '{near}'?" if near else "."
        raise UsageProblem(
            f"There is no agent '{name}' in the bundle '{plan.bundle}'{meant}",
            f"There is: {', '.join(plan.agents) or 'none'}.",
        )
    shown: dict[str, Any] = {"name": name, **plan.plan["agents"][name]}
    if as_json:
        echo_json(shown)
        return
    instruction = shown.pop("instruction", None)
    for key, value in shown.items():
        echo(f"{key + ':':14}{plain(value if isinstance(value, str) else _yaml(value))}")
    echo(f"\n{printable(instruction)}" if instruction else "\nIt has the instructions of the session that starts it.")


def _yaml(value: Any) -> str:
    import yaml

    return yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=10**9).strip()
