"""``amplifier run``, ``continue`` and ``resume``: one prompt, or several on standard input, and the answers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from amplifier.cli.implicit_run import is_terminal
from amplifier.cli.invocation import Invocation, common_options
from amplifier.cli.run_options import RunOptions, run_options
from amplifier.problems import UsageProblem

if TYPE_CHECKING:
    from amplifier.cli.working import Find
    from amplifier.runtime.prompts import Prompt
    from amplifier.store import SessionStore

_MOST_STDIN_CHARS = 10_000_000


@click.command()
@click.argument("prompt", required=False)
@run_options
@click.option("-r", "--resume", metavar="SESSION", help="Go on with a session, by id, beginning of id, or name.")
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

        return talk(invocation, options, prompt, find)
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
@click.argument("session", required=False)
@click.argument("prompt", required=False)
@run_options
@click.option("--fork-session", is_flag=True, help="Go on in a copy, and leave the session as it is.")
@common_options
@click.pass_obj
def resume(invocation: Invocation, session: str | None, prompt: str | None, **given: Any) -> int:
    """Go on with a session by id, beginning of id, or name.

    On a terminal and without one, it is chosen from a list.
    """
    options = RunOptions.of(given)
    if session is not None:
        return _go_on(invocation, options, prompt, lambda: _store(invocation).find(session))
    if not _is_chat(options, None):
        raise UsageProblem("No session is named.", "amplifier session list shows them all.")
    from amplifier.cli.chat import chosen_session, talk

    return talk(invocation, options, None, lambda: chosen_session(invocation))


def _go_on(invocation: Invocation, options: RunOptions, prompt: str | None, find: Find) -> int:
    """One more turn; on a terminal and without a prompt, the chat."""
    if _is_chat(options, prompt):
        from amplifier.cli.chat import talk

        return talk(invocation, options, None, find)
    return _work(invocation, options, prompt, find)


def _is_chat(options: RunOptions, prompt: str | None) -> bool:
    return prompt is None and options.output_format is None and options.input_format == "text" and is_terminal()


def _store(invocation: Invocation) -> SessionStore:
    from amplifier.store import SessionStore

    return SessionStore(invocation.places)


def _work(invocation: Invocation, options: RunOptions, prompt: str | None, find: Find | None) -> int:
    from amplifier.cli.working import work

    if options.input_format == "stream-json":
        if prompt is not None or options.image:
            raise UsageProblem(
                "With --input-format stream-json, prompts come from standard input.",
                "Leave the prompt out." if prompt is not None else "Put the images into the prompts.",
            )
        return work(invocation, options, None, find)
    return work(invocation, options, _prompt(prompt, options.image, invocation.places.working_dir), find)


def _prompt(given: str | None, images: tuple[Path, ...], folder: Path) -> Prompt:
    """The prompt: what was given, what is piped in, or the one followed by the other; and images."""
    from amplifier.cli.output import warn
    from amplifier.runtime.images import require_image
    from amplifier.runtime.prompts import prompt_of

    piped = "" if given is not None and given != "-" and not _is_piped() else _read_stdin()
    text = given if given is not None and given != "-" else ""
    if not text.isascii() and any("\ud800" <= each <= "\udfff" for each in text):
        raise UsageProblem("The prompt is no UTF-8.", "Check the encoding of the terminal, or pipe it in as UTF-8.")
    if not text.strip() and not piped.strip():
        raise UsageProblem("There is no prompt.", 'Say what to do: amplifier run "…", or pipe it in.')
    shown = [require_image(path) for path in images]
    prompt = prompt_of(text or piped, folder, shown, own=text)
    for warning in prompt.warnings:
        warn(warning)
    return prompt.followed_by([f"<stdin>\n{piped.rstrip()}\n</stdin>"]) if text and piped.strip() else prompt


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
