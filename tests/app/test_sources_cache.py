"""The cache and the programs that fill it: killed in the middle, several at once, damaged, and full."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.app.source_world import Repository, files_below, places_in, sources_in_folder

from amplifier.problems import SourceProblem
from amplifier.sources import Pin
from amplifier.sources.cache import SourceCache
from amplifier.sources.processes import TooMuchError, run_limited

PIN = Pin("git", "sha256:" + "a" * 64, "b" * 40)

FETCH = """
import sys
from pathlib import Path
from tests.app.source_world import sources_in_folder
print(sources_in_folder(Path(sys.argv[1])).find(sys.argv[2]).folder)
"""


def _fetching(folder: Path, source: str, git_folder: Path | None = None) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(git_folder), os.environ["PATH"]] if git_folder else [os.environ["PATH"]])
    root = Path(__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", FETCH, str(folder), source],
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(root)},
    )


def _git_instead(folder: Path, script: str) -> Path:
    import shutil

    folder.mkdir()
    program = folder / "git"
    program.write_text(f'#!/bin/sh\n{script}\nexec {shutil.which("git")} "$@"\n')
    program.chmod(0o755)
    return folder


@pytest.mark.slow
def test_several_processes_at_once_fetch_once(tmp_path: Path) -> None:
    """One brings it, the others wait and take it."""
    repository = Repository(tmp_path / "r")
    repository.commit({"a.py": "1"})
    log = tmp_path / "log"
    shim = _git_instead(tmp_path / "bin", f'case "$*" in *" fetch "*) echo fetch >> {log};; esac')
    running = [_fetching(tmp_path, repository.source, shim) for _ in range(4)]
    told = {process.communicate(timeout=60)[0] for process in running}
    assert ([process.returncode for process in running], len(told)) == ([0] * 4, 1)
    assert log.read_text() == "fetch\n"
    assert files_below(Path(told.pop().strip())) == {"a.py": "1"}


@pytest.mark.slow
def test_a_fetch_that_is_killed_leaves_nothing_that_counts(tmp_path: Path) -> None:
    """The next one begins anew, and clears away what was left once it is old."""
    repository = Repository(tmp_path / "r")
    repository.commit({"a.py": "1"})
    mark = tmp_path / "mark"
    stop = (
        f'case "$*" in *" fetch "*) echo half > half; echo $$ > {mark}.new; mv {mark}.new {mark}; exec sleep 60;; esac'
    )
    killed = _fetching(tmp_path, repository.source, _git_instead(tmp_path / "bin", stop))
    while not mark.exists():
        assert killed.poll() is None
    killed.kill()
    killed.communicate()
    os.kill(int(mark.read_text()), signal.SIGKILL)
    sources = sources_in_folder(tmp_path)
    [left] = (sources.cache.root / "drafts").iterdir()
    assert files_below(sources.find(repository.source).folder) == {"a.py": "1"}
    assert left.exists()
    long_ago = time.time() - 7200
    os.utime(left, (long_ago, long_ago))
    sources_in_folder(tmp_path, updates={repository.source}).find(repository.source)
    assert list((sources.cache.root / "drafts").iterdir()) == []


@pytest.mark.slow
def test_a_damaged_copy_is_fetched_again_and_refused_when_frozen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One byte is enough; frozen, what Python has compiled does not count either."""
    from amplifier.sources import lock_path, write_lock

    repository = Repository(tmp_path / "r")
    repository.commit({"a.py": "1"})
    sources = sources_in_folder(tmp_path)
    found = sources.find(repository.source)
    compiled = found.folder / "__pycache__"
    compiled.mkdir()
    write_lock(lock_path(places_in(tmp_path)), {repository.source: sources.pin_of(found)})
    assert sources_in_folder(tmp_path).find(repository.source).state == "locked"
    assert compiled.exists()
    frozen = sources_in_folder(tmp_path, is_frozen=True)
    assert (frozen.find(repository.source).state, compiled.exists()) == ("locked", False)
    assert frozen.find(f"{repository.source}") is frozen.used[repository.source]
    (found.folder / "a.py").write_text("2")
    with pytest.raises(SourceProblem) as caught:
        sources_in_folder(tmp_path, is_frozen=True).find(repository.source)
    assert caught.value.message == (
        f"The source {repository.source} is not what was locked: its files in {found.root} have changed."
    )
    warnings: list[str] = []
    again = sources_in_folder(tmp_path, tell=warnings.append).find(repository.source)
    assert (again.state, files_below(again.folder)) == ("fetched", {"a.py": "1"})
    assert warnings == [f"the files of {repository.source} in {found.root} have changed; they are fetched again"]
    monkeypatch.setattr("amplifier.sources.sources.tree_hash", _unreadable)
    with pytest.raises(SourceProblem, match="is not what was locked: its files in"):
        sources_in_folder(tmp_path, is_frozen=True).find(repository.source)


