"""Finished changes as lines: signs, folding, gutters, and what must never reach a terminal."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from amplifier.tui.view.changes import Begun, Call, Change, Code, Note, Prompt, Prose, Speaker, Thought
from amplifier.tui.view.diffs import Diff, diff_of
from amplifier.tui.view.painting import cleaned
from amplifier.tui.view.rendering import question_lines, render, render_diff
from amplifier.tui.view.scroll import Scroll
from amplifier.tui.view.theme import Theme, theme_for

BARE = Theme(has_colour=False)
READER = Theme(has_colour=False, is_plain=True)
UNFOLDED = Theme(has_colour=False, is_unfolded=True)
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
PAINTER = Speaker("painter", 1)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain", "plain"),
        ("a\x1b[31mred\x1b[0m", "ared"),
        ("\x1b]8;;http://x\x1b\\link\x1b]0;t\x07", "link"),
        ("\x1b]never ends\nnext", "\nnext"),
        ("\x1b(Bx\x1bcy", "xy"),
        ("10%\r20%\rdone\r\nnext", "done\nnext"),
        ("\x9b31m\u202eabc\ud800\x00", "31mabc�"),
        ("tab\tstays", "tab\tstays"),
    ],
)
def test_nothing_steers_the_terminal(text: str, clean: str) -> None:
    """Whole sequences go, a line keeps what it was overwritten with."""
    assert cleaned(text) == clean


_TEXTS = st.text(st.one_of(st.characters(), st.sampled_from("\x1b[]0;m\r\n\t#*`-|> 日é\u0301\u200d👩")), max_size=120)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(_TEXTS, st.integers(10, 60), st.booleans())
def test_any_text_is_shown_within_the_width(text: str, width: int, has_colour: bool) -> None:
    """Whatever a model or a tool says, lines hold no controls but our colours, and fit."""
    theme = Theme(has_colour=has_colour)
    changes: list[Change] = [
        Prompt(text),
        Prose(text),
        Code(tuple(text.split("\n")), text[:5], tuple(text[:9].split("\n"))),
        Thought(text, 1.0, Speaker(text, 2)),
        Call(text, {"command": text}, "bad", text, text, 1.0),
        Call("edit_file", {}, "good", diff=Diff((("+", text), ("@", text)))),
        Begun(text, text),
        Note(text),
    ]
    for change in changes:
        for line in Scroll().lines(change, width, theme):
            bare = COLOURS.sub("", line)
            assert CONTROLS.search(bare) is None
            assert cell_len(bare) <= width


def test_code_keeps_its_blank_lines_and_the_colours_of_what_stands_above() -> None:
    """A text that began in an earlier portion is still a text."""
    piece = Code(("", 'end"""', ""), "python", ('"""begin',), is_first=False, is_last=False)
    assert render(piece, 40, BARE) == ["", 'end"""', ""]
    assert render(piece, 40, Theme())[1] == '\x1b[33mend"""\x1b[0m'
    assert render(Code(("", ""), "python", (), is_first=False, is_last=False), 40, BARE) == ["", ""]
    assert render(Code((), "nosuch"), 40, BARE) == ["```nosuch", "```"]
    assert render(Code(("\tx",), "nosuch", is_first=False), 40, BARE) == ["    x", "```"]


def test_what_markdown_keeps_to_itself_is_shown() -> None:
    """The definition of a link would be lost, as its use may be in another piece."""
    assert render(Prose("[1]: http://example.org"), 40, BARE) == ["[1]: http://example.org"]
    assert render(Prose("- a\n\n  ```py\n  x = 1\n  ```"), 40, BARE) == [" • a", "   x = 1"]


def test_a_prompt_has_its_lines_below_each_other() -> None:
    """Also where the sign is a word."""
    assert render(Prompt("one\ntwo\n"), 40, BARE) == ["❯ one", "  two"]
    assert render(Prompt("one\ntwo"), 40, READER) == ["You: one", "  two"]
    long = Prompt("x\n" * 10_000)
    assert render(long, 40, BARE)[-2:] == ["  x", "  … 9960 more lines"]
    assert len(render(long, 40, UNFOLDED)) == 2_001


def test_thoughts_are_one_line_unless_unfolded() -> None:
    """With how long they took, where that is known."""
    thought = Thought("First this.\nThen that.", 2.0)
    assert render(thought, 40, BARE) == ["∴ (2.0 s) First this. Then that."]
    assert render(Thought("Only this."), 40, READER) == ["Thinking: Only this."]
    assert render(thought, 40, UNFOLDED) == ["∴ First this.", "  Then that."]


def test_a_call_gives_way_in_the_middle() -> None:
    """Its name and its facts stay as long as there is room."""
    call = Call("bash", {"command": "echo " + "long " * 20}, "good", "a\nb", seconds=1.0)
    assert render(call, 34, BARE)[0] == "✓ bash echo lon… · 2 lines · 1.0 s"
    assert render(Call("read_file", {}, "stopped"), 34, BARE) == ["■ read_file"]
    found = Call("grep", {"pattern": "x"}, "good", "a\nb", seconds=1.0, found="2 files")
    assert render(found, 34, BARE) == ["✓ grep x · 2 files · 1.0 s"]


