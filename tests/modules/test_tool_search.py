"""``grep`` and ``glob`` as a model sees them, with ripgrep and without it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.modules.search_world import NOWHERE, RIPGREPS, SearchSession, with_engine

from amplifier_module_tool_search import search_tool
from amplifier_module_tool_search.dialect import Expression
from amplifier_module_tool_search.engine import Query
from amplifier_module_tool_search.excerpts import Excerpts, Window
from amplifier_module_tool_search.search_tool import Page
from amplifier_module_tool_search.wishes import GrepWish

TEXT = "one\ntwo needle\nthree\nfour\nfive needle\nsix\n"


@pytest.fixture(params=[*RIPGREPS, pytest.param(NOWHERE, marks=pytest.mark.slow)], autouse=True)
def engine(request: pytest.FixtureRequest) -> Any:
    """The only ripgrep there is."""
    with with_engine(request.param):
        yield


async def session_in(folder: Path, **config: Any) -> SearchSession:
    return await SearchSession(folder, **config).begin()


async def test_files_that_match_are_told_in_order_of_their_paths(tmp_path: Path) -> None:
    """The default mode gives paths from the working directory, and says that these are all."""
    session = await session_in(tmp_path)
    for name in ("b.txt", "a/z.txt", "a.txt"):
        session.put(name)
    session.put("other.txt", "nothing")
    assert await session.grep("needle") == {
        "pattern": "needle",
        "output_mode": "files_with_matches",
        "total_matches": 3,
        "matches_count": 3,
        "files": ["a.txt", "a/z.txt", "b.txt"],
        "results_capped": False,
    }


async def test_content_comes_with_context(tmp_path: Path) -> None:
    """The context flags show lines around the matches; each line once, marked if it does not match."""
    session = await session_in(tmp_path)
    session.put("a.txt", TEXT)
    found = await session.grep("needle", output_mode="content", _C=1, _A=0)
    lines = [(line["line_number"], line["content"], "is_context" in line) for line in found["results"]]
    assert lines == [(1, "one", True), (2, "two needle", False), (4, "four", True), (5, "five needle", False)]
    assert (found["total_matches"], found["matches_count"], found["results_capped"]) == (2, 2, False)
    after = await session.grep("needle", output_mode="content", _A=9, _n=False)
    assert after["results"][0] == {"file": "a.txt", "content": "two needle"}
    assert [line["content"] for line in after["results"]] == TEXT.splitlines()[1:]


async def test_counts_are_of_lines(tmp_path: Path) -> None:
    """A line counts once, however often it matches."""
    session = await session_in(tmp_path)
    session.put("a.txt", "x x x\nx\n")
    session.put("b.txt", "x")
    assert await session.grep("x", output_mode="count") == {
        "pattern": "x",
        "output_mode": "count",
        "total_matches": 2,
        "matches_count": 2,
        "total_lines": 3,
        "counts": {"a.txt": 2, "b.txt": 1},
        "results_capped": False,
    }


async def test_pages_cover_everything_once(tmp_path: Path) -> None:
    """Going on at ``next_offset`` gives the next matches, across files; 0 gives all."""
    session = await session_in(tmp_path)
    for name in ("a", "b", "c"):
        session.put(f"{name}.txt", "".join(f"needle {name}{number}\n" for number in range(3)))
    seen: list[str] = []
    offset = 0
    while offset is not None:
        page = await session.grep("needle", output_mode="content", head_limit=2, offset=offset)
        seen += [line["content"][-2:] for line in page["results"]]
        offset = page.get("next_offset")
        assert page["results_capped"] == (offset is not None)
    assert seen == ["a0", "a1", "a2", "b0", "b1", "b2", "c0", "c1", "c2"]
    assert (await session.grep("needle", output_mode="content", head_limit=0))["matches_count"] == 9
    capped = await session.grep("needle", head_limit=1, offset=1)
    assert (capped["files"], capped["total_matches"], capped["next_offset"]) == (["b.txt"], 3, 2)
    beyond = await session.grep("needle", output_mode="content", offset=100)
    assert (beyond["results"], beyond["results_capped"]) == ([], False)


async def test_limits_come_from_the_config(tmp_path: Path) -> None:
    """``default_limits`` holds where nothing is asked for, ``max_results`` whatever is asked for."""
    session = await session_in(tmp_path, grep={"default_limits": {"count": 1}}, max_results=2)
    for number in range(4):
        session.put(f"{number}.txt")
    assert (await session.grep("needle", output_mode="count"))["matches_count"] == 1
    assert (await session.grep("needle", head_limit=0))["matches_count"] == 2
    assert len(await session.glob("*")) == 2


async def test_results_are_bounded_in_any_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a limit a result still ends somewhere, and says where to go on."""
    monkeypatch.setattr(search_tool, "MOST_CHARS", 200)
    session = await session_in(tmp_path)
    for number in range(9):
        session.put(f"{number}.txt")
    content = await session.grep("needle", output_mode="content", head_limit=0)
    assert (content["matches_count"], content["next_offset"], content["total_matches"]) == (3, 3, 9)
    assert (await session.grep("needle", head_limit=0))["next_offset"] == 4
    found = await session.call("glob", {"pattern": "*"})
    assert isinstance(found.output, dict)
    assert (found.output["count"], found.output["total_files"], found.output["results_capped"]) == (4, 9, True)


