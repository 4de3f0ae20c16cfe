"""edit_file: exact replacements, all or none, with everything else byte for byte as it was."""

from __future__ import annotations

import asyncio
import codecs
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.modules.filesystem_world import FileSession

from amplifier_module_tool_filesystem import contents
from amplifier_module_tool_filesystem.edits import Edit, apply_edits
from amplifier_module_tool_filesystem.ledger import Fingerprint, Ledger
from amplifier_module_tool_filesystem.nearness import near_lines
from amplifier_module_tool_filesystem.texts import form_of, newline_of

CODE = "def one():\n    return 1\n\n\ndef two():\n    return 2\n"


@pytest.fixture
async def session(tmp_path: Path) -> FileSession:
    """A session that has read ``code.py``."""
    session = await FileSession(tmp_path).begin()
    session.put("code.py", CODE)
    await session.read("code.py")
    return session


async def test_one_replacement(session: FileSession) -> None:
    """The text is replaced, the result says what was done, and the write is told."""
    assert await session.edit("code.py", old_string="return 2", new_string="return 22") == {
        "file_path": str(session.folder / "code.py"),
        "replacements_made": 1,
        "bytes_written": len(CODE) + 1,
    }
    assert session.files() == {"code.py": CODE.replace("return 2", "return 22")}
    assert session.told[1:] == [("artifact:write", "code.py", len(CODE) + 1)]


async def test_all_matches(session: FileSession) -> None:
    """With replace_all every match is replaced."""
    output = await session.edit("code.py", old_string="return", new_string="yield", replace_all=True)
    assert output["replacements_made"] == 2
    assert session.files() == {"code.py": CODE.replace("return", "yield")}


async def test_several_edits_in_one_call(session: FileSession) -> None:
    """Each edit works on what the one before has left, and a further call goes on from there."""
    edits = [
        {"old_string": "one", "new_string": "three"},
        {"old_string": "three():\n    return 1", "new_string": "four():\n    return 4"},
        {"old_string": "return", "new_string": "yield", "replace_all": True},
    ]
    assert (await session.edit("code.py", edits=edits))["replacements_made"] == 4
    await session.edit("code.py", old_string="four", new_string="five")
    assert session.files()["code.py"] == "def five():\n    yield 4\n\n\ndef two():\n    yield 2\n"


async def test_parallel_edits_all_take_effect(session: FileSession) -> None:
    """Edits of one file at the same time are made one after another."""
    calls = [
        session.call("edit_file", file_path="code.py", old_string=old, new_string=new)
        for old, new in (("one", "eins"), ("two", "zwei"), ("return 1", "return 10"))
    ]
    assert [result.success for result in await asyncio.gather(*calls)] == [True] * 3
    assert session.files()["code.py"] == "def eins():\n    return 10\n\n\ndef zwei():\n    return 2\n"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"old_string": "return", "new_string": "x"},
            "old_string was found 2 times (lines 2, 6), so nothing was changed. Give more of the text around it, or "
            "set replace_all to true.",
        ),
        (
            {"old_string": "return 3", "new_string": "x"},
            "old_string was not found (0 matches), so nothing was changed. It must be exactly what the file has, white "
            "space included. The nearest lines are:\n     6\t    return 2\n     2\t    return 1",
        ),
        (
            {"old_string": "def two():\nreturn 2", "new_string": "x"},
            "old_string was not found (0 matches), so nothing was changed. It must be exactly what the file has, white "
            "space included. With other white space it is there, from line 5 on:\n     5\tdef two():\n     6\t    "
            "return 2\n     7\t",
        ),
        (
            {"old_string": "     1\tdef one():\n     2\t    return 1", "new_string": "x"},
            "old_string was not found (0 matches), so nothing was changed. It must be exactly what the file has, white "
            "space included. It is there without the line numbers that read_file puts in front: leave them out.",
        ),
        (
            {"old_string": "%%%", "new_string": "x"},
            "old_string was not found (0 matches), so nothing was changed. It must be exactly what the file has, white "
            "space included.",
        ),
        (
            {"old_string": "one", "new_string": "one"},
            "old_string and new_string are the same, so there is nothing to change.",
        ),
        (
            {"old_string": "", "new_string": "one"},
            "old_string is empty. Give the text to replace; write_file makes new files.",
        ),
        (
            {"edits": [{"old_string": "one", "new_string": "1"}, {"old_string": "one", "new_string": "2"}]},
            "Edit 2 of 2: old_string was not found (0 matches), so nothing was changed. It must be exactly what the "
            "file has, white space included.",
        ),
    ],
)  # fmt: skip
async def test_an_edit_that_does_not_fit_changes_nothing(
    session: FileSession, given: dict[str, Any], message: str
) -> None:
    """How often the text was found, and what is near, is told; not even the edits before it are made."""
    kind, told = await session.failure("edit_file", file_path="code.py", **given)
    assert (kind, told[: len(message)]) == ("no_match", message)
    assert session.files() == {"code.py": CODE}


