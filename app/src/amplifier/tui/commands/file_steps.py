"""Files that are brought back in a chat: listed first, asked about where somebody else has changed them, told."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Sequence
from pathlib import Path

from amplifier.console.plain import one_line
from amplifier.problems import SessionProblem
from amplifier.store.checkpoints import Checkpoints, Step
from amplifier.tui.commands.command import Desk, table
from amplifier.tui.picker import Choice

_SHOWN_CHARS, _SHOWN_FILES = 100, 5
_MOST_COMPARED = 2_000
"""Lines; comparing takes time that grows with the square."""
NOT_KEPT = "changes made by commands are not undone"


def checkpoints_of(desk: Desk) -> Checkpoints:
    """What is known of files; raises ``SessionProblem`` where nothing is kept."""
    checkpoints = desk.talk.runtime.checkpoints
    if checkpoints is None:
        raise SessionProblem(
            "This session is not kept, so there is nothing from which files could be brought back.",
            "Start without --ephemeral.",
        )
    return checkpoints


def show(desk: Desk, steps: Sequence[Step]) -> None:
    """Lists the files, with the lines that would come and go."""
    rows = [(_name(desk, each.path), _lines(each), _remark(each)) for each in steps]
    desk.say(f"{table(('file', 'lines', ''), rows)}\n\nOf files only: {NOT_KEPT}.")


async def bring_back(desk: Desk, steps: Sequence[Step], *, is_forced: bool = False) -> list[Step] | None:
    """Brings files back and tells how that went; ``None`` where the user would rather not."""
    may_overwrite = is_forced or await _may_overwrite(desk, steps)
    if may_overwrite is None:
        return None
    checkpoints = checkpoints_of(desk)
    ended = await asyncio.to_thread(checkpoints.carry_out, steps, may_overwrite=may_overwrite)
    done = [each for each in ended if each.standing in ("ready", "same")]
    for each in (each for each in ended if each not in done):
        desk.talk.view.notice(f"{_name(desk, each.path)} {each.why}; left as it is", "warning")
    return done


def named(desk: Desk, steps: Sequence[Step]) -> str:
    """Files in one line, with the lines that come and go."""
    told = [f"{_name(desk, each.path)} ({_lines(each)})" for each in steps[:_SHOWN_FILES]]
    more = [f"{len(steps) - _SHOWN_FILES} more"] if len(steps) > _SHOWN_FILES else []
    return ", ".join([*told, *more])


def for_agent(desk: Desk, deed: str, steps: Sequence[Step]) -> None:
    """Has the agent know, with the next prompt, that files are not as it left them."""
    names = "\n".join(f"- {each.path}" for each in steps)
    desk.tell_agent(
        f"<changed_by_user>The user has {deed} your changes to these files; read them again before you edit them:\n"
        f"{names}</changed_by_user>"
    )


def difference(desk: Desk, steps: Sequence[Step]) -> str:
    """What has been made of files since, as a diff; of what cannot be compared, a line."""
    checkpoints = checkpoints_of(desk)
    return "\n".join(line for step in steps for line in _difference(desk, checkpoints, step))


def _difference(desk: Desk, checkpoints: Checkpoints, step: Step) -> list[str]:
    name = _name(desk, step.path)
    before, after = (each.decode("utf-8", "replace").splitlines() for each in checkpoints.contents(step))
    if step.added is None or max(len(before), len(after)) > _MOST_COMPARED:
        return [f"{name}: {step.why or _lines(step)}"]
    return list(difflib.unified_diff(before, after, name, name, lineterm=""))


async def _may_overwrite(desk: Desk, steps: Sequence[Step]) -> bool | None:
    changed = [each for each in steps if each.standing == "changed"]
    if not changed:
        return False
    choices = [
        Choice("leave those files as they are", "the others are brought back"),
        Choice("overwrite them", "what is there now is kept: it can be had again in the same way"),
    ]
    chosen = await desk.choose(f"Changed since by somebody else: {named(desk, changed)}", choices)
    return None if chosen is None else chosen == 1


def _name(desk: Desk, path: Path) -> str:
    folder = desk.talk.opening.setting.working_dir.resolve()
    shown = path.relative_to(folder) if path.is_relative_to(folder) else path
    return one_line(str(shown), _SHOWN_CHARS)


def _lines(step: Step) -> str:
    return "no text" if step.added is None else f"+{step.added} -{step.removed}"


def _remark(step: Step) -> str:
    if step.standing == "same":
        return "is so already"
    return step.why or ("is removed" if step.target is None else "")
