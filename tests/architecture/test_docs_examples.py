"""The documentation works: its Python examples run, its make commands exist, its links lead somewhere.

Blocks of one page run in order in one namespace, as if typed into one script; a top-level ``await`` is allowed.
A block that cannot run stands below the comment ``<!-- not run: reason -->``.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md")})

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w+)[^\n]*\n(?P<body>.*?)^(?P=indent)```\s*$", re.DOTALL | re.MULTILINE
)
NOT_RUN = re.compile(r"<!-- not run:(?P<reason>.*?)-->\s*$", re.DOTALL)
INLINE_CODE = re.compile(r"`[^`\n]*`")
MAKE_COMMAND = re.compile(r"^\s*\$ make\b(?P<words>.*)$", re.MULTILINE)
LINK = re.compile(r"\]\((?!\w+:|#)(?P<path>[^)#\s]+)")


class Block(NamedTuple):
    """One fenced block: its language, the line its code begins at, the code, and why it is not run, if so."""

    language: str
    line: int
    code: str
    not_run: str | None


def blocks_of(text: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    for fence in FENCE.finditer(text):
        mark = NOT_RUN.search(text[: fence.start()])
        line = text.count("\n", 0, fence.start("body")) + 1
        yield Block(fence["language"], line, dedent(fence["body"]), mark["reason"].strip() if mark else None)


def python_blocks(page: Path) -> list[Block]:
    """The Python examples of ``page``."""
    return [block for block in blocks_of(page.read_text(encoding="utf-8")) if block.language == "python"]


def run_block(block: Block, page: str, namespace: dict[str, object], runner: asyncio.Runner) -> None:
    """Runs one example; its line numbers are those of the page."""
    source = "\n" * (block.line - 1) + block.code
    code = compile(source, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    if code.co_flags & inspect.CO_COROUTINE:
        runner.run(eval(code, namespace))
    else:
        exec(code, namespace)


def page_id(page: Path) -> str:
    """How a page is called in the test's name."""
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", [page for page in PAGES if python_blocks(page)], ids=page_id)
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python block runs without an error, after those above it, in an empty directory."""
    script = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", script)
    monkeypatch.chdir(tmp_path)
    ran = 0
    with asyncio.Runner() as runner:
        for block in python_blocks(page):
            if block.not_run is None:
                run_block(block, str(page), vars(script), runner)
                ran += 1
    assert ran == sum(block.not_run is None for block in python_blocks(page))


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_a_block_that_does_not_run_says_why(page: Path) -> None:
    """The mark that keeps an example from running carries a reason."""
    assert [block.line for block in python_blocks(page) if block.not_run == ""] == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_the_make_commands_of_a_page_exist(page: Path) -> None:
    """Each ``$ make target`` of a console block names a target of the Makefile."""
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    consoles = [block.code for block in blocks_of(page.read_text(encoding="utf-8")) if block.language == "console"]
    assert {target for code in consoles for target in make_targets(code)} <= targets


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_the_links_of_a_page_lead_to_files(page: Path) -> None:
    """A relative link names something that is in the repository."""
    text = INLINE_CODE.sub("", FENCE.sub("", page.read_text(encoding="utf-8")))
    assert [link["path"] for link in LINK.finditer(text) if not (page.parent / link["path"]).exists()] == []


def make_targets(console: str) -> Iterator[str]:
    """The targets that the make commands of a console block name."""
    for command in MAKE_COMMAND.finditer(console):
        words = re.sub(r"\w+=(\"[^\"]*\"|'[^']*'|\S*)|#.*", "", command["words"]).split()
        yield from (word for word in words if not word.startswith("-"))


def test_blocks_are_found_with_their_language_line_and_mark() -> None:
    """The reader of pages: indentation inside lists is taken off, and a mark counts for the block below it only."""
    text = dedent("""\
        # Page
        <!-- not run: needs a key -->

        ```python
        a = 1
        ```
        - item
          ```python
          b = 2
          ```
        ```console
        $ make -s run PROMPT="make it so"  # comment
        $ make test
        ```
        """)
    found = list(blocks_of(text))
    assert found == [
        Block("python", 5, "a = 1\n", "needs a key"),
        Block("python", 9, "b = 2\n", None),
        Block("console", 12, '$ make -s run PROMPT="make it so"  # comment\n$ make test\n', None),
    ]
    assert list(make_targets(found[2].code)) == ["run", "test"]


def test_blocks_share_names_and_may_await() -> None:
    """A later block sees what an earlier one made; an error carries the line of the page."""
    namespace: dict[str, object] = {}
    with asyncio.Runner() as runner:
        run_block(Block("python", 3, "import asyncio\nx = 1\n", None), "page.md", namespace, runner)
        run_block(Block("python", 9, "await asyncio.sleep(0)\nx += 1\n", None), "page.md", namespace, runner)
        with pytest.raises(ZeroDivisionError) as caught:
            run_block(Block("python", 20, "\nx / 0\n", None), "page.md", namespace, runner)
    assert (namespace["x"], caught.traceback[-1].lineno) == (2, 20)
