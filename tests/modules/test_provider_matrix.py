"""The page about providers tells what they can do today, and none of them drops a wish in silence."""

from __future__ import annotations

import pytest
from tests.modules.provider_matrix import COLUMNS, COMMAND, LOST, PAGE, ROWS, columns, current, with_tables


@pytest.mark.slow
def test_the_tables_of_the_page_are_current() -> None:
    """What is written down is what is found out by asking; if not, the message says what to run."""
    page = PAGE.read_text(encoding="utf-8")
    assert page == current(page), f"{PAGE.name} is not current. Run `{COMMAND}` and commit the result."


@pytest.mark.slow
async def test_every_provider_has_an_answer_to_everything_and_loses_nothing() -> None:
    """A cell for each provider and feature, and none that says that a wish was neither met nor told."""
    found = await columns()
    assert tuple(found) == COLUMNS
    assert {name: set(cells) for name, cells in found.items()} == {name: set(ROWS) for name in COLUMNS}
    assert [(name, row) for name, cells in found.items() for row, cell in cells.items() if cell == LOST] == []


def test_a_page_without_marks_is_refused() -> None:
    """A table that has no place is an error that names the marks, and not a page without it."""
    assert with_tables("a <!-- x: begin -->old<!-- x: end --> b", x="new") == (
        "a <!-- x: begin -->\n\nnew\n\n<!-- x: end --> b"
    )
    with pytest.raises(ValueError, match="The page needs the marks <!-- x: begin --> and <!-- x: end -->"):
        with_tables("a <!-- x: begin --> b", x="new")
