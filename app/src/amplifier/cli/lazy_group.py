"""A group of commands that are imported when they are called; names and short helps are data, so help is quick."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Entry(NamedTuple):
    """One command of the table: where it is, and what the list of commands says about it."""

    target: str
    """``package.file:attribute`` of the click command."""
    short_help: str


class LazyGroup(click.Group):
    """A group whose commands come from ``sections``: a title, then name and entry of each command, in order."""

    def __init__(self, *args: Any, sections: Mapping[str, Mapping[str, Entry]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sections = sections
        self.entries = {name: entry for section in sections.values() for name, entry in section.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the help."""
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now; ``None`` for a name that is not in the table."""
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        place, _, attribute = entry.target.partition(":")
        return getattr(import_module(place), attribute)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from the table alone."""
        for title, section in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, entry.short_help) for name, entry in section.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names and options that begin so, from the table alone."""
        from click.shell_completion import CompletionItem

        named = [
            CompletionItem(name, help=entry.short_help)
            for name, entry in self.entries.items()
            if name.startswith(incomplete)
        ]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]

    def nearest(self, word: str) -> str | None:
        """The command that ``word`` was probably meant to be."""
        from amplifier.nearest import nearest

        return nearest(word, self.entries)
