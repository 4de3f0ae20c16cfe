"""Lines of large files: the same as of small ones, without reading more than is needed."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.modules.filesystem_world import FileSession

from amplifier_module_tool_filesystem import read_tool, slices
from amplifier_module_tool_filesystem.slices import slice_of_stream, slice_of_text
from amplifier_module_tool_filesystem.texts import TextForm

FORMS = [TextForm(), TextForm("utf-8", b"\xef\xbb\xbf"), TextForm("utf-16-le", b"\xff\xfe"), TextForm("latin-1")]


@pytest.mark.slow
@example(["", "abcdefghijklmnopq"], True, 3, 1, TextForm(), 1)
@example([], False, -1, 1, TextForm(), 1)
@given(
    lines=st.lists(st.text(alphabet="ab\rüé ", max_size=9), max_size=12),
    ends=st.booleans(),
    offset=st.integers(-15, 15),
    limit=st.integers(1, 15),
    form=st.sampled_from(FORMS),
    chunk=st.integers(1, 40),
)
def test_a_slice_of_a_stream_is_the_slice_of_its_text(
    lines: list[str], ends: bool, offset: int, limit: int, form: TextForm, chunk: int
) -> None:
    """However a file is cut into pieces, the lines and what is told about them are those of the whole text."""
    text = "\n".join(lines) + ("\n" if ends else "")
    data = form.encode(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "_CHUNK_BYTES", chunk * 16)
        got = slice_of_stream(io.BytesIO(data), len(data), form, offset, limit)
    wanted = slice_of_text(text, offset, limit)
    assert (got.lines, got.has_more) == (wanted.lines, wanted.has_more)
    if got.total is not None:
        assert (got.total, got.first) == (wanted.total, wanted.first)
    elif got.first > 0:
        assert got.first == wanted.first
    else:
        assert got.first == wanted.first - 1 - (wanted.total or 0)


def test_a_last_line_needs_no_end() -> None:
    """What is behind the last line feed is a line as well, unless it is nothing."""
    for data in (b"one\ntwo", b"one\ntwo\n"):
        got = slice_of_stream(io.BytesIO(data), len(data), TextForm(), 1, 10)
        assert (got.lines, got.total, got.has_more) == (["one", "two"], 2, False)


def test_a_line_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A single line that fills the file is shown as far as lines are shown, and not read to its end."""
    monkeypatch.setattr(slices, "_MOST_BYTES_OF_SLICE", 10_000)
    monkeypatch.setattr(slices, "_CHUNK_BYTES", 1000)
    data = b"first\n" + b"x" * 1_000_000 + b"\nlast\n"
    stream = io.BytesIO(data)
    got = slice_of_stream(stream, len(data), TextForm(), 1, 10)
    assert got.lines[0] == "first"
    assert got.lines[1].startswith("x" * 2000 + "[... ")
    assert (len(got.lines), got.total, got.has_more, stream.tell() < 20_000) == (2, None, True, True)


def test_many_lines_are_given_up_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many lines are asked for, a slice ends."""
    monkeypatch.setattr(slices, "_MOST_BYTES_OF_SLICE", 5000)
    monkeypatch.setattr(slices, "_CHUNK_BYTES", 1000)
    data = b"line\n" * 10_000
    got = slice_of_stream(io.BytesIO(data), len(data), TextForm(), 1, 10**30)
    assert (len(got.lines) < 2000, got.has_more, got.estimate) == (True, True, 10_000)


def test_the_end_of_an_endless_line_is_better_than_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the end of a file that is one line, some of it is shown."""
    monkeypatch.setattr(slices, "_MOST_BYTES_OF_SLICE", 5000)
    monkeypatch.setattr(slices, "_CHUNK_BYTES", 16_000)
    data = b"x" * 100_000
    got = slice_of_stream(io.BytesIO(data), len(data), TextForm(), -3, 3)
    assert (got.first, len(got.lines), got.total, got.bytes_read < 20_000) == (-1, 1, None, True)


def test_a_file_that_shrinks_meanwhile_ends_early() -> None:
    """A file that is shorter than it was a moment ago gives what is there."""
    got = slice_of_stream(io.BytesIO(b"a\nb\n"), 100, TextForm(), -5, 5)
    assert got.lines == ["a", "b"]


async def test_large_files_are_read_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a large file the lines are told with an estimate of how many there are, or exactly if its end was reached."""
    monkeypatch.setattr(read_tool, "WHOLE_BYTES", 100)
    monkeypatch.setattr(slices, "_CHUNK_BYTES", 1600)
    session = await FileSession(tmp_path).begin()
    session.put("large", "".join(f"line {number:04}\n" for number in range(1, 1001)))
    assert await session.read("large", limit=2) == {
        "file_path": str(session.folder / "large"),
        "content": "     1\tline 0001\n     2\tline 0002",
        "total_lines_estimate": 1000,
        "lines_read": 2,
        "offset": 1,
        "next_offset": 3,
    }
    end = await session.read("large", offset=999)
    assert (end["content"], end["total_lines"]) == ("   999\tline 0999\n  1000\tline 1000", 1000)
    beyond = await session.read("large", offset=2000)
    assert beyond["warning"] == "The file has 1000 lines, and none from line 2000 on."
    last = await session.read("large", offset=-2)
    assert last["content"] == "    -2\tline 0999\n    -1\tline 1000"
    assert ("total_lines" in last, "total_lines_estimate" in last, last["offset"]) == (False, False, -2)
    assert all(size < 12_000 for _, _, size in session.told)


@pytest.mark.slow
async def test_the_lines_of_a_huge_file_take_no_longer_than_those_of_a_small_one(tmp_path: Path) -> None:
    """Of a file of one gigabyte, mostly a hole, the first and the last lines come at once."""
    session = await FileSession(tmp_path).begin()
    with (session.folder / "huge").open("wb") as file:
        file.write(b"first\nsecond\n" * 10_000)
        file.seek(1 << 30)
        file.write(b"\nlast but one\nlast\n")
    began = time.perf_counter()
    first = await session.read("huge", limit=3)
    last = await session.read("huge", offset=-2)
    assert time.perf_counter() - began < 5
    assert first["content"] == "     1\tfirst\n     2\tsecond\n     3\tfirst"
    assert last["content"] == "    -2\tlast but one\n    -1\tlast"
    assert sum(size for _, _, size in session.told) < 4 << 20
    assert (session.folder / "huge").stat().st_size > 1 << 30
