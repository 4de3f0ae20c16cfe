"""read_file: numbered lines, slices, folders, pictures, and what is neither."""

from __future__ import annotations

import base64
import codecs
import os
from pathlib import Path
from typing import Any

import pytest
from tests.modules.filesystem_world import FileSession

from amplifier_modkit.turns.results import to_message

TOO_LONG = " has a name that is too long for its disk. Give a shorter one."
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


@pytest.fixture
async def session(tmp_path: Path) -> FileSession:
    return await FileSession(tmp_path).begin()


async def test_text_comes_with_line_numbers(session: FileSession) -> None:
    """A text is shown as by 'cat -n', with how much there is, and the read is told."""
    session.put("a.txt", "one\n\tzwei\n\ntrès\n")
    assert await session.read("a.txt") == {
        "file_path": str(session.folder / "a.txt"),
        "content": "     1\tone\n     2\t\tzwei\n     3\t\n     4\ttrès",
        "total_lines": 4,
        "lines_read": 4,
        "offset": 1,
    }
    assert session.told == [("artifact:read", "a.txt", 17)]


@pytest.mark.parametrize(
    ("given", "content", "first", "following"),
    [
        ({"offset": 2, "limit": 2}, "     2\tb\n     3\tc", 2, 4),
        ({"offset": 4}, "     4\td\n     5\te", 4, None),
        ({"offset": 4.0, "limit": None}, "     4\td\n     5\te", 4, None),
        ({"offset": 0, "limit": 1}, "     1\ta", 1, 2),
        ({"offset": -2}, "     4\td\n     5\te", 4, None),
        ({"offset": -2, "limit": 1}, "     4\td", 4, 5),
        ({"offset": -99, "limit": 1}, "     1\ta", 1, 2),
    ],
)
async def test_some_lines_of_a_text(
    session: FileSession, given: dict[str, Any], content: str, first: int, following: int | None
) -> None:
    """Offset and limit choose lines, from the end if the offset is negative, and it is told where to go on."""
    session.put("a.txt", "a\nb\nc\nd\ne")
    output = await session.read("a.txt", **given)
    assert (output["content"], output["offset"], output.get("next_offset")) == (content, first, following)
    assert output["total_lines"] == 5
    assert output["lines_read"] == content.count("\n") + 1


async def test_beyond_the_end_there_is_nothing(session: FileSession) -> None:
    """An offset behind the last line gives nothing, and a warning that tells how many lines there are."""
    session.put("a.txt", "a\nb\n")
    output = await session.read("a.txt", offset=3)
    assert (output["content"], output["lines_read"], output["warning"]) == (
        "",
        0,
        "The file has 2 lines, and none from line 3 on.",
    )


async def test_an_empty_file_has_a_warning(session: FileSession) -> None:
    """Nothing is not mistaken for a failure."""
    session.put("empty", "")
    assert await session.read("empty") == {
        "file_path": str(session.folder / "empty"),
        "content": "",
        "total_lines": 0,
        "lines_read": 0,
        "offset": 1,
        "warning": "The file is empty.",
    }


async def test_two_thousand_lines_unless_more_are_wanted(session: FileSession) -> None:
    """Without a limit 2000 lines come; who asks for more gets more."""
    session.put("long", "x\n" * 2500)
    output = await session.read("long")
    assert (output["lines_read"], output["total_lines"], output["next_offset"]) == (2000, 2500, 2001)
    assert (await session.read("long", limit=2400))["lines_read"] == 2400


async def test_long_lines_are_cut(session: FileSession) -> None:
    """Of a line 2000 characters are shown, and how many are not."""
    session.put("wide", "x" * 2000 + "\n" + "é" * 3234 + "\nend\n")
    lines = (await session.read("wide"))["content"].split("\n")
    assert lines[0] == "     1\t" + "x" * 2000
    assert lines[1] == "     2\t" + "é" * 2000 + "[... 1,234 characters cut]"
    assert lines[2] == "     3\tend"


async def test_what_is_shown_is_bounded(tmp_path: Path) -> None:
    """Whole lines are shown as far as there is room, one at least, and it is told where to go on."""
    session = await FileSession(tmp_path, max_read_chars=50).begin()
    session.put("a", f"{'x' * 90}\n" + "y\n" * 30)
    first = await session.read("a")
    assert (first["lines_read"], first["next_offset"]) == (1, 2)
    then = await session.read("a", offset=2)
    assert (then["lines_read"], then["next_offset"]) == (5, 7)


