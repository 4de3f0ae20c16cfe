"""``amplifier bundle``: which bundles there are, what is in them, whether they are right, and which one is used."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from amplifier.cli.invocation import Invocation, common_options
from amplifier.cli.lazy_group import Entry, LazyGroup
from amplifier.cli.output import echo, echo_json, echo_table, plain, warn
from amplifier.problems import Problem

if TYPE_CHECKING:
    from amplifier.bundles.bundle import Bundle
    from amplifier.bundles.catalog import Known

_HERE = "amplifier.cli.bundle"
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(
    cls=LazyGroup,
    sections={
        "Commands": {
            "list": Entry(f"{_HERE}:list_", "List the bundles that have a name."),
            "show": Entry(f"{_HERE}:show", "Show what a bundle is made of."),
            "validate": Entry(f"{_HERE}:validate", "Check a bundle and all it includes."),
            "use": Entry(f"{_HERE}:use", "Choose the bundle of new sessions."),
            "current": Entry(f"{_HERE}:current", "Show which bundle new sessions have, and why."),
        }
    },
)
def bundle() -> None:
    """List, show, check and choose bundles.

    A bundle is a file that says which agent a session is: its modules, its instructions, and its sub-agents.
    """


@click.command("list")
@common_options
@_json_option
@click.pass_obj
def list_(invocation: Invocation, as_json: bool) -> None:
    """List the bundles that have a name: built in, added by settings, and in the folders of user and project."""
    from amplifier.bundles.catalog import known_bundles

    active = invocation.settings.get("bundle.active")
    known = known_bundles(invocation.places, invocation.settings.section("bundle.added")).values()
    found = [{**each._asdict(), "active": each.name == active, "description": _description(each)} for each in known]
    if as_json:
        echo_json(found)
        return
    rows = [("*" if each["active"] else "", each["name"], each["kind"], each["description"]) for each in found]
    echo_table(["", "NAME", "KIND", "DESCRIPTION"], rows)


@click.command()
@common_options
@_json_option
@click.argument("ref", required=False)
@click.pass_obj
def show(invocation: Invocation, ref: str | None, as_json: bool) -> None:
    """Show what the bundle REF is made of; without it, the active one.

    REF is a name or a path. What settings add is not part of a bundle: see amplifier plan show.
    """
    from amplifier.bundles.active import active_bundle

    fetch = invocation.sources.fetch
    shown = _shown(active_bundle(invocation.settings, invocation.places, ref, fetch=fetch))
    if as_json:
        echo_json(shown)
        return
    for key, value in shown.items():
        if value:
            echo(f"{key + ':':13}{plain(_told(value))}")


@click.command()
@common_options
@_json_option
@click.option("--strict", is_flag=True, help="Fail for warnings as well.")
@click.argument("ref", required=False)
@click.pass_obj
def validate(invocation: Invocation, ref: str | None, as_json: bool, strict: bool) -> None:
    """Check the bundle REF and all it includes; without REF, the active one.

    Checks the files, the includes, the modules, and the files that texts mention. Exit code 78 tells of a bundle that
    cannot be used, 1 of warnings with --strict.
    """
    from amplifier.bundles.active import active_bundle
    from amplifier.bundles.plan import make_plan

    found = active_bundle(invocation.settings, invocation.places, ref, fetch=invocation.sources.fetch)
    made = make_plan(found, invocation.settings, invocation.places)
    if as_json:
        echo_json({"bundle": found.name, "file": str(found.file), "parts": found.parts, "warnings": made.warnings})
    else:
        for warning in made.warnings:
            warn(warning)
        echo(f"{found.name} is right: {', '.join(found.parts)}")
    if strict and made.warnings:
        raise Problem(f"The bundle '{found.name}' has warnings: {len(made.warnings)}.", "Mend what they are about.")


@click.command()
@common_options
@click.option(
    "--scope",
    type=click.Choice(["user", "project", "local"]),
    default="user",
    show_default=True,
    help="For all projects, for everybody in this project, or for you in this project.",
)
@click.argument("ref")
@click.pass_obj
def use(invocation: Invocation, scope: str, ref: str) -> None:
    """Make REF, a name or a path, the bundle of new sessions; it must be one that can be loaded."""
    from amplifier.bundles.load import load_bundle
    from amplifier.settings import set_value

    added = invocation.settings.section("bundle.added")
    found = load_bundle(ref, invocation.places, added=added, fetch=invocation.sources.fetch)
    # A path must mean the same in whatever directory a session is begun.
    written = str(found.file.absolute()) if _is_path(ref) else ref
    file = set_value(invocation.places, scope, "bundle.active", written).file
    echo(f"New sessions have the bundle '{found.name}' ({file})")
    _warn_if_hidden(invocation, written)


@click.command()
@common_options
@_json_option
@click.pass_obj
def current(invocation: Invocation, as_json: bool) -> None:
    """Show which bundle new sessions have; where that is set goes to standard error."""
    active, origin = invocation.settings.get("bundle.active"), invocation.settings.origin("bundle.active")
    if as_json:
        echo_json({"bundle": active, "origin": origin.to_dict()})
        return
    echo(active)
    echo(f"from {origin}", err=True)


def _description(known: Known) -> str:
    """What a bundle says about itself; the reason, if that cannot be read."""
    from amplifier.bundles.bundle_file import read_header
    from amplifier.bundles.document import read_document

    if "://" in known.ref:
        return known.ref
    try:
        return read_header(read_document(Path(known.ref).expanduser())).description
    except Problem as problem:
        return f"cannot be read: {problem.message}"


def _shown(found: Bundle) -> dict[str, Any]:
    def modules(entries: list[dict[str, Any]]) -> list[str]:
        return [entry.get("module", "") for entry in entries]

    return {
        "name": found.name,
        "version": found.version,
        "description": found.description,
        "file": str(found.file),
        "made of": list(found.parts),
        "session": modules([found.session[role] for role in ("orchestrator", "context") if role in found.session]),
        "providers": modules(found.providers),
        "tools": modules(found.tools),
        "hooks": modules(found.hooks),
        "agents": {name: agent.description for name, agent in found.agents.items()},
        "context": list(found.context),
        "warnings": list(found.warnings),
    }


def _told(value: object) -> str:
    return ", ".join(map(str, cast("Iterable[object]", value))) if isinstance(value, list | dict) else str(value)


def _is_path(ref: str) -> bool:
    return ref.startswith((".", "/", "~")) or ("/" in ref and "://" not in ref)


def _warn_if_hidden(invocation: Invocation, written: str) -> None:
    from amplifier.settings import Settings

    settings = Settings.load(invocation.places)
    if settings.get("bundle.active") != written:
        warn(f"it does not count here: {settings.origin('bundle.active')} says '{settings.get('bundle.active')}'")
