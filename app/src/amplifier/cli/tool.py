"""``amplifier tool``: which tools an agent has, what they take, and calling one by hand."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from amplifier.cli.invocation import Invocation, common_options
from amplifier.cli.lazy_group import Entry, LazyGroup
from amplifier.cli.output import echo, echo_json, echo_table, printable, warn
from amplifier.cli.planning import bundle_option, json_option, planned, resolver_for
from amplifier.problems import UsageProblem

if TYPE_CHECKING:
    from amplifier.bundles.plan import MountPlan
    from amplifier.inspector.tool_call import Answer

_HERE = "amplifier.cli.tool"
_MODES = ("default", "plan", "accept-edits", "dont-ask", "bypass")


@click.group(
    cls=LazyGroup,
    sections={
        "Commands": {
            "list": Entry(f"{_HERE}:list_", "List the tools of a session."),
            "info": Entry(f"{_HERE}:info", "Show what a tool does and takes."),
            "invoke": Entry(f"{_HERE}:invoke", "Call a tool, as an agent would."),
        }
    },
)
def tool() -> None:
    """List tools, show what they take, and call one by hand."""


@click.command("list")
@bundle_option
@json_option
@common_options
@click.pass_obj
def list_(invocation: Invocation, bundle: str | None, as_json: bool) -> None:
    """List the tools that a session would have, with the module each comes from."""

    async def look(session: Any) -> list[dict[str, Any]]:
        origins = {name: each.module_id for each in session.report.mounted for name in each.names}
        tools = session.coordinator.get("tools")
        return [
            {"name": name, "module": origins.get(name), "description": tools[name].description}
            for name in sorted(tools)
        ]

    invocation.may_ask = True
    found = _in_session(invocation, planned(invocation, bundle), look)
    if as_json:
        echo_json(found)
        return
    rows = [(each["name"], each["module"] or "", _first_sentence(each["description"])) for each in found]
    echo_table(["NAME", "MODULE", "DESCRIPTION"], rows)


@click.command()
@click.argument("name")
@bundle_option
@json_option
@common_options
@click.pass_obj
def info(invocation: Invocation, name: str, bundle: str | None, as_json: bool) -> None:
    """Show what the tool NAME does, and the JSON Schema of what it takes."""
    invocation.may_ask = True
    spec = _in_session(invocation, planned(invocation, bundle), lambda session: _spec(session, name))
    if as_json:
        echo_json(spec)
        return
    echo(f"{spec['name']}\n\n{printable(spec['description'] or '')}\n")
    echo_json(spec["parameters"])


@click.command()
@click.argument("name")
@click.argument("words", metavar="[KEY=VALUE]...", nargs=-1)
@click.option("-i", "--input", "text", metavar="JSON|@FILE|-", help="The arguments as a JSON object.")
@click.option("--permission-mode", type=click.Choice(_MODES), help="How much is asked.")
@bundle_option
@json_option
@common_options
@click.pass_obj
def invoke(
    invocation: Invocation,
    name: str,
    words: tuple[str, ...],
    text: str | None,
    permission_mode: str | None,
    bundle: str | None,
    as_json: bool,
) -> int:
    """Call the tool NAME in a session of the active bundle.

    It is asked for and checked as if an agent called it: rules of permissions and all hooks count. What it gives back
    is printed; exit code 1 tells that it failed, or was not allowed.
    """
    from amplifier.inspector.arguments import arguments_of
    from amplifier.inspector.tool_call import invoke as call

    given = _given(text)

    async def called(session: Any) -> Answer:
        spec = await _spec(session, name)
        return await call(session, name, arguments_of(given, words, spec["parameters"]))

    invocation.may_ask = True
    plan = planned(invocation, bundle, **{"permissions.mode": permission_mode})
    answer: Answer = _in_session(invocation, plan, called)
    if as_json:
        echo_json(answer._asdict())
    else:
        _tell(answer)
    return 0 if answer.success else 1


def _tell(answer: Answer) -> None:
    from amplifier.console.plain import harmless

    # A failure without output has its reason for output.
    if answer.output not in (None, answer.error):
        text = answer.output if isinstance(answer.output, str) else json.dumps(answer.output, indent=2, default=str)
        echo(harmless(text))
    if not answer.success:
        echo(f"amplifier: the tool failed: {printable(answer.error or 'it does not say why')}", err=True)


async def _spec(session: Any, name: str) -> dict[str, Any]:
    from amplifier.inspector.tool_call import require_tool
    from amplifier_core.message_models import ToolSpec

    spec = ToolSpec.from_tool(require_tool(session, name))
    return {"name": spec.name, "description": spec.description, "parameters": spec.parameters}


def _in_session(invocation: Invocation, plan: MountPlan, work: Callable[[Any], Awaitable[Any]]) -> Any:
    """Runs ``work`` in a session that has no providers: no model is asked."""
    from amplifier.cli.logs import configure_logging
    from amplifier.console.approval import approval_system
    from amplifier.console.display import StderrDisplay
    from amplifier.inspector.opened import opened

    async def run() -> Any:
        display = StderrDisplay(is_quiet=True)
        surroundings = {
            "resolver": resolver_for(invocation, plan), "approval": approval_system(), "display": display
        }  # fmt: skip
        async with opened(plan, invocation.places.working_dir, without=("providers",), **surroundings) as session:
            # That a hook has nothing to do is no problem; that a tool is not there, or a guard has failed, is one.
            skipped = [each for each in session.report.skipped if each.kind == "tool"]
            for problem in (*session.report.failed, *skipped):
                warn(str(problem))
            return await work(session)

    configure_logging(is_verbose=False, is_debug=invocation.is_debug)
    return asyncio.run(run())


def _first_sentence(text: str) -> str:
    return text.partition("\n")[0].partition(". ")[0].removesuffix(".")


def _given(text: str | None) -> str | None:
    if text is None or not (text == "-" or text.startswith("@")):
        return text
    try:
        return sys.stdin.read() if text == "-" else Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(f"{text.removeprefix('@')} cannot be read: {error}.", "Give a UTF-8 file.") from None
