"""``amplifier lock``: writes which commit and which bytes every source of the project is, and checks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from amplifier.cli.invocation import Invocation, common_options
from amplifier.cli.output import echo, echo_json, warn
from amplifier.problems import Problem, SourceProblem, UsageProblem

if TYPE_CHECKING:
    from amplifier.sources import Pin, Sources

_ALL = "all"


class _Everything:
    """Has whatever is asked for."""

    def __contains__(self, name: object) -> bool:
        return True


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; fail if the lock is not what it should be.")
@click.option(
    "--update", "updates", metavar="NAME", multiple=True, help="Look anew at a module or source, or at 'all'."
)
@click.option("-B", "--bundle", "refs", metavar="REF", multiple=True, help="Lock the sources of this bundle as well.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@common_options
@click.pass_obj
def lock(invocation: Invocation, check: bool, updates: tuple[str, ...], refs: tuple[str, ...], as_json: bool) -> None:
    """Lock the sources of this project in .amplifier/amplifier.lock.

    Every source is written down with its commit and a hash of its files: those of the active bundle, of the bundles
    that the project adds, and of their modules. What is locked stays as it is; --update looks what it is now.
    """
    from amplifier.cli.sourcing import Collection, pins_of
    from amplifier.sources import lock_path, write_lock

    if check and updates:
        raise UsageProblem("--check writes nothing, so there is nothing to update.", "Leave one of them out.")
    sources = _sources(invocation, refs, updates)
    before = dict(sources.locked)
    if check:
        _check(invocation, sources, refs)
        return
    pins = pins_of(sources, Collection(invocation, sources).collect(refs))
    file = lock_path(invocation.places)
    if pins or before:
        write_lock(file, pins)
    if as_json:
        echo_json({"file": str(file), "sources": {name: pin.to_dict() for name, pin in pins.items()}})
        return
    for line in changes(before, pins):
        echo(line)
    echo(f"{len(pins)} sources are locked in {file}", err=True)


def changes(before: Mapping[str, Pin], after: Mapping[str, Pin]) -> list[str]:
    """What is another in the second lock, a line each."""
    from amplifier.sources.address import told

    lines: list[str] = []
    for name in sorted({*before, *after}):
        old, now = before.get(name), after.get(name)
        if old is None and now is not None:
            lines.append(f"+ {told(name)} {_short(now)}")
        elif now is None and old is not None:
            lines.append(f"- {told(name)}")
        elif old is not None and now is not None and old != now:
            lines.append(f"~ {told(name)} {_short(old)} → {_short(now)}")
    return lines


def _short(pin: Pin) -> str:
    return (pin.revision or pin.tree).removeprefix("sha256:")[:12]


def _sources(invocation: Invocation, refs: tuple[str, ...], updates: tuple[str, ...]) -> Sources:
    """The sources for this call; a lock that was asked for may be written, whatever is frozen."""
    from amplifier.sources import Sources

    names = _Everything() if _ALL in updates else _names(invocation, refs, updates)
    sources = Sources.of(invocation.settings, invocation.places, updates=names, tell=warn)
    sources.is_frozen = False
    return sources


def _names(invocation: Invocation, refs: tuple[str, ...], updates: tuple[str, ...]) -> set[str]:
    from amplifier.cli.sourcing import Collection, named
    from amplifier.sources import Sources

    sources = Sources.of(invocation.settings, invocation.places, tell=warn)
    sources.is_frozen = False
    # A source that is locked is known by its name, even if it cannot be had as it is locked.
    names = {each for each in updates if each in sources.locked}
    others = [each for each in updates if each not in names]
    if others:
        uses = Collection(invocation, sources, is_tolerant=True).collect(refs)
        names |= {use.name for each in others for use in named(uses, each)}
    return names


def _check(invocation: Invocation, sources: Sources, refs: tuple[str, ...]) -> None:
    from amplifier.cli.sourcing import Collection, pins_of

    sources.is_frozen = True
    hint = "Write it anew with: amplifier lock"
    try:
        pins = pins_of(sources, Collection(invocation, sources).collect(refs))
    except SourceProblem as problem:
        raise Problem(f"The lock is not right: {problem.message}", hint) from None
    different = changes(sources.locked, pins)
    if different:
        raise Problem(f"The lock is not right: {'; '.join(different)}", hint)
    echo(f"{len(pins)} sources are as they were locked")
