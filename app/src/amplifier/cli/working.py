"""A run from its options to its exit code: plan, stored session, runtime, printer, and one turn or several."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from amplifier.bundles.active import active_bundle
from amplifier.bundles.plan import MountPlan, make_plan
from amplifier.cli.invocation import Invocation
from amplifier.cli.logs import configure_logging
from amplifier.cli.output import tell, warn
from amplifier.cli.planning import resolver_for
from amplifier.cli.run_options import RunOptions
from amplifier.console.approval import TerminalApproval, approval_system
from amplifier.console.display import StderrDisplay
from amplifier.console.formats import OutputFormat
from amplifier.console.lines import lines_from
from amplifier.console.plain import one_line
from amplifier.console.printers import Printer, printer_for
from amplifier.console.prompt_lines import prompt_in
from amplifier.problems import Problem, StorageProblem, UsageProblem
from amplifier.runtime.child_events import unwrapped
from amplifier.runtime.outcome import TurnOutcome
from amplifier.runtime.prompts import Prompt
from amplifier.runtime.runtime import Runtime, Setting
from amplifier.settings import add_value, load_keys
from amplifier.store import SessionStore, StoredSession

Find = Callable[[], StoredSession]
_KEPT_OVERRIDES = ("instruction", "append_instruction", "session")
_REMEMBERED = ("provider", "model")


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that one call of the command is about."""

    invocation: Invocation
    options: RunOptions
    plan: MountPlan
    setting: Setting
    printer: Printer


def work(invocation: Invocation, options: RunOptions, prompt: Prompt | None, find: Find | None) -> int:
    """Runs the agent and gives the exit code; ``find`` finds the session that is to go on.

    Without a prompt, prompts come from standard input as JSON lines.
    """
    configure_logging(is_verbose=options.verbose, is_debug=invocation.is_debug)
    try:
        job = prepared(invocation, options, None if find is None else find())
        return asyncio.run(_worked(job, prompt))
    except KeyboardInterrupt:
        return 130
    except Problem as problem:
        # Programs that read JSON get the problem in the form they read, too.
        if (kind := _format(invocation, options)) != "text":
            _printer(kind, options).end(TurnOutcome("", "", "error", problem.kind, problem))
        raise


def prepared(invocation: Invocation, options: RunOptions, resumed: StoredSession | None) -> Job:
    """What a run needs, for a session that goes on in its own directory and with what it was begun with."""
    if resumed is not None:
        _return_to(resumed, invocation)
    invocation.flags |= _remembered_flags(resumed) | options.flags()
    invocation.may_ask = True
    return _job(invocation, options, resumed, _printer(_format(invocation, options), options))


def _format(invocation: Invocation, options: RunOptions) -> OutputFormat:
    return options.output_format or invocation.settings.get("output.format", "text")


def _printer(kind: OutputFormat, options: RunOptions) -> Printer:
    return printer_for(kind, is_verbose=options.verbose, has_partials=options.include_partial_messages)


def _job(invocation: Invocation, options: RunOptions, resumed: StoredSession | None, printer: Printer) -> Job:
    settings, places = invocation.settings, invocation.places
    about = None if resumed is None else resumed.metadata()
    load_keys(places).export_to(os.environ)
    overrides = {**((about.overrides or {}) if about else {}), **options.overrides()}
    ref = options.bundle or (about.bundle if about else None)
    bundle = active_bundle(settings, places, ref, fetch=invocation.fetch)
    plan = make_plan(bundle, settings, places, overrides=overrides)
    for warning in plan.warnings:
        warn(warning)
    display = StderrDisplay(is_quiet=not options.verbose)
    store = SessionStore(places)
    is_kept = not options.ephemeral and settings.get("session.persist", True)
    remembered = {key: value for key in _REMEMBERED if (value := settings.get(key)) is not None}
    stored = _stored(store, options, plan, overrides, remembered, resumed) if is_kept else None
    timeout = settings.get("limits.timeout")
    setting = Setting(
        working_dir=places.working_dir,
        store=store,
        stored=stored,
        is_resumed=resumed is not None,
        timeout_s=None if timeout is None else float(timeout),
        approval=approval_system(),
        display=display,
        save_rule=_rule_saver(invocation),
        tell=display.tell,
        resolver=resolver_for(invocation, plan),
    )
    return Job(invocation, options, plan, setting, printer)


