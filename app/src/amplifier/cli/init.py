"""``amplifier init``: the first run; finds out which model can be asked, and writes that down."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from amplifier.cli.invocation import Invocation, common_options
from amplifier.cli.output import echo, warn
from amplifier.cli.planning import scope_option
from amplifier.problems import ProviderProblem, UsageProblem

if TYPE_CHECKING:
    from amplifier.inspector.first_run import Choice


@click.command()
@click.option("--provider", "wanted", metavar="NAME", help="The provider to ask.")
@click.option("-m", "--model", metavar="MODEL", help="The model to ask; without it the provider's own choice.")
@click.option("-y", "--yes", is_flag=True, help="Ask nothing; take the first that works.")
@scope_option
@common_options
@click.pass_obj
def init(invocation: Invocation, wanted: str | None, model: str | None, yes: bool, scope: str) -> None:
    """Find out which model can be asked, and make it the one of new sessions.

    Looks for keys in the environment and among those that are kept, for Ollama (OLLAMA_HOST, else on this machine) and
    for the embedded model. Asks only if there is more than one way.
    """
    from amplifier.inspector.first_run import choices, choose, missing_key, require_choice
    from amplifier.settings import load_keys

    kept = load_keys(invocation.places)
    found = choices(os.environ, kept)
    for each in found:
        echo(f"found {each.name}: {each.why}", err=True)
    chosen = require_choice(wanted, found) if wanted else _chosen(found, yes)
    file = choose(invocation.places, scope, chosen, model)
    echo(f"New sessions ask {chosen.name}{' for ' + model if model else ''} ({file})")
    if missing := missing_key(chosen, os.environ, kept):
        warn(missing)
    if chosen.name == "local":
        echo("The bundle made for the small model: amplifier bundle use offline")
    echo('To begin: amplifier run "What is in this directory?"')


def _chosen(found: list[Choice], is_sure: bool) -> Choice:
    if not found:
        raise ProviderProblem(
            "No model can be asked: no key is set, Ollama does not answer, and the embedded model is not installed.",
            'Set a key (amplifier config set-key ANTHROPIC_API_KEY), or: pip install "amplifier-modules[local]"',
        )
    if len(found) == 1 or is_sure:
        return found[0]
    if not sys.stdin.isatty():
        names = ", ".join(each.name for each in found)
        raise UsageProblem(
            f"There is more than one way: {names}.", "Say which with --provider, or take the first: --yes"
        )
    names = [each.name for each in found]
    answer = click.prompt("Which one", type=click.Choice(names), default=names[0], err=True)
    return found[names.index(answer)]
