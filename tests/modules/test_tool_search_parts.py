"""The parts of the search: the dialect, globs, ignore rules, walks, and the processes that search."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.modules.search_world import NOWHERE, RIPGREPS, SearchSession, with_engine

from amplifier_module_tool_search import children, ripgrep, worker
from amplifier_module_tool_search.choosing import Chooser, told_of
from amplifier_module_tool_search.config import SearchConfig
from amplifier_module_tool_search.dialect import Expression, read
from amplifier_module_tool_search.engine import Files, Query
from amplifier_module_tool_search.excerpts import Window
from amplifier_module_tool_search.globs import FileFilter, GlobError, PathGlob, name_glob, with_braces
from amplifier_module_tool_search.grep_tool import _collect, engine_for
from amplifier_module_tool_search.ignoring import IgnoreRule, IgnoreRules, lines_of, surroundings_of
from amplifier_module_tool_search.problems import EngineError, PatternError
from amplifier_module_tool_search.python_engine import PythonEngine
from amplifier_module_tool_search.ripgrep import Ripgrep
from amplifier_module_tool_search.walking import Scope, StoppedError, Walk

needs_ripgrep = pytest.mark.skipif(not RIPGREPS, reason="there is no ripgrep")


@pytest.mark.parametrize(
    ("pattern", "position"),
    [
        ("a{", 1),
        ("{2}", 0),
        ("a{3,2}", 1),
        ("a{1,1001}", 1),
        ("a**", 2),
        ("x*+", 2),
        ("^*", 1),
        (")", 0),
        ("((a)", 0),
        ("a(?=b)", 1),
        ("(?<!b)", 0),
        ("(?x)a", 0),
        ("a(?i)", 1),
        ("(?P<n>a)(?P<n>b)", 8),
        ("(?P<né>a)", 0),
        (r"\1", 0),
        (r"\p{L}", 0),
        (r"a\z", 1),
        (r"\<a", 0),
        (r"\é", 0),
        (r"\b{start}", 0),
        ("\\", 0),
        (r"\x4", 0),
        (r"\u{110000}", 0),
        (r"\ud800", 0),
        (r"a\n", 1),
        ("a\n", 1),
        (r"[\n]", 1),
        ("[a", 0),
        ("[]", 0),
        ("[b-a]", 1),
        ("[a[b]", 2),
        ("[a&&b]", 2),
        (r"[\S]", 1),
        (r"[\d-z]", 1),
        (r"[\b]", 1),
    ],
)
def test_patterns_outside_of_the_dialect_are_refused(pattern: str, position: int) -> None:
    """What is wrong, or what only one engine takes, is told with its place."""
    with pytest.raises(PatternError) as told:
        read(pattern)
    assert told.value.position == position


def test_what_is_too_much_for_python_is_refused() -> None:
    """A pattern that cannot be compiled is a pattern error as well."""
    with pytest.raises(PatternError, match="Simplify the pattern"):
        read("(" * 4000 + ")" * 4000)


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        ("*", ["a", "ab"], []),
        ("a*a", ["aa", "aba"], ["a", "ab"]),
        ("*a*b*", ["xaxbx", "ab"], ["ba"]),
        ("?", ["a"], ["", "ab"]),
        ("[a-c]", ["b"], ["d"]),
        ("[!a-c]", ["d"], ["b"]),
        ("[^]]", ["a"], ["]"]),
        ("[]a-]", ["]", "-", "a"], ["b"]),
        (r"[\]]x", ["]x"], ["x"]),
        ("[b-a]", [], ["a", "b"]),
        ("[!b-a]", ["a"], []),
        (r"\*", ["*"], ["a"]),
        ("a\\", ["a\\"], ["a"]),
    ],
)
def test_globs_of_names(glob: str, yes: list[str], no: list[str]) -> None:
    """Wildcards and classes within one name."""
    pattern = name_glob(glob)
    assert [each for each in yes + no if pattern.fullmatch(each)] == yes


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        ("**", ["a", "a/b"], []),
        ("**/b", ["b", "a/b", "a/a/b"], ["b/a"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "b/a"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["a", "b"]),
        ("a/**/**/b", ["a/b", "a/x/b"], ["a"]),
        ("/a/./b/", ["a/b"], ["a", "x/a/b"]),
    ],
)
def test_globs_of_paths(glob: str, yes: list[str], no: list[str]) -> None:
    """Two stars stand for any number of folders."""
    pattern = PathGlob.from_text(glob)
    assert [each for each in yes + no if pattern.matches(each.split("/"))] == yes


def test_braces_stand_for_either() -> None:
    """Braces may be nested; without a comma or an end they stand for themselves."""
    assert with_braces("a.{b,{c,d}e}{f}{") == ["a.b{f}{", "a.ce{f}{", "a.de{f}{"]
    assert FileFilter.from_texts(["*.py", "!b.*"]).takes(("x", "a.py"))
    assert not FileFilter.from_texts(["*.py", "!b.*"]).takes(("b.py",))
    with pytest.raises(GlobError, match="has no"):
        name_glob("a[b")


@pytest.mark.slow
@given(st.text(alphabet="ab*?", max_size=8), st.text(alphabet="ab", max_size=8))
def test_globs_match_as_they_are_defined(glob: str, name: str) -> None:
    """The quick matcher agrees with the plain definition of a glob."""

    def matches(g: str, n: str) -> bool:
        if not g:
            return not n
        if g[0] == "*":
            return matches(g[1:], n) or (bool(n) and matches(g, n[1:]))
        return bool(n) and g[0] in ("?", n[0]) and matches(g[1:], n[1:])

    assert (name_glob(glob).fullmatch(name) is not None) == matches(glob, name)


def test_hostile_globs_take_no_time() -> None:
    """Many stars against a long name, and many double stars against a deep path, are done at once."""
    begin = time.process_time()
    assert not name_glob("*a" * 30 + "*b").fullmatch("a" * 255)
    assert not PathGlob.from_text("/".join(["**", "a"] * 20 + ["b"])).matches(["a"] * 100)
    assert time.process_time() - begin < 0.2


@pytest.mark.parametrize(
    ("line", "path", "is_folder", "ignores"),
    [
        ("a ", "a", False, True),
        ("a\\ ", "a ", False, True),
        ("a/", "a", False, None),
        ("a/", "a", True, True),
        ("/a", "x/a", False, None),
        ("x/a", "x/a", False, True),
        ("!a", "a", False, False),
        ("#a", "#a", False, None),
        ("\\#a\r", "#a", False, True),
        ("/", "a", True, None),
        ("[a", "[a", False, None),
        ("b", "a", False, None),
    ],
)
def test_ignore_rules(line: str, path: str, is_folder: bool, ignores: bool | None) -> None:
    """Lines of ignore files mean what they mean to git."""
    assert IgnoreRules().with_lines([line], 0).ignores(path.split("/"), is_folder=is_folder) is ignores
    assert not IgnoreRule(None, None, False, False).matches(["a"], is_folder=False)


def test_ignore_files_that_are_none_have_no_lines(tmp_path: Path) -> None:
    """A link, a folder and nothing at all are no ignore files; outside of a repository nothing from above counts."""
    (tmp_path / "real").write_text("a")
    (tmp_path / "link").symlink_to("real")
    assert [lines_of(tmp_path / name) for name in ("real", "link", "none", "")] == [["a"], [], [], [""]]
    assert surroundings_of(Path("/")).rules == IgnoreRules()


def test_a_walk_passes_over_what_it_cannot_list(tmp_path: Path) -> None:
    """A folder that is gone, or may not be entered, has nothing in it; exclusions may have wildcards."""
    for name in ("a/x", "shut/x", "b.egg-info/x"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    scope = Scope(("*.egg-info",))
    found = [each.name for each in Walk(tmp_path, scope, may_enter=lambda path: "shut" not in path).found()]
    assert sorted(found) == ["a", "a/x"]
    assert list(Walk(tmp_path / "gone", scope).found()) == []
    with pytest.raises(StoppedError):
        list(Walk(tmp_path, scope, is_stopped=lambda: True).found())


async def test_threads_stop_when_nobody_waits(tmp_path: Path) -> None:
    """What goes through files looks whether it is to stop."""
    session = await SearchSession(tmp_path).begin()
    place = session.coordinator.get_mounted("tools")["grep"].place
    with pytest.raises(StoppedError):
        told_of(place, place.root(None), ["a"])(lambda: True)
    with pytest.raises(StoppedError):
        _collect(None, [Window("a", 0, 1)], {}, lambda: True)  # pyright: ignore[reportArgumentType]


async def test_files_that_change_meanwhile_are_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is gone, a link or a folder by now is left out; one that is gone before it is looked at as well."""
    session = await SearchSession(tmp_path).begin()
    session.put("real")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "folder").mkdir()
    place = session.coordinator.get_mounted("tools")["grep"].place
    assert told_of(place, place.root(None), ["real", "link", "folder", "gone"])(lambda: False) == ["real"]

    class Gone:
        entry: Any = None
        parts = ("gone",)
        is_folder = False

        def __init__(self) -> None:
            self.entry = self

        def is_file(self, *, follow_symlinks: bool) -> bool:
            return True

        def stat(self, *, follow_symlinks: bool) -> os.stat_result:
            raise FileNotFoundError

    chooser = Chooser(place, None, Scope(), (), 10)
    assert chooser._size(Gone()) is None  # pyright: ignore[reportPrivateUsage, reportArgumentType]


