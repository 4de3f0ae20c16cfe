"""apply_patch: several files in one step, in either form, all of them or none."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
from tests.modules.filesystem_world import FileSession

from amplifier_modkit.paths.folders import Folder
from amplifier_module_tool_filesystem import contents, patch_plan

ONE = "".join(f"line {number}\n" for number in range(1, 11))


def begin(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


@pytest.fixture
async def session(tmp_path: Path) -> FileSession:
    """A session that has read ``one.txt``, ``two.txt`` and ``sub/three.txt``."""
    session = await FileSession(tmp_path).begin()
    for name, text in (("one.txt", ONE), ("two.txt", "alpha\nbeta\n"), ("sub/three.txt", "x\n")):
        session.put(name, text)
        await session.read(name)
    return session


async def test_everything_at_once_in_the_form_of_agents(session: FileSession) -> None:
    """Files are added, updated, moved and removed in one call, and each is told."""
    output = await session.patch(
        begin(
            "*** Add File: new/four.txt",
            "+first",
            "+",
            "*** Update File: one.txt",
            "@@ line 4",
            " line 5",
            "-line 6",
            "+LINE 6",
            "@@",
            "-line 9",
            " line 10",
            "*** End of File",
            "",
            "*** Update File: two.txt",
            "*** Move to: sub/moved.txt",
            "@@",
            "-alpha",
            "+ALPHA",
            "*** Delete File: sub/three.txt",
        )
    )
    assert session.files() == {
        "new/four.txt": "first\n\n",
        "one.txt": ONE.replace("line 6", "LINE 6").replace("line 9\n", ""),
        "sub/moved.txt": "ALPHA\nbeta\n",
    }
    here = session.folder
    assert output == {
        "files_changed": 4,
        "files": [
            {"file_path": str(here / "new/four.txt"), "action": "added", "bytes": 7},
            {"file_path": str(here / "one.txt"), "action": "updated", "bytes": len(ONE) - 7},
            {
                "file_path": str(here / "sub/moved.txt"),
                "action": "moved",
                "bytes": 11,
                "moved_from": str(here / "two.txt"),
            },
            {"file_path": str(here / "sub/three.txt"), "action": "deleted", "bytes": 0},
        ],
    }
    assert session.told[3:] == [
        ("artifact:write", "new/four.txt", 7),
        ("artifact:write", "one.txt", len(ONE) - 7),
        ("artifact:write", "sub/moved.txt", 11),
        ("artifact:write", "sub/three.txt", 0),
    ]


async def test_everything_at_once_as_git_writes_it(session: FileSession) -> None:
    """The same in a diff of git, with a letter in front and a signature behind."""
    (session.folder / "two.txt").chmod(0o640)
    await session.patch(
        "From 1234 Mon Sep 17\nSubject: changes\n\n---\n 4 files changed\n\n"
        "diff --git a/one.txt b/one.txt\nindex 1..2 100644\n--- a/one.txt\n+++ b/one.txt\n"
        "@@ -5,2 +5,2 @@ a function\n line 5\n-line 6\n+LINE 6\n@@ -9,2 +9 @@\n-line 9\n line 10\n"
        'diff --git "a/\\303\\244\\"\\t.sh" "b/\\303\\244\\"\\t.sh"\nnew file mode 100755\nindex 0..1\n'
        '--- /dev/null\n+++ "b/\\303\\244\\"\\t.sh"\n@@ -0,0 +1,2 @@\n+first\n+second\n\\ No newline at end of file\n'
        "diff --git a/empty.txt b/empty.txt\nnew file mode 100644\nindex 0..1\n"
        "diff --git a/two.txt b/sub/moved.txt\nsimilarity index 60%\nrename from two.txt\nrename to sub/moved.txt\n"
        "--- a/two.txt\n+++ b/sub/moved.txt\n@@ -1,2 +1,2 @@\n-alpha\n+ALPHA\n beta\n"
        "diff --git a/sub/three.txt b/sub/three.txt\ndeleted file mode 100644\nindex 1..0\n"
        "--- a/sub/three.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n-- \n2.40.1\n"
    )
    assert session.files() == {
        "empty.txt": "",
        "one.txt": ONE.replace("line 6", "LINE 6").replace("line 9\n", ""),
        "sub/moved.txt": "ALPHA\nbeta\n",
        'ä"\t.sh': "first\nsecond",
    }
    modes = [(session.folder / name).stat().st_mode & 0o777 for name in ('ä"\t.sh', "sub/moved.txt")]
    assert modes == [0o755, 0o640]


async def test_modes_alone_and_moves_alone(session: FileSession) -> None:
    """A diff may change no line at all."""
    output = await session.patch(
        "diff --git a/one.txt b/one.txt\nold mode 100644\nnew mode 100755\n"
        "diff --git a/two.txt b/zwei.txt\nsimilarity index 100%\nrename from two.txt\nrename to zwei.txt\n"
    )
    assert [change["action"] for change in output["files"]] == ["updated", "moved"]
    assert (session.folder / "one.txt").stat().st_mode & 0o777 == 0o755
    assert session.files() == {"one.txt": ONE, "zwei.txt": "alpha\nbeta\n", "sub/three.txt": "x\n"}


async def test_what_was_patched_is_known(session: FileSession) -> None:
    """After a patch its files can be edited at once, a moved one under its new name, and a removed one made anew."""
    await session.patch(
        begin("*** Update File: one.txt", "*** Move to: eins.txt", "-line 1", "+LINE 1", "*** Delete File: two.txt")
    )
    await session.edit("eins.txt", old_string="LINE 1\n", new_string="")
    await session.write("two.txt", "anew\n")
    assert session.files() == {"eins.txt": ONE[7:], "two.txt": "anew\n", "sub/three.txt": "x\n"}


async def test_parts_for_the_same_file_build_on_each_other(session: FileSession) -> None:
    """A file may come more than once, under whatever name it has by then."""
    (session.folder / "link").symlink_to("two.txt")
    await session.patch(
        begin(
            "*** Update File: two.txt",
            "-alpha",
            "+ALPHA",
            "*** Update File: link",
            " ALPHA",
            "-beta",
            "+BETA",
            "*** Add File: temp.txt",
            "+x",
            "*** Delete File: temp.txt",
            "*** Delete File: sub/three.txt",
            "*** Add File: sub/three.txt",
            "+y",
        )
    )
    assert session.files() == {
        "one.txt": ONE,
        "two.txt": "ALPHA\nBETA\n",
        "link": "ALPHA\nBETA\n",
        "sub/three.txt": "y\n",
    }


FAILING_PARTS = {
    "context": (
        ["*** Update File: one.txt", "@@ line 2", " line 3", "-line five", "+x"],
        "patch",
        "Hunk 1 of one.txt (@@ line 2) does not fit, so nothing was changed: these lines are not there:\n  line 3\n  "
        "line five\nThe nearest lines are:\n     3\tline 3",
    ),
    "anchor": (
        ["*** Update File: one.txt", "@@ nowhere", "+x"],
        "patch",
        "Hunk 1 of one.txt (@@ nowhere) does not fit, so nothing was changed: these lines are not there:\n  nowhere",
    ),
    "order": (
        ["*** Update File: one.txt", "-line 5", "@@", "-line 2"],
        "patch",
        "Hunk 2 of one.txt (@@) does not fit, so nothing was changed: these lines are not there after line 5:\n  "
        "line 2",
    ),
    "exists": (
        ["*** Add File: one.txt", "+x"],
        "patch",
        "The patch adds one.txt, which is there already. Update it instead.",
    ),
    "missing": (
        ["*** Update File: none.txt", "-x"],
        "patch",
        "The patch changes none.txt, and there is no such file. Check the path, or add it.",
    ),
    "target": (
        ["*** Update File: one.txt", "*** Move to: sub/three.txt"],
        "patch",
        "The patch moves one.txt to sub/three.txt, which is there already.",
    ),
    "link": (
        ["*** Delete File: link"],
        "patch",
        "The patch removes or moves a link to one.txt, which would leave the link without its file. Name the file "
        "itself.",
    ),
    "unread": (
        ["*** Delete File: unread.txt"],
        "stale",
        "unread.txt is there already and was not read in this session. Read it with read_file first, then try again.",
    ),
    "denied": (["*** Add File: .env", "+x"], "denied", "Not allowed to read .env: secrets are kept there."),
    "outside": (["*** Add File: ../x", "+x"], "denied", "Not allowed to write"),
    "folder": (["*** Delete File: sub"], "io_error", "sub is a folder. Give the path of a file."),
    "binary": (
        ["*** Update File: binary", "-a"],
        "patch",
        "The patch changes lines of binary, which is no text file.",
    ),
    "encoding": (
        ["*** Update File: latin", "-é", "+€"],
        "encoding",
        "latin: The character U+20AC in line 1 cannot be written as latin-1",
    ),
}


@pytest.mark.parametrize("part", FAILING_PARTS)
async def test_one_part_that_fails_stops_all(session: FileSession, part: str) -> None:
    """Whatever is wrong with one part, no file is changed, and the part is told."""
    lines, kind, message = FAILING_PARTS[part]
    (session.folder / "link").symlink_to("one.txt")
    session.put("unread.txt")
    session.put("binary", b"a\0")
    session.put("latin", b"\xe9\n")
    for name in ("binary", "latin"):
        await session.read(name)
    before = {path: path.read_bytes() for path in session.folder.rglob("*") if path.is_file()}
    patch = begin("*** Update File: two.txt", "-alpha", "+ALPHA", "*** Add File: n/n.txt", "+n", *lines)
    got, told = await session.failure("apply_patch", patch=patch)
    assert (got, told[: len(message)]) == (kind, message)
    assert {path: path.read_bytes() for path in session.folder.rglob("*") if path.is_file()} == before
    assert not (session.folder / "n").exists()
    assert [event for event, *_ in session.told if event == "artifact:write"] == []


async def test_binary_files_are_moved_and_removed(session: FileSession) -> None:
    """What is no text can be moved and removed as it is."""
    session.put("a", b"\x00\xff")
    session.put("b", b"\x00\xff")
    for name in ("a", "b"):
        await session.read(name)
    await session.patch(begin("*** Update File: a", "*** Move to: c", "*** Delete File: b"))
    assert session.bytes_of("c") == b"\x00\xff"
    assert sorted(path.name for path in session.folder.iterdir()) == ["c", "one.txt", "sub", "two.txt"]


async def test_a_diff_that_removes_tells_all_there_is(session: FileSession) -> None:
    """A diff that knows a part of the file only does not remove the rest."""
    patch = "--- a/two.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-alpha\n"
    assert await session.failure("apply_patch", patch=patch) == (
        "patch",
        "The patch removes two.txt, which has more lines than the patch tells. Read it again.",
    )


async def test_a_patch_of_very_many_files_is_refused(session: FileSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """All files are held open at once, so there is a limit to them."""
    monkeypatch.setattr(patch_plan, "MOST_FILES", 2)
    parts = [line for number in range(3) for line in (f"*** Add File: {number}", "+x")]
    assert await session.failure("apply_patch", patch=begin(*parts)) == (
        "patch",
        "The patch changes more than 2 files. Split it.",
    )


PATCH = begin(
    "*** Update File: one.txt",
    "-line 1",
    "+LINE 1",
    "*** Add File: new/deep/four.txt",
    "+four",
    "*** Update File: two.txt",
    "*** Move to: sub/moved.txt",
    "*** Delete File: sub/three.txt",
)


def failing_at(monkeypatch: pytest.MonkeyPatch, method: str, name: str, times: int = 1) -> None:
    """Lets the disk fail when a folder does ``method`` with ``name``."""
    original = getattr(Folder, method)
    left = [times]

    def fail(folder: Folder, *given: Any) -> Any:
        if name in given and left[0]:
            left[0] -= 1
            raise OSError(errno.EIO, "Input/output error")
        return original(folder, *given)

    monkeypatch.setattr(Folder, method, fail)


@pytest.mark.parametrize("name", ["one.txt", "four.txt", "moved.txt", "three.txt", "two.txt"])
async def test_a_failure_on_the_way_is_rolled_back(
    session: FileSession, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever file the disk fails at, all files are as they were, modes included, and no folder is left."""
    (session.folder / "one.txt").chmod(0o640)
    await session.read("one.txt")
    before = session.files()
    failing_at(monkeypatch, "rename", name)
    kind, message = await session.failure("apply_patch", patch=PATCH)
    monkeypatch.undo()
    assert kind == "io_error"
    assert message.endswith(f"{name} cannot be used: Input/output error.")
    assert session.files() == before
    assert sorted(path.name for path in session.folder.rglob("*")) == ["one.txt", "sub", "three.txt", "two.txt"]
    assert (session.folder / "one.txt").stat().st_mode & 0o777 == 0o640
    # What is left is what was read, so the same patch works when the disk does.
    await session.patch(PATCH)
    assert session.files() == {
        "one.txt": ONE.replace("line 1\n", "LINE 1\n"),
        "new/deep/four.txt": "four\n",
        "sub/moved.txt": "alpha\nbeta\n",
    }