async def test_long_lines_are_cut(tmp_path: Path) -> None:
    """Of a long line the beginning is shown, and how much more there is."""
    session = await session_in(tmp_path)
    session.put("a.json", "x" * 3000 + "needle")
    [line] = (await session.grep("needle", output_mode="content"))["results"]
    assert line["content"] == "x" * 2000 + " [... 1,006 more characters in this line]"


@pytest.mark.parametrize(
    ("pattern", "given", "lines"),
    [
        ("-needle", {}, ["-needle"]),
        ("--files", {}, ["--files"]),
        ("NEEDLE", {"_i": True}, ["-needle", "a needle\\"]),
        ("needle$", {}, ["-needle"]),
        (r"needle\\", {}, ["a needle\\"]),
        (r"\"é\"", {}, ['"é"']),
        ("[[:upper:]]{2}", {}, ["AB"]),
        ("(?i)a(?:b)(?P<n>x)?$", {}, ["AB"]),
        (r"AB\n+-", {"multiline": True}, ["AB", "--files"]),
        ("AB.-", {"multiline": True}, ["AB", "--files"]),
        ("^$", {}, [""]),
        (r"\bne\w+\s\S*|\x41\u{42}", {}, ["-needle", "AB"]),
        (r"[\d\s]n", {}, ["a needle\\"]),
        (r"^[\w-]+$", {}, ["-needle", "AB", "--files"]),
    ],
)
async def test_patterns(tmp_path: Path, pattern: str, given: dict[str, Any], lines: list[str]) -> None:
    """Patterns mean what they say, those that look like options among them; line ends may be CRLF."""
    session = await session_in(tmp_path)
    session.put("a.txt", '-needle\r\n\r\nAB\n--files\n"é"\na needle\\\n')
    found = await session.grep(pattern, output_mode="content", **given)
    assert [line["content"] for line in found["results"]] == lines
    assert await session.files(pattern, **given) == ["a.txt"]


async def test_files_with_odd_names_are_found(tmp_path: Path) -> None:
    """Names may look like options, hold line ends, or be no text."""
    session = await session_in(tmp_path)
    names = ["-", "-e", "a\nb", "ü", os.fsdecode(b"\xff")]
    for name in names:
        session.put(name)
    assert sorted(await session.files("needle")) == sorted(names)
    assert (await session.grep("needle", output_mode="content"))["matches_count"] == 5
    assert await session.glob("*") == sorted(names)


