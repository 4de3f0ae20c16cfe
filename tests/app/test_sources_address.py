"""What sources say: every form of an address, and what is refused before anything is fetched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier.problems import SourceProblem
from amplifier.sources.address import Address, parse_source, told

BASE = Path("/base")
INSIDE = "expected #subdirectory=FOLDER, a folder inside it."
SECRET = "has a user name or a password in its address."
OPEN = "would come over a connection that anybody on the way can change."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("./a/b", Address("path", "./a/b", "/base/a/b")),
        ("a/b", Address("path", "a/b", "/base/a/b")),
        ("/a#subdirectory=b/c", Address("path", "/a#subdirectory=b/c", "/a", None, "b/c")),
        ("file:///a%20b", Address("path", "file:///a%20b", "/a b")),
        ("file:///a.zip", Address("zip", "file:///a.zip", "/a.zip")),
        ("mine.zip", Address("zip", "mine.zip", "/base/mine.zip")),
        ("zip+file:///a", Address("zip", "zip+file:///a", "/a")),
        (
            "https://e.org/a.zip#subdirectory=x",
            Address("zip", "https://e.org/a.zip#subdirectory=x", "https://e.org/a.zip", None, "x"),
        ),
        ("zip+https://e.org/a?b=c", Address("zip", "zip+https://e.org/a?b=c", "https://e.org/a?b=c")),
        ("http://127.0.0.1:8/a.zip", Address("zip", "http://127.0.0.1:8/a.zip", "http://127.0.0.1:8/a.zip")),
        ("git+https://e.org/a/b", Address("git", "git+https://e.org/a/b", "https://e.org/a/b")),
        ("git+https://e.org/a@v1.0", Address("git", "git+https://e.org/a@v1.0", "https://e.org/a", "v1.0")),
        (
            "git+ssh://git@e.org/a@feature/x#subdirectory=m",
            Address("git", "git+ssh://git@e.org/a@feature/x#subdirectory=m", "ssh://git@e.org/a", "feature/x", "m"),
        ),
        ("git+file:///a@main", Address("git", "git+file:///a@main", "file:///a", "main")),
        ("package:My_Package", Address("package", "package:My_Package", "My_Package")),
        ("my-package", Address("package", "package:my-package", "my-package")),
        ({"path": "./a"}, Address("path", "./a", "/base/a")),
        ({"package": "p"}, Address("package", "package:p", "p")),
        ({"zip": "https://e.org/a.zip"}, Address("zip", "https://e.org/a.zip", "https://e.org/a.zip")),
        (
            {"git": "https://e.org/a", "ref": "v1", "subdirectory": "m"},
            Address("git", "git+https://e.org/a@v1#subdirectory=m", "https://e.org/a", "v1", "m"),
        ),
    ],
)
def test_a_source_is_taken_apart(text: Any, expected: Address) -> None:
    """Texts and mappings of every form."""
    assert parse_source(text, BASE) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is no source."),
        (" x", "' x' is no source."),
        ("a\nb", r"'a\nb' is no source."),
        (3, "'3' is no source."),
        ({"ref": "x"}, "\"{'ref': 'x'}\" is no source."),
        ("~nobody-of-this-name/x", "'~nobody-of-this-name/x' is in the home of nobody known here."),
        ("what is it", "'what is it' is no source."),
        ("git+ext://sh -c x", "'git+ext://sh -c x' names no host and path."),
        ("git+ext://sh/x", "'git+ext://sh/x' cannot be fetched: git+ext is not a way to get a repository."),
        (
            "git+https://e.org:port/x",
            "'git+https://e.org:port/x' is no address: Port could not be cast to integer value as 'port'.",
        ),
        ("git+https:///x", "'git+https:///x' names no host and path."),
        ("git+https://e.org", "'git+https://e.org' names no host and path."),
        ("git+ssh://-oProxyCommand=x/y", "'git+ssh://-oProxyCommand=x/y' names no host and path."),
        ("git+https://e.org/x@-f", "'git+https://e.org/x@-f' names '-f', which is no branch, tag or commit."),
        ("git+https://e.org/x#egg=y", f"'git+https://e.org/x#egg=y' ends with '#egg=y'; {INSIDE}"),
        ("./a#subdirectory=../b", f"'./a#subdirectory=../b' ends with '#subdirectory=../b'; {INSIDE}"),
        ("./a#subdirectory=/b", f"'./a#subdirectory=/b' ends with '#subdirectory=/b'; {INSIDE}"),
        ("./a#subdirectory=", f"'./a#subdirectory=' ends with '#subdirectory='; {INSIDE}"),
        ("git+https://u:s3cret@e.org/x", f"The source 'git+https://e.org/x' {SECRET}"),
        ("git+https://s3cret@e.org/x", f"The source 'git+https://e.org/x' {SECRET}"),
        ("git+ssh://git:s3cret@e.org/x", f"The source 'git+ssh://e.org/x' {SECRET}"),
        ("https://s3cret@e.org/x.zip", f"The source 'https://e.org/x.zip' {SECRET}"),
        ("git+http://e.org/x", f"'git+http://e.org/x' {OPEN}"),
        ("http://e.org/x.zip", f"'http://e.org/x.zip' {OPEN}"),
        (
            "https://e.org/x",
            "'https://e.org/x' does not end with .zip, and an address without git+ is that of an archive.",
        ),
        ("zip+ftp://e.org/x", "'zip+ftp://e.org/x' cannot be fetched: zip+ftp is not a way to get an archive."),
    ],
)
def test_what_is_no_source_is_told_without_its_secrets(text: Any, message: str) -> None:
    """Before anything is asked of anybody."""
    with pytest.raises(SourceProblem) as caught:
        parse_source(text, BASE)
    assert (caught.value.message, "s3cret" in caught.value.hint, caught.value.exit_code) == (message, False, 78)
    assert caught.value.hint


@given(st.text(max_size=60))
def test_any_text_is_a_source_or_a_problem(text: str) -> None:
    """Never another error, whatever a bundle says."""
    for beginning in ("", "git+https://", "zip+", "./a#", "https://e.org/"):
        try:
            found = parse_source(beginning + text, BASE)
        except SourceProblem:
            continue
        assert ".." not in Path(found.subdirectory).parts


def test_messages_have_no_credentials() -> None:
    """User names of ssh are no secret, and belong to the address."""
    shown = told("git+https://u:p@e.org/x and git+ssh://git@e.org/y and ssh://a:b@e.org")
    assert shown == "git+https://e.org/x and git+ssh://git@e.org/y and ssh://e.org"
