"""``amplifier source``: where modules and bundles come from, and what they are to the byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from amplifier.cli.invocation import Invocation, common_options
from amplifier.cli.lazy_group import Entry, LazyGroup
from amplifier.cli.output import echo, echo_json, echo_table, plain, warn
from amplifier.problems import Problem

if TYPE_CHECKING:
    from amplifier.cli.sourcing import Use
    from amplifier.sources import Pin, Sources

_HERE = "amplifier.cli.source"
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_scope_option = click.option(
    "--scope",
    type=click.Choice(["user", "project", "local"]),
    default="user",
    show_default=True,
    help="For all projects, for everybody in this project, or for you in this project.",
)


@click.group(
    cls=LazyGroup,
    sections={
        "Commands": {
            "list": Entry(f"{_HERE}:list_", "List the sources that sessions here use."),
            "show": Entry(f"{_HERE}:show", "Show what one source is, and where its files are."),
            "add": Entry(f"{_HERE}:add", "Say where a module comes from."),
            "remove": Entry(f"{_HERE}:remove", "Let a module come from where its bundle says."),
            "update": Entry(f"{_HERE}:update", "Look what sources are now, and take that."),
        }
    },
)
def source() -> None:
    """See and say where modules and bundles come from.

    A source is a folder (./modules/mine), a repository (git+https://host/repository@ref#subdirectory=folder), an
    archive (https://host/file.zip), or an installed package (package:NAME).
    """


@click.command("list")
@_json_option
@common_options
@click.pass_obj
def list_(invocation: Invocation, as_json: bool) -> None:
    """List the sources that sessions here use, and whether they are locked. Nothing is fetched."""
    described = [_described(use) for use in _uses(invocation)]
    if as_json:
        echo_json(described)
        return
    rows = [(each["for"], each["source"], each["state"], each["revision"][:12]) for each in described]
    echo_table(["FOR", "SOURCE", "STATE", "REVISION"], rows)


@click.command()
@_json_option
@click.argument("name")
@common_options
@click.pass_obj
def show(invocation: Invocation, name: str, as_json: bool) -> None:
    """Show the source NAME, a module or a source as it is written. Nothing is fetched."""
    from amplifier.cli.sourcing import named

    shown = [_described(use) for use in named(_uses(invocation), name)]
    if as_json:
        echo_json(shown)
        return
    for each in shown:
        for key, value in each.items():
            if value:
                echo(f"{key + ':':11}{plain(str(value))}")


@click.command()
@_scope_option
@click.argument("module")
@click.argument("source")
@common_options
@click.pass_obj
def add(invocation: Invocation, scope: str, module: str, source: str) -> None:
    """Let MODULE come from SOURCE, which must be there."""
    from amplifier.settings import set_value
    from amplifier.settings.key_paths import join_key
    from amplifier.sources.resolver import INSTALLED

    if source != INSTALLED:
        sources = _sources(invocation)
        sources.is_frozen = False
        sources.find(source)
    written = set_value(invocation.places, scope, join_key(("sources", module)), source)
    echo(f"{module} comes from {source} ({written.file})", err=True)


@click.command()
@_scope_option
@click.argument("module")
@common_options
@click.pass_obj
def remove(invocation: Invocation, scope: str, module: str) -> None:
    """Let MODULE come from where its bundle says, or as it is installed."""
    from amplifier.settings import unset_value
    from amplifier.settings.key_paths import join_key

    written = unset_value(invocation.places, scope, join_key(("sources", module)))
    if not written.is_changed:
        raise Problem(f"{written.file} has no source for '{module}'.", "amplifier source list tells what there is.")
    echo(f"{module} has no source in {written.file} any more", err=True)


@click.command()
@click.argument("names", nargs=-1)
@common_options
@click.pass_obj
def update(invocation: Invocation, names: tuple[str, ...]) -> None:
    """Look what the sources NAMES are now, and take that; without NAMES, all of them.

    What is locked is locked anew.
    """
    from amplifier.cli.lock import changes
    from amplifier.cli.sourcing import Use, named, pins_of
    from amplifier.sources import lock_path, write_lock

    uses = _uses(invocation, is_offline=False)
    chosen = [use for name in names for use in named(uses, name)] if names else uses
    old = _sources(invocation, is_offline=True)
    before = {use.name: pin for use in chosen if (pin := _before(old, use)) is not None}
    now = _sources(invocation, updates={use.name for use in chosen})
    now.is_frozen = False
    pins = pins_of(now, [Use(use.label, use.source, now.find(use.source)) for use in chosen])
    if not old.locked.keys().isdisjoint(pins):
        write_lock(lock_path(invocation.places), {name: pins.get(name, pin) for name, pin in old.locked.items()})
    # Folders that are not locked are always what they are now.
    kept = {name: pin for name, pin in pins.items() if name in before or pin.kind in ("git", "zip")}
    for line in changes({name: before[name] for name in before if name in kept}, kept):
        echo(line)
    echo(f"{len(pins)} sources are as they are now", err=True)


def _before(sources: Sources, use: Use) -> Pin | None:
    """What a source was until now; ``None`` for one that has just been fetched."""
    is_fresh = use.found is not None and use.found.state == "fetched"
    return sources.locked.get(use.name) or (None if is_fresh else sources.cache.pin(use.name))


def _sources(invocation: Invocation, *, is_offline: bool = False, updates: Any = ()) -> Sources:
    from amplifier.sources import Sources

    return Sources.of(invocation.settings, invocation.places, is_offline=is_offline, updates=updates, tell=warn)


def _uses(invocation: Invocation, *, is_offline: bool = True) -> list[Use]:
    """What is used here, as far as it can be told; without fetching, unless somebody asked for that."""
    from amplifier.cli.sourcing import Collection

    sources = _sources(invocation, is_offline=is_offline)
    sources.is_frozen = False
    collection = Collection(invocation, sources, is_tolerant=True)
    try:
        return collection.collect()
    except Problem as problem:
        warn(problem.message)
        return collection.uses


def _described(use: Use) -> dict[str, str]:
    from amplifier.sources.address import told

    found, pin = use.found, use.found.pin if use.found else None
    return {
        "for": use.label,
        "source": told(use.name),
        "kind": found.address.kind if found else "",
        "state": found.state if found else "not there",
        "revision": pin.revision if pin else "",
        "tree": pin.tree if pin else "",
        "requires": ", ".join(pin.requires) if pin else "",
        "folder": str(found.folder) if found else "",
        "problem": use.problem,
    }
