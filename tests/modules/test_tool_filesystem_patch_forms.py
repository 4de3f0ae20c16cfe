"""Patches as texts: what is understood, what is not, and where hunks go."""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.modules.filesystem_world import FileSession

from amplifier_module_tool_filesystem.begin_patch import read_begin_patch
from amplifier_module_tool_filesystem.hunks import apply_hunks
from amplifier_module_tool_filesystem.patches import FilePatch, Hunk, content_of
from amplifier_module_tool_filesystem.problems import PatchError
from amplifier_module_tool_filesystem.unified_diff import read_unified_diff

LINES = st.lists(st.sampled_from(["a", "b", "c", "-- x", "++ y", "", " ", "@@"]), max_size=12)


@pytest.mark.slow
@given(LINES, LINES, st.integers(0, 3))
@example(["a", "-- x"], ["a"], 0)
def test_a_diff_of_two_texts_makes_one_of_the_other(old: list[str], new: list[str], context: int) -> None:
    """Whatever two texts are, the diff between them turns the first into the second."""
    one, other = "".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new)
    diff = "".join(difflib.unified_diff(one.splitlines(True), other.splitlines(True), "a/x", "b/x", n=context))
    if not diff:
        return
    (patch,) = read_unified_diff(diff)
    assert (patch.action, patch.path) == ("update", "x")
    assert apply_hunks(one, patch.hunks, "x") == other


@pytest.mark.slow
@given(LINES, LINES)
def test_a_patch_of_agents_makes_one_text_of_another(old: list[str], new: list[str]) -> None:
    """A hunk that replaces all lines does so, whatever they are."""
    if not old and not new:
        return
    lines = [*(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    text = "\n".join(["*** Begin Patch", "*** Update File: x", *lines, "*** End Patch"])
    (patch,) = read_begin_patch(text)
    before = "".join(f"{line}\n" for line in old)
    assert apply_hunks(before, patch.hunks, "x") == "".join(f"{line}\n" for line in new)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not there")
async def test_what_git_writes_is_understood(tmp_path: Path) -> None:
    """A diff of a real repository, with renames, modes, odd names and missing newlines, gives the same tree."""
    repository, copy = tmp_path / "repository", tmp_path / "copy"
    repository.mkdir()

    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=x", "-c", "user.email=x@y", "-c", "core.fileMode=true", *arguments]
        nobody = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        return subprocess.run(
            command, cwd=repository, check=True, capture_output=True, encoding="utf-8", env=nobody
        ).stdout

    git("init", "-q")
    (repository / "sub").mkdir()
    lines = [f"line {number}" for number in range(40)]
    (repository / "plain.txt").write_text("\n".join(lines) + "\n")
    (repository / "bare.txt").write_text("one\ntwo")
    (repository / "crlf.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    (repository / "sub/moved ünder.txt").write_text("\n".join(lines))
    (repository / "gone.txt").write_text("gone")
    (repository / "script.sh").write_text("exit 0\n")
    git("add", "-A")
    git("commit", "-q", "-m", "before")
    shutil.copytree(repository, copy, ignore=shutil.ignore_patterns(".git"))
    session = await FileSession(copy).begin()
    for path in [path for path in copy.rglob("*") if path.is_file()]:
        await session.read(str(path))
    lines[3:5] = ["changed"]
    lines[30:30] = ["-- added", "++ added", ""]
    (repository / "plain.txt").write_text("\n".join(lines))
    (repository / "bare.txt").write_text("one\ntwo\nthree\n")
    (repository / "crlf.txt").write_bytes(b"one\r\n2\r\nthree\r\n")
    (repository / "sub/moved ünder.txt").rename(repository / "sub/to here.txt")
    (repository / "gone.txt").unlink()
    (repository / "script.sh").chmod(0o755)
    (repository / "new").mkdir()
    (repository / 'new/"quoted"\t.txt').write_text("new\n")
    git("add", "-A")
    output = await session.patch(git("diff", "--cached", "-M"))
    shutil.rmtree(repository / ".git")
    expected = {path.relative_to(repository): path.read_bytes() for path in repository.rglob("*") if path.is_file()}
    assert {path.relative_to(copy): path.read_bytes() for path in copy.rglob("*") if path.is_file()} == expected
    assert (copy / "script.sh").stat().st_mode & 0o777 == 0o755
    assert output["files_changed"] == 7


def update(path: str, *hunks: Hunk) -> FilePatch:
    return FilePatch("update", path, hunks)


@pytest.mark.parametrize(
    ("diff", "expected"),
    [
        ("--- x.orig\t2024-01-01\n+++ x\t2024-01-02\n@@ -1 +1 @@\n-a\n+b\n", ("update", "x")),
        ("--- a/x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n", ("update", "x")),
        ("--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n", ("update", "x")),
        ("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n", ("add", "x")),
        ("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n", ("delete", "x")),
        ('--- "a/\\q x"\n+++ "b/\\q x"\n@@ -1 +1 @@\n-a\n+b\n', ("update", "q x")),
        ("diff --git a/p b/q\nrename from p\nrename to q\n", ("update", "p")),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\n\n-- \n2.40\n", ("update", "x")),
        ("diff --git x y\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b", ("update", "x")),
    ],
)
def test_names_in_diffs(diff: str, expected: tuple[str, str]) -> None:
    """Prefixes, times and quotes are taken off names, and nowhere is no name."""
    (patch,) = read_unified_diff(diff)
    assert (patch.action, patch.path) == expected


@pytest.mark.parametrize(
    ("counts", "lines"),
    [("-1,9 +1,9", "-a\n+b\n"), ("-1 +1", "-a\n+b\n+c\n c\n"), ("-1,2 +1,2", "-a\n+b\n\n")],
    ids=["too many", "too few", "an empty line that lost its blank"],
)
def test_counts_may_be_wrong(counts: str, lines: str) -> None:
    """Models miscount; the lines themselves say what is meant."""
    (first, second) = read_unified_diff(
        f"--- a/x\n+++ b/x\n@@ {counts} @@\n{lines}diff --git a/y b/y\nnew file mode 100644\n"
    )
    assert (first.path, second.path) == ("x", "y")
    text = "a\n\n" if lines.endswith("\n\n") else "a\nc\n"
    assert apply_hunks(text, first.hunks, "x").startswith("b\n")


def misread(number: int, line: str, expected: str) -> str:
    return f"Line {number} of the patch cannot be understood: {line!r}. Expected {expected}."


NAMELESS = "The patch has a part that names no file. Each needs '--- a/path' and '+++ b/path'."
COPIES = "Line 2 of the patch: copies are not supported; add the file instead."
BINARY = "Line 2 of the patch: binary patches are not supported."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\nb\n",
            misread(5, "b", "a line with ' ', '+' or '-' in front, '@@', or the next file"),
        ),
        ("--- a/x\n+++ b/x\n@@ function @@\n a\n", misread(3, "@@ function @@", "'@@ -1,2 +1,2 @@'")),
        ("diff --git a/x b/x\nindex 1..2\n", "The patch names x and does not say what to change there."),
        ("diff --git a/x b/y\nindex 1..2\n", NAMELESS),
        ("diff --git a/x b/y\ncopy from x\ncopy to y\n", COPIES),
        ("diff --git a/x b/x\nGIT binary patch\n", BINARY),
        ("diff --git a/x b/x\nBinary files a/x and b/x differ\n", BINARY),
        (
            "diff --git a/x b/x\nnew file mode 120000\n",
            "Line 2 of the patch has the mode '120000'; only 100644 and 100755 are supported.",
        ),
    ],
)
def test_what_is_wrong_with_a_diff_is_told(text: str, message: str) -> None:
    """The line that cannot be understood is named, or what is missing."""
    with pytest.raises(PatchError) as caught:
        read_unified_diff(text)
    assert str(caught.value) == message