def _stored(
    store: SessionStore,
    options: RunOptions,
    plan: MountPlan,
    overrides: dict[str, Any],
    remembered: dict[str, Any],
    resumed: StoredSession | None,
) -> StoredSession:
    if resumed is not None and not options.fork_session:
        if options.session_id is not None:
            raise UsageProblem("A session that goes on keeps its id.", "Leave --session-id out, or add --fork-session.")
        return resumed
    if resumed is not None:
        return store.fork(resumed, session_id=options.session_id)
    kept = {key: overrides[key] for key in _KEPT_OVERRIDES if key in overrides}
    extra = {"flags": remembered} if remembered else {}
    try:
        return store.create(options.session_id, name=options.name, bundle=plan.ref, overrides=kept or None, extra=extra)
    except StorageProblem as problem:
        raise StorageProblem(problem.message, f"{problem.hint} To keep nothing: --ephemeral") from None


def _return_to(resumed: StoredSession, invocation: Invocation) -> None:
    """Works in the directory in which the session was begun, if that is still there."""
    begun_in = resumed.metadata().working_dir
    if begun_in is None or Path(begun_in) == invocation.places.working_dir:
        return
    if Path(begun_in).is_dir():
        invocation.work_in(Path(begun_in))
        warn(f"the session goes on in its own directory, {begun_in}")
    else:
        warn(f"the directory of the session, {begun_in}, is gone; it goes on in {invocation.places.working_dir}")


def _remembered_flags(resumed: StoredSession | None) -> dict[str, Any]:
    """The provider and the model that a session was begun with, whatever settings say by now."""
    flags: Any = resumed.metadata().extra.get("flags") if resumed is not None else None
    known = cast("dict[str, Any]", flags) if isinstance(flags, dict) else {}
    return {key: known[key] for key in _REMEMBERED if isinstance(known.get(key), str)}


def _rule_saver(invocation: Invocation) -> Callable[[str], None]:
    def save(rule: str) -> None:
        add_value(invocation.places, "local", "permissions.allow", rule)

    return save


async def _worked(job: Job, prompt: Prompt | None) -> int:
    schema = job.options.schema()
    turn_options = {} if schema is None else {"output_schema": schema}
    async with Runtime(job.plan, job.setting) as runtime:
        for warning in runtime.warnings:
            warn(warning)
        if isinstance(job.setting.approval, TerminalApproval):
            job.setting.approval.attend(runtime.session.coordinator)
        _begin(job, runtime)
        code = 0
        async for said in _prompts(prompt):
            outcome = await runtime.run_turn(said, **turn_options)
            _conclude(job, outcome)
            code = outcome.exit_code
            if outcome.status == "cancelled":
                break
        return code


def _begin(job: Job, runtime: Runtime) -> None:
    provider = min(runtime.session.coordinator.get("providers").items(), key=lambda each: _priority(each[1]))
    defaults = cast("dict[str, Any]", provider[1].get_info().defaults or {})
    model = defaults.get("model")
    job.printer.begin(runtime.session.session_id, model, provider[0], runtime.tool_names, str(job.setting.working_dir))

    async def tap(event: str, data: dict[str, Any]) -> None:
        try:
            job.printer.event(*unwrapped(event, data))
        except OSError as error:
            runtime.give_up(error)

    runtime.session.coordinator.hooks.tap(tap)


def _priority(provider: Any) -> float:
    priority = getattr(provider, "priority", 100)
    return priority if isinstance(priority, int | float) else 100


async def _prompts(prompt: Prompt | None) -> AsyncIterator[Prompt]:
    if prompt is not None:
        yield prompt
        return
    number = 0
    async for line in lines_from(sys.stdin.fileno()):
        number += 1
        if line.strip():
            yield prompt_in(line, number)


def _conclude(job: Job, outcome: TurnOutcome) -> None:
    job.printer.end(outcome)
    for denial in outcome.denials:
        warn(f"'{one_line(denial.tool_name, 80)}' was not allowed: {one_line(denial.reason, 400)}")
    if outcome.problem is not None:
        tell(outcome.problem)
    elif outcome.status == "incomplete":
        warn(f"the work is not finished ({outcome.reason})")
    target = job.options.output_last_message
    if target is not None:
        try:
            target.write_text(outcome.text + "\n", encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise UsageProblem(f"{target} cannot be written: {error.strerror}.", "Choose another file.") from None