async def test_many_matches_are_told_in_short(session: FileSession) -> None:
    """Of many matches the first lines are told."""
    session.put("code.py", "x\n" * 50)
    await session.read("code.py")
    _, message = await session.failure("edit_file", file_path="code.py", old_string="x", new_string="y")
    assert "found 50 times (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …)" in message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"new_string": "x"}, "'old_string' must be text, and it is missing."),
        ({"old_string": "x"}, "'new_string' must be text, and it is missing."),
        ({"old_string": "x", "new_string": "y", "replace_all": 1}, "'replace_all' must be true or false, not int."),
        ({"edits": []}, "'edits' must be a list of objects, with one in it at least."),
        ({"edits": "x"}, "'edits' must be a list of objects, with one in it at least."),
        ({"edits": [1]}, "'edits' must be a list of objects, with one in it at least."),
        ({"edits": [{"old_string": "x"}]}, "'new_string' must be text, and it is missing."),
        (
            {"old_string": "x", "edits": [{"old_string": "x", "new_string": "y"}]},
            "Give either 'old_string' and 'new_string', or 'edits', and not both.",
        ),
    ],
)
async def test_input_that_cannot_be_used_is_told(session: FileSession, given: dict[str, Any], message: str) -> None:
    """What is missing, of another type, or too much is told."""
    assert await session.failure("edit_file", file_path="code.py", **given) == ("invalid_input", message)