async def test_encodings(tmp_path: Path) -> None:
    """UTF-16 with its mark is text; bytes that are no text are shown as such; files with a NUL are left out."""
    session = await session_in(tmp_path)
    session.put("wide.txt", "é needle\n".encode("utf-16"))
    session.put("marked.txt", "needle\n".encode("utf-8-sig"))
    session.put("latin.txt", "é needle\n".encode("latin-1"))
    session.put("binary", b"needle\0")
    found = await session.grep("needle", output_mode="content", head_limit=0)
    assert {line["file"]: line["content"] for line in found["results"]} == {
        "wide.txt": "é needle",
        "marked.txt": "needle",
        "latin.txt": "\ufffd needle",
    }
    assert await session.files("^.*needle") == ["marked.txt", "wide.txt"]


async def test_large_files_are_left_out_and_told(tmp_path: Path) -> None:
    """A file beyond ``max_file_size`` is not searched, and the result says so."""
    session = await session_in(tmp_path, grep={"max_file_size": 10})
    session.put("a.txt")
    session.put("b.txt", "needle " * 9)
    found = await session.grep("needle")
    assert (found["files"], found["note"]) == (["a.txt"], "Not searched: 1 files of more than 10 bytes.")
    assert await session.files("needle", path="b.txt") == []


async def test_what_is_left_out_and_how_to_see_it(tmp_path: Path) -> None:
    """Hidden, ignored and excluded files are left out below the root only, and shown on demand."""
    project = tmp_path / "build" / "project"
    project.mkdir(parents=True)
    session = await session_in(project)
    (project / ".git" / "info").mkdir(parents=True)
    session.put(".git/info/exclude", "private.txt\n")
    session.put(".gitignore", "*.log\n!keep.log\n/out\n")
    for name in ("a.txt", "b.log", "keep.log", "out/a", "sub/out/a", ".hidden", "node_modules/a", "private.txt"):
        session.put(name)
    session.put("sub/.gitignore", "!b.log\n")
    session.put("sub/b.log")
    seen = ["a.txt", "keep.log", "sub/b.log", "sub/out/a"]
    assert await session.files("needle") == seen
    assert await session.glob("**/*") == seen
    assert await session.files("needle", path="out") == ["out/a"]
    assert await session.files("needle", path="sub") == ["sub/b.log", "sub/out/a"]
    every = [*seen, ".hidden", "b.log", "node_modules/a", "out/a", "private.txt"]
    assert await session.files("needle", include_ignored=True) == sorted(every)
    assert await session.glob(".hid*") == [".hidden"]
    assert await session.glob("node_modules/*") == ["node_modules/a"]


async def test_secrets_never_show(tmp_path: Path) -> None:
    """What may not be read is in no result, not even as a count, and cannot be named as the root."""
    session = await session_in(tmp_path, denied_read_paths=["closed"])
    for name in (".env", ".ssh/id_rsa", "server.pem", "closed/a", "open.txt"):
        session.put(name)
    assert await session.files("needle", include_ignored=True) == ["open.txt"]
    assert (await session.grep("needle", output_mode="count", include_ignored=True))["total_lines"] == 1
    assert await session.glob("**", include_ignored=True, type="any") == ["open.txt"]
    for path in (".env", ".ssh", "closed", "/proc/self"):
        assert (await session.failure("grep", pattern="needle", path=path))[0] == "denied"


async def test_allowed_paths_are_kept(tmp_path: Path) -> None:
    """With ``allowed_paths`` nothing else is searched."""
    session = await session_in(tmp_path, allowed_paths=["in"])
    session.put("in/a")
    session.put("out/a")
    assert await session.files("needle", path="in") == ["in/a"]
    kind, message = await session.failure("grep", pattern="needle", path="out")
    assert (kind, "outside of the allowed paths" in message) == ("denied", True)
    assert (await session.failure("glob", pattern="*"))[0] == "denied"


