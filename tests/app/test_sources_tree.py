"""Folders of source code: names that stay inside, limits, and a hash that knows every byte."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier.problems import SourceProblem
from amplifier.sources.tree import Limits, TreeWriter, tree_hash, without_compiled


def _writer(folder: Path, **limits: int) -> TreeWriter:
    return TreeWriter(folder / "tree", Limits(**limits), "x")


def test_files_and_links_are_written(tmp_path: Path) -> None:
    """What belongs to git and to Python itself is left out."""
    writer = _writer(tmp_path)
    writer.add_file("a/b.py", [b"1", b"2"])
    writer.add_file("run", [b"#!"], is_executable=True)
    writer.add_file(".git/config", [b"x"])
    writer.add_file("a/__pycache__/b.pyc", [b"x"])
    writer.add_link("a/link", "../run")
    writer.add_link("made/for/it", "../../a/b.py")
    writer.finish()
    root = tmp_path / "tree"
    assert sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if not path.is_dir()) == [
        "a/b.py",
        "a/link",
        "made/for/it",
        "run",
    ]
    assert ((root / "a/b.py").read_bytes(), os.access(root / "run", os.X_OK)) == (b"12", True)
    assert (root / "a/link").resolve() == (root / "run").resolve()


@pytest.mark.parametrize(
    "name", ["", "/a", "../a", "a/../../b", "a\\b", "C:/a", "a\x00b", "a\nb", "a\u202eb", "x" * 1001]
)
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    """Also one that would be shown as something else."""
    writer = _writer(tmp_path)
    with pytest.raises(SourceProblem, match="which is not a name inside a folder"):
        writer.add_file(name, [b"x"])
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    "links",
    [
        [("a", "/etc/passwd")],
        [("a", "../x")],
        [("d/a", "../../x")],
        [("a", "..\\x")],
        [("d/b", "."), ("d/b/p", "../../x"), ("d/b/p/evil", "y")],
        [("d/b", "."), ("d/b/p", "../../x")],
    ],
)  # fmt: skip
def test_a_link_that_leads_elsewhere_is_refused(tmp_path: Path, links: list[tuple[str, str]]) -> None:
    """By itself, or over other links; nothing is made outside."""
    (tmp_path / "x").mkdir()
    writer = _writer(tmp_path)
    writer.add_file("d/f", [b""])
    for name, target in links:
        writer.add_link(name, target)
    with pytest.raises(SourceProblem, match="which is outside"):
        writer.finish()
    assert list((tmp_path / "x").iterdir()) == []


def test_what_is_there_twice_is_refused(tmp_path: Path) -> None:
    """Files, files in the place of folders, and links in the place of files."""
    writer = _writer(tmp_path)
    writer.add_file("a", [b""])
    for name in ("a", "a/b"):
        with pytest.raises(SourceProblem, match="twice"):
            writer.add_file(name, [b""])
    writer.add_link("a", "b")
    with pytest.raises(SourceProblem, match="has 'a' twice"):
        writer.finish()


def test_too_much_is_refused(tmp_path: Path) -> None:
    """Too many files, and too many bytes, whatever was announced."""
    writer = _writer(tmp_path, max_files=2, max_bytes=3)
    writer.add_file("a", [b"12"])
    with pytest.raises(SourceProblem, match="larger than 3 bytes"):
        writer.add_file("b", [b"1", b"2"])
    with pytest.raises(SourceProblem, match="more than 2 files"):
        writer.add_file("c", [b""])


def test_the_hash_knows_every_byte_name_and_kind(tmp_path: Path) -> None:
    """And nothing of what Python or git keep beside the code."""
    seen = {tree_hash(tmp_path)}
    file = tmp_path / "a.py"
    for change in (
        lambda: file.write_bytes(b"1"),
        lambda: file.write_bytes(b"2"),
        lambda: file.chmod(0o755),
        lambda: file.rename(tmp_path / "b.py"),
        lambda: (tmp_path / "l").symlink_to("b.py"),
        lambda: ((tmp_path / "l").unlink(), (tmp_path / "l").symlink_to("b.p")),
        lambda: os.mkfifo(tmp_path / "pipe"),
        lambda: (tmp_path / os.fsdecode(b"\xff")).write_bytes(b""),
    ):
        change()
        assert tree_hash(tmp_path) not in seen
        seen.add(tree_hash(tmp_path))
    before = tree_hash(tmp_path)
    for name in ("__pycache__", ".git"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_bytes(b"x")
    assert tree_hash(tmp_path) == before
    without_compiled(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == [".git"]


@given(st.binary(max_size=50), st.binary(max_size=50))
def test_what_is_written_is_what_is_hashed(one: bytes, other: bytes) -> None:
    """Two trees have the same hash if and only if they have the same files."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for name, content in (("1", one), ("2", other)):
            writer = TreeWriter(Path(folder, name), Limits(), "x")
            writer.add_file("f", [content])
            writer.finish()
        assert (tree_hash(Path(folder, "1")) == tree_hash(Path(folder, "2"))) == (one == other)
