"""The commands of a session, gathered from its config and its files, and those that one moment calls for."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from amplifier_module_hooks_shell.config import Command, Group, ShellHooksConfig
from amplifier_module_hooks_shell.conventions import BY_NAME, Moment
from amplifier_module_hooks_shell.settings_files import read_hooks

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Entry:
    """Commands with what they are meant for."""

    group: Group
    commands: tuple[Command, ...]
    is_foreign: bool
    """Whether they come from a file that was written for agents with other names for the same tools."""


@dataclass(frozen=True, slots=True)
class Call:
    """One command that a moment calls for."""

    command: Command
    tool_name: str | None
    """The name by which it knows the tool, where there is one."""


class Entries:
    """All commands by moment."""

    def __init__(self, config: ShellHooksConfig, working_dir: Path) -> None:
        self._aliases = config.tool_aliases
        self._by_moment: dict[str, list[Entry]] = {}
        self._add(config.hooks, "the config", is_foreign=False)
        for name in config.files:
            self._add(read_hooks(name, working_dir), name, is_foreign=True)

    def has(self, moment: Moment) -> bool:
        """Whether there is any command for the moment."""
        return moment.name in self._by_moment

    def calls(self, moment: Moment, subject: str) -> list[Call]:
        """The commands for the moment and its subject, each once."""
        calls: dict[tuple[str, str | None], Call] = {}
        for entry in self._by_moment.get(moment.name, ()):
            name = self._name_for(entry, moment, subject)
            if name is not None:
                for command in entry.commands:
                    told = name if moment.subject == "tool_name" else None
                    calls.setdefault((command.command, told), Call(command, told))
        return list(calls.values())

    def _name_for(self, entry: Entry, moment: Moment, subject: str) -> str | None:
        """The name of the subject that the entry's matcher matches, or nothing."""
        alias = self._aliases.get(subject, subject) if moment.subject == "tool_name" else subject
        names = (alias, subject) if entry.is_foreign else (subject, alias)
        return next((name for name in names if entry.group.matches(name)), None)

    def _add(self, hooks: Mapping[str, Sequence[Group]], origin: str, *, is_foreign: bool) -> None:
        for moment, groups in hooks.items():
            if moment not in BY_NAME:
                logger.warning("Hooks for '%s' in %s are not run: known are %s", moment, origin, ", ".join(BY_NAME))
                continue
            for group in groups:
                commands = _commands(group, moment, origin)
                if commands:
                    self._by_moment.setdefault(moment, []).append(Entry(group, commands, is_foreign))


def _commands(group: Group, moment: str, origin: str) -> tuple[Command, ...]:
    commands: list[Command] = []
    for hook in group.hooks:
        kind = hook.get("type", "command")
        if kind != "command":
            logger.warning("A hook of type %r for '%s' in %s is not run: only commands are", kind, moment, origin)
            continue
        try:
            commands.append(Command.model_validate(hook))
        except ValidationError as error:
            raise ValueError(f"A hook for '{moment}' in {origin} is not right: {error}") from error
    return tuple(commands)
