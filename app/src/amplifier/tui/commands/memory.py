"""What the agent is to keep in mind: the files of instructions that it is given, and lines added to them."""

from __future__ import annotations

import re
from pathlib import Path

from amplifier.bundles.project import NAMES, instruction_files
from amplifier.console.plain import harmless
from amplifier.paths import Places
from amplifier.problems import UsageProblem
from amplifier.settings.files import locked, read_text, write_atomically
from amplifier.tui.commands.command import Command, Desk, table
from amplifier.tui.picker import Choice

# Headings of a deeper level, numbers of issues and such are for the agent.
_SHORT = re.compile(r"#(?![#\d!])[ \t]*(?P<text>\S[^\n]*)")


def spelled_out(line: str) -> str:
    """``line``, where ``#text`` is short for a command: for remembering ``text``."""
    found = _SHORT.fullmatch(line)
    return line if found is None else f"/memory add {found['text']}"


async def memory(desk: Desk, argument: str) -> None:
    """Shows the files; adds a line to one of them, or opens the project's in the editor."""
    verb, _, text = argument.partition(" ")
    if not argument:
        _show(desk)
    elif verb == "add" and text.strip():
        await _add(desk, " ".join(harmless(text).split()))
    elif argument == "edit":
        target = _targets(desk.talk.opening.places)[0]
        _require_of_project(target, desk.talk.opening.places)
        await desk.terminal.edit(target)
        desk.notice(f"{target}: the agent reads it from the next session on (/new)")
    else:
        raise UsageProblem(f"'{argument}' is nothing that /memory does.", "/memory, /memory add TEXT, or /memory edit")


def _show(desk: Desk) -> None:
    files = zip(("this project", "all projects"), _targets(desk.talk.opening.places), strict=True)
    rows = [(name, str(path), _size(path)) for name, path in files]
    desk.say(table(("for", "file", "size"), rows) + "\n\nAdd a line: `#text`. Write in it: `/memory edit`")


def _targets(places: Places) -> list[Path]:
    """The file of the project, and that of the user: what is read now, else what would be."""
    own, nearest = instruction_files(places)
    return [nearest or places.project_dir / NAMES[0], own or places.home / NAMES[0]]


def _require_of_project(file: Path, places: Places) -> None:
    """Raises ``UsageProblem`` for a link that leads out of the project: the agent is not given what is there."""
    real = file.resolve()
    if not real.is_relative_to(places.project_dir.resolve()):
        raise UsageProblem(f"{file} is a link to {real}, which is no file of the project.", "Put a file there.")


def _size(path: Path) -> str:
    try:
        text = path.read_text("utf-8", "replace")
    except OSError:
        return "not there"
    return f"{text.count(chr(10)):,} lines, about {len(text) // 4:,} tokens"


async def _add(desk: Desk, text: str) -> None:
    targets = _targets(desk.talk.opening.places)
    labels = ("for this project", "for all projects")
    choices = [Choice(label, str(target)) for label, target in zip(labels, targets, strict=True)]
    chosen = await desk.choose(f"Remember: {text}", choices)
    if chosen is None:
        # It may have been meant for the agent: behind a blank it goes there.
        desk.prefill(f" # {text}")
        return
    if chosen == 0:
        _require_of_project(targets[0], desk.talk.opening.places)
    _append(targets[chosen], text)
    desk.tell_agent(f"<remember>{text}</remember>")
    desk.notice(f"added to {targets[chosen]}")


def _append(file: Path, text: str) -> None:
    with locked(file) as target:
        before = (read_text(target) or "").rstrip("\n")
        is_listed = before.rpartition("\n")[2].startswith(("- ", "* "))
        between = "" if not before else "\n" if is_listed else "\n\n"
        write_atomically(target, f"{before}{between}- {text}\n")


MEMORY = (
    Command(
        "memory", "The instructions that the agent is given; add a line to them.", memory, "[add TEXT | edit]",
        is_quick=True,
    ),
)  # fmt: skip
