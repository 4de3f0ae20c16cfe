"""``amplifier run``, ``continue`` and ``resume``: one prompt, or several on standard input, and the answers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from amplifier.cli.implicit_run import is_terminal
from amplifier.cli.invocation import Invocation, common_options
from amplifier.cli.run_options import RunOptions, run_options
from amplifier.problems import UsageProblem

if TYPE_CHECKING:
    from amplifier.cli.working import Find
    from amplifier.store import SessionStore

_MOST_STDIN_CHARS = 10_000_000


@click.command()
@click.argument("prompt", required=False)
@run_options
@click.option("--resume", metavar="SESSION", help="Go on with a session, by id, beginning of id, or name.")
@click.option("--fork-session", is_flag=True, help="With --resume: go on in a copy, and leave the session as it is.")
@click.option("--mode", type=click.Choice(["single", "chat"]), default="single", hidden=True)
@common_options
@click.pass_obj
def run(invocation: Invocation, prompt: str | None, mode: str, **given: Any) -> int:
    """Give the agent one prompt and print its answer.

    Standard input is the prompt, or is added to it. Data go to standard output, everything else to standard error.
    """
    options = RunOptions.of(given)
    if options.fork_session and options.resume is None:
        raise UsageProblem("--fork-session needs a session to begin with.", "Name it with --resume.")
    wanted = options.resume
    find = None if wanted is None else lambda: _store(invocation).find(wanted)
    if mode == "chat":
        from amplifier.cli.chat import talk

        return talk(invocation, options, prompt, None if find is None else find())
    return _work(invocation, options, prompt, find)


@click.command("continue")
@click.argument("prompt", required=False)
@run_options
@click.option("--fork-session", is_flag=True, help="Go on in a copy, and leave the session as it is.")
@common_options
@click.pass_obj
def continue_(invocation: Invocation, prompt: str | None, **given: Any) -> int:
    """Go on with the latest session of this directory."""
    working_dir = invocation.places.working_dir
    return _go_on(invocation, RunOptions.of(given), prompt, lambda: _store(invocation).latest(working_dir))


@click.command()
@click.argument("session")
@click.argument("prompt", required=False)
@run_options
@click.option("--fork-session", is_flag=True, help="Go on in a copy, and leave the session as it is.")
@common_options
@click.pass_obj
def resume(invocation: Invocation, session: str, prompt: str | None, **given: Any) -> int:
    """Go on with a session by id, beginning of id, or name."""
    return _go_on(invocation, RunOptions.of(given), prompt, lambda: _store(invocation).find(session))


def _go_on(invocation: Invocation, options: RunOptions, prompt: str | None, find: Find) -> int:
    """One more turn; on a terminal and without a prompt, the chat."""
    if prompt is None and options.output_format is None and options.input_format == "text" and is_terminal():
        from amplifier.cli.chat import talk

        return talk(invocation, options, None, find())
    return _work(invocation, options, prompt, find)


def _store(invocation: Invocation) -> SessionStore:
    from amplifier.store import SessionStore

    return SessionStore(invocation.places)


def _work(invocation: Invocation, options: RunOptions, prompt: str | None, find: Find | None) -> int:
    from amplifier.cli.working import work

    if options.input_format == "stream-json":
        if prompt is not None:
            raise UsageProblem(
                "With --input-format stream-json, prompts come from standard input.", "Leave the prompt out."
            )
        return work(invocation, options, None, find)
    return work(invocation, options, _prompt(prompt), find)


def _prompt(given: str | None) -> str:
    """The prompt: what was given, what is piped in, or the one followed by the other."""
    piped = "" if given is not None and given != "-" and not _is_piped() else _read_stdin()
    text = given if given is not None and given != "-" else ""
    whole = f"{text}\n\n<stdin>\n{piped.rstrip()}\n</stdin>" if text and piped.strip() else text or piped
    if not whole.isascii() and any("\ud800" <= each <= "\udfff" for each in whole):
        raise UsageProblem("The prompt is no UTF-8.", "Check the encoding of the terminal, or pipe it in as UTF-8.")
    if not whole.strip():
        raise UsageProblem("There is no prompt.", 'Say what to do: amplifier run "…", or pipe it in.')
    return whole


def _is_piped() -> bool:
    """Whether standard input has been given on purpose; one that merely is no terminal may never end."""
    import os
    import stat

    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _read_stdin() -> str:
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    data = sys.stdin.buffer.read(_MOST_STDIN_CHARS + 1)
    if len(data) > _MOST_STDIN_CHARS:
        raise UsageProblem(
            f"Standard input has more than {_MOST_STDIN_CHARS:,} bytes.", "Put it into a file, and name the file."
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageProblem(
            f"Standard input is no UTF-8: byte {error.start} is 0x{data[error.start]:02X}.", "Convert it to UTF-8."
        ) from None
