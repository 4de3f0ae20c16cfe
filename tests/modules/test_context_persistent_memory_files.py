"""Memory files: what becomes of them, and what is told when they are missing or too long."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from amplifier_module_context_persistent.memory_files import MemoryFile, MemoryFileError, read_memory_files


def test_files_are_read_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative names start in the working directory, ``~`` is the user's home, and bad bytes do no harm."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "one.md").write_bytes(b"\xef\xbb\xbfone \xff")
    (tmp_path / "home/two.md").write_text("zwölf")
    (tmp_path / "empty").touch()
    files = read_memory_files(["one.md", "~/two.md", str(tmp_path / "empty")], tmp_path, 100)
    assert files == [
        MemoryFile(tmp_path / "one.md", "one \ufffd", 8),
        MemoryFile(tmp_path / "home/two.md", "zwölf", 6),
        MemoryFile(tmp_path / "empty", "", 0),
    ]
    assert [file.to_message()["content"] for file in files] == [
        "[Context from one.md]\none \ufffd",
        "[Context from two.md]\nzwölf",
        "[Context from empty]\n",
    ]


def test_a_message_says_which_file_it_stands_for() -> None:
    """Its metadata tell who put it there and what it was made of."""
    assert MemoryFile(Path("/home/facts.md"), "Water is wet.", 13).to_message() == {
        "role": "system",
        "content": "[Context from facts.md]\nWater is wet.",
        "metadata": {"source": "context", "kind": "memory_file", "path": "/home/facts.md"},
    }


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing", "No such file or directory"),
        ("folder", "it is not a regular file"),
        ("pipe", "it is not a regular file"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, reason: str) -> None:
    """A memory that is not there is not passed over, and a pipe is not waited for."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "sound").touch()
    with pytest.raises(MemoryFileError) as caught:
        read_memory_files(["sound", name], tmp_path, 100)
    assert str(caught.value) == (
        f"The memory file {tmp_path / name} cannot be read: {reason}. Correct 'memory_files' in the config of "
        "context-persistent, or take the file out of it."
    )


def test_files_that_are_too_long_together_are_listed(tmp_path: Path) -> None:
    """The table says which file has how many tokens; just as many as allowed are fine."""
    (tmp_path / "long").write_text("word" * 1_000)
    (tmp_path / "short").write_text("word" * 10)
    assert len(read_memory_files(["long", "short"], tmp_path, 1_010)) == 2
    with pytest.raises(MemoryFileError) as caught:
        read_memory_files(["long", "short"], tmp_path, 1_009)
    assert str(caught.value) == (
        "The memory files have about 1,010 tokens together, and 'max_tokens' of context-persistent allows 1,009. "
        "Shorten them, take some out of 'memory_files', or raise 'max_tokens':\n"
        f"         1,000  {tmp_path}/long\n"
        f"            10  {tmp_path}/short"
    )