def wrapped(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])


CUT_OFF = "The patch ends without '*** End Patch', so it may have been cut off. Send all of it."
SECTIONS = "'*** Add File: …', '*** Update File: …', '*** Delete File: …' or '*** End Patch'"
WITH_PLUS = "a line of the new file, with '+' in front"
SIGNED = "a line with ' ', '+' or '-' in front, or '@@'"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("*** Begin Patch\n*** Add File: x\n+a", CUT_OFF),
        ("*** Begin Patch", CUT_OFF),
        (wrapped("hello"), misread(2, "hello", SECTIONS)),
        (wrapped("*** Add File: x", "a"), misread(3, "a", WITH_PLUS)),
        (wrapped("*** Add File: x", "+a", "", "+b"), misread(4, "", WITH_PLUS)),
        (wrapped("*** Add File: "), misread(2, "*** Add File: ", "the path of a file")),
        (wrapped("*** Update File: x"), "The patch says to update x and not how. Add the lines to change."),
        (
            wrapped("*** Update File: x", "@@ here"),
            "The patch has a hunk without lines ('@@ here'). Add the lines to change.",
        ),
        (wrapped("*** Update File: x", "@@", "hello"), misread(4, "hello", SIGNED)),
        (wrapped("*** Delete File: x") + "and more", misread(4, "and more", "nothing after '*** End Patch'")),
    ],
)
def test_what_is_wrong_with_a_patch_of_agents_is_told(text: str, message: str) -> None:
    """The line that cannot be understood is named, or what is missing."""
    with pytest.raises(PatchError) as caught:
        read_begin_patch(text)
    assert str(caught.value) == message


