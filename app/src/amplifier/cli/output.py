"""What the command prints for people and for programs: tables, JSON, warnings, problems, and when there is colour."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from amplifier.problems import Problem

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_LEAST_WIDTH = 8
_GAP = "  "


def color_from(choice: str | None, environ: Mapping[str, str]) -> bool | None:
    """Whether there is colour; ``None`` leaves it to whether the stream is a terminal.

    ``--color`` or the setting decides, then ``NO_COLOR``, then ``FORCE_COLOR``, then a terminal that has none.
    """
    if choice in ("always", "never"):
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return False if environ.get("TERM") == "dumb" else None


def plain(text: str) -> str:
    """``text`` on one line and without what would steer a terminal; for what comes from models, files and users."""
    return _CONTROL.sub(lambda found: " " if found[0] in "\n\t\r" else "�", text)


def printable(text: str) -> str:
    """``text`` with its lines, and without what would steer a terminal."""
    return "\n".join(plain(line) for line in text.split("\n"))


def echo(text: str = "", *, err: bool = False) -> None:
    """Prints a line; colours are taken out where there are none."""
    click.echo(text, err=err)


def echo_json(value: Any) -> None:
    """Prints ``value`` as indented JSON; what JSON does not know is printed as text."""
    import json

    from amplifier.console.plain import escaped

    click.echo(escaped(json.dumps(value, indent=2, ensure_ascii=False, default=str)))


def echo_table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Prints columns under ``headers``; cut to the terminal's width, and whole where the output is no terminal."""
    cells = [[plain(str(cell)) for cell in row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(headers, *cells, strict=True)]
    if sys.stdout.isatty():
        import shutil

        widths = _fitting(widths, shutil.get_terminal_size().columns)
    click.echo(click.style(_row(headers, widths), bold=True))
    for row in cells:
        click.echo(_row(row, widths))


def warn(text: str) -> None:
    """Tells of something that is not as it should be, on standard error; the work goes on."""
    click.echo(f"amplifier: {click.style('warning:', fg='yellow')} {printable(text)}", err=True)


def tell(problem: Problem) -> None:
    """Tells what failed, and what to do next, on standard error."""
    click.echo(f"amplifier: {click.style(printable(problem.message), fg='red')}", err=True)
    if problem.hint:
        click.echo(f"  → {printable(problem.hint)}", err=True)


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (_clipped(cell, width) for cell, width in zip(cells, widths, strict=True))
    return _GAP.join(padded).rstrip()


def _clipped(cell: str, width: int) -> str:
    if (taken := _width(cell)) <= width:
        return cell + " " * (width - taken)
    kept = ""
    while _width(following := cell[: len(kept) + 1]) < width:
        kept = following
    return f"{kept}…" + " " * (width - 1 - _width(kept))


def _fitting(widths: Sequence[int], columns: int) -> list[int]:
    """Takes from the widest column, again and again, until all fit or none may become narrower."""
    fitting = list(widths)
    excess = sum(fitting) + len(_GAP) * (len(fitting) - 1) - columns
    while excess > 0 and (widest := max(fitting)) > _LEAST_WIDTH:
        fitting[fitting.index(widest)] -= 1
        excess -= 1
    return fitting


def _width(text: str) -> int:
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in text)