def test_configs_that_mean_nothing_are_refused() -> None:
    """Wrong values are told with what was expected."""
    for config, message in (
        ({"grep": {"exclusions": ["a/b"]}}, "must be one name"),
        ({"glob": {"exclusions": ["[a"]}}, "has no"),
        ({"allowed_paths": [], "allowed_read_paths": []}, "give one of them"),
        ({"grep": {"timeout": 0}}, "greater than 0"),
        ({"grep": {"limits": 0}}, "Extra inputs"),
    ):
        with pytest.raises(ValueError, match=message):
            SearchConfig.read(config)
    assert SearchConfig.read({"unknown": 1}) == SearchConfig()
    assert SearchConfig.read({"grep": {"exclusions": ["*.egg-info/"]}}).grep.exclusions == ("*.egg-info",)


def test_ripgrep_is_taken_from_safe_places_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of that name in the current directory is not run."""
    (tmp_path / "rg").write_text("#!/bin/sh\n")
    (tmp_path / "rg").chmod(stat.S_IRWXU)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ".")
    assert isinstance(engine_for(1), PythonEngine)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert isinstance(engine_for(1), Ripgrep)


QUERY = Query(read("a"))


def script(folder: Path, text: str) -> str:
    """A program that stands for ripgrep."""
    path = folder / "rg"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(stat.S_IRWXU)
    return str(path)


async def test_an_engine_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program, a program that complains, one that dies: each is told; files that are gone are no failure."""
    files = Files(tmp_path, ["a"], 100)
    for text, message in (
        ("echo wrong >&2; exit 2", r"could not search \(exit code 2\): wrong"),
        ("kill -9 $$", r"exit code -9\): it does not say why"),
    ):
        with pytest.raises(EngineError, match=message):
            await Ripgrep(script(tmp_path, text)).files(QUERY, files)
    assert await Ripgrep(script(tmp_path, "exit 2")).files(QUERY, files) == {}
    with pytest.raises(EngineError, match="none cannot be started"):
        await Ripgrep(str(tmp_path / "none")).files(QUERY, files)
    with pytest.raises(EngineError, match="Python could not search"):
        await PythonEngine(9, "/bin/false").counts(QUERY, files)
    monkeypatch.setattr(children, "MOST_OUTPUT_BYTES", 10)
    with pytest.raises(EngineError, match="too many matches"):
        await Ripgrep(script(tmp_path, "echo 12345678901; exec sleep 60")).files(QUERY, files)