@pytest.mark.parametrize(
    "data",
    [
        "naïve\r\ntext\r\n".encode(),
        codecs.BOM_UTF8 + "naïve\ntext\n".encode(),
        codecs.BOM_UTF16_LE + "naïve\ntext\n".encode("utf-16-le"),
        codecs.BOM_UTF16_BE + "naïve\r\ntext".encode("utf-16-be"),
        codecs.BOM_UTF32_LE + "naïve\ntext\n".encode("utf-32-le"),
        codecs.BOM_UTF32_BE + "naïve\ntext\n".encode("utf-32-be"),
        "naïve\ntext\n".encode("latin-1"),
    ],
)
async def test_encodings_and_line_ends_do_not_show(session: FileSession, data: bytes) -> None:
    """Whatever form a text has, the model sees the text."""
    session.put("a", data)
    assert (await session.read("a"))["content"] == "     1\tnaïve\n     2\ttext"


async def test_text_that_goes_on_in_another_encoding_is_shown_all_the_same(session: FileSession) -> None:
    """A text that begins as UTF-8 and has a byte later that is none is shown as Latin-1."""
    session.put("a", b"x" * 70_000 + b"\n\xe9\n")
    assert (await session.read("a", offset=2))["content"] == "     2\té"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"%PDF-1.7\x00" + b"x" * 20, "PDF document"),
        (b"\x00\x01\x02", "data of an unknown kind"),
        (b"\x00\x00\x00\x20ftypisom", "MP4 video, or a picture in such a container"),
        (bytes(range(1, 256)) * 4, "data of an unknown kind"),
        (codecs.BOM_UTF16_LE + b"a\x00b", "data of an unknown kind"),
        (b"text" * 20_000 + b"\xff\x00", "data of an unknown kind"),
    ],
)
async def test_what_is_no_text_is_described(session: FileSession, data: bytes, kind: str) -> None:
    """Bytes without a meaning for a model are not dumped on it."""
    session.put("a", data)
    assert await session.read("a") == {
        "file_path": str(session.folder / "a"),
        "bytes": len(data),
        "kind": kind,
        "content": f"No text, and not shown: {kind}, {len(data):,} bytes.",
        "is_binary": True,
    }


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0data", "image/jpeg"),
        (b"GIF89a.....", "image/gif"),
        (b"GIF87a.....", "image/gif"),
        (b"RIFF\x01\x02\x03\x04WEBPdata", "image/webp"),
    ],
)
async def test_pictures_are_shown(session: FileSession, data: bytes, media_type: str) -> None:
    """A picture comes as an image block behind a line that says what it is."""
    session.put("picture", data)
    result = await session.call("read_file", file_path="picture")
    told = f"An image ({media_type}, {len(data)} bytes)."
    assert result.output == {
        "file_path": str(session.folder / "picture"),
        "bytes": len(data),
        "kind": media_type,
        "content": told,
        "is_image": True,
    }
    encoded = base64.b64encode(data).decode()
    assert to_message("1", "read_file", result)["content"] == [
        {"type": "text", "text": f"{session.folder}/picture: {told}"},
        {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": encoded}},
    ]
    assert session.told == [("artifact:read", "picture", len(data))]


async def test_a_picture_that_is_too_large_is_described(tmp_path: Path) -> None:
    """Beyond the limit a picture is told and not shown."""
    session = await FileSession(tmp_path, max_image_bytes=10).begin()
    session.put("picture", PNG)
    result = await session.call("read_file", file_path="picture")
    assert (result.content, isinstance(result.output, dict)) == (None, True)
    assert (
        dict(result.output or {})["content"]
        == "An image (image/png, 264 bytes), too large to be shown: 10 bytes are the most."
    )


async def test_a_folder_is_listed(session: FileSession) -> None:
    """A folder gives a line for each name, told apart by what it is; names that deceive are escaped."""
    session.put("b.txt")
    session.put("a/x")
    session.put("c\nFILE forged")
    (session.folder / "link").symlink_to("b.txt")
    os.mkfifo(session.folder / "pipe")
    assert await session.read(".") == {
        "file_path": str(session.folder),
        "content": "DIR  a\nFILE b.txt\nFILE c\\nFILE forged\nLINK link\nOTHER pipe",
        "is_directory": True,
        "entry_count": 5,
    }
    assert session.told == []


async def test_a_large_folder_is_listed_in_parts(session: FileSession) -> None:
    """Offset and limit hold for names as for lines."""
    for number in range(5):
        session.put(f"f{number}")
    output = await session.read(".", offset=2, limit=2)
    assert (output["content"], output["entry_count"], output["next_offset"]) == ("FILE f1\nFILE f2", 5, 4)


async def test_a_name_that_vanishes_is_told(session: FileSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is gone between the list and the look at it does not spoil the rest."""
    from amplifier_modkit.paths.folders import Folder

    session.put("a")
    monkeypatch.setattr(Folder, "names", lambda folder: ["a", "gone"])
    assert (await session.read("."))["content"] == "FILE a\nGONE gone"


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({}, "invalid_input", "'file_path' must be text, and it is missing."),
        ({"file_path": 7}, "invalid_input", "'file_path' must be text, not int."),
        ({"file_path": " "}, "invalid_input", "'file_path' is empty. Give the path of a file."),
        ({"file_path": "a", "offset": "2"}, "invalid_input", "'offset' must be a whole number, not str."),
        ({"file_path": "a", "offset": True}, "invalid_input", "'offset' must be a whole number, not bool."),
        ({"file_path": "a", "limit": 1.5}, "invalid_input", "'limit' must be a whole number, not float."),
        ({"file_path": "a", "limit": 0}, "invalid_input", "'limit' must be 1 at least, not 0."),
        ({"file_path": "b"}, "not_found", "There is no b. Check the path; read_file of a folder lists what is there."),
        ({"file_path": "a/x"}, "io_error", "a is a file, not a folder. Check the path."),
        ({"file_path": "x" * 256}, "io_error", f"{'x' * 256}{TOO_LONG}"),
    ],
)  # fmt: skip
async def test_what_goes_wrong_is_a_result(
    session: FileSession, given: dict[str, Any], kind: str, message: str
) -> None:
    """Wrong input and missing files are told so that a model can do better."""
    session.put("a")
    assert await session.failure("read_file", **given) == (kind, message)
    assert session.told == []


class Resolver:
    """Knows one file of a bundle."""

    def __init__(self, found: Any) -> None:
        self.found = found

    def resolve(self, mention: str) -> Any:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found if mention == "@docs:guide.md" else None


async def test_files_of_bundles_are_looked_up(session: FileSession) -> None:
    """'@bundle:path' goes through the session's resolver, sync or async, object or function; other names do not."""
    file = session.put("somewhere/guide.md", "guide\n")
    session.put("@types/node", "types\n")

    async def later(mention: str) -> Path:
        return file

    for resolver in (Resolver(file), Resolver(str(file)).resolve, later):
        session.coordinator.register_capability("mention_resolver", resolver)
        assert (await session.read("@docs:guide.md"))["content"] == "     1\tguide"
    assert (await session.read("@types/node"))["content"] == "     1\ttypes"


@pytest.mark.parametrize(
    ("resolver", "message"),
    [
        (None, "'@docs:x' names a file of a bundle, and this session has no bundles. Give a plain path."),
        (Resolver(None), "There is no '@docs:x' in the bundles of this session. Check its name, or give a path."),
        (Resolver(KeyError("docs")), "'@docs:x' cannot be looked up: KeyError: 'docs'"),
    ],
)
async def test_a_file_of_a_bundle_that_is_not_found_is_told(
    session: FileSession, resolver: Resolver | None, message: str
) -> None:
    """Without a resolver, or with one that does not know the name, the model is told."""
    if resolver is not None:
        session.coordinator.register_capability("mention_resolver", resolver)
    assert await session.failure("read_file", file_path="@docs:x") == ("invalid_input", message)


async def test_a_file_of_a_bundle_is_judged_like_any_other(session: FileSession) -> None:
    """A resolver does not get anybody around the policy."""
    session.coordinator.register_capability("mention_resolver", Resolver(session.put("bundle/.env")))
    assert (await session.failure("read_file", file_path="@docs:guide.md"))[0] == "denied"