async def test_what_was_not_read_is_not_edited(tmp_path: Path) -> None:
    """A file that this session has not read, or that has changed since, is read first."""
    session = await FileSession(tmp_path).begin()
    session.put("a", "one two\n")
    given = {"file_path": "a", "old_string": "one", "new_string": "1"}
    assert await session.failure("edit_file", **given) == (
        "stale",
        "a is there already and was not read in this session. Read it with read_file first, then try again.",
    )
    await session.read("a")
    session.put("a", "one three\n")
    assert (await session.failure("edit_file", **given))[0] == "stale"
    await session.read("a", limit=1)
    await session.edit(given.pop("file_path"), **given)
    assert session.files() == {"a": "1 three\n"}


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("missing", "not_found", "There is no missing. Check the path; read_file of a folder lists what is there."),
        ("folder", "io_error", "folder is a folder. Give the path of a file."),
        ("binary", "no_match", "binary is no text file, so it cannot be edited. Use a command that knows its format."),
        ("large", "no_match", "large has 41 bytes, and 40 are the most that can be edited. Use a command for it."),
    ],
)
async def test_what_cannot_be_edited_is_told(
    session: FileSession, name: str, kind: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only text files of a bearable size are edited."""
    monkeypatch.setattr(contents, "MOST_BYTES", 40)
    session.put("folder/x")
    session.put("binary", b"a\0b")
    session.put("large", "x" * 41)
    given = {"file_path": name, "old_string": "x", "new_string": "y"}
    assert await session.failure("edit_file", **given) == (kind, message)


@pytest.mark.parametrize(
    ("former", "expected"),
    [
        (b"one\r\ntwo\r\n", b"1\r\nzwei\r\ntwo\r\n"),
        (b"one\ntwo\n", b"1\nzwei\ntwo\n"),
        (b"one\ntwo\r\nthree\r\n", b"1\nzwei\ntwo\r\nthree\r\n"),
        (b"one\r\ntwo\nthree\n", b"1\r\nzwei\r\ntwo\nthree\n"),
        (codecs.BOM_UTF8 + b"one\r\ntwo\xc3\xa9", codecs.BOM_UTF8 + b"1\r\nzwei\r\ntwo\xc3\xa9"),
        (
            codecs.BOM_UTF16_BE + "one\r\ntwo".encode("utf-16-be"),
            codecs.BOM_UTF16_BE + "1\r\nzwei\r\ntwo".encode("utf-16-be"),
        ),
        (b"one\n\xe9", b"1\nzwei\n\xe9"),
        (b"one\n" + b"x" * 70_000 + b"\xff", b"1\nzwei\n" + b"x" * 70_000 + b"\xff"),
    ],
)
async def test_the_form_of_a_file_is_kept(session: FileSession, former: bytes, expected: bytes) -> None:
    """Encoding, mark and every line end stay; new lines end like those they replace."""
    session.put("a", former)
    await session.read("a")
    await session.edit("a", old_string="one\n", new_string="1\nzwei\n")
    assert session.bytes_of("a") == expected


async def test_new_lines_end_like_most_of_the_file(session: FileSession) -> None:
    """Where the replaced text has no line end of its own, the file's counts; the model's carriage returns do not."""
    session.put("a", b"one\r\ntwo\r\n")
    await session.read("a")
    await session.edit(
        "a", edits=[{"old_string": "one", "new_string": "1\n1"}, {"old_string": "1\r\n1", "new_string": "x"}]
    )
    assert session.bytes_of("a") == b"x\r\ntwo\r\n"


async def test_what_an_encoding_lacks_is_not_edited_in(session: FileSession) -> None:
    """A Latin-1 file may be anything in truth, so an edit does not turn it into UTF-8."""
    session.put("a", b"caf\xe9\n")
    await session.read("a")
    kind, message = await session.failure("edit_file", file_path="a", old_string="caf", new_string="€")
    assert (kind, message[:58]) == ("encoding", "The character U+20AC in line 1 cannot be written as latin-1"[:58])
    assert session.bytes_of("a") == b"caf\xe9\n"


async def test_a_file_with_other_names_is_told(session: FileSession) -> None:
    """An edit of a file with hard links says that the others keep what they had."""
    (session.folder / "twin").hardlink_to(session.folder / "code.py")
    output = await session.edit("code.py", old_string="one", new_string="1")
    assert output["warning"] == "The file had 1 other name(s) (hard links); those keep the former content."


@pytest.mark.slow
@given(
    st.text(alphabet="ab\r\n", max_size=30),
    st.text(alphabet="ab\n", min_size=1, max_size=3),
    st.text("xy\n", max_size=3),
)
def test_an_edit_with_plain_newlines_is_plain_replacement(text: str, old: str, new: str) -> None:
    """Seen with plain newlines, the text after an edit of all matches is what str.replace would give."""
    plain = text.replace("\r\n", "\n")
    if old not in plain or old == new:
        return
    edited, count = apply_edits(text, [Edit(old, new, replaces_all=True)])
    assert count == plain.count(old)
    # A carriage return that was left alone may meet a newline now, so only the characters beside are compared.
    assert edited.replace("\r", "") == plain.replace(old, new).replace("\r", "")


@pytest.mark.slow
@given(st.lists(st.sampled_from(["a", "b", "\n", "\r\n"]), max_size=20), st.sampled_from(["x\ny", "x"]))
def test_untouched_lines_keep_their_ends(pieces: list[str], new: str) -> None:
    """What is before and behind a replaced text is the same, byte for byte."""
    before, behind = "".join(pieces), "".join(reversed(pieces))
    edited, _ = apply_edits(f"{before}OLD{behind}", [Edit("OLD", new)])
    newline = newline_of(f"{before}OLD{behind}")
    assert edited == before + new.replace("\n", newline) + behind


@given(st.binary(max_size=200))
def test_every_text_comes_back_as_it_was(data: bytes) -> None:
    """What is taken for text is encoded to the same bytes again."""
    from amplifier_module_tool_filesystem.texts import decoded

    found = decoded(data)
    if found is not None:
        text, form = found
        assert form.encode(text) == data
    assert (form_of(data) is None) <= (found is None)


@pytest.mark.slow
@pytest.mark.no_cover
def test_hints_are_quick_and_short() -> None:
    """However long file and wanted text are, a hint is a few short lines."""
    text = "\n".join(f"{number} " + "lorem ipsum " * 100 for number in range(4_000))
    hint = near_lines(text, "7 lorem ipsum " * 50)
    assert len(hint) < 1000
    assert near_lines("\n\n", "\n \n") == ""


def test_only_so_many_files_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a session has read very many files, the one longest ago is to be read again."""
    monkeypatch.setattr("amplifier_module_tool_filesystem.ledger._MOST_ENTRIES", 2)
    ledger = Ledger()
    fingerprints = [Fingerprint(number, 0, 0, None) for number in range(3)]
    for fingerprint in fingerprints:
        ledger.note(Path(str(fingerprint.size)), fingerprint)
    ledger.forget(Path("2"))
    ledger.forget(Path("2"))
    assert [ledger.get(Path(str(number))) for number in range(3)] == [None, fingerprints[1], None]
