"""What the file tools hand to the application before they change a file, so that it can be brought back."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from tests.modules.filesystem_world import FileSession

from amplifier_modkit.paths import checkpoints
from amplifier_modkit.paths.folders import Folder

Kept = tuple[str, bytes | None, bytes | None, int | None]


class Keeper:
    """The capability of an application that writes down what it gets, and what was on the disk at that moment."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self.kept: list[Kept] = []
        self.on_disk: list[bytes | None] = []

    def __call__(self, path: str, before: bytes | None, after: bytes | None, mode: int | None) -> None:
        self.kept.append((str(Path(path).relative_to(self._folder)), before, after, mode))
        self.on_disk.append(Path(path).read_bytes() if Path(path).exists() else None)


async def session(folder: Path, keeper: Any) -> FileSession:
    """The tools in a session whose application keeps files."""
    made = await FileSession(folder).begin()
    made.coordinator.register_capability("files.checkpoint", keeper)
    return made


async def test_every_change_is_handed_over_before_it_is_made(tmp_path: Path) -> None:
    """Path, content before and after, and mode; a file that comes has nothing before, one that goes nothing after."""
    keeper = Keeper(tmp_path)
    files = await session(tmp_path, keeper)
    await files.write("deep/a.txt", "one\n")
    (tmp_path / "deep/a.txt").chmod(0o640)
    await files.write("deep/a.txt", "two\n")
    await files.edit("deep/a.txt", old_string="two", new_string="three")
    patch = "*** Begin Patch\n*** Add File: b.txt\n+b\n*** Delete File: deep/a.txt\n*** End Patch"
    await files.patch(patch)
    assert keeper.kept == [
        ("deep/a.txt", None, b"one\n", None),
        ("deep/a.txt", b"one\n", b"two\n", 0o640),
        ("deep/a.txt", b"two\n", b"three\n", 0o640),
        ("b.txt", None, b"b\n", None),
        ("deep/a.txt", b"three\n", None, 0o640),
    ]
    assert keeper.on_disk == [before for _, before, _, _ in keeper.kept]
    assert files.files() == {"b.txt": "b\n"}


async def test_what_is_too_large_to_be_read_is_handed_over_without_its_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mode tells that there is a file; one that grows meanwhile counts as too large as well."""
    monkeypatch.setattr(checkpoints, "WHOLE_BYTES", 4)
    keeper = Keeper(tmp_path)
    files = await FileSession(tmp_path, require_read=False).begin()
    files.coordinator.register_capability("files.checkpoint", keeper)
    files.put("a.txt", "large").chmod(0o600)
    await files.write("a.txt", "tiny")
    files.put("b.txt", "tiny").chmod(0o600)
    opened = Folder.open_file

    def grown(folder: Folder, name: str) -> Any:
        files.put("b.txt", "larger")
        return opened(folder, name)

    monkeypatch.setattr(Folder, "open_file", grown)
    assert (await files.failure("write_file", file_path="b.txt", content="small"))[0] == "stale"
    assert files.files() == {"a.txt": "tiny", "b.txt": "larger"}
    assert keeper.kept == [("a.txt", None, b"tiny", 0o600), ("b.txt", None, b"small", 0o600)]


async def test_what_is_not_changed_is_not_handed_over(tmp_path: Path) -> None:
    """A read, and a change that is refused."""
    keeper = Keeper(tmp_path)
    files = await session(tmp_path, keeper)
    files.put("a.txt")
    await files.failure("write_file", file_path="a.txt", content="unread")
    await files.read("a.txt")
    await files.failure("edit_file", file_path="a.txt", old_string="missing", new_string="x")
    assert keeper.kept == []


async def test_a_keeper_that_fails_does_not_stop_the_work(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The change is made, and the log tells that it has no checkpoint."""

    def broken(*args: object) -> None:
        raise RuntimeError("broken")

    files = await session(tmp_path, broken)
    with caplog.at_level(logging.ERROR):
        await files.write("a.txt", "text\n")
    assert files.files() == {"a.txt": "text\n"}
    assert f"{files.folder / 'a.txt'} is changed without a checkpoint" in caplog.text
