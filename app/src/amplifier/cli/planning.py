"""The plan that a command looks at, from its options, as ``run`` would make it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from amplifier.cli.invocation import Invocation
from amplifier.cli.output import warn

if TYPE_CHECKING:
    from amplifier.bundles.plan import MountPlan

_Function = TypeVar("_Function", bound=Callable[..., Any])

bundle_option = click.option(
    "-B", "--bundle", metavar="REF", help="The bundle, by name or path; the active one without it."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
scope_option = click.option(
    "--scope",
    type=click.Choice(["user", "project", "local"]),
    default="user",
    show_default=True,
    help="For all projects, for everybody in this project, or for you in this project.",
)


def planned(invocation: Invocation, ref: str | None, **flags: Any) -> MountPlan:
    """The plan of a new session; ``flags`` are settings by name that options stand for. Keys become variables."""
    from amplifier.bundles.active import active_bundle
    from amplifier.bundles.plan import make_plan
    from amplifier.settings import load_keys

    invocation.flags |= {key: value for key, value in flags.items() if value is not None}
    settings, places = invocation.settings, invocation.places
    load_keys(places).export_to(os.environ)
    bundle = active_bundle(settings, places, ref, fetch=invocation.fetch)
    plan = make_plan(bundle, settings, places)
    for warning in plan.warnings:
        warn(warning)
    return plan


def resolver_for(invocation: Invocation, plan: MountPlan) -> Any:
    """What finds the modules of a plan that have a source; ``None`` where none has, since the kernel finds those."""
    if not _mentions_source(plan.plan):
        return None
    from amplifier.sources import SourceResolver, sources_in

    return SourceResolver(invocation.sources) if any(True for _ in sources_in(plan.plan)) else None


def _mentions_source(value: Any) -> bool:
    """Whether anything in a plan may be a source; spares most runs the import of those who know."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return fields.get("source") is not None or any(map(_mentions_source, fields.values()))
    return isinstance(value, list) and any(map(_mentions_source, cast("list[Any]", value)))
