"""Commands that take back: the conversation, the files that the agent has changed, or both."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from amplifier.console.plain import one_line
from amplifier.problems import Problem, SessionProblem
from amplifier.runtime.prompts import spoken
from amplifier.store.checkpoints import Step
from amplifier.store.transcript import begins_turn, text_of
from amplifier.tui.commands.command import Command, Desk
from amplifier.tui.commands.file_steps import NOT_KEPT, bring_back, checkpoints_of, for_agent, named, show
from amplifier.tui.commands.kept import kept
from amplifier.tui.picker import Choice

What = Literal["both", "conversation", "files"]
_FORCE = "force"
_SHOWN_CHARS = 70
_USAGE = "/rewind [TURN] [both|conversation|files] [force]"


@dataclass(frozen=True, slots=True)
class _Asked:
    """What stands behind ``/rewind``."""

    number: int | None = None
    what: What | None = None
    is_forced: bool = False


async def fork(desk: Desk, argument: str) -> None:
    """Goes on in a copy; the session stays as it is here."""
    store, stored = kept(desk)
    made = store.fork(stored, _number(argument) if argument else None)
    await desk.talk.open(made)
    desk.notice(f"in a copy now; the former session: /resume {stored.short_id}")


async def rewind(desk: Desk, argument: str) -> None:
    """Goes back to before something that was said: with the conversation, the files, or both."""
    asked = _asked(argument)
    said = [spoken(text_of(each)) for each in await desk.talk.messages() if begins_turn(each)]
    if not said:
        raise SessionProblem("Nothing was said yet that could be taken back.")
    number = asked.number if asked.number is not None else await _chosen_turn(desk, said)
    if number is None:
        return
    if not 1 <= number <= len(said):
        raise SessionProblem(f"There is no turn {number}.", f"There are {len(said)}.")
    kept(desk)
    steps = await asyncio.to_thread(checkpoints_of(desk).since, number)
    what = asked.what or await _chosen_what(desk, number, steps)
    if what is None or (what != "conversation" and not await _files_back(desk, number, steps, what, asked.is_forced)):
        return
    if what != "files":
        await _go_back(desk, number, has_files=what == "both")
        desk.prefill(said[number - 1])


async def undo(desk: Desk, argument: str) -> None:
    """Takes back the changes of files of the last turn that has any left."""
    is_forced = _is_forced(argument, "/undo [force]")
    steps = await asyncio.to_thread(checkpoints_of(desk).last)
    if not steps:
        raise Problem("There is no change of a file to take back.", f"Note that {NOT_KEPT}.")
    done = await bring_back(desk, steps, is_forced=is_forced)
    if done:
        for_agent(desk, "taken back", done)
        desk.notice(f"taken back: {named(desk, done)}; {NOT_KEPT}; /redo brings it back")


async def redo(desk: Desk, argument: str) -> None:
    """Brings back the changes of files that were taken back last."""
    is_forced = _is_forced(argument, "/redo [force]")
    steps = await asyncio.to_thread(checkpoints_of(desk).taken_back)
    if not steps:
        raise Problem("Nothing was taken back that could be brought back.", "/undo takes back.")
    done = await bring_back(desk, steps, is_forced=is_forced)
    if done:
        for_agent(desk, "brought back", done)
        desk.notice(f"brought back: {named(desk, done)}; /undo takes it back")


async def _chosen_turn(desk: Desk, said: Sequence[str]) -> int | None:
    choices = [Choice(f"{place} {one_line(text, _SHOWN_CHARS)}") for place, text in enumerate(said, 1)]
    chosen = await desk.choose("Go back to before", choices, len(choices) - 1)
    return None if chosen is None else chosen + 1


async def _chosen_what(desk: Desk, number: int, steps: Sequence[Step]) -> What | None:
    """What is to go back; where the agent has changed no files, only the conversation can."""
    if not steps:
        return "conversation"
    show(desk, steps)
    choices: list[tuple[What, Choice]] = [
        ("both", Choice("the conversation and the files", named(desk, steps))),
        ("conversation", Choice("only the conversation", "files stay as they are")),
        ("files", Choice("only the files", "the conversation goes on")),
    ]
    chosen = await desk.choose(f"Back to before turn {number}", [choice for _, choice in choices])
    return None if chosen is None else choices[chosen][0]


async def _files_back(desk: Desk, number: int, steps: Sequence[Step], what: What, is_forced: bool) -> bool:
    """Whether it is done, as far as it can be."""
    if not steps:
        desk.notice(f"the agent has changed no files since turn {number}")
        return True
    done = await bring_back(desk, steps, is_forced=is_forced)
    if done:
        desk.notice(f"as before turn {number}: {named(desk, done)}; {NOT_KEPT}; /redo brings it back")
        if what == "files":
            for_agent(desk, "taken back", done)
    return done is not None


async def _go_back(desk: Desk, number: int, *, has_files: bool) -> None:
    store, stored = kept(desk)
    former = checkpoints_of(desk)
    await desk.talk.open(store.fork(stored, number - 1) if number > 1 else None)
    if number == 1:
        # A session that begins anew is no fork, but /undo and /redo go on.
        await asyncio.to_thread(checkpoints_of(desk).take_over, former, 0)
    files = "" if has_files else "files stay as they are; "
    desk.notice(f"back to before turn {number}; {files}all of it: /resume {stored.short_id}")


def _asked(argument: str) -> _Asked:
    number: int | None = None
    what: What | None = None
    is_forced = False
    for word in (each.removeprefix("--") for each in argument.split()):
        if word == "both" or word == "conversation" or word == "files":
            what = word
        elif word == _FORCE:
            is_forced = True
        else:
            number = _number(word)
    return _Asked(number, what, is_forced)


def _number(word: str) -> int:
    if not word.isdecimal():
        raise Problem(f"'{word}' is no number of a turn.", _USAGE)
    return int(word)


def _is_forced(argument: str, usage: str) -> bool:
    word = argument.removeprefix("--")
    if word not in ("", _FORCE):
        raise Problem(f"'{argument}' is not understood.", usage)
    return bool(word)


REWIND = (
    Command("fork", "Go on in a copy of this session, whole or up to a turn.", fork, "[TURN]"),
    Command("rewind", "Go back to before a turn: conversation, files, or both.", rewind, "[TURN] [WHAT]"),
    Command("undo", "Take back the changes of files of the last turn; again: of the one before.", undo),
    Command("redo", "Bring back what /undo or /rewind took back of files.", redo),
)
