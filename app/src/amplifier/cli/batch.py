"""``amplifier batch``: many prompts from a file, some at a time, with results as JSON lines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from amplifier.cli.invocation import Invocation, common_options
from amplifier.cli.output import echo, echo_json, warn
from amplifier.cli.planning import resolver_for
from amplifier.problems import UsageProblem

if TYPE_CHECKING:
    from amplifier.batch.batch import Tally
    from amplifier.batch.items import Item
    from amplifier.batch.session_runner import SessionRunner
    from amplifier.runtime.outcome import TurnOutcome
    from amplifier.settings import Settings

_FLAGS = {
    "provider": "provider",
    "model": "model",
    "permission_mode": "permissions.mode",
    "max_turns": "limits.max_turns",
    "max_budget_usd": "limits.max_budget_usd",
    "timeout": "limits.timeout",
}
_MODES = ("default", "plan", "accept-edits", "dont-ask", "bypass")
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("file", type=_FILE)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="[default: FILE.results.jsonl]")
@click.option(
    "-j", "--concurrency", type=click.IntRange(1, 1000), default=4, show_default=True, help="How many at a time."
)
@click.option("-B", "--bundle", metavar="REF", help="The bundle, by name or path.")
@click.option("--provider", metavar="NAME", help="The provider to ask.")
@click.option("-m", "--model", metavar="MODEL", help="The model to ask; provider/model names both.")
@click.option("--permission-mode", type=click.Choice(_MODES), help="How much is allowed.")
@click.option("--max-turns", type=click.IntRange(1), metavar="N", help="The most calls of the model, per item.")
@click.option("--max-budget-usd", type=click.FloatRange(0), metavar="USD", help="The most money, per item.")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), metavar="S", help="The most seconds, per item.")
@click.option("--keep-sessions", is_flag=True, help="Store the sessions, as run does.")
@click.option("--retry-failed", is_flag=True, help="Run items again whose result is an error.")
@click.option("--skip-invalid", is_flag=True, help="Leave out lines that are no items.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@common_options
@click.pass_obj
def batch(invocation: Invocation, file: Path, **given: Any) -> int:
    """Run each line of FILE as a session of its own, and write the results as JSON lines.

    A line is {"prompt": "…"}, with any of id, bundle, provider, model, system_prompt, max_turns, max_budget_usd,
    timeout and metadata. Called again, it goes on where it was ended: what has a result is not run again. Exit code 1
    tells that items failed.
    """
    from amplifier.batch.batch import Batch
    from amplifier.batch.items import read_items, require_items, survey
    from amplifier.batch.progress import progress
    from amplifier.batch.results import Results
    from amplifier.batch.signalled import run_signalled

    output: Path = given["output"] or file.with_name(f"{file.stem}.results.jsonl")
    _reject_same_file(file, output)
    found = survey(file)
    require_items(file, found, skips_bad=given["skip_invalid"])
    for bad in found.bad:
        warn(f"{file}: {bad}")
    runner = _runner(invocation, given)
    with Results.opened(output) as results, progress(found.total, is_quiet=given["quiet"]) as shown:

        def on_done(_: Item, __: TurnOutcome | None) -> None:
            shown.advance(work.tally.failed)

        work = Batch(
            runner,
            results,
            concurrency=min(given["concurrency"], found.total),
            retries_failed=given["retry_failed"],
            on_done=on_done,
        )
        code = run_signalled(work, read_items(file), lambda text: echo(f"amplifier: {text}", err=True))
    return _conclude(work.tally, found.total, output, code, as_json=given["as_json"])


def _reject_same_file(file: Path, output: Path) -> None:
    if output.resolve() == file.resolve():
        raise UsageProblem("The results cannot go into the file with the prompts.", "Choose another one with -o.")


def _runner(invocation: Invocation, given: Mapping[str, Any]) -> SessionRunner:
    from amplifier.batch.session_runner import SessionRunner
    from amplifier.cli.logs import configure_logging
    from amplifier.settings import Settings, flags_from, load_keys
    from amplifier.settings.trust import FolderTrust
    from amplifier.store import SessionStore

    places = invocation.places
    invocation.flags |= {key: given[name] for name, key in _FLAGS.items() if given[name] is not None}
    own = {**flags_from(invocation.assignments), **invocation.flags}

    def load(more: Mapping[str, Any]) -> Settings:
        trust = FolderTrust(places, is_granted=invocation.is_trusting)
        texts, is_strict = invocation.settings_texts, invocation.is_strict
        return Settings.load(places, {**own, **more}, os.environ, strict=is_strict, texts=texts, admit=trust.admit)

    # What is wrong for all items, and whether the folder is trusted, is told and asked once, before anything runs.
    invocation.may_ask = True
    active = invocation.settings.get("bundle.active")
    configure_logging(is_verbose=False, is_debug=invocation.is_debug)
    load_keys(places).export_to(os.environ)
    store = SessionStore(places) if given["keep_sessions"] else None
    runner = SessionRunner(
        places,
        load,
        given["bundle"] or active,
        fetch=invocation.fetch,
        resolve=lambda plan: resolver_for(invocation, plan),
        store=store,
        warn=warn,
    )
    runner.check()
    return runner


def _conclude(tally: Tally, total: int, output: Path, code: int | None, *, as_json: bool) -> int:
    left = total - tally.succeeded - tally.failed - tally.skipped
    if as_json:
        counts = {"succeeded": tally.succeeded, "failed": tally.failed, "finished_before": tally.skipped, "left": left}
        echo_json({**counts, "results": str(output)})
    else:
        before = f", {tally.skipped} finished before" if tally.skipped else ""
        rest = f", {left} left" if left else ""
        echo(f"{tally.succeeded} succeeded, {tally.failed} failed{before}{rest}: {output}")
    if code is not None:
        return code
    return 1 if tally.failed else 0
