"""``amplifier version``: the versions of the command and of what it stands on."""

from __future__ import annotations

import click

from amplifier.cli.invocation import common_options
from amplifier.cli.output import echo, echo_json

_DISTRIBUTIONS = ("amplifier", "amplifier-core", "amplifier-modules")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@common_options
def version(as_json: bool) -> None:
    """Show the versions of the command, the kernel, the modules and Python."""
    import platform

    versions = {**{name: version_of(name) for name in _DISTRIBUTIONS}, "python": platform.python_version()}
    if as_json:
        echo_json(versions)
        return
    for name, number in versions.items():
        echo(f"{name} {number}")


def version_of(distribution: str) -> str:
    """The installed version of ``distribution``, or ``unknown`` where its metadata is not there."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed(distribution)
    except PackageNotFoundError:
        return "unknown"
