"""Mentions in texts: what is one, which file it names, what is refused, and how much is read."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from amplifier.bundles import mentions
from amplifier.bundles.mentions import MAX_FILE_BYTES, Passage, Reader, mentions_in


def files(root: Path, **texts: str) -> None:
    """Writes files below ``root``; ``__`` in a name stands for a slash, ``_md`` for the ending."""
    for name, text in texts.items():
        path = root / (name.replace("__", "/").replace("_md", ".md"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def read(
    text: str, root: Path, namespaces: dict[str, Path] | None = None, *, is_own: bool = False
) -> tuple[list[str], list[str]]:
    """What a text in ``root/a.md`` brings into the prompt, and the warnings without the root's path."""
    reader = Reader(namespaces or {})
    readings = reader.read_all(Passage(text, root / "a.md", 1, (root,), is_own))
    return [reading.passage.text for reading in readings], [told.replace(str(root), "") for told in reader.warnings]


def test_mentions_are_told_apart_from_everything_else_with_an_at_sign() -> None:
    """Namespaces and paths are mentions; addresses, people, decorators and code are not."""
    text = """See @ns:docs/x.md, and @docs/y. Then (@./z.md) and @~/w.txt and @notes.md.
mail me@example.org, @alice, @pytest.fixture, a@b:c, `@ns:code`
```python
@ns:decorator/x.md
```
~~~
@ns:tilde.md
~~~
@/etc/passwd @ns:last
```
@ns:in/open/block.md"""
    assert [(each.target, each.line) for each in mentions_in(text)] == [
        ("ns:docs/x.md", 0),
        ("docs/y", 0),
        ("./z.md", 0),
        ("~/w.txt", 0),
        ("notes.md", 0),
        ("/etc/passwd", 8),
        ("ns:last", 8),
    ]


def test_a_long_line_of_marks_is_read_in_no_time() -> None:
    """It begins no block, however many blocks it could begin."""
    before = time.process_time()
    assert [each.target for each in mentions_in(f"@a.md\n{'~' * 60_000}")] == ["a.md"]
    assert time.process_time() - before < 1


def test_a_mention_brings_the_file_and_what_it_mentions(tmp_path: Path) -> None:
    """Files come nearest first, each once; a circle of mentions ends."""
    files(tmp_path, docs__one_md="one @two.md @../three.md", docs__two_md="two @one.md", three_md="three @ns:four.md")
    files(tmp_path / "other", four_md="four")
    assert read("@docs/one.md @docs/one.md", tmp_path, {"ns": tmp_path / "other"}) == (
        ["one @two.md @../three.md", "two @one.md", "three @ns:four.md", "four"],
        [],
    )


def test_what_is_missing_is_told_with_its_line(tmp_path: Path) -> None:
    """A path with the ending of a text was meant to be a file; a name with a slash may be anything."""
    files(tmp_path, a__b="x")
    found = read("first\n@no/file.md @types/node @ns:x.md\n@gone:x.md", tmp_path, {"ns": tmp_path})
    assert found == (
        [],
        [
            "/a.md:2: @no/file.md is not read: there is no such file",
            "/a.md:2: @ns:x.md is not read: there is no such file",
            "/a.md:3: @gone:x.md is not read: there is no namespace 'gone' (known: ns)",
        ],
    )
    assert read("@x:y.md", tmp_path)[1] == ["/a.md:1: @x:y.md is not read: there is no namespace 'x' (known: none)"]


@pytest.mark.parametrize(
    "target", ["../secret.md", "{outside}/secret.md", "link.md", "ns:../../secret.md", "ns:link.md"]
)
def test_a_text_from_elsewhere_does_not_reach_out(tmp_path: Path, target: str) -> None:
    """Neither dots nor absolute paths nor links lead out of the folders that belong to a text."""
    root = tmp_path / "root"
    files(tmp_path, secret_md="secret")
    files(root, inside_md="inside", ns__x_md="x")
    for folder in (root, root / "ns"):
        (folder / "link.md").symlink_to(tmp_path / "secret.md")
    texts, warnings = read(f"@{target.format(outside=tmp_path)}", root, {"ns": root / "ns"})
    assert texts == []
    assert len(warnings) == 1
    assert "it leads out of" in warnings[0]


def test_hidden_files_are_not_for_prompts(tmp_path: Path) -> None:
    """Keys and repositories are in hidden places; those that hold instructions are meant."""
    for name in (".env.md", ".ssh/key.md", ".amplifier/context.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name, encoding="utf-8")
    assert read("@.env.md @.ssh/key.md @.amplifier/context.md", tmp_path) == (
        [".amplifier/context.md"],
        [
            "/a.md:1: @.env.md is not read: hidden files are not for prompts",
            "/a.md:1: @.ssh/key.md is not read: hidden files are not for prompts",
        ],
    )


def test_the_user_may_mention_any_file_but_that_file_may_not(tmp_path: Path) -> None:
    """What the user has written reaches everything; a file it brings in from elsewhere reaches its own folder."""
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    files(home, own_md=f"own @{elsewhere}/far.md")
    files(elsewhere, far_md=f"far @near.md @{tmp_path}/secret.md", near_md="near")
    files(tmp_path, secret_md="secret")
    texts, warnings = read("@own.md @types/node @gone.md", home, is_own=True)
    assert [text.split()[0] for text in texts] == ["own", "far", "near"]
    assert [told.split(" is not read: ")[1][:16] for told in warnings] == ["there is no such", "it leads out of "]


def test_limits_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large files are cut, others left out; each is told, and nothing is read without end."""
    files(tmp_path, big_md="x" * (MAX_FILE_BYTES + 5), bin_md="a\0b", small_md="\ufeffsmall ")
    (tmp_path / "none.md").write_bytes(b"")
    assert read("@big.md", tmp_path) == (["x" * MAX_FILE_BYTES], ["/big.md: only its first 128 KiB are in the prompt"])
    assert read("@bin.md @small.md", tmp_path) == (["small"], ["/bin.md: is no text, and left out of the prompt"])
    monkeypatch.setattr(mentions, "MAX_FILES", 1)
    assert read("@small.md @none.md", tmp_path) == (
        ["small"],
        ["/none.md: is left out of the prompt, which has 1 files or 512 KiB already"],
    )


def test_a_file_that_cannot_be_opened_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that vanishes between looking and reading costs nothing but itself."""
    files(tmp_path, a_md="x")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    reader = Reader({})
    assert reader.read_file(tmp_path / "a.md", (tmp_path,)) is None
    assert reader.warnings == [f"{tmp_path}/a.md: cannot be read for the prompt: Permission denied"]


def test_mentions_deeper_than_the_limit_are_told(tmp_path: Path) -> None:
    """A long chain of files ends with a warning; mentions there that lead nowhere do not matter."""
    for number in range(8):
        (tmp_path / f"{number}.md").write_text(f"{number} @{number + 1}.md @gone:x.md @types/node", encoding="utf-8")
    texts, warnings = read("@0.md", tmp_path)
    assert [text[0] for text in texts] == ["0", "1", "2", "3", "4"]
    assert warnings[-1] == "/a.md: mentions deeper than 5 files are not read"