def _unreadable(root: Path) -> str:
    raise PermissionError(13, "Permission denied", str(root))


def test_the_same_content_is_checked_once(tmp_path: Path) -> None:
    """Two names for the same archive are one folder."""
    from tests.app.source_world import zip_bytes

    for name in ("a.zip", "b.zip"):
        (places_in(tmp_path).project_dir / name).write_bytes(zip_bytes({"x": b"1"}))
    sources_in_folder(tmp_path).find("./a.zip")
    sources_in_folder(tmp_path).find("./b.zip")
    sources = sources_in_folder(tmp_path)
    assert sources.find("./a.zip").root == sources.find("./b.zip").root


def test_pins_are_kept_by_name(tmp_path: Path) -> None:
    """What is not there, of another source, or damaged, counts as not known."""
    cache = SourceCache(tmp_path)
    assert (cache.pin("a"), cache.forget("a")) == (None, False)
    with cache.exclusively("a", 1):
        cache.remember("a", PIN)
    assert cache.pin("a") == PIN
    [file] = (tmp_path / "pins").glob("*.json")
    for text in ('{"source": "b", "pin": {}}', "[]", "{", '{"source": "a", "pin": 3}', '{"source": "a", "pin": {}}'):
        file.write_text(text)
        assert cache.pin("a") is None
    assert (cache.forget("a"), cache.pin("a")) == (True, None)


def test_a_folder_is_moved_into_place_once(tmp_path: Path) -> None:
    """The one that was there first stays; what cannot be written is told."""
    cache = SourceCache(tmp_path / "cache")
    place = cache.tree("sha256:x")
    for text in ("1", "2"):
        with cache.draft() as draft:
            (draft / "tree").mkdir()
            (draft / "tree" / "a").write_text(text)
            cache.adopt(draft / "tree", place)
    assert files_below(place) == {"a": "1"}
    with cache.draft() as draft, pytest.raises(SourceProblem, match="cannot be written: No such file or directory"):
        cache.adopt(draft / "nothing", cache.tree("sha256:y"))
    cache.discard(place)
    cache.discard(place)
    assert not place.exists()


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """With the folder and the reason."""
    (tmp_path / "file").write_text("")
    with pytest.raises(SourceProblem) as caught, SourceCache(tmp_path / "file").draft():
        pass
    assert caught.value.message == f"{tmp_path / 'file' / 'drafts'} cannot be written: Not a directory."


@pytest.mark.slow
def test_a_program_that_takes_too_much_is_ended(tmp_path: Path) -> None:
    """Too much time, too much room, and an interruption; its own programs end with it."""
    environ = {"PATH": os.environ["PATH"]}
    with pytest.raises(TooMuchError, match=r"took longer than 0.3 s"):
        run_limited(["sh", "-c", "sleep 60 & wait"], environ, tmp_path, timeout_s=0.3, max_bytes=10)
    script = "while :; do echo xxxxxxxxxxxxxxxx >> f; mv f g; mv g f; done"
    with pytest.raises(TooMuchError, match="sent more than 10 bytes"):
        run_limited(["sh", "-c", script], environ, tmp_path, timeout_s=30, max_bytes=10)
    ended = run_limited(["sh", "-c", "echo a; echo b >&2; exit 3"], environ, tmp_path, timeout_s=5, max_bytes=10**9)
    assert ended == (3, b"a\n", "b\n")
