"""Follows the guide to a first module to the letter, in an empty folder, with the commands of this environment.

A ``console`` block is typed in: each line that begins with ``$ `` is run, and the lines below it must come out, in this
order; ``…`` stands for what the page leaves out. A block with ``title="path"`` is written to that file. Commands
below ``<!-- not run: reason -->`` are left out.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "your-first-module.md"

_BLOCK = re.compile(
    r"(?P<mark><!-- not run:[^>]*-->\n)?"
    r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<body>.*?)^```$',
    re.DOTALL | re.MULTILINE,
)
_ANYTHING = "…"


@dataclass(frozen=True)
class Command:
    """A command with the lines that it must print."""

    text: str
    expected: tuple[str, ...]


@dataclass(frozen=True)
class File:
    """A file to be written."""

    path: str
    content: str


def steps_of(page: str) -> Iterator[Command | File]:
    """What a page tells the reader to do, in order."""
    for block in _BLOCK.finditer(page):
        if block["title"]:
            yield File(block["title"], block["body"])
        elif block["language"] == "console" and not block["mark"]:
            yield from commands_of(block["body"])


def commands_of(console: str) -> Iterator[Command]:
    """The commands of one block, each with its output."""
    for typed in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
        command, *output = typed.splitlines()
        yield Command(command, tuple(line for line in output if line.strip()))


class Reader:
    """Somebody who does what the page says; ``folder`` is where he is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV"))},
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "NO_COLOR": "1",
            # Files are changed faster here than the time stamps of compiled ones can tell.
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONIOENCODING": "utf-8",
        }

    def do(self, step: Command | File) -> None:
        """Writes a file, or runs a command and compares what it prints."""
        if isinstance(step, File):
            path = self.folder / step.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.content, encoding="utf-8")
        elif step.text.startswith("cd "):
            self.folder = (self.folder / step.text.removeprefix("cd ")).resolve(strict=True)
        else:
            self._run(step)

    def _run(self, step: Command) -> None:
        done = subprocess.run(
            step.text,
            shell=True,
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, f"$ {step.text}\n{done.stdout}"
        require_lines(step, done.stdout)


def require_lines(step: Command, output: str) -> None:
    """Fails unless every line that the page shows comes out, in this order."""
    printed = iter(output.splitlines())
    for shown in step.expected:
        found = any(is_shown_as(line, shown) for line in printed)
        assert found, f"$ {step.text}\ndoes not print: {shown}\nIt prints:\n{output}"


def is_shown_as(line: str, shown: str) -> bool:
    """Whether the page may show ``line`` like this."""
    pattern = ".*".join(map(re.escape, shown.strip().split(_ANYTHING)))
    return re.fullmatch(pattern, line.strip()) is not None


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_guide_to_a_first_module_works_to_the_letter(tmp_path: Path) -> None:
    """Whoever types what the page shows sees what the page shows."""
    reader = Reader(tmp_path)
    steps = list(steps_of(GUIDE.read_text(encoding="utf-8")))
    for step in steps:
        reader.do(step)
    assert sum(isinstance(step, Command) for step in steps) > 5


def test_steps_are_read_from_a_page() -> None:
    """Commands come with their output, files with their path; commands that are marked are left out."""
    page = """\
<!-- not run: needs the network -->
```console
$ pip install something
```
```console
$ cd there
$ ls
one
…
nine
```
<!-- not run: a file is written nevertheless -->
```toml title="a/b.toml"
key = 1
```
```python
not_a_step = True
```
"""
    assert list(steps_of(page)) == [
        Command("cd there", ()),
        Command("ls", ("one", "…", "nine")),
        File("a/b.toml", "key = 1\n"),
    ]


def test_output_must_come_in_the_order_shown() -> None:
    """Lines may be left out and parts of them too, but their order counts."""
    require_lines(Command("ls", ("one", "…", "n…e files")), "zero\none\ntwo\n  nine files\n")
    with pytest.raises(AssertionError, match="does not print: one"):
        require_lines(Command("ls", ("two", "one")), "one\ntwo\n")
