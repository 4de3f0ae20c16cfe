"""Commands and skills that users write: Markdown files in ``.amplifier`` of the project and in the user's home.

``commands/name.md`` is the command ``/name``: its text is said to the agent, with ``$ARGUMENTS`` and ``$1`` … filled
in. ``skills/name/SKILL.md`` is a skill: the model is told its name and description and reads the rest when it fits;
``/name`` has it read at once. Those of the project come before those of the user, and none takes the place of a
command that is built in.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from amplifier.bundles.document import Document, read_document
from amplifier.console.plain import one_line
from amplifier.paths import Places
from amplifier.problems import Problem
from amplifier.tui.commands.command import Command, Desk, table

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_PLACEHOLDER = re.compile(r"\$(?:ARGUMENTS\b|[1-9])")
_MOST_ABOUT = 1024


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill: what it is for, and the file that says how."""

    name: str
    about: str
    file: Path


@dataclass(frozen=True, slots=True)
class Written:
    """What a user has written, and what is wrong with it."""

    commands: dict[str, Command]
    skills: dict[str, Skill]
    warnings: list[str]


def find_written(places: Places) -> Written:
    """The commands and skills of the project and of the user."""
    found = Written({}, {}, [])
    for root in dict.fromkeys((places.project_dir / ".amplifier", places.home)):
        for file in sorted((root / "commands").rglob("*.md")):
            name = ":".join(file.relative_to(root / "commands").with_suffix("").parts)
            _add_command(found, name, file)
        for file in sorted((root / "skills").glob("*/SKILL.md")):
            _add_skill(found, file)
    return found


def skills_prompt(places: Places) -> str:
    """What the model is told of the skills; nothing where there are none."""
    skills = find_written(places).skills.values()
    if not skills:
        return ""
    listed = "\n".join(f"- {each.name}: {each.about} ({each.file})" for each in skills)
    return f"\n\n# Skills\n\nWhen a task fits one of these, read its file first, and follow it.\n\n{listed}\n"


def filled(text: str, argument: str) -> str:
    """``text`` with what stands behind a command: at its placeholders, else at its end."""
    words = _words(argument)

    def value(found: re.Match[str]) -> str:
        if found[0] == "$ARGUMENTS":
            return argument
        place = int(found[0][1:])
        return words[place - 1] if place <= len(words) else ""

    if _PLACEHOLDER.search(text) is None:
        return f"{text}\n\n{argument}".rstrip()
    return _PLACEHOLDER.sub(value, text)


async def skills(desk: Desk, argument: str) -> None:
    """The skills that there are."""
    rows = [(each.name, each.about) for each in find_written(desk.talk.opening.places).skills.values()]
    where = "`.amplifier/skills/NAME/SKILL.md`"
    desk.say(table(("skill", "for"), rows) if rows else f"There are no skills; they are files {where}.")


def _words(argument: str) -> list[str]:
    try:
        return shlex.split(argument)
    except ValueError:
        return argument.split()


def _add_command(found: Written, name: str, file: Path) -> None:
    document = _read(found, name.replace(":", "-"), file)
    if document is None or name in found.commands:
        return

    async def work(desk: Desk, argument: str) -> str:
        return filled(document.body, argument)

    hint = document.data.get("argument-hint")
    about = _about(document) or one_line(document.body, 60)
    found.commands[name] = Command(name, about, work, hint if isinstance(hint, str) else "")


def _add_skill(found: Written, file: Path) -> None:
    name = file.parent.name
    document = _read(found, name, file)
    if document is None or name in found.skills:
        return
    about = _about(document)
    if not about or document.data.get("name", name) != name:
        found.warnings.append(f"{file}: a skill needs a 'description', and as 'name' that of its folder")
        return
    found.skills[name] = Skill(name, about, file)

    async def work(desk: Desk, argument: str) -> str:
        return f"Use the skill '{name}' of the folder {file.parent}:\n\n{document.body}\n\n{argument}".rstrip()

    found.commands.setdefault(name, Command(name, f"Skill: {about}", work, "[TEXT]"))


def _read(found: Written, name: str, file: Path) -> Document | None:
    if _NAME.fullmatch(name) is None:
        found.warnings.append(f"{file}: a name needs small letters, digits, '-', '_' and '.', at most 64")
        return None
    try:
        return read_document(file)
    except Problem as problem:
        found.warnings.append(problem.message)
        return None


def _about(document: Document) -> str:
    about = document.data.get("description")
    return one_line(about, _MOST_ABOUT) if isinstance(about, str) else ""


def told(places: Places) -> Iterator[str]:
    """What is wrong with what a user has written."""
    yield from find_written(places).warnings


WRITTEN = (Command("skills", "The skills that there are.", skills, is_quick=True),)
