"""Short pieces of Markdown are laid out without rich's machinery, and look as if they were not."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.text import Text

from amplifier.tui.view.painting import cleaned, lines_of, one_line
from amplifier.tui.view.prose import markdown, prose_lines
from amplifier.tui.view.theme import Theme

_INLINES = [
    "words", "日本語", "e\u0301",
    "👨\u200d👩\u200d👧", "**strong**", "*em*", "***both***", "~~gone~~", "`code`", "``a ` b``",
    "[link](https://example.org/x)", "[**a** `b`](y)", "[](z)", "![image](i.png)", "<kbd>", "<b>", "a\\*b", "&amp;",
    "\n- ", "\n  - ", "\n   2. ", "\n\n  ", "\n# ", "  \n", "\\\n", "\n", " ", "https://example.org",
    "<https://example.org>", "x" * 70, "**", "`", "_", "[", "](", "\t",
]  # fmt: skip
_OPENINGS = [
    "",
    "# ",
    "## ",
    "##### ",
    "- ",
    "* ",
    "1. ",
    "7) ",
    "999. ",
    "> ",
    "    ",
    "- - ",
    "| a |\n|---|\n|",
    "---\n",
]


def by_rich(source: str, width: int, theme: Theme) -> list[str]:
    """The lines as rich lays them out, without blank ones at the ends."""
    lines = lines_of(markdown(source), width, theme)
    while lines and not lines[0]:
        del lines[0]
    while lines and not lines[-1]:
        del lines[-1]
    return lines


@pytest.mark.parametrize(
    "source",
    [
        "One **strong *word* `code`** and ~~another~~ [link **x**](https://example.org) in a line  \nthat goes on.",
        "# Heading `code`",
        "- item\n  with more\n  - inner\n    1. one\n    2. two",
        "9. nine\n10. ten\n\n    a paragraph of ten",
        "- ",
        "- item\n\n  ```py\n  x = 1\n  ```",
        "An ![image](i.png).",
        "<kbd>x</kbd> and <b>y</b>",
        "| a |\n|---|\n| b |",
        "> quoted",
        "one\n\ntwo",
        "---",
        "",
    ],
)
@pytest.mark.parametrize("width", [12, 24, 80])
def test_what_is_laid_out_here_looks_as_rich_would_show_it(source: str, width: int) -> None:
    """And what is not, too."""
    assert prose_lines(source, width, Theme()) == by_rich(source, width, Theme())


def test_a_rule_is_a_line_and_a_table_without_a_head_has_none() -> None:
    """A long word of a table is folded, not cut; numbers stand where they should."""
    bare = Theme(has_colour=False)
    assert prose_lines("---", 20, bare) == ["─" * 20]
    assert prose_lines("| | |\n|---|---:|\n| a | 1 |\n| b | 10 |", 20, bare) == [" a   1", " b  10"]
    cut = prose_lines("| key | value |\n|---|---|\n| a | 0123456789abcdef |", 16, bare)
    assert "".join(line[6:].strip() for line in cut[2:]) == "0123456789abcdef"


@pytest.mark.parametrize(("words", "line"), [("a\tb", "a       b"), ("a\nb", "a"), ("abcdefg", "abcde…"), ("", "")])
def test_one_line_is_cut_where_the_terminal_ends(words: str, line: str) -> None:
    """Or where the first line does."""
    width = 6 if words == "abcdefg" else 20
    assert one_line(Text(words), width, Theme(has_colour=False)) == line


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(
    st.sampled_from(_OPENINGS),
    st.lists(st.sampled_from(_INLINES) | st.text(max_size=8), max_size=14),
    st.integers(5, 100),
    st.booleans(),
)
@example("- ", ["**a", "\n", "b**", "x" * 70], 30, True)
@example("9. ", ["words ", "[**a** `b`](y)", "  \n", "**c**"], 24, True)
def test_a_short_text_looks_as_rich_would_show_it(opening: str, parts: list[str], width: int, has_colour: bool) -> None:
    """To the byte, whatever stands in it."""
    source, theme = opening + "".join(parts), Theme(has_colour=has_colour)
    assert prose_lines(source, width, theme) == by_rich(source, width, theme)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    st.text(st.characters() | st.sampled_from("日é\u0301\n\t "), max_size=30),
    st.sampled_from(["", "bold", "dim italic"]),
    st.lists(st.tuples(st.text(max_size=9), st.sampled_from(["", "red", "underline"])), max_size=3),
    st.integers(4, 40),
    st.booleans(),
)
def test_one_line_looks_as_rich_would_show_it(
    words: str, style: str, parts: list[tuple[str, str]], width: int, has_colour: bool
) -> None:
    """Whatever styles it has, and however it is cut."""
    theme = Theme(has_colour=has_colour)
    text = Text(cleaned(words), style)
    for part, of_part in parts:
        text.append(cleaned(part), of_part)
    cut = text.copy()
    cut.no_wrap = True
    cut.truncate(width, overflow="ellipsis")
    assert one_line(text, width, theme) == lines_of(cut, width, theme)[0]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Use Vec<String> and <div>.", ["Use Vec<String> and <div>."]),
        ("<!-- a remark -->", ["<!-- a remark -->"]),
        ("[click](u) ![img](v) end", ["click (u) img (v) end"]),
        ("| a |\n|---|\n| ![img](v) <b> |", [" a", " ───────────", " img (v) <b>"]),
    ],
)
def test_nothing_of_what_is_said_vanishes(source: str, expected: list[str]) -> None:
    """Tags are text, and images stand where they are, as their text and where they are."""
    assert prose_lines(source, 60, Theme(has_colour=False)) == expected
