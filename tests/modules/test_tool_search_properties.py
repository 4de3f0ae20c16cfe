"""Both engines give the same answers, whatever the tree and the pattern; and trees are walked as ripgrep walks them."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.modules.search_world import NOWHERE, RIPGREPS, SearchSession, with_engine

from amplifier_module_tool_search import dialect
from amplifier_module_tool_search.engine import Files, Query
from amplifier_module_tool_search.problems import PatternError
from amplifier_module_tool_search.ripgrep import Ripgrep
from amplifier_module_tool_search.walking import Scope, Walk
from amplifier_module_tool_search.worker import matching_lines

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not RIPGREPS, reason="there is no ripgrep to compare with")]

ITEMS = [*"abAé. $^|", r"\.", r"\d", r"\w", r"\W", r"\s", r"\S", r"\b", r"\B", r"\t", r"\x61", r"\u{e9}"]
CLASSES = ["[ab]", "[^a]", "[a-zé]", "[[:upper:]]", r"[^\s]", r"[\w.-]", "[]a]", "[^]]"]
REPEATS = ["*", "+", "?", "*?", "+?", "{2}", "{0,2}", "{1,}?"]


def _longer(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    grouped = st.builds("{}{}{}".format, st.sampled_from(["(", "(?:", "(?i:"]), inner, st.just(")"))
    repeated = st.builds("{}{}".format, grouped | st.sampled_from([*"ab.", *CLASSES]), st.sampled_from(REPEATS))
    return grouped | repeated | st.builds("{}{}".format, inner, inner) | st.builds("{}|{}".format, inner, inner)


patterns = st.recursive(st.sampled_from([*ITEMS, *CLASSES]), _longer, max_leaves=6)
spanning = st.recursive(st.sampled_from([*ITEMS, *CLASSES, r"\n", r"a\n", r"\nb"]), _longer, max_leaves=6)
texts = st.text(alphabet="abA é.0\t\n\n-_", max_size=40) | st.lists(
    st.text(alphabet="abAé .", max_size=6), max_size=8
).map("\r\n".join)
encodings = st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16"])
flags = st.booleans()


@contextmanager
def new_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp()).resolve()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("program", RIPGREPS)
@settings(max_examples=60, deadline=None)
@given(data=st.data(), is_multiline=flags, ignores_case=flags)
def test_the_same_lines_match(program: str, data: Any, is_multiline: bool, ignores_case: bool) -> None:
    """ripgrep and Python tell the same lines, counts and files for patterns that the dialect takes."""
    pattern = data.draw(spanning if is_multiline else patterns)
    try:
        expression = dialect.read(pattern, is_multiline=is_multiline)
    except PatternError:
        return
    contents = [data.draw(texts).encode(data.draw(encodings)) for _ in range(2)]
    contents.append(b"".join(data.draw(st.lists(st.sampled_from([b"a", b"\n", b"\xe9", b" "]), max_size=12))))
    query = Query(expression, ignores_case, is_multiline)
    with new_folder() as folder:
        names = [f"-{number}.txt" for number in range(3)]
        for name, content in zip(names, contents, strict=True):
            (folder / name).write_bytes(content)
        found = asyncio.run(_asked(Ripgrep(program), query, Files(folder, names, 1000)))
    options = (re.M | re.S if is_multiline else re.NOFLAG) | (re.I if ignores_case else re.NOFLAG)
    compiled = re.compile(expression.python, options), re.compile(expression.careful, options)
    job = {"is_multiline": is_multiline}
    lines = {name: list(matching_lines(compiled, each, job)) for name, each in zip(names, contents, strict=True)}
    lines = {name: numbers for name, numbers in lines.items() if numbers}
    assert found == (dict.fromkeys(lines, 1), {name: len(numbers) for name, numbers in lines.items()}, lines)


async def _asked(engine: Ripgrep, query: Query, files: Files) -> tuple[Any, Any, Any]:
    return await engine.files(query, files), await engine.counts(query, files), await engine.lines(query, files, 1000)


names = st.sampled_from(["a", "b.py", "c.js", "build", "node_modules", ".hidden", "ab", "b c", "-x"])
trees = st.dictionaries(st.lists(names, min_size=1, max_size=4).map("/".join), texts, max_size=8)
ignores = st.lists(
    st.sampled_from(
        [
            "a",
            "/a",
            "a/",
            "*.py",
            "!b.py",
            "a/*",
            "a/**",
            "**/ab",
            "a/**/ab",
            "b*",
            "[ab]",
            "!a/",
            "# a",
            "",
            "?",
            "*",
            "!*/",
        ]
    ),
    max_size=4,
)
ignore_files = st.dictionaries(st.sampled_from(["", "a", "ab", "a/a"]), ignores, max_size=3)


def plant(folder: Path, tree: dict[str, str], ignoring: dict[str, list[str]]) -> None:
    for name, text in tree.items():
        path = folder / name
        if not any(each.is_file() for each in (path, *path.parents)) and not path.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    for where, lines in ignoring.items():
        if (folder / where).is_dir():
            (folder / where / ".gitignore").write_text("\n".join(lines))


@pytest.mark.parametrize("program", RIPGREPS)
@settings(max_examples=60, deadline=None)
@given(tree=trees, ignoring=ignore_files)
def test_ignore_rules_mean_what_they_mean_to_ripgrep(
    program: str, tree: dict[str, str], ignoring: dict[str, list[str]]
) -> None:
    """A walk finds the files that ripgrep lists, in a repository with ignore files anywhere."""
    with new_folder() as folder:
        plant(folder, tree, ignoring)
        (folder / ".git").mkdir()
        listed = subprocess.run(
            [program, "--no-config", "--files", "--no-ignore-global", "--no-ignore-parent"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        found = [each.name for each in Walk(folder, Scope()).found() if not each.is_folder]
    assert sorted(found) == sorted(listed.stdout.splitlines())


@settings(max_examples=15, deadline=None)
@given(
    tree=trees,
    ignoring=ignore_files,
    pattern=patterns,
    wish=st.fixed_dictionaries(
        {"output_mode": st.sampled_from(["files_with_matches", "content", "count"])},
        optional={
            "-i": flags,
            "-n": flags,
            "-A": st.integers(0, 3),
            "-B": st.integers(0, 3),
            "-C": st.integers(0, 2),
            "glob": st.sampled_from(["*.py", "!*.py", "a/**", "{a,ab}"]),
            "type": st.sampled_from(["py", "javascript"]),
            "head_limit": st.integers(0, 4),
            "offset": st.integers(0, 3),
            "include_ignored": flags,
        },
    ),
)
def test_whole_answers_are_the_same(
    tree: dict[str, str], ignoring: dict[str, list[str]], pattern: str, wish: dict[str, Any]
) -> None:
    """The tool answers alike with ripgrep and without it: matches, context, counts, order, caps, failures."""

    async def answers() -> list[tuple[bool, Any]]:
        found: list[tuple[bool, Any]] = []
        for program in (RIPGREPS[0], NOWHERE):
            session = await SearchSession(folder).begin()
            with with_engine(program):
                result = await session.call("grep", {"pattern": pattern, **wish})
            found.append((result.success, result.output))
        return found

    with new_folder() as folder:
        plant(folder, tree, ignoring)
        with_ripgrep, without = asyncio.run(answers())
    assert with_ripgrep == without
