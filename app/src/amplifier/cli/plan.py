"""``amplifier plan``: the mount plan that a session would have, and why each part of it is there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import click

from amplifier.cli.invocation import Invocation, common_options
from amplifier.cli.lazy_group import Entry, LazyGroup
from amplifier.cli.output import echo, echo_json, echo_table, warn

if TYPE_CHECKING:
    from amplifier.bundles.plan import MountPlan


@click.group(
    cls=LazyGroup,
    sections={"Commands": {"show": Entry("amplifier.cli.plan:show", "Print the plan of a new session.")}},
)
def plan() -> None:
    """Show what a session is made of, and why."""


@click.command()
@common_options
@click.option("-B", "--bundle", "ref", metavar="REF", help="The bundle, by name or path; the active one without it.")
@click.option("-m", "--model", metavar="MODEL", help="The model to ask; provider/model names both.")
@click.option("--provider", metavar="NAME", help="The provider to ask.")
@click.option("--origin", is_flag=True, help="Print where each value comes from.")
@click.option("--instruction", is_flag=True, help="Print the system prompt instead.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with origins, warnings and the system prompt.")
@click.pass_obj
def show(
    invocation: Invocation,
    ref: str | None,
    model: str | None,
    provider: str | None,
    origin: bool,
    instruction: bool,
    as_json: bool,
) -> None:
    """Print the mount plan that a new session would have: the bundle with what settings and options change.

    Secrets are masked. Nothing is started, and nothing is fetched.
    """
    invocation.flags |= {key: value for key, value in (("model", model), ("provider", provider)) if value}
    made = _made(invocation, ref)
    if as_json:
        echo_json(_as_json(made))
        return
    for warning in made.warnings:
        warn(warning)
    if instruction:
        echo(made.instruction)
    elif origin:
        echo_table(["PART", "VALUE", "FROM"], _origin_rows(made))
    else:
        echo(_as_yaml(made.shown()))


def _made(invocation: Invocation, ref: str | None) -> MountPlan:
    from amplifier.bundles.active import active_bundle
    from amplifier.bundles.plan import make_plan
    from amplifier.sources import Sources

    settings, places = invocation.settings, invocation.places
    sources = Sources.of(settings, places, is_offline=True)
    return make_plan(active_bundle(settings, places, ref, fetch=sources.fetch), settings, places)


def _as_json(made: MountPlan) -> dict[str, Any]:
    return {
        "bundle": made.bundle,
        "plan": made.shown(),
        "instruction": made.instruction,
        "origins": {path: origin.to_dict() for path, origin in made.origins.items()},
        "warnings": made.warnings,
    }


def _origin_rows(made: MountPlan) -> list[tuple[str, str, str]]:
    """A row for each module, each value that is neither mapping nor list, and each agent."""
    from amplifier.bundles.merge import entry_key

    shown = made.shown()
    rows = dict(_values("session", shown["session"]))
    for section in ("providers", "tools", "hooks"):
        for entry in shown[section]:
            name = f"{section}.{entry_key(entry)}"
            rest = {key: value for key, value in entry.items() if key != "module"}
            rows |= {name: entry["module"], **dict(_values(name, rest))}
    rows |= dict(_values("spawn", shown.get("spawn", {})))
    rows |= {f"agents.{name}": agent["description"] for name, agent in shown["agents"].items()}
    return [(path, value, str(made.origins[path])) for path, value in rows.items()]


def _values(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            yield from _values(f"{path}.{key}", inner)
    elif isinstance(value, list):
        for place, inner in enumerate(cast("list[Any]", value)):
            yield from _values(f"{path}[{place}]", inner)
    else:
        yield path, str(value)


def _as_yaml(shown: dict[str, Any]) -> str:
    import yaml

    return yaml.safe_dump(shown, sort_keys=False, allow_unicode=True).rstrip()
