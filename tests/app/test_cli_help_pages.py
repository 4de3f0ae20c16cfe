"""The help pages are what they were when somebody last looked at them; the docs have the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.app.command import Command
from tests.app.help_pages import GOLDEN, PAGE, docs_page, file_of, help_pages

RENEW = "look at the change, then run: python -m tests.app.help_pages"


@pytest.mark.parametrize("name", help_pages())
def test_the_help_of_a_command_is_the_golden_one(name: str) -> None:
    """Whoever changes a page on purpose writes it anew."""
    file = file_of(name)
    assert file.is_file(), RENEW
    assert help_pages()[name] == file.read_text(encoding="utf-8"), RENEW


def test_no_page_is_left_of_a_command_that_is_gone() -> None:
    """There is a file for each command, and no other."""
    assert {file.name for file in GOLDEN.iterdir()} == {file_of(name).name for name in help_pages()}, RENEW


def test_the_docs_have_all_pages() -> None:
    """The page of the guide is written from the same texts."""
    assert PAGE.read_text(encoding="utf-8") == docs_page(help_pages()), RENEW


def test_a_page_fits_80_columns_and_says_what_its_command_does() -> None:
    """No line is cut, and no command is without a sentence."""
    pages = help_pages()
    assert [name for name, text in pages.items() if max(map(len, text.splitlines())) > 80] == []
    assert [name for name, text in pages.items() if not text.split("\n")[2].startswith("  ")] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["amplifier", "amplifier config set"])
def test_the_command_prints_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """As a process, for a terminal of 80 columns, and in this one, with ``-h`` as well."""
    amplifier = Command(tmp_path, monkeypatch, capsys)
    text = file_of(name).read_text(encoding="utf-8")
    args = name.split()[1:]
    assert amplifier.process(*args, "--help") == (0, text, "")
    assert amplifier(*args, "-h") == (0, text, "")
