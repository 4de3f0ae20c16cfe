"""``amplifier`` on a terminal: the chat, from its options to its exit code."""

from __future__ import annotations

import asyncio
import copy
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from amplifier.cli.implicit_run import is_terminal
from amplifier.cli.invocation import Invocation, common_options
from amplifier.cli.run_options import RunOptions, run_options
from amplifier.problems import Problem, UsageProblem

if TYPE_CHECKING:
    from amplifier.cli.working import Find
    from amplifier.store import StoredSession
    from amplifier.tui.chat import Chat
    from amplifier.tui.picker import Choice
    from amplifier.tui.talk import Opener, Opening
    from amplifier.tui.terminal import Terminal
    from amplifier.tui.view.theme import Theme

_ONLY_PRINTED = ("output_format", "json_schema", "output_last_message", "include_partial_messages")


@click.command()
@click.argument("prompt", required=False)
@run_options
@click.option(
    "-r",
    "--resume",
    metavar="[SESSION]",
    is_flag=False,
    flag_value="",
    help="Go on with a session, by id, beginning of id, or name; without one, choose it from a list.",
)
@click.option("--fork-session", is_flag=True, help="With --resume: go on in a copy, and leave the session as it is.")
@common_options
@click.pass_obj
def chat(invocation: Invocation, prompt: str | None, **given: Any) -> int:
    """Talk with the agent in the terminal; a prompt is said first.

    The settings chat.keys (emacs or vi) and chat.plain (lines only, for screen readers) say how.
    """
    options = RunOptions.of(given)
    wanted = options.resume

    def find() -> StoredSession:
        from amplifier.store import SessionStore

        return SessionStore(invocation.places).find(wanted) if wanted else chosen_session(invocation)

    return talk(invocation, options, prompt, None if wanted is None else find)


def talk(invocation: Invocation, options: RunOptions, prompt: str | None, find: Find | None) -> int:
    """Runs the chat, in a session that is found or in another one, and gives the exit code.

    Raises ``UsageProblem`` where there is no terminal for it.
    """
    if not is_terminal():
        raise UsageProblem("A chat needs a terminal.", 'For one answer: amplifier run "…"')
    if options.image and prompt is None:
        raise UsageProblem(
            "--image needs a prompt to go along with.", "Say what to do, or mention the image in the chat."
        )
    if any(getattr(options, name) for name in _ONLY_PRINTED) or options.input_format != "text":
        raise UsageProblem("A chat prints nothing for programs.", 'With these options: amplifier run "…"')
    # Whether the folder is trusted is asked before the chat begins; later nobody could answer.
    invocation.may_ask = True
    first = None if prompt is None else _with_images(prompt, options)
    resumed = None if find is None else find()
    return asyncio.run(_talked(invocation, options, first, resumed))


def chosen_session(invocation: Invocation) -> StoredSession:
    """The session that the user chooses from a list; raises ``Problem`` where none is."""
    from amplifier.runtime.signals import INTERRUPTED
    from amplifier.store import SessionStore
    from amplifier.tui.past_sessions import choose_session

    theme = _theme(invocation)

    async def choose(title: str, choices: Sequence[Choice]) -> int | None:
        from amplifier.console.lines import typed_line
        from amplifier.tui.input.lone_picker import pick, pick_in_lines

        if not theme.is_plain:
            return await pick(title, choices, has_colour=theme.has_colour)
        return await pick_in_lines(title, choices, lambda: typed_line(sys.stdin.fileno()), _print)

    places = invocation.places
    chosen = asyncio.run(choose_session(choose, SessionStore(places), places.working_dir))
    if chosen is None:
        raise Problem("No session was chosen.", "To begin another one: amplifier", exit_code=INTERRUPTED)
    return chosen


def _with_images(prompt: str, options: RunOptions) -> str:
    """The prompt with the images of options, mentioned as a user would."""
    if not options.image:
        return prompt
    from amplifier.runtime.images import require_image
    from amplifier.runtime.prompts import mention_of

    for path in options.image:
        require_image(path)
    return " ".join([prompt, *(mention_of(path.absolute()) for path in options.image)])


