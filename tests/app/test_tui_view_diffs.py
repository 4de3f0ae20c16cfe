"""Edits as diffs, and tool calls in words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from amplifier.tui.view.call_words import duration, found_by, given_of, result_of, summary_of, text_of
from amplifier.tui.view.diffs import Diff, diff_of


def lines(tool: str, given: Any, former: str | None = None) -> list[str]:
    diff = diff_of(tool, given, lambda path: former)
    return [] if diff is None else [f"{sign}{text}" for sign, text in diff.lines]


def test_an_edit_shows_what_goes_and_what_comes() -> None:
    """With what stands around it in the quoted text; several edits are kept apart."""
    edit = {"old_string": "a\nb\nc", "new_string": "a\nB\nc"}
    assert lines("edit_file", edit) == [" a", "-b", "+B", " c"]
    several = {"edits": [edit, "no edit", {"old_string": "-- x", "new_string": "++ y"}]}
    assert lines("edit_file", several) == [" a", "-b", "+B", " c", "@…", "--- x", "+++ y"]


def test_an_edit_of_a_known_file_shows_whole_lines_with_what_stands_around_them() -> None:
    """And where they stand; where the edit does not fit, what is quoted of it."""
    before = "".join(f"{number}\n" for number in range(1, 10))
    edit = {"old_string": "5", "new_string": "five"}
    assert lines("edit_file", edit, before) == ["@@@ -3,5 +3,5 @@", " 3", " 4", "-5", "+five", " 6", " 7"]
    several = {"edits": [{"old_string": "1\n", "new_string": ""}, {"old_string": "9\n", "new_string": "9\n10\n"}]}
    begin, end = ["@@@ -1,3 +1,2 @@", "-1", " 2", " 3"], ["@@@ -8,2 +7,3 @@", " 8", " 9", "+10"]
    assert lines("edit_file", several, before) == [*begin, *end]
    assert lines("edit_file", {**edit, "old_string": "none"}, before) == ["-none", "+five"]
    assert lines("edit_file", {"old_string": "x", "new_string": ""}, "x\n") == ["@@@ -1 +1 @@", "-x", "+"]
    assert lines("write_file", {"content": ""}, "x\n") == ["@@@ -1 +0,0 @@", "-x"]


def test_a_small_edit_of_a_long_file_is_compared() -> None:
    """What is the same at both ends takes no time."""
    before = "".join(f"{number}\n" for number in range(1, 5_001))
    shown = lines("edit_file", {"old_string": "\n4000\n", "new_string": "\nchanged\n"}, before)
    assert shown == ["@@@ -3998,5 +3998,5 @@", " 3998", " 3999", "-4000", "+changed", " 4001", " 4002"]


def test_a_written_file_shows_what_differs_from_before() -> None:
    """A file that was not there comes whole."""
    given = {"file_path": "f", "content": "one\nzwei\nthree\n"}
    assert lines("write_file", given) == ["+one", "+zwei", "+three"]
    assert lines("write_file", given, "one\ntwo\nthree\n") == ["@@@ -1,3 +1,3 @@", " one", "-two", "+zwei", " three"]
    assert lines("write_file", given, given["content"]) == []


def test_a_patch_shows_its_files_and_places() -> None:
    """Without the lines that are there for programs."""
    patch = "diff --git a/f b/f\nindex 1..2\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n x\n-a\n+b"
    assert lines("apply_patch", {"patch": patch}) == ["@--- a/f", "@+++ b/f", "@@@ -1 +1 @@", " x", "-a", "+b"]
    ours = "*** Begin Patch\n*** Update File: f\n+b\n*** End Patch"
    assert lines("apply_patch", {"patch": ours}) == ["@*** Update File: f", "+b"]


def test_long_texts_are_not_compared() -> None:
    """It would take too long; all goes and all comes."""
    diff = diff_of("edit_file", {"old_string": "a\n" * 2_001, "new_string": "b\n"})
    assert diff is not None
    assert (diff.removed, diff.added) == (2_001, 1)


@pytest.mark.parametrize(("tool", "given"), [("bash", {"command": "x"}), ("edit_file", "text"), ("write_file", {})])
def test_other_calls_have_no_diff(tool: str, given: Any) -> None:
    """Nor have edits that say nothing."""
    assert diff_of(tool, given) is None
    assert Diff(()).added == 0


@pytest.mark.parametrize(
    ("given", "summary"),
    [
        ({"timeout": 3, "command": "echo  hi\nls"}, "echo hi ls"),
        ({"pattern": "x", "path": "src"}, "x: src"),
        ({"pattern": "x"}, "x"),
        ({"agent": "painter", "instruction": "paint"}, "painter: paint"),
        ({"command": " ", "n": 1}, '{"command": " ", "n": 1}'),
        ({"patch": "--- a/f\n+++ b/f\n*** Add File: g h\n"}, "f, g h"),
        ({}, ""),
        ("raw \x1b[1mwords", "raw words"),
        (None, ""),
    ],
)
def test_a_call_is_told_on_one_line(given: Any, summary: str) -> None:
    """By what tells most about it, else as it is."""
    assert summary_of(given) == summary


def test_all_that_a_call_was_given_is_listed() -> None:
    """Texts as they are, other values as JSON."""
    assert given_of({"a": "x\ny", "b": [1]}) == "a: x\ny\nb: [1]"
    assert (given_of("raw"), given_of(None)) == ("raw", "")


@pytest.mark.parametrize(
    ("data", "result"),
    [
        ({"result": {"success": True, "output": "fine"}}, (True, "fine", "")),
        ({"result": {"success": False, "output": "bad", "error": {"message": "bad"}}}, (False, "", "bad")),
        ({"result": {"success": False, "output": None, "error": {"x": 1}}}, (False, "", '{"x": 1}')),
        ({"tool_result": SimpleNamespace(success=False, output="o", error="e")}, (False, "o", "e")),
        ({"tool_result": "text"}, (True, "text", "")),
        ({"result": {"key": 1}}, (True, '{"key": 1}', "")),
        ({"error": {"type": "E", "msg": "raised"}}, (False, "", "raised")),
    ],
)
def test_results_of_any_form_are_understood(data: dict[str, Any], result: tuple[bool, str, str]) -> None:
    """Dicts, objects and plain values; a message is not told twice."""
    assert result_of(data) == result


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ({"output_mode": "files_with_matches", "total_matches": 1}, "1 file"),
        ({"output_mode": "content", "total_matches": 1_200}, "1,200 lines"),
        ({"total_files": 0}, "0 files"),
        ({"total_files": "many"}, ""),
        ("text", ""),
    ],
)
def test_a_search_tells_how_much_it_has_found(output: Any, found: str) -> None:
    """If its result says so."""
    assert found_by({"result": {"success": True, "output": output}}) == found


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (None, ""),
        ([1], "[1]"),
        ({"stdout": "a\n", "stderr": "b\n", "returncode": 0}, "a\nb"),
        ({"stderr": ""}, ""),
        ({"response": "done", "agent": "x"}, "done"),
        ({"bytes": 3}, '{"bytes": 3}'),
    ],
)
def test_output_is_text_for_people(output: Any, text: str) -> None:
    """What a command wrote, what an agent answered, else JSON."""
    assert text_of(output) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.04, "0.0 s"), (9.94, "9.9 s"), (12.4, "12 s"), (75, "1:15"), (3_725, "1:02:05")]
)
def test_durations_are_short(seconds: float, text: str) -> None:
    """Tenths only where they matter."""
    assert duration(seconds) == text
