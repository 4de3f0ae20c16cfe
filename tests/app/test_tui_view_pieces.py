"""Markdown that is still being written, cut into pieces that are finished."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier.tui.view.changes import ROOT, Code, Prose
from amplifier.tui.view.pieces import Cutter, Piece

MARKDOWN = st.lists(
    st.sampled_from(
        ["# Title", "words of a paragraph", "more", "", "- item", "  inside", "1. one", "2. two", "  - nested"]
    )
    | st.sampled_from(["", "```python", "x = 1", "```", "~~~", "| a | b |", "> quote", "    indented", "  ```"]),
    max_size=40,
).map("\n".join)


def cut(*texts: str) -> list[Piece]:
    cutter = Cutter(ROOT)
    return [*(piece for text in texts for piece in cutter.feed(text)), *cutter.finish()]


def shown(pieces: Iterable[Piece]) -> list[tuple[str, bool]]:
    """Text and gap of pieces that hold no code."""
    return [(piece.source, piece.has_gap) for piece in pieces if isinstance(piece, Prose)]


def test_a_paragraph_is_finished_when_the_next_begins() -> None:
    """At the blank line; of a list when something follows that is not indented."""
    cutter = Cutter(ROOT)
    assert cutter.feed("one\ntwo\n") == []
    assert cutter.rest == Prose("one\ntwo")
    assert cutter.feed("\n") == [Prose("one\ntwo")]
    assert (cutter.feed("- three\n\n"), cutter.feed("  i")) == ([], [])
    assert cutter.rest == Prose("- three\n\n  i")
    assert cutter.feed("n\n\n") == []
    assert cutter.feed("f") == [Prose("- three\n\n  in")]
    assert cutter.feed("our") == []
    assert cutter.finish() == [Prose("four")]
    assert (cutter.rest, cutter.finish()) == (None, [])


@pytest.mark.parametrize(
    ("source", "pieces"),
    [
        ("# A\ntext", [("# A", True), ("text", True)]),
        ("text\n## B", [("text", True), ("## B", True)]),
        ("say:\n- a\n- b\n  c\n\n  d\n- e\n\nend", None),
        ("1. a\n2. b\n\n3. c", [("1. a", True), ("2. b", False), ("3. c", True)]),
        ("in the year\n1999. It was", [("in the year\n1999. It was", True)]),
        ("\n\nlate", [("late", True)]),
        ("> a\n>\n> b", [("> a\n>\n> b", True)]),
        ("- a\n\n      code", [("- a\n\n      code", True)]),
    ],
)
def test_pieces_end_where_markdown_lets_them(source: str, pieces: list[tuple[str, bool]] | None) -> None:
    """At headings, items and blank lines; what is indented below an item stays with it."""
    expected = pieces or [("say:", True), ("- a", False), ("- b\n  c\n\n  d", False), ("- e", False), ("end", True)]
    assert shown(cut(source)) == expected


def test_code_is_let_go_in_portions_that_know_what_stands_above() -> None:
    """So that a long block is shown while it comes, and is coloured as one."""
    lines = [f"line {number}" for number in range(30)]
    first, second = cut("```py extra\n" + "\n".join(lines) + "\n```\nafter")[:2]
    assert first == Code(tuple(lines[:24]), "py", (), is_first=True, is_last=False)
    assert second == Code(tuple(lines[24:]), "py", tuple(lines[:24]), is_first=False, is_last=True)


def test_a_fence_ends_where_it_is_closed_and_not_inside() -> None:
    """A shorter fence, or another kind, is code; the indent of the fence is taken off."""
    assert cut(" ````\n ```\n~~~\n  x\n ````") == [Code(("```", "~~~", " x"))]
    assert cut("text\n\n```\nopen") == [Prose("text"), Code(("open",))]
    assert cut("```a`b``` words") == [Prose("```a`b``` words")]


def test_a_fence_inside_an_item_stays_with_it() -> None:
    """An indented fence belongs to the item above it; one at the margin ends the list."""
    inside = "- item\n  ```py\n  x = 1\n  ```"
    assert cut(inside) == [Prose(inside)]
    assert cut("- item\n```\nx\n```\n- next") == [Prose("- item"), Code(("x",)), Prose("- next")]


def test_the_rest_shows_code_that_is_not_finished() -> None:
    """With the line that is being written."""
    cutter = Cutter(ROOT)
    cutter.feed("```py\nx = 1\ny =")
    assert cutter.rest == Code(("x = 1", "y ="), "py", is_last=False)
    cutter.feed("\n")
    assert cutter.rest == Code(("x = 1", "y ="), "py", is_last=False)


def test_what_grows_without_end_is_cut() -> None:
    """Lines at a space or anywhere, paragraphs between lines, items so that what follows is no code."""
    cutter = Cutter(ROOT)
    assert cutter.feed("word " * 1_300 + "half") == [Prose("word " * 1_300)]
    assert cutter.rest == Prose("half", has_gap=False)
    assert cutter.feed("x" * 6_001) == [Prose("half" + "x" * 6_001, has_gap=False)]
    lines = cut("\n".join(["words without end"] * 800))
    assert len(lines) == 3
    assert "\n".join(text for text, _ in shown(lines)) == "\n".join(["words without end"] * 800)
    item = cut("- item\n" + "\n".join(["      deep inside the item"] * 400))
    assert isinstance(item[1], Prose)
    assert item[1].source.startswith("deep inside")


def test_a_line_of_code_without_end_is_cut_as_well() -> None:
    """Into lines of the same block."""
    cutter = Cutter(ROOT)
    cutter.feed("```\n")
    cutter.feed("x" * 7_000)
    (code,) = cutter.finish()
    assert code == Code(("x" * 7_000,))


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(MARKDOWN, st.lists(st.integers(1, 9), max_size=30))
def test_how_a_text_arrives_does_not_matter(source: str, sizes: list[int]) -> None:
    """Any division into deltas gives the same pieces, and no word is lost."""
    parts: list[str] = []
    rest = source
    for size in sizes:
        parts.append(rest[:size])
        rest = rest[size:]
    pieces = cut(*parts, rest)
    assert pieces == cut(source)
    kept = "\n".join(piece.source if isinstance(piece, Prose) else "\n".join(piece.lines) for piece in pieces)
    bare = [line.strip() for line in source.split("\n")]
    words = [line for line in bare if line and not line.startswith(("```", "~~~"))]
    assert [
        line.strip() for line in kept.split("\n") if line.strip() and line.strip()[:3] not in ("```", "~~~")
    ] == words
