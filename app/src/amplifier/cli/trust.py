"""``amplifier trust``: says that the settings of this folder may count, or no more, and lists the folders."""

from __future__ import annotations

import click

from amplifier.cli.invocation import Invocation, common_options
from amplifier.cli.output import echo, echo_json, echo_table, plain
from amplifier.problems import UsageProblem


@click.command()
@click.option("--revoke", is_flag=True, help="Forget that this folder is trusted.")
@click.option("--list", "lists", is_flag=True, help="List the folders that there is an answer for.")
@click.option("--json", "as_json", is_flag=True, help="With --list: print JSON.")
@common_options
@click.pass_obj
def trust(invocation: Invocation, revoke: bool, lists: bool, as_json: bool) -> None:
    """Trust this folder: let its settings, hooks and servers count.

    Settings that came with a folder can run programs, so they count only when you have said so. Trust holds until one
    of the files is changed by somebody else. --trust, with any command, trusts for that call alone.
    """
    from amplifier.settings.trust import forget, remember, trusted_folders, wishes

    places = invocation.places
    if revoke and lists:
        raise UsageProblem("--revoke and --list are two commands.", "Leave one of them out.")
    if lists:
        known = trusted_folders(places)
        if as_json:
            echo_json([{"folder": folder, "trusted": answer} for folder, answer in known.items()])
        else:
            echo_table(["FOLDER", "TRUSTED"], [(folder, "yes" if answer else "no") for folder, answer in known.items()])
    elif revoke:
        told = "is not trusted any more" if forget(places) else "was not known"
        echo(f"{places.project_dir} {told}", err=True)
    else:
        for each in wishes(places):
            echo(plain(str(each)))
        file = remember(places, is_trusted=True)
        echo(f"{places.project_dir} is trusted ({file})", err=True)