async def test_words_are_given_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More names than a program takes at once are given one after another; no names, no program."""
    monkeypatch.setattr(ripgrep, "_MOST_WORDS_BYTES", 40)
    program = script(tmp_path, 'for last; do :; done; printf "%s\\0" "$last"; echo "$#" >> "$0.calls"')
    found = await Ripgrep(program).files(QUERY, Files(tmp_path, ["aaaaa", "bbbbb", "ccccc"], 100))
    assert found == {"bbbbb": 1, "ccccc": 1}
    assert len((tmp_path / "rg.calls").read_text().splitlines()) == 2
    assert await Ripgrep("none").files(QUERY, Files(tmp_path, [], 100)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("has_groups", [True, False])
async def test_a_cancelled_search_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_groups: bool
) -> None:
    """Cancelling the call ends the program with what it has started, and the cancellation goes through."""
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "a").write_text("a")
    # Its input ends when whoever has started it waits for its output.
    program = script(tmp_path, '/bin/cat > /dev/null; echo $$ > "$0.pid"; exec /bin/sleep 60')
    os.mkfifo(tmp_path / "rg.pid")
    if not has_groups:
        monkeypatch.delattr(os, "killpg")
    session = await SearchSession(folder).begin()
    with with_engine(program):
        call = asyncio.create_task(session.call("grep", {"pattern": "a"}))
        pid = int(await asyncio.to_thread((tmp_path / "rg.pid").read_text))
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.slow
async def test_a_hostile_pattern_costs_its_time_and_no_more(tmp_path: Path) -> None:
    """A pattern that would run for ever is stopped at the time limit, and the loop goes on meanwhile."""
    session = await SearchSession(tmp_path, grep={"timeout": 1.0}).begin()
    session.put("a.txt", "a" * 60 + "!")
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    with with_engine(NOWHERE):
        kind, message = await session.failure("grep", pattern="^(a|aa)+$")
    ticking.cancel()
    assert (kind, message.partition(" and")[0]) == ("timeout", "The search did not end within 1 s")
    assert ticks > 20


async def test_a_time_limit_of_the_system_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that does not answer is told as what it is."""
    session = await SearchSession(tmp_path).begin()
    tool = session.coordinator.get_mounted("tools")["glob"]

    async def hang(work: Callable[..., Any]) -> Any:
        raise TimeoutError("the share does not answer")

    monkeypatch.setattr(tool.place, "work", hang)
    told = await session.failure("glob", pattern="*")
    assert told == ("io_error", "The search could not go on: the share does not answer. Check 'path'.")


