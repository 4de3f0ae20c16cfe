"""``amplifier doctor``: looks at everything that could be in the way, and says how to mend it."""

from __future__ import annotations

import os

import click

from amplifier.cli.invocation import Invocation, common_options
from amplifier.cli.output import echo, echo_json, plain
from amplifier.cli.planning import json_option

_MARKS = {"ok": ("✓", "green"), "note": ("!", "yellow"), "broken": ("✗", "red")}


@click.command()
@click.option("--online", "is_online", is_flag=True, help="Also try to reach the services.")
@json_option
@common_options
@click.pass_obj
def doctor(invocation: Invocation, is_online: bool, as_json: bool) -> int:
    """Look for what is in the way, and say how to mend it.

    Looks at Python, extras, programs, the sandbox, the home, the disk, settings, keys (by name only), the bundle,
    stored sessions and their index. Exit code 1 tells that something is broken.
    """
    from amplifier.inspector.doctor import diagnose

    found = list(diagnose(invocation.places, os.environ, is_online=is_online))
    broken = sum(each.state == "broken" for each in found)
    if as_json:
        echo_json({"healthy": not broken, "findings": [each._asdict() for each in found]})
        return 1 if broken else 0
    for each in found:
        mark, color = _MARKS[each.state]
        echo(f"{click.style(mark, fg=color)} {each.name + ':':10}{plain(each.message)}")
        if each.fix:
            echo(f"  {'':10}→ {plain(each.fix)}")
    echo("All is well." if not broken else f"{broken} broken.")
    return 1 if broken else 0
