"""Files of bundles: Markdown with front matter, and YAML; every malformed one is told with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from amplifier.bundles.document import MAX_BYTES, Document, dotted, parse_document, read_document, type_name
from amplifier.problems import BundleProblem

FILE = Path("b.md")


def problem_of(text: str, file: Path = FILE) -> str:
    """The message for a text that is no document."""
    with pytest.raises(BundleProblem) as caught:
        parse_document(text, file)
    assert caught.value.exit_code == 78
    return caught.value.message


def test_front_matter_and_body_keep_their_lines() -> None:
    """The data have the lines of the file, and the body begins at its first line that is not empty."""
    document = parse_document("---\nbundle:\n  name: x\ntools:\n  - module: t\n---\n\n\nHello\nyou\n", FILE)
    assert document.data == {"bundle": {"name": "x"}, "tools": [{"module": "t"}]}
    assert (document.body, document.body_line) == ("Hello\nyou", 9)
    assert document.place(("tools", "0", "module")) == "b.md:5"
    assert document.line_of(("tools", "0", "config", "deep")) == 5
    assert document.line_of(("nowhere",)) == 1
    assert document.origin(("bundle", "name"), "bundle x").place == "b.md:3"


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("Just text\n", "Just text"),
        ("---\n---\nText", "Text"),
        ("\ufeff---\r\n---\r\nText\r\nmore", "Text\nmore"),
        ("---\n# only a comment\n---\n", ""),
        ("---  \n---  \nText --- with dashes\n---\nmore", "Text --- with dashes\n---\nmore"),
    ],
    ids=["no front matter", "empty front matter", "byte order mark and CRLF", "no body", "dashes in the text"],
)
def test_every_part_may_be_missing(text: str, body: str) -> None:
    """A file without front matter is all text; a text may have lines of dashes."""
    document = parse_document(text, FILE)
    assert (document.data, document.body) == ({}, body)


def test_a_yaml_file_has_no_body() -> None:
    """All of a YAML file is data."""
    document = parse_document("bundle: {name: x}\n", Path("b.YAML"))
    assert document == Document(
        Path("b.YAML"), {"bundle": {"name": "x"}}, {(): 1, ("bundle",): 1, ("bundle", "name"): 1}
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("---\na: 1\n", "b.md:1: the front matter that begins here does not end"),
        ("---\na: [1\n---\n", "b.md:3:1: "),
        ("---\na: 1\nb: @x\n---\n", "b.md:3:4: "),
        ("---\na: 1\na: 2\n---\n", "b.md:3:1: the key 'a' is there twice, first in line 2"),
        ("---\n- a\n---\n", "b.md:2: expected a mapping of keys, got a list"),
        ("---\nx: &a [*a]\n---\n", "b.md is nested too deeply"),
    ],
    ids=["no end", "open bracket", "a sign YAML keeps for itself", "key twice", "list", "endless"],
)
def test_a_malformed_file_is_told_with_its_line(text: str, message: str) -> None:
    """What cannot be read is a problem, never skipped."""
    assert problem_of(text).startswith(message)


def test_a_file_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    """Missing files, folders, other encodings and huge files are each told in their own words."""
    latin, huge = tmp_path / "latin.md", tmp_path / "huge.md"
    latin.write_bytes(b"one\ntw\xf6\n")
    huge.write_bytes(b"x" * (MAX_BYTES + 1))
    messages: list[str] = []
    for file in (tmp_path / "no.md", tmp_path, latin, huge):
        with pytest.raises(BundleProblem) as caught:
            read_document(file)
        messages.append(caught.value.message.removeprefix(str(tmp_path)))
    assert messages == [
        "/no.md: cannot be read: No such file or directory",
        ": cannot be read: Is a directory",
        "/latin.md:2: is no UTF-8 text",
        "/huge.md: is larger than 1 MiB, the most that a bundle may have",
    ]


def test_a_file_is_read_as_a_whole(tmp_path: Path) -> None:
    """Reading a file is parsing its text."""
    file = tmp_path / "b.md"
    file.write_text("---\na: 1\n---\nText", encoding="utf-8")
    assert read_document(file) == parse_document("---\na: 1\n---\nText", file)


def test_paths_and_types_are_told_as_people_write_them() -> None:
    """Places in lists stand in brackets, and values are what YAML calls them."""
    assert dotted(("tools", "0", "config", "a")) == "tools[0].config.a"
    assert [type_name(each) for each in ({}, [], "x", True, None, 7)] == [
        "a mapping",
        "a list",
        "a text",
        "true or false",
        "nothing",
        "7",
    ]