def test_output_and_errors_are_cut_unless_unfolded() -> None:
    """The end of an output, the beginning of an error."""
    output = "\n".join(f"line {number}" for number in range(7))
    call = Call("bash", {"command": "x"}, "good", output)
    assert render(call, 40, BARE)[1:3] == ["  └ … 2 more lines", "    line 2"]
    assert render(call, 40, UNFOLDED)[1:3] == ["  └ command: x", "    line 0"]
    assert render(Call("read_file", {}, "good", output), 40, BARE) == ["✓ read_file · 7 lines"]
    progress = Call("bash", {"command": "x"}, "good", "10%\r50%\r100%\ndone\n")
    assert render(progress, 40, BARE) == ["✓ bash x · 2 lines", "  └ 100%", "    done"]
    failed = Call("read_file", {}, "bad", error="word " * 60)
    assert render(failed, 40, BARE)[-1] == "    … 4 more lines"
    assert len(render(failed, 40, UNFOLDED)) == 10
    assert render(Call("x", {}, "bad", error="\n".join("abcdef")), 40, BARE)[-1] == "    … 1 more line"


@pytest.mark.slow
def test_no_text_is_so_long_that_the_chat_stands_still() -> None:
    """Also where it is to be seen whole, there is an end to it."""
    long = "x" * 3_000_000
    lines = "x\n" * 1_000_000
    given = {"file_path": "f", "content": lines}
    changes: list[Change] = [
        Thought(long),
        Note(long),
        Prompt(long),
        Call("x", {"a": long}, "bad", long, long),
        Call("x", {}, "bad", lines, lines),
        Call("write_file", given, "good", diff=diff_of("write_file", given)),
        Call("write_file", {}, "good", diff=Diff((("+", long),))),
    ]
    for change in changes:
        assert len(render(change, 80, UNFOLDED)) < 6_000
        assert len(render(change, 80, BARE)) < 1_300


def test_a_diff_has_its_colours_and_blank_lines() -> None:
    """All of it, or so many lines."""
    diff = diff_of("write_file", {"file_path": "f", "content": "a\n\n" + "x\n" * 30})
    assert diff is not None
    assert render_diff(diff, 20, Theme(), 2) == [
        "\x1b[32m+ a\x1b[0m",
        "\x1b[32m+\x1b[0m",
        "\x1b[2m… 30 more lines\x1b[0m",
    ]
    assert len(render_diff(diff, 20, BARE)) == 32
    assert render(Call("write_file", {}, "bad", diff=diff), 40, BARE) == ["✗ write_file · +32 −0"]


def test_only_changes_of_a_proposed_diff_have_the_colours_of_changes() -> None:
    """Names of files and places are quiet; a removed line that begins with dashes is none of them."""
    shown = question_lines("--- f\n+++ f\n@@ -1 +1 @@\n x\n--- a\n+++ b", "diff", 80, Theme())
    quiet = [f"\x1b[2m{line}\x1b[0m" for line in ("--- f", "+++ f", "@@ -1 +1 @@")]
    assert shown == [*quiet, " x", "\x1b[31m--- a\x1b[0m", "\x1b[32m+++ b\x1b[0m"]


def test_agents_stand_behind_a_gutter_as_far_as_there_is_room() -> None:
    """A name where the speaker changes, blank lines with the gutter inside, none on narrow terminals."""
    scroll = Scroll()
    changes = [Note("a"), Note("b", speaker=PAINTER), Prose("c", speaker=PAINTER), Note("d")]
    lines = [line for change in changes for line in scroll.lines(change, 40, BARE)]
    assert lines == ["· a", "", "│ painter", "│ · b", "│", "│ c", "", "· d"]
    assert render(Note("deep", speaker=Speaker("x", 9)), 40, BARE) == ["│ │ │ · deep"]
    assert render(Note("deep", speaker=Speaker("x", 9)), 17, BARE) == ["· deep"]
    assert render(Note("deep", speaker=PAINTER), 40, Theme()) == ["\x1b[34m│\x1b[0m \x1b[2m· deep\x1b[0m"]


def test_a_note_has_its_lines_below_each_other() -> None:
    """Behind its sign; words of a screen reader, and narrow terminals, have no indent."""
    note = Note("one two three four five six", "warning")
    assert render(note, 20, BARE) == ["! one two three four", "  five six"]
    assert render(note, 20, Theme()) == [
        "\x1b[33m!\x1b[0m \x1b[33mone two three four\x1b[0m",
        "  \x1b[33mfive six\x1b[0m",
    ]
    assert render(note, 19, BARE) == ["! one two three", "four five six"]
    assert render(note, 30, READER) == ["Warning: one two three four", "five six"]


def test_blank_lines_stand_between_what_differs() -> None:
    """Calls stay together, portions of code as well, paragraphs as they were written."""
    scroll = Scroll()
    call = Call("x", {}, "good")
    code = Code(("c",), is_last=False)
    changes: list[Change] = [
        call,
        call,
        code,
        Code(("d",), is_first=False),
        Code(("e",)),
        Prose("f"),
        Prose("g", False),
    ]
    lines = [line for change in changes for line in scroll.lines(change, 40, BARE)]
    assert lines == ["✓ x", "✓ x", "", "```", "c", "d", "```", "", "```", "e", "```", "", "f", "g"]


@pytest.mark.parametrize(
    ("environ", "is_terminal", "is_reader", "is_plain"),
    [({}, True, False, False), ({"TERM": "dumb"}, True, False, True), ({}, False, False, True), ({}, True, True, True)],
)
def test_plain_lines_are_for_those_who_need_them(
    environ: dict[str, str], is_terminal: bool, is_reader: bool, is_plain: bool
) -> None:
    """Dumb terminals, pipes and screen readers."""
    theme = theme_for(environ, has_colour=False, is_terminal=is_terminal, is_screen_reader=is_reader)
    assert theme == Theme(has_colour=False, is_plain=is_plain)
