"""Commands about the project in which the chat works: its instructions, and what has changed."""

from __future__ import annotations

import asyncio

from amplifier.problems import Problem
from amplifier.tui.commands.command import Command, Desk, fenced
from amplifier.tui.commands.file_steps import checkpoints_of, difference

_TURN = "turn"
_MOST_LINES, _MOST_CHARS = 400, 20_000
_INIT = """\
Write the file AGENTS.md at the root of this project, for agents that will work here. Look around first: README, build \
files, tests, a few sources. Then write down, in at most sixty lines: what the project is; how it is built, tested and \
checked, with the exact commands, also for a single test; how it is laid out; the conventions that its code follows. \
Only what you have seen here, nothing that holds for every project. If there is an AGENTS.md, improve it instead."""


async def init(desk: Desk, argument: str) -> str:
    """Has the agent write AGENTS.md."""
    return f"{_INIT}\n\n{argument}".rstrip()


async def diff(desk: Desk, argument: str) -> None:
    """What has changed in the working directory since the last commit, or by the agent in the last turn."""
    if argument == _TURN:
        await _turn_diff(desk)
        return
    folder = desk.talk.opening.setting.working_dir
    code, text = await _git(folder, "diff", "--no-color", "--no-ext-diff", "HEAD", "--", *argument.split())
    if code != 0:
        raise Problem(f"git cannot tell what has changed: {text.strip()}", "/diff needs a repository with a commit.")
    _, untracked = await _git(folder, "ls-files", "--others", "--exclude-standard")
    if not text.strip() and not untracked.strip():
        desk.notice("nothing has changed since the last commit")
        return
    shown = _shortened(text)
    others = f"\n\nFiles that git does not know:\n\n{fenced(untracked)}" if untracked.strip() else ""
    desk.say((fenced(shown, "diff") if shown.strip() else "") + others)


async def _turn_diff(desk: Desk) -> None:
    steps = await asyncio.to_thread(checkpoints_of(desk).last)
    text = await asyncio.to_thread(difference, desk, steps)
    if text:
        desk.say(fenced(_shortened(text), "diff"))
    else:
        desk.notice("the agent has changed no files that could be shown")


def _shortened(text: str) -> str:
    lines = text.splitlines()
    begin = "\n".join(lines[:_MOST_LINES])[:_MOST_CHARS]
    return text if len(begin) >= len(text.rstrip()) else f"{begin}\n… ({len(lines):,} lines in all)"


async def _git(folder: object, *arguments: str) -> tuple[int, str]:
    try:
        process = await asyncio.create_subprocess_exec(
            "git", *arguments, cwd=str(folder), stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
    except OSError as error:
        raise Problem(f"git cannot be started: {error.strerror}.", "Install git.") from None
    output, _ = await process.communicate()
    return process.returncode or 0, output.decode("utf-8", "replace")


PROJECT = (
    Command("init", "Have the agent write AGENTS.md.", init, "[TEXT]"),
    Command(
        "diff",
        "What has changed since the last commit; /diff turn: by the agent in the last turn.",
        diff,
        "[PATH]",
        is_quick=True,
    ),
)