def searched(folder: Path, names: list[str], **job: Any) -> list[Any]:
    """What the worker tells, run here."""
    defaults = {
        "pattern": "a",
        "careful_pattern": "a",
        "ignores_case": False,
        "is_multiline": False,
        "max_bytes": 100,
        "max_seconds": 60,
        "most_lines": 9,
        "wants_lines": True,
    }
    told = json.dumps(defaults | job).encode() + b"\n" + b"".join(os.fsencode(folder / name) + b"\0" for name in names)
    sink = io.BytesIO()
    try:
        worker.main(io.BytesIO(told), sink)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return [json.loads(line) for line in sink.getvalue().splitlines()]


def test_the_worker_tells_files_by_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file that matches is told with its lines or their count; what is no file, or no text, does not stop it."""
    (tmp_path / "one").write_bytes(b"a\nb\nA\n\xff")
    (tmp_path / "two").write_bytes(b"x\na\nb\na b\n\n")
    names = ["one", "none", "", "two"]
    assert searched(tmp_path, names) == [[0, [1]], [3, [2, 4]]]
    assert searched(tmp_path, names, ignores_case=True, wants_lines=False) == [[0, 2], [3, 2]]
    assert searched(tmp_path, names, most_lines=1) == [[0, [1]], [3, [2]]]
    assert searched(tmp_path, names, max_bytes=2) == [[0, [1]]]
    spanning = searched(tmp_path, ["two"], is_multiline=True, pattern="a\nb|b\n|^$")
    assert spanning == [[0, [2, 3, 4, 5]]]
    monkeypatch.delattr(signal, "setitimer")
    with pytest.raises(AttributeError):
        searched(tmp_path, names)


@needs_ripgrep
async def test_too_large_an_expression_is_told(tmp_path: Path) -> None:
    """What ripgrep cannot compile is a failure with its words."""
    (tmp_path / "a").write_text("a")
    with pytest.raises(EngineError, match="exit code 2"):
        await Ripgrep(RIPGREPS[0]).files(Query(Expression("(", "(", "(")), Files(tmp_path, ["a"], 10))