async def _talked(
    invocation: Invocation, options: RunOptions, prompt: str | None, resumed: StoredSession | None
) -> int:
    from amplifier.cli.logs import configure_chat_logging
    from amplifier.tui.chat import Chat
    from amplifier.tui.clipboard import system_clipboard
    from amplifier.tui.notices import Notices

    def make_terminal(chat: Chat) -> Terminal:
        return _terminal(invocation, chat, theme)

    theme = _theme(invocation)
    clipboard = system_clipboard(os.environ, sys.platform)
    chat = Chat(opener_for(invocation, options), invocation.places, make_terminal, theme, clipboard=clipboard)
    log = invocation.places.home / "logs" / "chat.log"
    with redirect_stderr(Notices(chat.view.notice)):
        note = configure_chat_logging(log, is_verbose=options.verbose, is_debug=invocation.is_debug)
        if note is not None:
            chat.notice(note)
        return await chat.run(prompt, resumed)


def opener_for(invocation: Invocation, options: RunOptions) -> Opener:
    """Prepares the sessions of one chat: the first as the options say, others with the same settings."""
    wanted = options

    def prepare(resumed: StoredSession | None, **changes: str) -> Opening:
        nonlocal wanted
        from amplifier.cli.working import prepared
        from amplifier.tui.talk import Opening

        # Every session reads its settings anew, in its own directory.
        fresh = copy.copy(invocation)
        fresh.flags = dict(invocation.flags)
        for name in ("settings", "sources"):
            fresh.__dict__.pop(name, None)
        job = prepared(fresh, replace(wanted, **changes), resumed)
        wanted = replace(wanted, session_id=None, name=None, fork_session=False)
        if changes and job.setting.stored is not None:
            _remember(job.setting.stored, changes)
        return Opening(job.plan, job.setting, fresh.settings, fresh.places)

    return prepare


def _remember(stored: StoredSession, changes: dict[str, str]) -> None:
    extra = stored.metadata().extra
    stored.update(extra={**extra, "flags": {**extra.get("flags", {}), **changes}})


def _theme(invocation: Invocation) -> Theme:
    from amplifier.cli.output import color_from
    from amplifier.tui.view.theme import theme_for

    settings = invocation.settings
    has_colour = color_from(invocation.color or settings.get("output.color"), os.environ)
    return theme_for(
        os.environ,
        has_colour=has_colour is not False,
        is_terminal=True,
        is_screen_reader=bool(settings.get("chat.plain", False)),
    )


def _terminal(invocation: Invocation, chat: Chat, theme: Theme) -> Terminal:
    from amplifier.tui.input.history import history_file, history_in

    if theme.is_plain:
        return _plain_terminal(chat)
    from amplifier.tui.input.board import Board
    from amplifier.tui.input.completion import ChatCompleter
    from amplifier.tui.input.files import ProjectFiles
    from amplifier.tui.input.refolding import folds_lines, keep_clean

    places = invocation.places
    files = ProjectFiles(places.working_dir)
    completer = ChatCompleter(lambda: {name: each.about for name, each in chat.commands.items()}, files.matching)
    is_vi = invocation.settings.get("chat.keys") == "vi"
    history = history_in(history_file(places))
    # The console of Linux takes the request for a colour; Windows has its own keys.
    tells_keys = os.name == "posix" and os.environ.get("TERM") != "linux"
    board = Board(chat, completer, history, is_vi=is_vi, has_colour=theme.has_colour, tells_keys=tells_keys)
    if folds_lines(os.environ):
        keep_clean(board.app)
    return board


def _plain_terminal(chat: Chat) -> Terminal:
    import shutil

    from amplifier.console.lines import lines_from
    from amplifier.tui.input.plain_board import PlainBoard

    lines = lines_from(sys.stdin.fileno())

    async def read() -> str:
        return (await anext(lines)).decode("utf-8", "replace").rstrip("\r")

    def size() -> tuple[int, int]:
        found = shutil.get_terminal_size()
        return found.columns, found.lines

    return PlainBoard(chat, read, _print, size)


def _print(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
