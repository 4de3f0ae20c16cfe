"""The help pages of all commands; ``python -m tests.app.help_pages`` writes the golden files and the docs page."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from amplifier.cli.main import cli

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden" / "help"
PAGE = ROOT / "docs" / "guide" / "commands.md"

_WIDTH = 78  # what click takes of a terminal of 80 columns
_HEAD = """\
# Commands

The help of every command, as the command prints it. [Settings](settings.md) tells what `-c`, `--settings` and
`--strict-config` mean. This page is written by `python -m tests.app.help_pages`.
"""


def help_pages() -> dict[str, str]:
    """The help page of each command by its name with blanks, parents before their children."""
    return dict(_pages(cli, "amplifier", None))


def file_of(name: str) -> Path:
    """The golden file of a command."""
    return GOLDEN / f"{name.replace(' ', '-')}.txt"


def docs_page(pages: dict[str, str]) -> str:
    """The page of the docs that has them all."""
    sections = (f"\n## {name}\n\n```text\n{text}```\n" for name, text in pages.items())
    return _HEAD + "".join(sections)


def write() -> int:
    """Writes everything anew, and removes the files of commands that are gone."""
    pages = help_pages()
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for file in set(GOLDEN.iterdir()) - {file_of(name) for name in pages}:
        file.unlink()
    for name, text in pages.items():
        file_of(name).write_text(text, encoding="utf-8")
    PAGE.write_text(docs_page(pages), encoding="utf-8")
    return len(pages)


def _pages(command: click.Command, name: str, parent: click.Context | None) -> Iterator[tuple[str, str]]:
    ctx = click.Context(command, info_name=name, parent=parent, **command.context_settings)
    ctx.terminal_width = _WIDTH
    yield ctx.command_path, f"{command.get_help(ctx)}\n"
    if isinstance(command, click.Group):
        for child in command.list_commands(ctx):
            found = command.get_command(ctx, child)
            if found is not None and not found.hidden:
                yield from _pages(found, child, ctx)


if __name__ == "__main__":
    sys.stderr.write(f"{write()} pages written\n")