def test_parts_of_a_patch_of_agents() -> None:
    """Blank lines between parts, carriage returns and several anchors are understood."""
    text = wrapped(
        "",
        "*** Add File: a b.txt\r",
        "+one\r",
        "",
        "*** Update File: x",
        "*** Move to: y",
        "@@ class A",
        "@@ def f",
        " context",
        "-old",
        "",
        "@@",
        "+end",
        "*** End of File",
        "*** Delete File: z",
    )
    assert read_begin_patch(text) == [
        FilePatch("add", "a b.txt", (Hunk("new file", (("+", "one"),)),)),
        FilePatch(
            "update",
            "x",
            (
                Hunk("@@ class A @@ def f", ((" ", "context"), ("-", "old")), anchors=("class A", "def f")),
                Hunk("@@", (("+", "end"),), is_at_end=True),
            ),
            new_path="y",
        ),
        FilePatch("delete", "z"),
    ]


async def test_what_is_no_patch_is_told(tmp_path: Path) -> None:
    """A text without any file, and none at all, are told."""
    session = await FileSession(tmp_path).begin()
    for text in ("", "please change the file", "*** Begin Patch\n*** End Patch"):
        assert await session.failure("apply_patch", patch=text) == (
            "patch",
            "The patch changes no file. Give a unified diff, or one that begins with '*** Begin Patch'.",
        )
    assert await session.failure("apply_patch") == ("invalid_input", "'patch' must be text, and it is missing.")


def hunk(*lines: str, **facts: object) -> Hunk:
    return Hunk("@@", tuple((line[0], line[1:]) for line in lines), **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "wanted", "expected"),
    [
        ("x\nx\nx\nx\n", hunk("-x", "+y", start=3), "x\nx\ny\nx\n"),
        ("x\nx\nx\nx\n", hunk("-x", "+y", start=99), "x\nx\nx\ny\n"),
        ("x\nx\nx\nx\n", hunk("-x", "+y"), "y\nx\nx\nx\n"),
        ("x\nx\nx\nx\n", hunk("-x", "+y", is_at_end=True), "x\nx\nx\ny\n"),
        ("x\nz\n", hunk("-x", "+y", is_at_end=True), "y\nz\n"),
        ("a \nb\t\n", hunk(" a", "-b", "+c"), "a \nc\n"),
        ("a\nb\n", hunk("+x"), "a\nb\nx\n"),
        ("a\nb", hunk("+x"), "a\nb\nx\n"),
        ("a\nb\n", hunk("+x", anchors=("a",)), "a\nx\nb\n"),
        ("  a: int\nb\n", hunk("+x", anchors=("a:",)), "  a: int\nx\nb\n"),
        ("a\nb\n", hunk("+x", start=2), "a\nx\nb\n"),
        ("", hunk("+x", start=1), "x\n"),
        ("", hunk("+x", start=0), "x\n"),
        ("a\r\nb\r\n", hunk(" a", "-b", "+c", "+d"), "a\r\nc\r\nd\r\n"),
        ("a\nb", hunk(" a", "-b", "+c"), "a\nc\n"),
        ("a\nb\n", hunk(" a", "-b", "+c", ends_without_newline=True), "a\nc"),
        ("a\nb", hunk(" a", "+c", " b", ends_without_newline=True), "a\nc\nb"),
        ("a\nb\n", hunk("-a", "+c", ends_without_newline=True), "c\nb\n"),
        ("a", hunk("-a", ends_without_newline=True), ""),
    ],
)
def test_where_a_hunk_goes(text: str, wanted: Hunk, expected: str) -> None:
    """A hunk goes near the line it tells, behind its anchors, or where its lines are first; lines keep their ends."""
    assert apply_hunks(text, [wanted], "x") == expected


@pytest.mark.parametrize("wanted", [hunk("+x", start=9), hunk("-x"), hunk("+x", anchors=("x",))])
def test_a_hunk_that_fits_nowhere_is_told(wanted: Hunk) -> None:
    """A place that is not there is told with the name of the file and the number of the hunk."""
    with pytest.raises(PatchError, match=r"^Hunk 1 of file \(@@\) does not fit, so nothing was changed"):
        apply_hunks("a\nb\n", [wanted], "file")


def test_the_content_of_hunks() -> None:
    """A new file is what its hunks bring."""
    assert content_of(()) == ""
    assert content_of((hunk(),)) == ""
    assert content_of((hunk("+a", "+"), hunk("+b", ends_without_newline=True))) == "a\n\nb"
