"""The top level of the command: its options, the table of commands, and how each way out is told and numbered."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from typing import Any

import click
from click.exceptions import NoArgsIsHelpError

from amplifier import __version__
from amplifier.cli.implicit_run import PRINT_FLAGS, is_terminal, with_command
from amplifier.cli.invocation import Invocation, common_options
from amplifier.cli.lazy_group import Entry, LazyGroup
from amplifier.cli.output import echo, printable, tell
from amplifier.problems import Problem, StorageProblem, UsageProblem

SECTIONS: dict[str, dict[str, Entry]] = {
    "Work": {
        "chat": Entry("amplifier.cli.chat:chat", "Talk with the agent in the terminal."),
        "run": Entry("amplifier.cli.run:run", "Give the agent one prompt and print its answer."),
        "continue": Entry("amplifier.cli.run:continue_", "Go on with the latest session of this directory."),
        "resume": Entry("amplifier.cli.run:resume", "Go on with a session by id, beginning of id, or name."),
        "batch": Entry("amplifier.cli.batch:batch", "Run each line of a file as a session of its own."),
    },
    "Look and manage": {
        "session": Entry("amplifier.cli.session:session", "List, show, search, fork, export and delete sessions."),
        "bundle": Entry("amplifier.cli.bundle:bundle", "List, show, check and choose bundles."),
        "plan": Entry("amplifier.cli.plan:plan", "Show what a session is made of, and why."),
        "module": Entry("amplifier.cli.module:module", "List, show, check, begin, add and remove modules."),
        "tool": Entry("amplifier.cli.tool:tool", "List tools, show what they take, and call one by hand."),
        "provider": Entry("amplifier.cli.provider:provider", "List, test and choose the providers of models."),
        "agents": Entry("amplifier.cli.agents:agents", "List and show the agents that a session may hand work to."),
        "events": Entry("amplifier.cli.events:events", "List the events of sessions, and what they tell."),
        "source": Entry("amplifier.cli.source:source", "See and say where modules and bundles come from."),
        "lock": Entry("amplifier.cli.lock:lock", "Write down what every source is, to the byte."),
        "trust": Entry("amplifier.cli.trust:trust", "Let the settings of this folder count, or no more."),
        "config": Entry("amplifier.cli.config:config", "Read and change settings, and see where they come from."),
        "init": Entry("amplifier.cli.init:init", "Find out which model can be asked, and choose it."),
        "doctor": Entry("amplifier.cli.doctor:doctor", "Look for what is in the way, and say how to mend it."),
        "completion": Entry("amplifier.cli.completion:completion", "Print the completion script of a shell."),
        "version": Entry("amplifier.cli.version:version", "Show versions."),
    },
}

COMMANDS_ELSEWHERE = frozenset(
    [
        "agents",
        "allowed-dirs",
        "auth",
        "batch",
        "completion",
        "denied-dirs",
        "doctor",
        "events",
        "exec",
        "init",
        "lock",
        "login",
        "logout",
        "mcp",
        "models",
        "module",
        "notify",
        "provider",
        "reset",
        "routing",
        "serve",
        "source",
        "stats",
        "tool",
        "update",
        "upgrade",
    ]
)
"""Words that are commands of other versions and of programs of this kind."""

_COMPLETION = "_AMPLIFIER_COMPLETE"
"""The variable with which the completion of a shell asks; click answers, and ends the process."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_EPILOG = (
    'amplifier and amplifier "PROMPT" on a terminal are short for amplifier chat; '
    'amplifier -p "PROMPT", and without a terminal, for amplifier run.'
)


class TopLevel(LazyGroup):
    """The group that takes a prompt where a command could stand."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Puts in the command that was left out, then parses as usual."""
        if args[:1] == ["help"] and all(word in self.entries for word in args[1:2]):
            args = [*args[1:], "--help"]
        options = [parameter for parameter in self.get_params(ctx) if isinstance(parameter, click.Option)]
        flags = [name for option in options if option.is_flag for name in option.opts if name not in PRINT_FLAGS]
        valued = [name for option in options if not option.is_flag for name in option.opts]
        whole = with_command(args, self.entries, flags, valued, self._is_prompt, can_talk=is_terminal())
        return super().parse_args(ctx, whole)

    def _is_prompt(self, word: str) -> bool:
        # What was meant as a command must not be sent to a model.
        nearest = None if " " in word else self.nearest(word)
        if nearest is None and word not in COMMANDS_ELSEWHERE:
            return True
        meant = f"; did you mean '{nearest}'?" if nearest else "."
        raise UsageProblem(f"There is no command '{word}'{meant}", f'For a prompt: amplifier run "{word}"')


def _show_version(ctx: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    if is_wanted:
        # Looking into the installed metadata takes longer than the rest of the start.
        echo(f"amplifier {__version__}")
        ctx.exit()


@click.group(
    cls=TopLevel,
    sections=SECTIONS,
    invoke_without_command=True,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("-p", "--print", is_flag=True, expose_value=False, help="Print the answer to a prompt and exit.")
@common_options
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show the version."
)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Run AI agents from the command line."""
    if ctx.invoked_subcommand is None:
        echo(ctx.get_help())
        echo('\nTo begin: amplifier run "What is in this directory?"')


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command with ``argv`` (the process's own arguments by default) and returns the exit code."""
    _print_whatever_characters()
    invocation = Invocation()
    try:
        code = _called(argv, invocation)
        _flush()
    except Exception as error:
        code = _way_out(error, invocation)
        _let_go_of_output()
    return code


def _called(argv: Sequence[str] | None, invocation: Invocation) -> int:
    args = sys.argv[1:] if argv is None else list(argv)
    if _COMPLETION in os.environ:
        cli.main(args, prog_name="amplifier")
    try:
        with cli.make_context("amplifier", args, obj=invocation) as ctx:
            result = cli.invoke(ctx)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except (EOFError, KeyboardInterrupt):
        echo(err=True)
        raise click.Abort from None
    return result if isinstance(result, int) else 0


def _print_whatever_characters() -> None:
    # A terminal that cannot show a character must not end the work.
    reconfigure: Any = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _flush() -> None:
    # A process that was started without standard output has none.
    flush: Any = getattr(sys.stdout, "flush", None)
    if flush is not None:
        flush()


def _let_go_of_output() -> None:
    """Makes sure that what could not be printed is not tried again when the process ends."""
    try:
        _flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _way_out(error: Exception, invocation: Invocation) -> int:
    """Tells ``error`` as its kind wants to be told, and gives the exit code."""
    if isinstance(error, click.Abort):
        echo("amplifier: interrupted", err=True)
        return 130
    if isinstance(error, BrokenPipeError):
        return 141
    if isinstance(error, NoArgsIsHelpError):
        echo(error.format_message(), err=True)
        return error.exit_code
    if invocation.is_debug:
        import traceback

        echo(printable("".join(traceback.format_exception(error))), err=True)
    problem = _as_problem(error)
    tell(problem)
    return problem.exit_code


def _as_problem(error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, click.ClickException):
        return _usage_problem(error)
    if isinstance(error, OSError) and error.errno in _FULL:
        return StorageProblem(f"The output or a file cannot be written: {error}.", "Make room, and call it again.")
    return Problem(
        f"An error inside the command: {type(error).__name__}: {error}",
        "Call it with --debug to see where, and report it.",
        exit_code=70,
    )


def _usage_problem(error: click.ClickException) -> UsageProblem:
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    path = ctx.command_path if ctx else "amplifier"
    return UsageProblem(error.format_message(), f"{path} --help tells what there is.", exit_code=error.exit_code)