async def test_what_cannot_be_rolled_back_is_told(session: FileSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk fails for good the files that are not as they were are named."""
    failing_at(monkeypatch, "rename", "three.txt")
    failing_at(monkeypatch, "remove_file", "four.txt")
    kind, message = await session.failure("apply_patch", patch=PATCH)
    assert (kind, message) == (
        "patch",
        "The patch failed ([Errno 5] Input/output error: 'sub/three.txt'), and these files could not be brought back: "
        "new/deep/four.txt. Look at them before you go on.",
    )


async def test_a_file_that_changes_meanwhile_rolls_back(session: FileSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else's change while the patch is carried out is kept, and everything else is as it was."""
    original = Folder.create_file

    def create_and_interfere(folder: Folder, name: str, mode: int) -> int:
        if "four.txt" in name:
            session.put("sub/three.txt", "of somebody else")
        return original(folder, name, mode)

    monkeypatch.setattr(Folder, "create_file", create_and_interfere)
    kind, _ = await session.failure("apply_patch", patch=PATCH)
    assert kind == "stale"
    assert session.files() == {"one.txt": ONE, "two.txt": "alpha\nbeta\n", "sub/three.txt": "of somebody else"}


async def test_a_removed_file_that_cannot_be_tidied_away_does_no_harm(
    session: FileSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name is gone, which is what the patch wanted."""

    def fail(folder: Folder, name: str) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Folder, "remove_file", fail)
    await session.patch(begin("*** Delete File: two.txt"))
    assert not (session.folder / "two.txt").exists()


async def test_large_files_are_not_patched(session: FileSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is too large to be edited is too large to be patched."""
    monkeypatch.setattr(contents, "MOST_BYTES", 10)
    kind, message = await session.failure("apply_patch", patch=begin("*** Update File: one.txt", "-x"))
    assert (kind, message[:12]) == ("no_match", "one.txt has ")


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_no_descriptor_is_left_open(session: FileSession) -> None:
    """Neither a patch that works nor one that fails keeps a folder open."""
    before = open_files()
    await session.failure("apply_patch", patch=PATCH.replace("line 1", "line 0"))
    await session.patch(PATCH)
    assert open_files() == before
