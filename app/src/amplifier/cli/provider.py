"""``amplifier provider``: which models can be asked, whether they answer, and which is asked first."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any

import click

from amplifier.cli.invocation import Invocation, common_options
from amplifier.cli.lazy_group import Entry, LazyGroup
from amplifier.cli.output import echo, echo_json, echo_table, plain, warn
from amplifier.cli.planning import bundle_option, json_option, planned, resolver_for, scope_option
from amplifier.problems import ProviderProblem

_HERE = "amplifier.cli.provider"
_PROMPT = "Answer with the single word OK."


@click.group(
    cls=LazyGroup,
    sections={
        "Commands": {
            "list": Entry(f"{_HERE}:list_", "List providers: used, and installed."),
            "models": Entry(f"{_HERE}:models", "List the models of a provider."),
            "test": Entry(f"{_HERE}:test", "Ask a provider one short question."),
            "use": Entry(f"{_HERE}:use", "Choose the provider and the model of new sessions."),
        }
    },
)
def provider() -> None:
    """List, test and choose the providers of models."""


@click.command("list")
@bundle_option
@json_option
@common_options
@click.pass_obj
def list_(invocation: Invocation, bundle: str | None, as_json: bool) -> None:
    """List the providers of a session, the one that is asked first in front, then those that are only installed."""
    from amplifier.inspector.installed_modules import installed_modules
    from amplifier.inspector.provider_list import listed_providers

    installed = [each.id for each in installed_modules(os.environ) if each.kind == "provider"]
    found = listed_providers(planned(invocation, bundle), installed)
    if as_json:
        echo_json([each._asdict() for each in found])
        return
    rows = [("*" if each.is_used else "", each.name, each.model or "", each.why) for each in found]
    echo_table(["", "NAME", "MODEL", "WHY, OR HOW"], rows)


@click.command()
@click.argument("name", required=False)
@bundle_option
@json_option
@common_options
@click.pass_obj
def models(invocation: Invocation, name: str | None, bundle: str | None, as_json: bool) -> None:
    """List the models of the provider NAME; without it, of the one that is asked first."""

    async def ask(_: str, provider: Any) -> list[Any]:
        try:
            return list(await provider.list_models())
        except Exception as error:
            raise ProviderProblem(
                f"The models cannot be listed: {type(error).__name__}: {error}", "amplifier doctor --online"
            ) from None

    found = _with_provider(invocation, name, bundle, ask)
    if as_json:
        echo_json([each.model_dump(mode="json") for each in found])
        return
    rows = [(each.id, f"{each.context_window:,}", f"{each.max_output_tokens:,}", each.display_name) for each in found]
    echo_table(["MODEL", "WINDOW", "MOST OUTPUT", "NAME"], rows)


@click.command()
@click.argument("name", required=False)
@click.option("-m", "--model", metavar="MODEL", help="The model to ask.")
@click.option("--prompt", default=_PROMPT, show_default=True, help="What to ask.")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), default=60, metavar="S", help="The most seconds.")
@bundle_option
@json_option
@common_options
@click.pass_obj
def test(
    invocation: Invocation,
    name: str | None,
    model: str | None,
    prompt: str,
    timeout: float,
    bundle: str | None,
    as_json: bool,
) -> None:
    """Ask the provider NAME one short question; without a name, the one that is asked first.

    This may cost a fraction of a cent. Exit code 69 tells that there is no answer.
    """
    from amplifier.inspector.provider_try import Trial, try_provider

    async def ask(mounted: str, provider: Any) -> Trial:
        return await try_provider(mounted, provider, prompt, model, timeout)

    trial: Trial = _with_provider(invocation, name, bundle, ask)
    if as_json:
        echo_json(trial._asdict())
        return
    echo(f"{trial.provider} answers: {plain(trial.text)}")
    tokens = f"{trial.input_tokens} tokens in, {trial.output_tokens} out"
    echo(f"model {trial.model or 'unknown'}, {trial.duration_ms:g} ms, {tokens}", err=True)


@click.command()
@click.argument("name", metavar="NAME[/MODEL]")
@click.option("-m", "--model", metavar="MODEL", help="The model to ask.")
@scope_option
@common_options
@click.pass_obj
def use(invocation: Invocation, name: str, model: str | None, scope: str) -> None:
    """Ask the provider NAME first in new sessions, with a model of its own choice or MODEL."""
    from amplifier.inspector.first_run import Choice, choose, missing_key, require_choice
    from amplifier.inspector.installed_modules import installed_modules
    from amplifier.settings import load_keys

    head, _, tail = name.partition("/")
    installed = [Choice(each.id, "installed") for each in installed_modules(os.environ) if each.kind == "provider"]
    chosen, wanted = require_choice(head, installed), model or tail or None
    file = choose(invocation.places, scope, chosen, wanted)
    echo(f"New sessions ask {chosen.name}{' for ' + wanted if wanted else ''} ({file})")
    if missing := missing_key(chosen, os.environ, load_keys(invocation.places)):
        warn(missing)


def _with_provider(
    invocation: Invocation, name: str | None, bundle: str | None, work: Callable[[str, Any], Awaitable[Any]]
) -> Any:
    """Runs ``work`` on a provider of a session without tools and hooks."""
    from amplifier.cli.logs import configure_logging
    from amplifier.inspector.opened import opened
    from amplifier.inspector.provider_list import require_provider

    invocation.may_ask = True
    plan = planned(invocation, bundle, provider=name)
    configure_logging(is_verbose=False, is_debug=invocation.is_debug)

    async def run() -> Any:
        resolver, where = resolver_for(invocation, plan), invocation.places.working_dir
        async with opened(plan, where, without=("tools", "hooks"), resolver=resolver) as session:
            return await work(*require_provider(session, name))

    return asyncio.run(run())
