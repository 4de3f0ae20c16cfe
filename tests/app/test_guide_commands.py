"""The guides of the command do what they show: files are written as printed, commands run, and outputs compared.

A block with ``title="path"`` is a file. A block ``console`` has commands behind ``$`` and what they print; ``…`` stands
for anything. Commands below ``<!-- not run: reason -->`` are left out.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
PAGES = (
    "batch.md",
    "bundles.md",
    "first-run.md",
    "install.md",
    "modules.md",
    "scripting.md",
    "sessions.md",
    "settings.md",
    "sources.md",
    "troubleshooting.md",
)

BLOCK = re.compile(
    r"(?P<mark><!-- not run:[^>]*-->\s+)?"
    r'^```(?P<language>\w+)(?: title="(?P<file>[^"]+)")?\n(?P<body>.*?)^```$',
    re.DOTALL | re.MULTILINE,
)


class Step(NamedTuple):
    """A command of a page, and what it prints."""

    command: str
    printed: str


def steps_in(console: str) -> list[Step]:
    """The commands of a console block, each with the lines below it."""
    parts = re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]
    return [Step(command, printed.rstrip()) for command, _, printed in (part.partition("\n") for part in parts)]


def fits(printed: str, shown: str) -> bool:
    """Whether an output is the one that a page shows; how wide columns are does not matter."""
    pattern = ".*".join(re.escape(_narrow(part)) for part in _narrow(shown).split("…"))
    return re.fullmatch(pattern, _narrow(printed)) is not None


def _narrow(text: str) -> str:
    return re.sub(r"(?<=\S) {2,}", "  ", text.rstrip())


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_guide_print_what_it_shows(page: str, tmp_path: Path) -> None:
    """Every command runs in a folder with the files of the page, for a user without settings or keys."""
    places = {"AMPLIFIER_HOME": str(tmp_path / "home"), "AMPLIFIER_MANAGED_SETTINGS": str(tmp_path / "none.yaml")}
    environ = {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]), **places}
    work = tmp_path / "work"
    work.mkdir()
    wrong: list[tuple[str, str]] = []
    for block in BLOCK.finditer((GUIDE / page).read_text(encoding="utf-8")):
        if block["file"]:
            (work / block["file"]).parent.mkdir(parents=True, exist_ok=True)
            (work / block["file"]).write_text(block["body"], encoding="utf-8")
        elif block["language"] == "console" and not block["mark"]:
            for step in steps_in(block["body"]):
                done = subprocess.run(
                    ["/bin/sh", "-c", f"{step.command} 2>&1"],
                    cwd=work,
                    env={**environ, "PYTHONUTF8": "1"},
                    capture_output=True,
                    text=True,
                    timeout=60,
                    check=False,
                )
                if not fits(done.stdout, step.printed):
                    wrong.append((step.command, done.stdout))
    assert wrong == []


def test_steps_and_outputs_are_read_as_pages_show_them() -> None:
    """Commands have the lines below them; an ellipsis stands for anything inside a line."""
    assert steps_in("$ a b\n1\n2\n$ c\n") == [Step("a b", "1\n2"), Step("c", "")]
    assert fits("x  /tmp/y.md:3\nz", "x     …/y.md:3\nz")
    assert not fits("x\ny", "x…")