async def test_links_are_not_followed(tmp_path: Path) -> None:
    """A link leads no search out of the root; ``glob`` lists those whose end is inside."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a").write_text("needle")
    inside = tmp_path / "inside"
    session = await session_in(inside.parent / "inside" if inside.mkdir() is None else inside)
    session.put("real/file")
    for name, target in {"dir": "../outside", "far": "../outside/a", "near": "real/file", "none": "x"}.items():
        (inside / name).symlink_to(target)
    assert await session.files("needle") == ["real/file"]
    assert await session.glob("**", type="any") == ["near", "real", "real/file"]
    assert await session.files("needle", path="../outside") == [str(tmp_path / "outside" / "a")]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
async def test_pipes_do_not_hang_a_search(tmp_path: Path) -> None:
    """What is no file is passed over."""
    session = await session_in(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / ".gitignore")
    session.put("a")
    assert (await session.files("needle"), await session.glob("*", type="any")) == (["a"], ["a"])


@pytest.mark.parametrize(
    ("given", "files"),
    [
        ({"type": "python"}, ["a.py", "sub/c.py"]),
        ({"type": ".JS"}, ["b.js"]),
        ({"glob": "*.{py,js}"}, ["a.py", "b.js", "sub/c.py"]),
        ({"glob": "!*.py"}, ["b.js", "d.txt"]),
        ({"glob": "sub/**"}, ["sub/c.py"]),
        ({"glob": "/*.py"}, ["a.py"]),
        ({"glob": "*.py", "type": "js"}, []),
        ({"path": "sub/c.py", "glob": "*.js"}, ["sub/c.py"]),
    ],
)
async def test_files_can_be_narrowed(tmp_path: Path, given: dict[str, Any], files: list[str]) -> None:
    """By type with its aliases, by glob, by path; a file that is named is searched whatever it is called."""
    session = await session_in(tmp_path)
    for name in ("a.py", "b.js", "sub/c.py", "d.txt"):
        session.put(name)
    assert await session.files("needle", **given) == files


@pytest.mark.parametrize(
    ("given", "paths"),
    [
        ({"pattern": "*.py"}, ["a.py"]),
        ({"pattern": "**/*.py"}, ["a.py", "src/b.py", "src/x/c.py"]),
        ({"pattern": "src/**/*.py"}, ["src/b.py", "src/x/c.py"]),
        ({"pattern": "src/**/x/*"}, ["src/x/c.py"]),
        ({"pattern": "./src/*"}, ["src/b.py"]),
        ({"pattern": "a.py"}, ["a.py"]),
        ({"pattern": "**/[!a].py"}, ["src/b.py", "src/x/c.py"]),
        ({"pattern": "**/*.py", "exclude": ["x"]}, ["a.py", "src/b.py"]),
        ({"pattern": "src/**", "exclude": ["src/x/*", "{b,z}.*"]}, []),
        ({"pattern": "*", "path": "src", "type": "dir"}, ["src/x"]),
        ({"pattern": "src/", "type": "dir"}, ["src"]),
        ({"pattern": "*", "type": "any"}, ["a.py", "src"]),
    ],
)
async def test_globs(tmp_path: Path, given: dict[str, Any], paths: list[str]) -> None:
    """Globs start in the searched folder; what they find is told from the working directory."""
    session = await session_in(tmp_path)
    for name in ("a.py", "src/b.py", "src/x/c.py"):
        session.put(name)
    assert await session.glob(**given) == paths
    absolute = given | {"pattern": f"{session.folder}/{given.get('path', '.')}/{given['pattern']}", "path": "src"}
    if "exclude" not in given:
        assert await session.glob(**absolute) == paths


async def test_globs_tell_the_newest_first(tmp_path: Path) -> None:
    """Matches are in order of their dates, with type and size."""
    session = await session_in(tmp_path)
    for age, name in enumerate(("old", "middle", "young")):
        os.utime(session.put(name, "x" * age), (age, age))
    (tmp_path / "folder").mkdir()
    os.utime(tmp_path / "folder", (9, 9))
    result = await session.call("glob", {"pattern": "*", "type": "any"})
    assert result.output == {
        "pattern": "*",
        "total_files": 4,
        "count": 4,
        "matches": [
            {"path": "folder", "type": "dir", "size": 0},
            {"path": "young", "type": "file", "size": 2},
            {"path": "middle", "type": "file", "size": 1},
            {"path": "old", "type": "file", "size": 0},
        ],
        "results_capped": False,
    }


@pytest.mark.parametrize(
    ("tool", "given", "kind", "message"),
    [
        ("grep", {}, "invalid_input", "'pattern' is missing or empty"),
        ("grep", {"pattern": 7}, "invalid_input", "'pattern' must be text, not int"),
        ("grep", {"pattern": "a\0"}, "invalid_input", "no NUL"),
        ("grep", {"pattern": "\ud800"}, "invalid_input", "half a character"),
        ("grep", {"pattern": "x" * 5000}, "invalid_input", "4096 characters at most"),
        ("grep", {"pattern": "a(b"}, "invalid_pattern", "at position 1: this '(' has no ')'"),
        ("grep", {"pattern": r"a\B"}, "invalid_pattern", r"at position 1: '\B' is nothing that searches take"),
        ("grep", {"pattern": "a", "output_mode": "all"}, "invalid_input", "must be one of files_with_matches, content"),
        ("grep", {"pattern": "a", "head_limit": -1}, "invalid_input", "'head_limit' must be a whole number"),
        ("grep", {"pattern": "a", "offset": True}, "invalid_input", "'offset' must be a whole number"),
        ("grep", {"pattern": "a", "_i": "yes"}, "invalid_input", "'-i' must be true or false, not str"),
        ("grep", {"pattern": "a", "_C": 101}, "invalid_input", "'-B' must be 100 lines at most"),
        ("grep", {"pattern": "a", "type": "cobol"}, "invalid_input", "'cobol' is no known type of file"),
        ("grep", {"pattern": "a", "glob": "[a"}, "invalid_input", "a '[' has no ']'"),
        ("grep", {"pattern": "a", "glob": "{a,b}" * 9}, "invalid_input", "more than 256 globs"),
        ("grep", {"pattern": "a", "path": "none"}, "invalid_input", "There is no none. Check 'path'"),
        ("grep", {"pattern": "a", "path": "a\0"}, "invalid_input", "holds a NUL character"),
        ("grep", {"pattern": "a", "path": "file/x"}, "io_error", "The search could not go on at file"),
        ("glob", {"pattern": "*", "path": "file"}, "invalid_input", "'path' must be a folder, and file is a file"),
        ("glob", {"pattern": "*/../.."}, "invalid_input", "Give the folder above as 'path'"),
        ("glob", {"pattern": "/"}, "invalid_input", "must name files below its folder"),
        ("glob", {"pattern": "*", "exclude": 7}, "invalid_input", "'exclude' must be a list of texts"),
        ("glob", {"pattern": "*", "exclude": [""]}, "invalid_input", "'exclude' must be a list of texts"),
        ("glob", {"pattern": "*", "type": "link"}, "invalid_input", "must be one of file, dir, any"),
    ],
)
async def test_input_that_cannot_be_used(
    tmp_path: Path, tool: str, given: dict[str, Any], kind: str, message: str
) -> None:
    """A wrong call is a failure that tells the model what to do instead."""
    session = await session_in(tmp_path)
    session.put("file")
    told = await session.failure(tool, **given)
    assert (told[0], message in told[1]) == (kind, True), told


async def test_a_file_that_changes_meanwhile_gives_what_is_there(tmp_path: Path) -> None:
    """Lines are shown from the file as it may be read now: none that is gone, none of what is denied by now."""
    session = await session_in(tmp_path)
    session.put("short", "a\n")
    (tmp_path / ".env").write_text("secret")
    (tmp_path / "swapped").symlink_to(".env")
    place = session.coordinator.get_mounted("tools")["grep"].place
    wish = GrepWish("a", None, Query(Expression("a", "a", "a")), "content", True, 0, 0, (), False, 0, 0)
    excerpts = Excerpts(place, place.root(None), wish, Page(0, 0), 1000)
    for name in ("short", "swapped", "gone"):
        assert excerpts.add(Window(name, 0, 9), [1, 5])
    assert excerpts.results == [{"file": "short", "line_number": 1, "content": "a"}]
